"""Solvers: turn a sample into a trace by querying a model."""
