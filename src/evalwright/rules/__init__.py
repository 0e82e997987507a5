"""What a sample must be, and what becomes of it."""
