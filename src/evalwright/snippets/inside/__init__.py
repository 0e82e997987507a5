"""Calls an author's functions, in the interpreter that the author's project uses.

It is loaded by its path, by a Python that may not have evalwright: it imports the standard library,
and its own modules relatively. The engine uses `functions` and `results` too.
"""
