"""Where samples come from, one class a source."""
