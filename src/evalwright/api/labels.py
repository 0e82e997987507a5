"""Labels that people gave: from a file of their own, or from a column of the dataset.

    sample_id,label          a row a label; the names of the columns can be told
    fr,correct

A file may also say `model`, `trial` and `task`: then a label counts for that answer alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from evalwright.api.assembly import canonical
from evalwright.errors import BadDataset, UnknownName, UsageError
from evalwright.nearest import nearest
from evalwright.types import Outcome

if TYPE_CHECKING:
    from evalwright.datasets.reading import FileRows

Key = tuple[str, str, int]
"""Sample, model, trial. The model is empty where labels name none."""
Label = str | float | bool
_MOST_NAMED = 12


class Labels(Struct):
    """What people said, by sample; only ids and labels are kept."""

    source: str
    by: dict[Key, Label] = field(default_factory=dict)
    of_models: bool = False
    """Whether a label says which model's answer it is about."""
    of_trials: bool = False
    blank: int = 0
    elsewhere: int = 0
    """Rows that are of other tasks."""

    def key(self, outcome: Outcome) -> Key | None:
        """Where the label of an outcome would be; None for another trial than labels speak of."""
        if outcome.trial and not self.of_trials:
            return None
        model = outcome.model if self.of_models else ""
        return outcome.sample_id.strip(), model, outcome.trial

    def distinct(self) -> Counter[Label]:
        """Each label that occurs, and how often."""
        return Counter(self.by.values())


class Columns(Struct, frozen=True, kw_only=True):
    """What the columns of a file of labels are called."""

    id: str = "sample_id"
    label: str = "label"


def read_labels(path: str, columns: Columns, *, task: str) -> Labels:
    """The labels of a file for one task; every mistake in it is a `BadDataset`."""
    from evalwright.datasets.csv_file import CsvFile
    from evalwright.datasets.reading import FileRows, format_of

    try:
        ending = format_of(path)
    except ValueError as error:
        raise UsageError(str(error)) from error
    names = (columns.id, "model", "task")
    make = partial(CsvFile, texts=names) if ending == ".csv" else None
    rows = FileRows(lambda: Path(path), ending, make=make)
    labels = Labels(source=path)
    places: dict[Key, int] = {}
    tasks: dict[str, None] = {}
    for place, row in enumerate(_with_columns(rows, path, columns), start=1):
        of = str(row.get("task") or task).strip()
        tasks[of] = None
        if of != task:
            labels.elsewhere += 1
            continue
        key = _key(row, columns, where=f"{path}: row {place}")
        if key in places:
            raise BadDataset(
                f"{path}: rows {places[key]} and {place} both label the sample `{key[0]}`",
                hint="a sample has one label; of several people, decide first"
                + ("" if "model" in row else "; answers of several models are told by `model`"),
            )
        places[key] = place
        labels.of_models = labels.of_models or bool(key[1])
        labels.of_trials = labels.of_trials or "trial" in row
        _add(labels, key, row.get(columns.label), where=f"{path}: row {place}")
    if not labels.by and labels.elsewhere:
        raise BadDataset(
            f"{path}: has no label for `{task}`: its column `task` has {examples(list(tasks))}",
            hint="`--task` says which task's judge is compared",
        )
    if not labels.by:
        raise BadDataset(f"{path}: has no label")
    return labels


def column_labels(outcomes: Iterable[Outcome], column: str) -> Labels:
    """The labels that the samples themselves have in a column."""
    labels = Labels(source=f"column `{column}`", of_models=True)
    seen: dict[str, None] = {}
    for outcome in outcomes:
        if outcome.trial:
            continue
        for name in outcome.sample if len(seen) < _MOST_NAMED else ():
            seen[name] = None
        key = (outcome.sample_id.strip(), outcome.model, 0)
        _add(labels, key, outcome.sample.get(column), where=f"sample `{outcome.sample_id}`")
    if not labels.by:
        close = nearest(column, list(seen))
        there = ", ".join(f"`{name}`" for name in islice(seen, _MOST_NAMED)) or "none"
        raise UnknownName(
            f"no sample has a label in the column `{column}`; the columns are {there}",
            hint=f"did you mean `{close}`?" if close else "",
        )
    return labels


def text_of(label: Label) -> str:
    """As a person would write it."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _with_columns(rows: "FileRows", path: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """The rows; `UnknownName` where the file has not these columns."""
    names: dict[str, None] = dict.fromkeys(rows.header or ())
    for row in rows.rows():
        if rows.header is None:  # any row may have other columns
            names |= dict.fromkeys(row)
        if columns.id not in names:
            break
        yield row
    if not names:
        raise BadDataset(f"{path}: has no rows")
    for name, option in ((columns.id, "--id-column"), (columns.label, "--label-column")):
        if name not in names:
            raise UnknownName(
                f"{path}: has no column `{name}`; it has {_named(names)}",
                hint=f"`{option}` says which column it is",
            )


def _named(row: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in islice(row, _MOST_NAMED))


def _key(row: Mapping[str, Any], columns: Columns, *, where: str) -> Key:
    given = row.get(columns.id)
    if given is None or isinstance(given, list | dict) or not text_of(given).strip():
        raise BadDataset(f"{where}: `{columns.id}` must be the id of a sample, got `{given}`")
    trial = row.get("trial", 0)
    if isinstance(trial, bool) or not isinstance(trial, int) or trial < 0:
        raise BadDataset(f"{where}: `trial` must be a whole number from 0, got `{trial}`")
    model = str(row.get("model") or "").strip()
    return text_of(given).strip(), canonical(model)[0] if model else "", trial


def _add(labels: Labels, key: Key, label: Any, *, where: str) -> None:
    if label is None or (isinstance(label, str) and not label.strip()):
        labels.blank += 1
        return
    if not isinstance(label, str | int | float):
        raise BadDataset(f"{where}: a label is a text, a number or a truth value, got `{label}`")
    labels.by[key] = label.strip() if isinstance(label, str) else label


def examples(things: Sequence[str]) -> str:
    """The first three, for an error."""
    return ", ".join(f"`{one}`" for one in things[:3])
