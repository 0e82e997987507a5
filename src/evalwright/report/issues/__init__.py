"""Issues as text, JSON, GitHub annotations or JUnit XML.

Each module has one `render(checks)`: an iterator of pieces of output, made while the files are
being read, so that a million issues need no memory.
"""
