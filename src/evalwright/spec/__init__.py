"""What an author may write, and how it is checked."""
