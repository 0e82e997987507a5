"""Read YAML into plain values, with the places of all values and problems."""
