"""Shared code of the scorers that query a judge: queries, fences, and parsing of replies."""
