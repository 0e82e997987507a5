"""The report of `evalwright perplexity`: structs, JSON and text.

If the output is not a terminal, lines are never shortened.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.export import FailureSummary, to_json
from evalwright.report.judges import Figure
from evalwright.report.layout import lay_out_blocks
from evalwright.report.report import FailureRow, PairwiseRow, Status, UsageRow
from evalwright.report.schemas import struct_schema
from evalwright.report.tables import (
    NOTHING,
    Block,
    Table,
    count_noun,
    format_interval,
    format_number,
)
from evalwright.text.visible import visible

_METRICS = ("perplexity", "bits_per_byte", "bits_per_character")


class DocumentRow(Struct, frozen=True, kw_only=True, gc=False):
    """Result for one document and model. If it failed, all numbers except the lengths are null."""

    document: str
    """File and line; only the file if it is a single document."""
    model: str
    nll: float | None
    """Negative log-likelihood in nats; also null if a token has probability 0."""
    tokens: int | None
    characters: int
    bytes: int
    perplexity: float | None
    bits_per_byte: float | None
    failure: FailureSummary | None = None


class ModelPerplexity(Struct, frozen=True, kw_only=True):
    """Results of one model over the documents that it scored."""

    model: str
    perplexity: Figure
    """exp(Σ nll / Σ tokens). Comparable only between models with the same tokenizer."""
    bits_per_byte: Figure
    """Σ nll / Σ bytes / ln 2. Comparable between all models on the same documents."""
    bits_per_character: Figure
    """Σ nll / Σ characters / ln 2. A character is a Unicode code point."""
    nll: float | None
    tokens: int
    characters: int
    bytes: int
    documents: int
    """Number of documents that the model scored. All values refer to these documents."""
    failed: int
    """Number of failed documents, which no value includes."""
    reused: int
    """Number of scored documents whose result came from the cache."""
    usage: UsageRow
    worst: list[DocumentRow]
    """Documents with the highest perplexity."""


class PerplexitySummary(Struct, frozen=True, kw_only=True):
    """Counts of documents over all models."""

    documents: int
    """Number of documents per model."""
    left_out: int
    """Number of documents without text, which are skipped."""
    completed: int
    reused: int
    failed: int
    wall_seconds: float


class PerplexityBody(Struct, frozen=True, kw_only=True):
    """The part of the `--json` output before the documents."""

    status: Status
    files: list[str]
    models: list[ModelPerplexity]
    pairwise: list[PairwiseRow]
    """Differences between models in bits per byte, on the documents that both scored."""
    failures: list[FailureRow]
    summary: PerplexitySummary
    notes: list[str]
    seed: int
    version: str


class PerplexityFile(PerplexityBody, frozen=True, kw_only=True):
    """The complete `--json` output, described by `evalwright schema perplexity`."""

    documents: list[DocumentRow]
    """One row per document and model, in the order of the files."""


def perplexity_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `evalwright perplexity --json`."""
    return struct_schema(PerplexityFile, "evalwright perplexity")


class PerplexityReport(PerplexityBody, frozen=True, kw_only=True):
    """The metrics, with access to the documents that they were computed from."""

    rows: Callable[[], Iterator[DocumentRow]]
    """Returns an iterator over the rows, one per document and model."""

    def documents(self) -> Iterator[DocumentRow]:
        """Yield one row per finished document and model, in the order of the files."""
        return self.rows()

    def to_dict(self) -> dict[str, Any]:
        """Return the `--json` output as an object."""
        body: dict[str, Any] = msgspec.json.decode(b"".join(self.json_chunks()))
        return body

    def to_json(self) -> str:
        """Return the `--json` output as text."""
        return b"".join(self.json_chunks()).decode()

    def json_chunks(self) -> Iterator[bytes]:
        """Yield the `--json` output, one line per document, without building a list of all rows."""
        body = {name: getattr(self, name) for name in PerplexityBody.__struct_fields__}
        head = msgspec.json.format(to_json(body), indent=2)
        yield head.rstrip().removesuffix(b"}").rstrip() + b',\n  "documents": ['
        before = b"\n    "
        for row in self.rows():
            yield before + to_json(row)
            before = b",\n    "
        yield b"\n  ]\n}\n"

    def to_text(self) -> str:
        """Return the text report, one line per row."""
        return "\n".join(lay_out_blocks(self.text_blocks(), None))

    def text_blocks(self) -> Iterator[Block]:
        """Yield metrics, differences, the worst documents, failures, notes and a summary."""
        sections = [
            _model_blocks(self),
            *([_pair_blocks(self.pairwise)] if self.pairwise else []),
            *(_worst_blocks(model) for model in self.models if model.documents > 1),
            *map(_failure_lines, self.failures),
        ]
        for section in sections:
            yield from section
            yield ""
        for note in self.notes:
            yield visible(f"note: {note}")
        yield _summary_line(self)


