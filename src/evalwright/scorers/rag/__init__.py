"""The parts of `rag_checker`: claims, checks, and the formulas of its scores."""
