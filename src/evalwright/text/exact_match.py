"""`exact_match`: right when the prediction is one of the targets, whitespace around it aside.

`accuracy` is the same comparison: its scorer calls this one.

Does not:   fold case, width or Unicode forms. `Paris` is not `paris`; `lower` is a post-process.
"""

from collections.abc import Sequence


def score(prediction: str, targets: Sequence[str]) -> float:
    """1.0 if the stripped prediction equals any stripped target, else 0.0."""
    answer = prediction.strip()
    return max(float(answer == target.strip()) for target in targets)
