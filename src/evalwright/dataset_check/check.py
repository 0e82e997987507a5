"""Check the rows of a dataset, alone or against another dataset.

Promises:  reads the rows once, except those of a dataset of a project, whose lines are counted in a
           second reading; memory grows by about 50 bytes per row, whatever the size of the rows.
           A .json file, however, is read as a whole, up to 256 MiB.
Does not:  prove that data is good: every finding is something to look at, and some are expected.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import msgspec

from evalwright.dataset_check.columns import (
    ColumnTracker,
    Findings,
    group_of,
    leaf_texts,
)
from evalwright.dataset_check.repeats import HashColumn, Repeats, TextIndex
from evalwright.dataset_check.report import (
    CHECKS,
    Check,
    DatasetCheck,
    DatasetProblem,
    ProblemExample,
    locate_examples,
    shorten_value,
)
from evalwright.dataset_check.sources import CheckedSource, LocatedRow
from evalwright.errors import UsageError
from evalwright.nearest import suggest
from evalwright.spec.records.lint.corpus import MOST_WORDS

ID_NAMES = ("sample_id", "task_id", "id", "uuid")
"""Columns that identify a row, in any case, unless others are named."""
_FIRST_ROWS = 1_000
_FEWEST_WORDS = 4.0
"""Mean number of words from which a column contains texts."""
_LARGEST_SHARE = 0.8
_SMALL_SHARE = 0.1
_FEWEST_ROWS = 20
_MOST_EXAMPLES = 5
_DETAILS: Mapping[str, tuple[str, str]] = {
    "placeholder": ("texts that usually stand for a missing value", "leave these values empty"),
    "whitespace": ("texts with spaces at the beginning or the end", ""),
    "encoding": (
        "texts that were decoded with a wrong encoding, or contain control characters",
        "read the original with its own encoding, and save it as UTF-8",
    ),
    "mixed_scripts": (
        "words with Latin and Greek or Cyrillic letters, which look the same and are not equal",
        "",
    ),
}
_PERSONAL = {
    "email": "e-mail addresses",
    "phone": "phone numbers",
    "card": "numbers that pass the check for card numbers",
    "iban": "bank account numbers (IBAN)",
    "ip_address": "IP addresses",
    "credential": "texts that look like keys or tokens",
}

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode


def check_rows(
    source: CheckedSource,
    against: CheckedSource | None = None,
    *,
    ids: Sequence[str] = (),
    texts: Sequence[str] = (),
    most_words: int = MOST_WORDS,
) -> DatasetCheck:
    """Read the rows and return the report.

    `ids` are the columns that identify a row, and `texts` those that are compared for repeated
    texts. Default: columns with the usual names of ids, and columns of texts.
    """
    return _DatasetReader(source, against, ids, texts, most_words).check()


class _DatasetReader:
    """Reads a dataset, and the one that it is compared with."""

    def __init__(
        self,
        source: CheckedSource,
        against: CheckedSource | None,
        ids: Sequence[str],
        texts: Sequence[str],
        most_words: int,
    ) -> None:
        self.source, self.against = source, against
        self._wanted_ids, self._wanted_texts = tuple(ids), tuple(texts)
        self.columns: dict[str, ColumnTracker] = {}
        self.rows = self.against_rows = 0
        self.row_hashes = HashColumn()
        self.ids: dict[str, tuple[HashColumn, HashColumn]] = {}
        self.text_columns: list[str] = []
        # Half of the words for each dataset, so that the second is compared too.
        self._most_words = most_words
        self.index = TextIndex(most_words=most_words // 2 if against else most_words)

    def check(self) -> DatasetCheck:
        rows = iter(self.source.located_rows())
        first = list(islice(rows, _FIRST_ROWS))
        self._choose_columns(first)
        for position, row in chain(first, rows):
            self._add(position, row)
        self._check_names()
        if self.against is not None:
            self.index.set_limit(self._most_words)
            for position, row in self.against.located_rows():
                self._compare(position, row)
        return DatasetCheck(
            dataset=self.source.name,
            against=self.against.name if self.against else None,
            rows=self.rows,
            against_rows=self.against_rows if self.against else None,
            columns=[column.profile() for column in self.columns.values()],
            id_columns=[name for name in self.ids if name in self.columns],
            text_columns=[name for name in self.text_columns if name in self.columns],
            problems=sorted(self._problems(), key=lambda problem: CHECKS.index(problem.check)),
            notes=list(self._notes()),
        )

    def _choose_columns(self, first: Sequence[LocatedRow]) -> None:
        for name in self.source.header:
            self._track(name)
        names = dict.fromkeys(chain(self.columns, *(row for _, row in first)))
        ids = self._wanted_ids or [name for name in names if str(name).casefold() in ID_NAMES]
        self.ids = {name: (HashColumn(), HashColumn()) for name in ids}
        if self._wanted_texts:
            self.text_columns = list(self._wanted_texts)
            return
        samples = {
            name: ColumnTracker(name, is_typed_text=self.source.is_typed_text) for name in names
        }
        for position, row in first:
            for name, value in row.items():
                samples[name].add(value, position)
        candidates = [
            name for name, sample in samples.items() if sample.lengths.count and name not in ids
        ]
        self.text_columns = [
            name for name in candidates if samples[name].mean_words >= _FEWEST_WORDS
        ] or candidates

    def _track(self, name: str) -> ColumnTracker:
        column = ColumnTracker(name, is_typed_text=self.source.is_typed_text)
        return self.columns.setdefault(name, column)

    def _add(self, position: int, row: Mapping[str, Any]) -> None:
        self.rows += 1
        for name, value in row.items():
            column = self.columns.get(name) or self._track(name)
            column.add(value, position)
        if len(row) < len(self.columns):
            for name, column in self.columns.items():
                if name not in row:
                    column.skip(position)
        content = {name: value for name, value in row.items() if name not in self.ids}
        self.row_hashes.add(_row_content(content), position)
        self.index.add(self._text(row), position)
        for name, (own, _) in self.ids.items():
            _add_id(own, row.get(name), position)

    def _compare(self, position: int, row: Mapping[str, Any]) -> None:
        self.against_rows += 1
        self.index.add(self._text(row), position, dataset=1)
        for name, (_, others) in self.ids.items():
            _add_id(others, row.get(name), position)

    def _text(self, row: Mapping[str, Any]) -> str:
        values = (row.get(name) for name in self.text_columns)
        return "\n".join(text for value in values for text in leaf_texts(value) if text)

    def _check_names(self) -> None:
        for option, names in (("id", self._wanted_ids), ("text", self._wanted_texts)):
            for name in names:
                if name not in self.columns:
                    raise UsageError(
                        f"{self.source.name}: no row has the {option} column `{name}`",
                        hint=suggest(name, list(self.columns)),
                    )

    def _notes(self) -> Iterator[str]:
        yield from self.source.notes
        if self.index.left_out:
            yield (
                f"{self.index.left_out:,} texts were compared only for equal words: the long texts "
                f"have more than {self._most_words:,} words"
            )
        if self.against is not None:
            count, first = self.against.bad_rows
            if count:
                detail = f"; the first: {first[0].detail}" if first else ""
                yield f"{self.against.name}: {count:,} rows could not be read{detail}"

    def _problems(self) -> Iterator[DatasetProblem]:
        yield from self._unread_problems()
        for column in self.columns.values():
            if self.rows:
                yield from column_problems(column, self.rows, self.source.name)
        if self.rows:
            yield from self._repeat_problems()
        if self.against is not None:
            yield from self._leak_problems(self.against)

    def _unread_problems(self) -> Iterator[DatasetProblem]:
        count, first = self.source.bad_rows
        total = self.rows + count
        undecodable = min(self.source.undecodable, count)
        for check, is_encoding, number, detail in (
            ("encoding", True, undecodable, "lines are not UTF-8 text and were not checked"),
            ("bad_rows", False, count - undecodable, "rows cannot be read and were not checked"),
        ):
            faults = [fault for fault in first if fault.is_encoding == is_encoding]
            if number:
                examples = [
                    ProblemExample(position=each.line, value=each.detail) for each in faults
                ]
                yield self._problem(
                    check,  # type: ignore[arg-type] # both are checks
                    Repeats(number, examples[:_MOST_EXAMPLES]),
                    total,
                    detail,
                    hint=faults[0].hint if faults else "",
                )
        if not self.rows:
            yield self._problem("no_rows", Repeats(0), 1, "the dataset has no rows")

    def _repeat_problems(self) -> Iterator[DatasetProblem]:
        rows = self.row_hashes.count_repeats()
        others = " except the id" if self.ids else ""
        yield from self._if_any(
            "duplicate_rows", rows, f"rows are equal to an earlier row in every column{others}"
        )
        for name, (own, _) in self.ids.items():
            yield from self._if_any(
                "duplicate_ids",
                own.count_repeats(),
                "rows have the id of an earlier row",
                column=name,
            )
        texts = ", ".join(f"`{name}`" for name in self.text_columns)
        same_texts = self.index.duplicate_texts(self.row_hashes)
        yield from self._if_any(
            "duplicate_texts",
            same_texts,
            f"rows have the same text in {texts} as an earlier row, but other values differ",
            hint="check whether their labels contradict each other",
        )
        yield from self._if_any(
            "near_duplicates",
            self.index.near_duplicates(),
            f"rows have nearly the same text in {texts} as an earlier row",
        )

    def _leak_problems(self, against: CheckedSource) -> Iterator[DatasetProblem]:
        texts = ", ".join(f"`{name}`" for name in self.text_columns)
        hint = "remove them from one of the datasets"
        where = f"in {texts} as a row of {against.name}"
        exact, near = self.index.exact_leaks(), self.index.near_leaks()
        yield from self._if_any("leaks", exact, f"rows have the same text {where}", hint=hint)
        yield from self._if_any(
            "near_leaks", near, f"rows have nearly the same text {where}", hint=hint
        )
        for name, (own, others) in self.ids.items():
            shared = own.count_shared(others)
            detail = f"ids are also in {against.name}"
            yield from self._if_any("shared_ids", shared, detail, column=name)

    def _if_any(
        self,
        check: Check,
        repeats: Repeats,
        detail: str,
        *,
        column: str | None = None,
        hint: str = "",
    ) -> Iterator[DatasetProblem]:
        if repeats.count:
            yield self._problem(check, repeats, self.rows, detail, column=column, hint=hint)

    def _problem(
        self,
        check: Check,
        repeats: Repeats,
        total: int,
        detail: str,
        *,
        column: str | None = None,
        hint: str = "",
    ) -> DatasetProblem:
        is_leak = check in {"leaks", "near_leaks", "shared_ids"}
        other = self.against.name if is_leak and self.against else None
        return DatasetProblem(
            check=check,
            column=column,
            count=repeats.count,
            share=repeats.count / total if total else 0.0,
            detail=detail,
            hint=hint,
            examples=locate_examples(repeats.examples, self.source.name, other),
        )


def _add_id(column: HashColumn, value: Any, position: int) -> None:
    if value is not None and value != "":
        column.add(value if isinstance(value, str) else str(value), position)


def _row_content(row: Mapping[str, Any]) -> object:
    values = tuple(row.items())
    try:
        hash(values)
    except TypeError:
        return _encode(row)
    return values


def column_problems(column: ColumnTracker, rows: int, name: str) -> Iterator[DatasetProblem]:
    """Yield what may be wrong with a column."""

    def problem(check: Check, found: Findings, detail: str, hint: str = "") -> DatasetProblem:
        total = rows if check == "missing" else column.present
        return DatasetProblem(
            check=check,
            column=column.name,
            count=found.count,
            share=found.count / total if total else 0.0,
            detail=detail,
            hint=hint,
            examples=locate_examples(found.examples, name),
        )

    if missing := rows - column.present:
        column.missing.count = missing
        what = "no row has a value" if missing == rows else "rows have no value"
        yield problem("missing", column.missing, what)
    for key, found in column.findings.items():
        if key.startswith("personal_data:"):
            kind = key.partition(":")[2]
            check: Check = "credentials" if kind == "credential" else "personal_data"
            yield problem(check, found, _PERSONAL[kind])
        elif key in _DETAILS:
            yield problem(key, found, *_DETAILS[key])  # type: ignore[arg-type] # they are checks
    yield from _type_problems(column, problem)
    yield from _value_problems(column, problem)


def _type_problems(column: ColumnTracker, problem: Any) -> Iterator[DatasetProblem]:
    groups = column.groups
    if len(groups) < 2:  # noqa: PLR2004 - a mixture
        return
    main = max(groups, key=groups.__getitem__)
    found = Findings()
    found.count = sum(groups.values()) - groups[main]
    found.examples = sorted(
        (
            example
            for kind, examples in column.examples_of.items()
            if group_of(kind) != main and group_of(kind) in groups
            for example in examples
        ),
        key=lambda example: abs(example.position),
    )[:_MOST_EXAMPLES]
    counts = ", ".join(f"{group} {count:,}" for group, count in sorted(groups.items()))
    hint = ""
    if {"date", "other_date"} & groups.keys():
        hint = "write all dates as 2026-03-01"
    elif main == "number":
        hint = (
            "declare the type with `columns` on the source, and handle the rest with `on_bad_rows`"
        )
    yield problem("mixed_types", found, f"values are not of the main type, {main}: {counts}", hint)


def _value_problems(column: ColumnTracker, problem: Any) -> Iterator[DatasetProblem]:
    for check, spread, what in (
        ("outliers", column.numbers, "numbers are far outside the usual range"),
        ("lengths", column.lengths, "texts are much longer or shorter than the others"),
    ):
        extremes = spread.outliers()
        if extremes:
            found = Findings()
            for extreme in extremes:
                shown = f"{extreme.value:g}" + (" characters" if check == "lengths" else "")
                found.add(extreme.position, shown)
            yield problem(check, found, f"{what}; only the most extreme are counted")
    labels = column.labels
    if labels and column.present >= _FEWEST_ROWS and labels[0].share >= _LARGEST_SHARE:
        found = Findings()
        found.count = labels[0].count
        value = shorten_value(labels[0].value)
        detail = f"values are `{value}`" if len(labels) > 1 else f"every value is `{value}`"
        yield problem("label_balance", found, detail)
    yield from _language_problems(column, problem)


def _language_problems(column: ColumnTracker, problem: Any) -> Iterator[DatasetProblem]:
    total = column.scripts.total()
    if total < _FEWEST_ROWS or len(column.scripts) < 2:  # noqa: PLR2004 - a mixture
        return
    main, count = column.scripts.most_common(1)[0]
    if (total - count) / total < _SMALL_SHARE:
        found = Findings()
        found.count = total - count
        counts = ", ".join(f"{name} {n:,}" for name, n in column.scripts.most_common())
        yield problem("languages", found, f"texts are not in the main script, {main}: {counts}")
