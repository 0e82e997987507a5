"""Talk to models. Each module has a `connect(name)` that returns a `Model`."""
