"""Sample to trace: how a model is asked."""
