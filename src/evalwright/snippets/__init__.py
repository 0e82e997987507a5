"""Run the author's own Python in separate processes.

Snippets are as trusted as their project. They run in separate processes so that a crash or a hang
affects one sample, not the run.
"""
