"""A task that is written in Python."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import isnan
from numbers import Real
from pathlib import Path
from string import Formatter
from typing import Any, Protocol

from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.reading import FileRows, LazyRows, Reader, find_format
from evalwright.datasets.rows import Rows
from evalwright.errors import NoInput, UsageError
from evalwright.functions.decorators import NamedFunction
from evalwright.nearest import nearest
from evalwright.scorers.base import ScorerSpec
from evalwright.solvers.base import SolverSpec

AnyScorerArgument = str | Mapping[str, object] | ScorerSpec | NamedFunction
AnyMetricArgument = str | Mapping[str, object] | NamedFunction
_TARGETS = ("target", "targets", "answer", "label", "expected")
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_-]+")
_FRAME_METHODS = ("to_dicts", "to_pylist", "to_dict")
_MISSING_TYPES = ("NaTType", "NAType")
"""The types of missing values in pandas."""
_OPEN, _CLOSE = "{{", "}}"


class HasDicts(Protocol):
    """A polars data frame."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return its rows."""


class HasPylist(Protocol):
    """An Arrow table."""

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return its rows."""


class HasRecords(Protocol):
    """A pandas data frame."""

    columns: Any

    def to_dict(self, orient: Any) -> Any:
        """Return its rows."""


Data = str | Path | Iterable[Mapping[str, Any]] | HasDicts | HasPylist | HasRecords
"""Rows, or the path of a file of rows."""


class Task:
    """Rows, a prompt, and the scorers for the answers.

    `data` is a list or another iterable of dicts, a data frame (pandas, polars, Arrow), a Hugging
    Face dataset, or the path of a .csv, .jsonl, .json or .parquet file. A missing value in a data
    frame becomes an absent key. In `prompt`, `{country}` is the value of a column; `messages` is a
    list of `{"role": …, "content": …}` with the same placeholders. Without a prompt, messages or a
    solver, the rows themselves are scored. A scorer is a function, the type of a built-in scorer,
    or its fields as a dict. `target` names the column with the right answer, for scorers that
    compare with one. Default: a column named `target` or `answer`, or the only column that the
    prompt does not use.

    `solver` replaces the prompt: it is a function decorated with `@ew.solver`, or the fields of a
    built-in solver. `postprocessor` is a function that changes each answer before it is scored.
    `metrics` are functions decorated with `@ew.metric`, or types or fields of built-in metrics.
    They are computed for every scorer, in addition to the scorer's own metrics. If `metrics` is a
    dict, each list in it is computed only for the scorer that its key names.

    >>> rows = [{"country": "France", "city": "Paris"}]
    >>> task = ew.Task("capitals", rows, prompt="Capital of {country}?", scorers=["string_equals"])
    >>> task.target
    'city'
    """

    def __init__(  # noqa: PLR0913 - one keyword each
        self,
        name: str,
        data: Data,
        *,
        scorers: Sequence[AnyScorerArgument],
        prompt: str = "",
        messages: Sequence[Mapping[str, str]] = (),
        solver: Mapping[str, object] | SolverSpec | NamedFunction | None = None,
        postprocessor: NamedFunction | None = None,
        metrics: Sequence[AnyMetricArgument] | Mapping[str, Sequence[AnyMetricArgument]] = (),
        target: str = "",
        trials: int | None = None,
        description: str = "",
    ) -> None:
        self.name = name
        self.key = _make_key(name)
        if not scorers:
            raise NoInput(f"task `{name}` has no scorers", hint='such as `["string_equals"]`')
        ways = {"prompt": prompt, "messages": messages, "solver": solver}
        if len(used := [way for way, value in ways.items() if value]) > 1:
            raise UsageError(
                f"task `{name}` has both a `{used[0]}` and `{used[1]}`: use one of them"
            )
        self.rows = read_data(data, f"the data of task `{name}`")
        self.scorers: list[Any] = [scorers] if isinstance(scorers, str) else list(scorers)
        self.description = description or name
        if trials is not None and trials < 1:
            raise UsageError(f"task `{name}`: `trials` must be at least 1, got {trials!r}")
        self.trials = trials
        self.solver: Any = solver
        self.postprocessor: Any = postprocessor
        self.metrics: Any = [metrics] if isinstance(metrics, str) else metrics
        written = [{"role": "user", "content": prompt}] if prompt else messages
        self.messages = _read_messages(written, name)
        self._columns = frozenset(
            column for each in self.messages for column in self._placeholders(each["content"])
        )
        self._target = target

    @property
    def target(self) -> str:
        """The column with the right answer; `UsageError` if it is unclear which column that is."""
        columns = self.rows.columns
        if self._target:
            if self._target not in columns:
                raise UsageError(
                    f"task `{self.name}`: no row has the column `{self._target}`",
                    hint=_suggest_column(self._target, columns),
                )
            return self._target
        named = [column for column in _TARGETS if column in columns]
        unused = [column for column in columns if column not in self._columns]
        if len(named) == 1 or len(unused) == 1:
            return (named if len(named) == 1 else unused)[0]
        raise UsageError(
            f"task `{self.name}`: which column has the right answer? "
            f"{', '.join(f'`{column}`' for column in named or unused or columns)}",
            hint='name it: `ew.Task(…, target="…")`',
        )

    def check_columns(self) -> None:
        """Raise `UsageError` if a placeholder is not a column."""
        columns = self.rows.columns
        for column in sorted(self._columns - set(columns)):
            raise UsageError(
                f"task `{self.name}`: the prompt uses `{{{column}}}`, but no row has this column",
                hint=_suggest_column(column, columns),
            )

    def build_messages(self) -> list[dict[str, str]]:
        """Return the messages as templates in the syntax of task documents."""
        return [{**each, "content": self._to_template(each["content"])} for each in self.messages]

    def _placeholders(self, text: str) -> Iterable[str]:
        return [field for _, field in self._parts(text) if field is not None]

    def _parts(self, text: str) -> list[tuple[str, str | None]]:
        try:
            parsed = list(Formatter().parse(text))
        except ValueError as error:
            raise UsageError(
                f"task `{self.name}`: the prompt is not valid: {error}",
                hint=f"write `{_OPEN}` and `{_CLOSE}` for braces that are text",
            ) from None
        for _, field, format_spec, conversion in parsed:
            if field is not None and (
                format_spec
                or conversion
                or not (field.isidentifier() or field in self.rows.columns)
            ):
                raise UsageError(
                    f"task `{self.name}`: `{{{field}}}` in the prompt is not the name of a column",
                    hint=f"write `{_OPEN}` and `{_CLOSE}` for braces that are text",
                )
        return [(text, field) for text, field, *_ in parsed]

    def _to_template(self, text: str) -> str:
        pieces = []
        for literal, field in self._parts(text):
            pieces.append("{% raw %}" + literal + "{% endraw %}" if "{" in literal else literal)
            if field is not None:
                quoted = json.dumps(field, ensure_ascii=False)
                place = f".{field}" if field.isidentifier() else f"[{quoted}]"
                pieces.append(f"{_OPEN} sample{place} {_CLOSE}")
        return "".join(pieces)


def read_data(data: Data, name: str) -> Rows:
    """Return the rows of a file, a data frame, a dataset or an iterable of dicts."""
    if isinstance(data, str | Path):
        path = Path(data)
        try:
            ending = find_format(str(data))
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
        return Rows(FileRows(lambda: path, ending), name=str(data))
    iterated = iterate_rows(data, name)
    if any(callable(getattr(data, method, None)) for method in _FRAME_METHODS):
        iterated = map(_drop_missing, iterated)
    rows = [_read_row(row, number, name) for number, row in enumerate(iterated)]
    if not rows:
        raise NoInput(f"{name}: no rows")
    reader: Reader = LazyRows(lambda: iter([{**row} for row in rows]))
    return Rows(reader, name=name)


def _drop_missing(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without missing values, which a template would render as `nan` or `None`."""
    return {name: value for name, value in row.items() if not _is_missing(value)}


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, Real) and isnan(value)
    return value is None or is_nan or type(value).__name__ in _MISSING_TYPES


