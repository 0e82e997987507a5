"""Contract B: YAML documents, from their text to checked objects."""
