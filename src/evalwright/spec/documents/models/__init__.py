"""Pydantic models of all documents that authors write."""
