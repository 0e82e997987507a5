"""What `dataset generate` and the preview of generated rows return and print."""

from collections.abc import Iterator
from textwrap import indent
from typing import Any

from msgspec import Struct

from evalwright.report.tables import dollars, visible
from evalwright.report.yaml_text import to_yaml
from evalwright.types import Usage


class GeneratedDataset(Struct, frozen=True, kw_only=True):
    """The result of `evalwright dataset generate` for one dataset."""

    dataset: str
    generator: str
    file: str
    """The file of the rows."""
    rows: int
    source_rows: int
    """The rows of the data source that were used."""
    made: bool
    """False if the file existed already."""
    usage: dict[str, Usage] = {}
    """Per model, for all rows, earlier attempts included."""
    notes: list[str] = []
    """What a reader must know about how models were queried."""

    def describe(self) -> str:
        """Return a sentence: how many rows, where, and what they cost."""
        if not self.made:
            return f"dataset `{self.dataset}`: {self.rows:,} rows are there already, in {self.file}"
        source = ""
        if self.source_rows != self.rows:
            source = f" of {self.source_rows:,} of the data source"
        cost = _describe_usage(self.usage)
        return f"dataset `{self.dataset}`: {self.rows:,} rows made{source}, in {self.file}{cost}"


def _describe_usage(usage: dict[str, Usage]) -> str:
    if not usage:
        return ""
    requests = sum(model.requests for model in usage.values())
    tokens = sum(model.total_tokens for model in usage.values())
    costs = [model.cost for model in usage.values()]
    cost = "" if None in costs else f", {dollars(sum(cost or 0.0 for cost in costs))}"
    return f": {requests:,} requests, {tokens:,} tokens{cost}"


class PreviewError(Struct, frozen=True, kw_only=True):
    """Why a row could not be made."""

    stage: str
    type: str
    message: str
    hint: str


class PreviewStep(Struct, frozen=True, kw_only=True):
    """The rows that one synthesizer made."""

    synthesizer: str
    rows: list[dict[str, Any]]
    said: list[dict[str, Any]] = []
    """The requests to models and their replies, verbatim."""


class PreviewRow(Struct, frozen=True, kw_only=True):
    """A row of the data source, and what each synthesizer made of it."""

    index: int
    source: dict[str, Any]
    steps: list[PreviewStep]
    error: PreviewError | None = None


class GenerationPreview(Struct, frozen=True, kw_only=True):
    """What `evalwright dataset test` shows of rows that are not generated yet."""

    key: str
    file: str
    generator: str
    source: str
    """The type of the data source."""
    source_rows: int
    """How many of its rows would be used."""
    rows: list[PreviewRow]
    usage: dict[str, Usage]
    printed: list[str]
    ok: bool

    def render_lines(self, *, show_model_calls: bool) -> Iterator[str]:
        """Yield each row, step by step."""
        yield visible(f"Dataset `{self.key}`")
        rows = f"made of {self.source_rows:,} rows of the data source; these are kept nowhere"
        yield _indent_yaml(
            {"file": self.file, "generator": self.generator, "source": self.source, "rows": rows}
        )
        for row in self.rows:
            yield ""
            yield f"Row {row.index} of the data source"
            yield _indent_yaml(row.source or "no columns")
            for step in row.steps:
                yield f"After `{step.synthesizer}`"
                if show_model_calls:
                    yield from map(_indent_yaml, step.said)
                yield _indent_yaml(step.rows[0] if len(step.rows) == 1 else step.rows or "no row")
            if row.error is not None:
                yield visible(f"  failed: {row.error.message}")
                if row.error.hint:
                    yield visible(f"  hint: {row.error.hint}")
        if self.printed:
            yield ""
            yield "Printed by snippets"
            yield from (visible(f"  {line}") for line in self.printed)


def _indent_yaml(value: Any) -> str:
    return indent(visible(to_yaml(value)).rstrip("\n"), "  ")
