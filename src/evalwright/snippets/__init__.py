"""Run the author's own Python in processes beside the engine.

Snippets are as trusted as their project. They run apart so that a crash or a hang costs one sample
and not the run.
"""
