"""The report on a dataset: what its columns contain, and what may be wrong."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct, structs

from evalwright._version import __version__
from evalwright.datasets.faults import place_of
from evalwright.report.export import to_json
from evalwright.report.layout import lay_out_blocks
from evalwright.report.schemas import struct_schema
from evalwright.report.tables import (
    NOTHING,
    Block,
    Table,
    TableColumn,
    count_column,
    count_noun,
    make_table,
    numeric_column,
    shorten,
    table_to_markdown,
)

Check = Literal[
    "no_rows",
    "bad_rows",
    "encoding",
    "missing",
    "placeholder",
    "whitespace",
    "mixed_types",
    "outliers",
    "lengths",
    "label_balance",
    "duplicate_rows",
    "duplicate_ids",
    "duplicate_texts",
    "near_duplicates",
    "mixed_scripts",
    "languages",
    "personal_data",
    "credentials",
    "leaks",
    "near_leaks",
    "shared_ids",
]
CHECKS: tuple[Check, ...] = get_args(Check)
"""All checks, in the order of the report."""
_LONGEST = 60
_SHOWN_LABELS = 6
_SHOWN_TYPES = 4


class ProblemExample(Struct, frozen=True, kw_only=True):
    """One place of a problem."""

    position: int
    """Line in the file, from 1; minus the number of the row, from 0, if there are no lines."""
    where: str = ""
    """The place as `data.csv:7`, or `data.parquet: row 7`."""
    value: str = ""
    """The value, shortened. Most characters of personal data are hidden."""
    other: int | None = None
    """Position of the row that this one repeats."""
    other_where: str = ""
    """The same as a place."""


class DatasetProblem(Struct, frozen=True, kw_only=True):
    """Something that may be wrong with a dataset."""

    check: Check
    column: str | None
    """None if the problem concerns whole rows."""
    count: int
    """Number of rows or values."""
    share: float
    """The count as a share of all rows, or of all values in the column."""
    detail: str
    hint: str = ""
    examples: Sequence[ProblemExample] = ()
    """The first few."""


class ValueCount(Struct, frozen=True, kw_only=True):
    """A value and how often it occurs."""

    value: str
    count: int
    share: float


class ColumnProfile(Struct, frozen=True, kw_only=True):
    """What a column contains."""

    name: str
    values: int
    """Number of rows with a value."""
    missing: int
    types: dict[str, int]
    """Number of values per type, most frequent first."""
    distinct: int
    is_estimate: bool
    """Whether `distinct` is an estimate, with a standard error of about 3 %."""
    minimum: float | str | None
    """Smallest number, or earliest date."""
    maximum: float | str | None
    mean: float | None
    shortest: int | None
    """Length of the shortest text, in characters."""
    longest: int | None
    mean_length: float | None
    labels: list[ValueCount]
    """The values, most frequent first, if there are few; otherwise empty."""
    scripts: dict[str, int]
    """Number of texts per script. After the first 1,000 texts, one in 16 is counted."""
    languages: dict[str, int]
    """Number of texts per language, as ISO 639-1 codes; an estimate."""


class DatasetCheck(Struct, frozen=True, kw_only=True):
    """The output of `evalwright dataset check --json`, described by `evalwright schema check`."""

    dataset: str
    """The file or the key of the dataset."""
    against: str | None
    """The dataset that it was compared with."""
    rows: int
    against_rows: int | None
    columns: list[ColumnProfile]
    id_columns: list[str]
    """Columns that identify a row."""
    text_columns: list[str]
    """Columns that were compared for repeated texts."""
    problems: list[DatasetProblem]
    notes: list[str]
    version: str = __version__

    def find(self, *checks: str) -> list[DatasetProblem]:
        """Return the problems that these checks found; those of all checks for `any`."""
        return [each for each in self.problems if each.check in checks or "any" in checks]

    def to_dict(self) -> dict[str, Any]:
        """Return the `--json` output as an object."""
        value: dict[str, Any] = msgspec.json.decode(to_json(self))
        return value

    def to_text(self) -> str:
        """Return the report as plain text."""
        return "\n".join(lay_out_blocks(self.text_blocks(), None))

    def to_markdown(self) -> str:
        """Return the report as markdown."""
        title = f"# Check of {shorten(self.dataset)}\n\n{self.summary()}\n"
        parts = [title, *map(table_to_markdown, self._tables())]
        parts += [f"note: {note}" for note in self.notes]
        return "\n\n".join(parts).rstrip() + "\n"

    def text_blocks(self) -> Iterator[Block]:
        """Yield the tables, the notes and the summary, for a terminal."""
        for table in self._tables():
            yield table.title
            yield table
            yield ""
        yield from (f"note: {note}" for note in self.notes)
        yield self.summary()

    def summary(self) -> str:
        """Return one line: rows, columns and problems."""
        found = count_noun(len(self.problems), "problem") if self.problems else "nothing suspicious"
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        against = f" (compared with {self.against})" if self.against is not None else ""
        return (
            f"{self.dataset}: {rows}, {count_noun(len(self.columns), 'column')}, {found}{against}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.to_text())}</pre>"

    def _tables(self) -> Iterator[Table]:
        if self.columns:
            yield _columns_table(self.columns)
        labels = [(column.name, each) for column in self.columns for each in _shown_labels(column)]
        if labels:
            yield make_table(
                "Labels",
                labels,
                [
                    TableColumn("column", lambda pair: shorten(pair[0])),
                    TableColumn("value", lambda pair: shorten(pair[1].value)),
                    numeric_column("count", lambda pair: f"{pair[1].count:,}"),
                    numeric_column("share", lambda pair: _percent(pair[1].share)),
                ],
            )
        if self.problems:
            yield make_table(
                "Problems",
                self.problems,
                [
                    TableColumn("check", lambda problem: problem.check),
                    TableColumn("column", lambda problem: shorten(problem.column or NOTHING)),
                    count_column("count"),
                    numeric_column("share", lambda problem: _percent(problem.share)),
                    TableColumn("what", _with_hint),
                    TableColumn("for example", _show_examples),
                ],
            )


def dataset_check_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `evalwright dataset check --json`."""
    return struct_schema(DatasetCheck, "evalwright dataset check")


