"""Check a dataset: missing values, types, duplicates, labels, languages, personal data and leaks.

check           `check_rows`: reads the rows once and returns the report
sources         rows with their lines, from files, datasets of a project and memory
columns         what is known about a column
spread          extremes and quartiles of a stream of numbers
repeats         duplicate rows, ids and texts; texts in two files
languages       scripts and languages of texts
personal_data   addresses, numbers and keys in texts
report          the report, as text, markdown and JSON
"""
