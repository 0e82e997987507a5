"""The JSON Schemas of what is printed as JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.report import ReportBody


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema for the output of `evalwright run --json`."""
    return struct_schema(ReportBody, "evalwright report")


def struct_schema(printed: type[Struct], title: str) -> dict[str, Any]:
    """Return the JSON Schema for a struct whose fields are all printed, including defaults."""
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
