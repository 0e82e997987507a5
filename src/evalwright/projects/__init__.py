"""List, show, add, test and check the tasks, datasets, models and evaluations of a project.

kinds         the kinds of entities, their folders and commands
lookup        open a project; find entities, their files, and the places that use them catalog
list, show, check, export and delete entities add           check documents and copy them into a
project try_dataset   read a dataset and describe its rows try_model     query a model once and show
each step try_task      run a task on a few samples without storing the results

A project has no separate registry: every document in its folders is part of it.
"""
