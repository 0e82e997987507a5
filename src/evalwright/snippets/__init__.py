"""Run the author's own Python in a process beside the engine.

Snippets are as trusted as the project that they stand in. They run apart so that a crash or a hang
costs one sample, and not the run.
"""
