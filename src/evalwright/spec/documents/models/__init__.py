"""The classes of documents: what an author may write, as pydantic models."""
