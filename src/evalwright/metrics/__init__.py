"""Metrics: compute numbers from scores, one class per metric."""
