"""Turn both authoring formats into jobs: checked completely before any is run, then streamed."""
