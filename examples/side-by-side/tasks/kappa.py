"""Compute Cohen's kappa, a measure of agreement beyond chance."""

from typing import Any


def compute_metrics(scores: list[Any]) -> dict[str, float | None]:
    """Return kappa, or null if it is undefined because both always give the same label."""
    pairs = [(score.values["first"], score.values["second"]) for score in scores]
    n = len(pairs)
    observed = sum(first == second for first, second in pairs) / n
    labels = {label for pair in pairs for label in pair}
    expected = (
        sum(
            sum(first == label for first, _ in pairs) * sum(second == label for _, second in pairs)
            for label in labels
        )
        / n**2
    )
    return {"kappa": None if expected == 1 else (observed - expected) / (1 - expected)}
