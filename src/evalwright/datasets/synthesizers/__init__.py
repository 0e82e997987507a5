"""Components of a dataset generator: its data source, and the synthesizers that change its rows."""
