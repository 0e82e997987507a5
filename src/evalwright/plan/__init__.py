"""Where authoring formats become jobs: all checked before any is run, then streamed."""
