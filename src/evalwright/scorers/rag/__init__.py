"""Parts of the `rag_checker` scorer: claims, judge queries and score formulas."""
