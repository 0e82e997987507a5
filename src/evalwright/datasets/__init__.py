"""Dataset sources, one class per source type."""
