"""Call an author's functions in the interpreter of the author's project.

This package is loaded by path, in a Python that may not have evalwright installed. It imports only
the standard library and, relatively, its own modules. The engine also uses `functions` and
`results`.
"""
