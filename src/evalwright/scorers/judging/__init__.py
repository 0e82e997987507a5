"""Shared by the scorers that query a judge: querying, fencing, and reading the reply."""
