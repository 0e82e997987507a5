"""Outcomes as rows for other tools: jsonl, csv, parquet.

Each format is a module with `write(read, out)`: `read()` gives the outcomes, `out` takes bytes.
Outcomes pass through one at a time, so a run of any size is exported in the same memory.
"""
