"""Check how reliable a judge is: agreement with people, and stability under probes and repeats.

options      the options of a check check        checks one judge of a stored run labels       reads
human labels agreement    compares verdicts with labels probes       changes to the judge's prompt
that should not affect the verdict rejudge      queries the judge again about samples of the run,
and counts changed verdicts render       renders the result as text
"""
