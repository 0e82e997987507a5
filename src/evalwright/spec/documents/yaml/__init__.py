"""Turn YAML text into plain values, with the place of every value and every mistake."""
