"""What the scorers that ask a model share: asking, fencing, and reading the reply."""
