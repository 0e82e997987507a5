"""Components of a dataset generator: data sources, and synthesizers that change rows."""
