"""Dataset generators: make rows with models, keep them in files, preview them.

generate      which files a run needs; make those that do not exist
synthesis     the rows of one file, through the synthesizers, and its checkpoint
resources     the models and snippets of one generator
preview       the first rows, step by step, without keeping them
"""
