"""YAML text to plain values, with the place of every value and every mistake on the way."""
