"""What `evalwright perplexity` found, as `--json` prints it and `ew.perplexity` returns it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.export.rows import FailureCells, to_json
from evalwright.report.judges import Figure
from evalwright.report.report import FailureRow, PairwiseRow, Status, UsageRow


class DocumentRow(Struct, frozen=True, kw_only=True, gc=False):
    """One document and one model. All numbers but the two lengths are null where it failed."""

    document: str
    """File and line; the file alone where all of it is one document."""
    model: str
    nll: float | None
    """Negative log-likelihood, in nats; null too where a token has probability 0."""
    tokens: int | None
    characters: int
    bytes: int
    perplexity: float | None
    bits_per_byte: float | None
    failure: FailureCells | None = None


class ModelPerplexity(Struct, frozen=True, kw_only=True):
    """How surprised one model is by the documents that it has weighed."""

    model: str
    perplexity: Figure
    """exp(Σ nll / Σ tokens): comparable only between models with the same tokenizer."""
    bits_per_byte: Figure
    """Σ nll / Σ bytes / ln 2: comparable between any models, on the same documents."""
    bits_per_character: Figure
    """The same a character, which is a code point of Unicode."""
    nll: float | None
    tokens: int
    characters: int
    bytes: int
    documents: int
    """Those that were weighed: all figures are of them."""
    failed: int
    """Those that could not be: they are in no figure."""
    reused: int
    """Of those that were weighed, how many were kept from before."""
    usage: UsageRow
    worst: list[DocumentRow]
    """The few that surprise it most, by their perplexity."""


class PerplexitySummary(Struct, frozen=True, kw_only=True):
    """What became of the documents, over all models."""

    documents: int
    """To be weighed by each model."""
    left_out: int
    """Documents without text, which no model was given."""
    completed: int
    reused: int
    failed: int
    wall_seconds: float


class PerplexityBody(Struct, frozen=True, kw_only=True):
    """What `--json` prints before the documents."""

    status: Status
    files: list[str]
    models: list[ModelPerplexity]
    pairwise: list[PairwiseRow]
    """Differences of bits a byte between models, over the documents that both have weighed."""
    failures: list[FailureRow]
    summary: PerplexitySummary
    notes: list[str]
    seed: int
    version: str


class PerplexityFile(PerplexityBody, frozen=True, kw_only=True):
    """All that `--json` prints, and `evalwright schema perplexity` describes."""

    documents: list[DocumentRow]
    """One for each document and model, in the order of the files."""


class PerplexityReport(PerplexityBody, frozen=True, kw_only=True):
    """The figures, and the way to the documents they were made from."""

    rows: Callable[[], Iterator[DocumentRow]]
    """One for each document and model: made when they are asked for, since there may be many."""

    def documents(self) -> Iterator[DocumentRow]:
        """One for each document and model that is done, in the order of the files."""
        return self.rows()

    def to_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        found: dict[str, Any] = msgspec.json.decode(b"".join(self.pieces()))
        return found

    def to_json(self) -> str:
        """The same, as text."""
        return b"".join(self.pieces()).decode()

    def pieces(self) -> Iterator[bytes]:
        """The same, as it is written: a line a document, so that no list of all is ever built."""
        body = {name: getattr(self, name) for name in PerplexityBody.__struct_fields__}
        head = msgspec.json.format(to_json(body), indent=2)
        yield head.rstrip().removesuffix(b"}").rstrip() + b',\n  "documents": ['
        yield from _listed(self.rows())
        yield b"\n  ]\n}\n"

    def to_text(self) -> str:
        """What the terminal shows."""
        from evalwright.report.perplexity_lines import perplexity_lines

        return "\n".join(perplexity_lines(self))


def _listed(rows: Iterable[DocumentRow]) -> Iterator[bytes]:
    before = b"\n    "
    for row in rows:
        yield before + to_json(row)
        before = b",\n    "
