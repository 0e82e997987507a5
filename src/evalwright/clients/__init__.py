"""Model clients. Each module has a `connect(name)` that returns a `Model`."""
