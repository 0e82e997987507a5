"""The JSON Schemas of reports, made from their types."""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.perplexity import PerplexityFile
from evalwright.report.report import ReportBody


def report_schema() -> dict[str, Any]:
    """What `evalwright run --json` prints."""
    return _schema(ReportBody, "evalwright report")


def perplexity_schema() -> dict[str, Any]:
    """What `evalwright perplexity --json` prints."""
    return _schema(PerplexityFile, "evalwright perplexity")


def _schema(printed: type[Struct], title: str) -> dict[str, Any]:
    (body,), components = msgspec.json.schema_components([printed], ref_template="#/$defs/{name}")
    for one in components.values():
        if "properties" in one:
            one["required"] = list(one["properties"])  # what has a default is printed, too
    whole = components.pop(body["$ref"].rpartition("/")[2])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": title,
        "$defs": components,
    }
