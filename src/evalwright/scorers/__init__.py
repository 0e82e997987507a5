"""Trace to scores: how an answer is judged."""
