"""YAML documents: reading, resolving and checking."""
