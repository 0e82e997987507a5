"""Filters and action rules."""
