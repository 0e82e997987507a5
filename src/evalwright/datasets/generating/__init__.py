"""Rows that are made: a data source gives rows, and synthesizers change them, one after another."""
