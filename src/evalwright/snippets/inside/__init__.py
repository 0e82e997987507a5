"""What calls an author's functions, in the interpreter that the author's project uses.

Imports the standard library only, and its own modules relatively: it is loaded by its path, by a
Python that may not have evalwright. The engine uses `functions` and `results` too, so that a
function is called in the same way wherever it runs.
"""
