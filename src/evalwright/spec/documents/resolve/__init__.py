"""Resolve the documents of a project to task specifications that can run."""
