"""The formats that authors write (records and documents), and their checks."""
