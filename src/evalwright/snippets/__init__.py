"""Run the author's own Python in separate processes.

Snippets are as trusted as their project. They run separately so that a crash or a hang costs one
sample and not the run.
"""
