"""How far a judge can be trusted: agreement with people, stability under probes and repeats.

options      what to check
check        the check of one judge of a stored run
labels       labels from people
agreement    verdicts compared with labels
probes       changes to the judge's prompt that should not matter
rejudge      the judge, asked again about samples of the run, and how many verdicts change
render       the result as text
"""
