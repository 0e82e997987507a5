"""The parts of `rag_checker`: claims, checks, and the formulas that make scores of them."""