def shorten_value(value: str) -> str:
    """Return the value on one line, with at most 60 characters."""
    text = value[: 2 * _LONGEST]
    if not text.isprintable():
        plain = " ".join(text.split())
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in plain)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def locate_examples(
    examples: Sequence[ProblemExample], name: str, other_name: str | None = None
) -> list[ProblemExample]:
    """Return the examples with their places."""
    return [
        structs.replace(
            example,
            where=place_of(name, example.position),
            other_where=""
            if example.other is None
            else place_of(other_name or name, example.other),
        )
        for example in examples
    ]


def _columns_table(columns: Sequence[ColumnProfile]) -> Table:
    return make_table(
        "Columns",
        columns,
        [
            TableColumn("column", lambda column: shorten(column.name)),
            numeric_column("values", lambda column: f"{column.values:,}"),
            numeric_column("missing", lambda column: f"{column.missing:,}"),
            TableColumn("types", lambda column: _show_types(column.types)),
            numeric_column("distinct", _show_distinct),
            TableColumn("range", _show_range),
            TableColumn("length", _show_lengths),
            TableColumn("languages", lambda column: _show_types(column.languages)),
        ],
    )


def _shown_labels(column: ColumnProfile) -> list[ValueCount]:
    return column.labels[:_SHOWN_LABELS] if len(column.labels) > 1 else []


def _show_types(counts: dict[str, int]) -> str:
    shown = [*counts.items()][:_SHOWN_TYPES]
    if len(counts) == 1:
        return shown[0][0]
    more = ", …" if len(counts) > _SHOWN_TYPES else ""
    return ", ".join(f"{name} {count:,}" for name, count in shown) + more or NOTHING


def _show_distinct(column: ColumnProfile) -> str:
    return f"{'~' if column.is_estimate else ''}{column.distinct:,}"


def _show_range(column: ColumnProfile) -> str:
    if column.minimum is None:
        return NOTHING
    ends = [
        f"{end:g}" if isinstance(end, float) else str(end)
        for end in (column.minimum, column.maximum)
    ]
    return " … ".join(dict.fromkeys(ends))


def _show_lengths(column: ColumnProfile) -> str:
    if column.longest is None or column.mean_length is None:
        return NOTHING
    return f"{column.shortest}-{column.longest}, mean {column.mean_length:.0f}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.1f} %" if percent >= 0.05 or not share else "< 0.1 %"  # noqa: PLR2004 - rounds to 0.1


def _with_hint(problem: DatasetProblem) -> str:
    return f"{problem.detail}; {problem.hint}" if problem.hint else problem.detail


def _show_examples(problem: DatasetProblem) -> str:
    shown = []
    for example in problem.examples[:2]:
        text = example.where
        if example.other_where:
            text += f" and {example.other_where}"
        if example.value:
            text += f" `{example.value}`"
        shown.append(text)
    return "; ".join(shown) or NOTHING
