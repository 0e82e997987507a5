"""Dataset generators: generate rows with models, store them in files, preview them.

generate      finds the files that a run needs and generates missing ones synthesis     generates
the rows of one file with synthesizers resources     connects the models and snippets of a generator
preview       shows the first rows step by step, without storing them
"""
