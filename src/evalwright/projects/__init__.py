"""List, show, add, try and check what a project has: tasks, datasets, models, evaluations.

kinds         the kinds of entities, their folders and commands
lookup        open a project; find entities, the files they consist of, and where they are used
catalog       list, show, check, export and delete entities
add           check documents and copy them into a project
try_dataset   read a dataset and describe its rows
try_model     query a model once and show every step
try_task      run a task on a few samples, without keeping the results

The files of a project are its registry: whatever is in its folders is part of it.
"""
