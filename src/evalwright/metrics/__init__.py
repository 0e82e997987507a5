"""Scores to numbers, one class a metric."""
