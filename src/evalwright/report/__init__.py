"""Outcomes to a Report; a Report, and issues, to what a person or a program reads."""
