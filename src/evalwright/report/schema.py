"""The JSON Schema of a report, made from its type."""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.report import ReportBody


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of what `evalwright run --json` prints."""
    return struct_schema(ReportBody, "evalwright report")


def struct_schema(printed: type[Struct], title: str) -> dict[str, Any]:
    """Return the JSON Schema of a struct whose fields are all printed, defaults included."""
    (body,), components = msgspec.json.schema_components([printed], ref_template="#/$defs/{name}")
    for component in components.values():
        if "properties" in component:
            component["required"] = list(component["properties"])
    whole = components.pop(body["$ref"].rpartition("/")[2])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": title,
        "$defs": components,
    }
