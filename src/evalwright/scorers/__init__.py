"""Scorers: turn a trace into scores."""
