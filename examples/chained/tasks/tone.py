"""Score the tone of an answer.

Each row has `sample`, `sample_id`, `solver_output`, `scores` and `errors`.
"""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the answer expresses any doubt."""
    (*_, last) = sample["solver_output"]["items"]
    text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    return {"scores": {"is_sure": "I think" not in text}, "metadata": {"of": sample["sample_id"]}}