def _model_blocks(report: PerplexityReport) -> Iterator[Block]:
    columns = ("model", "metric", "value", "95 % interval", "tokens", "documents")
    rows = [
        _metric_row(model, name, report.summary.documents)
        for model in report.models
        for name in _METRICS
    ]
    yield Table("", columns, rows, frozenset(range(2, len(columns))))
    for model in report.models:
        yield from _reason_lines(model)


def _metric_row(model: ModelPerplexity, name: str, documents: int) -> tuple[str, ...]:
    metric: Figure = getattr(model, name)
    digits = 2 if name == "perplexity" else 4
    return (
        visible(model.model),
        name.replace("_", " "),
        format_number(metric.value, digits, flag=","),
        format_interval(metric.ci_low, metric.ci_high, digits, flag=","),
        f"{model.tokens:,}",
        f"{model.documents:,}/{documents:,}",
    )


def _reason_lines(model: ModelPerplexity) -> Iterator[str]:
    metrics = {name.replace("_", " "): getattr(model, name) for name in _METRICS}
    reasons = dict.fromkeys(metric.reason for metric in metrics.values() if metric.reason)
    for reason in reasons:
        names = [name for name, metric in metrics.items() if metric.reason == reason]
        has_values = all(metrics[name].value is not None for name in names)
        lacking = "no interval" if has_values else "no value"
        yield visible(f"  {model.model}: {lacking} for {', '.join(names)}: {reason}")


def _pair_blocks(pairs: Iterable[PairwiseRow]) -> Iterator[Block]:
    columns = ("bits per byte", "difference", "95 % interval", "documents", "verdict")
    rows = []
    for pair in pairs:
        difference = format_number(pair.difference, 4, flag="+")
        interval = format_interval(pair.ci_low, pair.ci_high, 4, flag="+")
        verdict = NOTHING if pair.ci_low is None else "tied"
        verdict = "significant" if pair.significant else verdict
        models = visible(f"{pair.a} − {pair.b}")
        rows.append((models, difference, interval, f"{pair.n:,}", verdict))
    yield Table("", columns, rows, frozenset({1, 2, 3}))


def _worst_blocks(model: ModelPerplexity) -> Iterator[Block]:
    yield visible(f"highest perplexity, {model.model}")
    rows = []
    for row in model.worst:
        perplexity = format_number(row.perplexity, 2, flag=",")
        bits = format_number(row.bits_per_byte, 4, flag=",")
        rows.append((visible(row.document), perplexity, bits, f"{row.tokens:,}"))
    columns = ("document", "perplexity", "bits per byte", "tokens")
    yield Table("", columns, rows, frozenset({1, 2, 3}))


def _failure_lines(failure: FailureRow) -> Iterator[str]:
    places = ", ".join(failure.sample_ids)
    places += "…" if failure.count > len(failure.sample_ids) else ""
    message = failure.message + (", among other reasons" if failure.messages > 1 else "")
    failed = count_noun(failure.count, "document")
    yield visible(f"{failure.model}: {failed} failed ({places}): {message}")
    if failure.hint:
        yield visible(f"  hint: {failure.hint}")


def _summary_line(report: PerplexityReport) -> str:
    summary = report.summary
    documents = count_noun(summary.documents, "document")
    documents += f" with {len(report.models)} models" if len(report.models) > 1 else ""
    parts = [f"{documents}: {summary.completed:,} measured"]
    if summary.reused:
        parts[0] += f" ({summary.reused:,} from the cache)"
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    if summary.left_out:
        parts.append(f"{summary.left_out:,} without text skipped")
    parts.append(f"{summary.wall_seconds:.1f} s")
    return ", ".join(parts)