def _read_messages(messages: Sequence[Any], name: str) -> list[dict[str, str]]:
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
            raise UsageError(
                f"task `{name}`: `{message!r}` is not a message with text",
                hint='write `{"role": "user", "content": "…"}`, or pass the text as `prompt`',
            )
    return [dict(message) for message in messages]


def _make_key(name: str) -> str:
    """Return the name as a key, with a digest if it has characters that keys cannot have."""
    name = unicodedata.normalize("NFC", name)
    if not any(map(str.isalnum, name)):
        raise UsageError(f"a task needs a name with letters or digits, got {name!r}")
    key = _NOT_IN_KEYS.sub("-", name).strip("-")
    if name.isascii():
        return key
    return f"{key or 'task'}-{blake2b(name.encode(), digest_size=4).hexdigest()}"


def is_function(value: object) -> bool:
    """Whether an author gave a function where a component may be named or described."""
    return callable(value) and not isinstance(value, str | Mapping | type | ScorerSpec | SolverSpec)


def iterate_rows(data: Any, name: str) -> Iterable[Any]:
    """Return the rows of anything that has some."""
    if isinstance(data, Mapping):
        raise UsageError(f"{name} is one dict", hint="pass a list of dicts, one per sample")
    if callable(getattr(data, "to_dicts", None)):  # polars
        return list(data.to_dicts())
    if callable(getattr(data, "to_pylist", None)):  # Arrow
        return list(data.to_pylist())
    if hasattr(data, "columns") and callable(getattr(data, "to_dict", None)):  # pandas
        return list(data.to_dict("records"))
    if not isinstance(data, Iterable):
        raise UsageError(
            f"{name}: expected rows, got `{type(data).__name__}`",
            hint="pass a list of dicts, a data frame, a dataset or the path of a file",
        )
    return data


def _read_row(row: Any, number: int, name: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"{name}: row {number} is `{type(row).__name__}`, not a dict",
            hint='write a dict per row, such as `{"question": "…", "answer": "…"}`',
        )
    try:
        return to_json_row(dict(row))
    except ValueError as error:
        raise UsageError(f"{name}: row {number}: {error}") from None


def _suggest_column(column: str, columns: Sequence[str]) -> str:
    known = ", ".join(f"`{each}`" for each in columns)
    closest = nearest(column, columns)
    return f"did you mean `{closest}`?" if closest else f"the columns are {known}"
