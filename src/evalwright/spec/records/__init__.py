"""Contract A: JSONL task records.

check     turns lines into records and issues: the fast path for good lines
explain   says what is wrong with a line: the slow path, and the authority on every rule
formats   recognizes files that are not JSON Lines, and says how to convert them
schema    the same rules as a JSON Schema
fixtures  the ten tasks and the broken ones that ship with the package
"""
