"""Cohen's kappa: agreement beyond chance."""

from typing import Any


def compute_metrics(scores: list[Any]) -> dict[str, float | None]:
    """Return kappa; null if chance alone explains the agreement."""
    pairs = [(score.values["first"], score.values["second"]) for score in scores]
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    labels = {label for pair in pairs for label in pair}
    expected = (
        sum(
            sum(one == label for one, _ in pairs) * sum(other == label for _, other in pairs)
            for label in labels
        )
        / n**2
    )
    return {"kappa": None if expected == 1 else (observed - expected) / (1 - expected)}
