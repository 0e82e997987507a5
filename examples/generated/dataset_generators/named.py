"""Give each row a descriptive id."""

from typing import Any


def synthesize(source: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the id from the element and the first word of the style."""
    style = source["words"].split()[0].lower()
    return [{**source, "sample_id": f"{source['name']}-{style}"}]
