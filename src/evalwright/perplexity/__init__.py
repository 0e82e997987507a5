"""How surprised a model is by a text: perplexity, bits per byte and bits per character.

measure   run every document through every model
corpus    per document: its size and each model's likelihood; totals, intervals, paired differences
report    the report, as JSON and as text
"""
