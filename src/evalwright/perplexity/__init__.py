"""How surprised a model is by a text: perplexity, bits per byte and bits per character."""
