"""JSONL task records: validation, lint and schema.

check     converts lines to records and issues: the fast path for valid lines explain   explains the
errors in a line: the slow path, which defines all rules formats   recognizes files that are not
JSON Lines, and suggests how to convert them schema    expresses the same rules as a JSON Schema
fixtures  loads the valid and invalid example records in the package
"""
