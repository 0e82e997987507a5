"""The JSON Schema of a report, made from its types."""

from typing import Any

import msgspec

from evalwright.report.report import ReportBody


def report_schema() -> dict[str, Any]:
    """What `evalwright run --json` prints."""
    (body,), components = msgspec.json.schema_components(
        [ReportBody], ref_template="#/$defs/{name}"
    )
    for one in components.values():
        if "properties" in one:
            one["required"] = list(one["properties"])  # what has a default is printed, too
    whole = components.pop(body["$ref"].rpartition("/")[2])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": "evalwright report",
        "$defs": components,
    }
