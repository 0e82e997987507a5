"""Checks of a document beyond its structure, and explanations of mistakes."""
