"""Contract A: JSONL task records.

check     lines to records and issues: the fast path for good lines
explain   what is wrong with a line: the slow path, and the authority on every rule
formats   a file of records that is not JSON Lines, and how to convert it
schema    the same rules as a JSON Schema
fixtures  the ten tasks and the broken ones that ship with the package
"""
