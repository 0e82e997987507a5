"""Read human labels from a file or from a column of the dataset.

    sample_id,label          one row per label; the column names are options
    fr,correct

A file may also have columns `model`, `trial` and `task`, which restrict a label to that answer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from evalwright.datasets.reading import FileRows, ReadOptions, find_format
from evalwright.errors import BadDataset, UnknownName, UsageError
from evalwright.nearest import suggest
from evalwright.plan.model_names import canonical_names
from evalwright.types import Outcome

AnswerKey = tuple[str, str, int]
"""Sample, model and trial. The model is empty if labels do not name one."""
Label = str | float | bool
_MAX_COLUMNS_NAMED = 12


class HumanLabels(Struct):
    """Labels by answer. Other columns are not kept."""

    source: str
    by_answer: dict[AnswerKey, Label] = field(default_factory=dict)
    names_models: bool = False
    """Whether labels name the model whose answer they refer to."""
    names_trials: bool = False
    blank: int = 0
    """Number of rows without a label."""
    elsewhere: int = 0
    """Number of rows for other tasks."""

    def key_of(self, outcome: Outcome) -> AnswerKey | None:
        """Return the key of an outcome's label; None for a trial that the labels do not cover."""
        if outcome.trial and not self.names_trials:
            return None
        model = outcome.model if self.names_models else ""
        return outcome.sample_id.strip(), model, outcome.trial

    def count(self) -> Counter[Label]:
        """Count each distinct label."""
        return Counter(self.by_answer.values())

    def add(self, key: AnswerKey, label: Any, *, place: str) -> None:
        """Add the label of an answer; count blank labels."""
        if label is None or (isinstance(label, str) and not label.strip()):
            self.blank += 1
            return
        if not isinstance(label, str | int | float):
            raise BadDataset(f"{place}: a label must be text, a number or a boolean, got `{label}`")
        self.by_answer[key] = label.strip() if isinstance(label, str) else label


def read_label_file(path: str, *, id_column: str, label_column: str, task: str) -> HumanLabels:
    """Read the labels of one task; `BadDataset` for any error in the file."""
    try:
        file_format = find_format(path)
    except ValueError as error:
        raise UsageError(str(error)) from error
    text_columns = (id_column, "model", "task")
    rows = FileRows(lambda: Path(path), file_format, options=ReadOptions(texts=text_columns))
    labels = HumanLabels(source=path)
    row_numbers: dict[AnswerKey, int] = {}
    tasks: dict[str, None] = {}
    checked_rows = _check_columns(rows, path, id_column=id_column, label_column=label_column)
    for number, row in enumerate(checked_rows, start=1):
        row_task = str(row.get("task") or task).strip()
        tasks[row_task] = None
        if row_task != task:
            labels.elsewhere += 1
            continue
        key = _read_key(row, id_column, place=f"{path}: row {number}")
        if key in row_numbers:
            raise BadDataset(
                f"{path}: rows {row_numbers[key]} and {number} both label the sample `{key[0]}`",
                hint="a sample can have only one label; merge the labels of several people first"
                + (
                    ""
                    if "model" in row
                    else "; to label answers from several models, add a column `model`"
                ),
            )
        row_numbers[key] = number
        labels.names_models = labels.names_models or bool(key[1])
        labels.names_trials = labels.names_trials or "trial" in row
        labels.add(key, row.get(label_column), place=f"{path}: row {number}")
    if not labels.by_answer and labels.elsewhere:
        raise BadDataset(
            f"{path}: no labels for `{task}`: its column `task` contains {quote_first(tasks)}",
            hint="select the task with `--task`",
        )
    if not labels.by_answer:
        raise BadDataset(f"{path}: no labels")
    return labels


def read_label_column(outcomes: Iterable[Outcome], column: str) -> HumanLabels:
    """Read the labels in a column of the samples."""
    labels = HumanLabels(source=f"column `{column}`", names_models=True)
    columns: dict[str, None] = {}
    for outcome in outcomes:
        if outcome.trial:
            continue
        if len(columns) < _MAX_COLUMNS_NAMED:
            columns |= dict.fromkeys(outcome.sample)
        key = (outcome.sample_id.strip(), outcome.model, 0)
        labels.add(key, outcome.sample.get(column), place=f"sample `{outcome.sample_id}`")
    if not labels.by_answer:
        raise UnknownName(
            f"no sample has a label in the column `{column}`; the columns are "
            f"{quote_first(columns, _MAX_COLUMNS_NAMED) or 'none'}",
            hint=suggest(column, list(columns)),
        )
    return labels


def format_label(label: Label) -> str:
    """Format a label as a person would write it."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def quote_first(names: Iterable[str], most: int = 3) -> str:
    """Quote the first few names, for an error message."""
    return ", ".join(f"`{name}`" for name in islice(names, most))


def _check_columns(
    rows: FileRows, path: str, *, id_column: str, label_column: str
) -> Iterator[dict[str, Any]]:
    names: dict[str, None] = dict.fromkeys(rows.header or ())
    for row in rows.rows():
        if rows.header is None:  # columns may differ between rows
            names |= dict.fromkeys(row)
        if id_column not in names:
            break
        yield row
    if not names:
        raise BadDataset(f"{path}: no rows")
    for name, option in ((id_column, "--id-column"), (label_column, "--label-column")):
        if name not in names:
            columns = quote_first(names, _MAX_COLUMNS_NAMED)
            raise UnknownName(
                f"{path}: no column `{name}`; the columns are {columns}",
                hint=f"set the column with `{option}`",
            )


def _read_key(row: Mapping[str, Any], id_column: str, *, place: str) -> AnswerKey:
    value = row.get(id_column)
    sample_id = "" if isinstance(value, list | dict | None) else format_label(value).strip()
    if not sample_id:
        raise BadDataset(f"{place}: `{id_column}` must be the id of a sample, got `{value}`")
    trial = row.get("trial", 0)
    if isinstance(trial, bool) or not isinstance(trial, int) or trial < 0:
        raise BadDataset(f"{place}: `trial` must be an integer of at least 0, got `{trial}`")
    model = str(row.get("model") or "").strip()
    return sample_id, canonical_names(model)[0] if model else "", trial
