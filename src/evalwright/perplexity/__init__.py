"""Measure how well a model predicts text: perplexity, bits per byte and bits per character."""
