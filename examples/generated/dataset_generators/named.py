"""A descriptive id for each row."""

from typing import Any


def synthesize(sample: dict[str, Any]) -> dict[str, Any]:
    """Build the id from the element and the first word of the style."""
    style = sample["styles"]["words"].split()[0].lower()
    return {"sample_id": f"{sample['elements']['name']}-{style}"}
