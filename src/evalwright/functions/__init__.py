"""Tasks, models and scorers that are written in Python.

    @ew.scorer
    def mentions_city(sample, output):
        return sample["city"] in output

    ew.run(ew.Task("capitals", rows, prompt="Capital of {country}?", scorers=[mentions_city]), ask)

    identity    hashes a function, so that stored results are reused only while it is unchanged
    model       makes a function or an object a model
    scorer      makes a function a scorer
    task        a task: its rows, its prompt and its scorers
    run         compiles tasks into the same plan as documents, and runs it

A task becomes a task document whose rows are in memory. So plans, keys, resuming, metrics,
intervals and reports are those of documents.
"""
