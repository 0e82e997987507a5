"""Run a plan: bounded workers over a lazy stream of jobs."""
