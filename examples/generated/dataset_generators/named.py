"""An id for each row, that says what it is about."""

from typing import Any


def synthesize(sample: dict[str, Any]) -> dict[str, Any]:
    """The element, and the first word of the style."""
    style = sample["styles"]["words"].split()[0].lower()
    return {"sample_id": f"{sample['elements']['name']}-{style}"}
