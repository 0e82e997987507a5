"""Check a dataset: `ew.check_dataset("people.csv", against="test.csv")`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalwright.dataset_check.check import check_rows
from evalwright.dataset_check.report import CHECKS, DatasetCheck
from evalwright.dataset_check.sources import (
    CheckedFile,
    CheckedRowsSource,
    CheckedSource,
    RowsInMemory,
)
from evalwright.datasets.local import Local
from evalwright.datasets.reading import find_format
from evalwright.errors import NoInput, UsageError
from evalwright.functions.task import Data, iterate_rows
from evalwright.generation.preview import find_generated_files
from evalwright.nearest import suggest
from evalwright.plan.options import RunOptions
from evalwright.projects.lookup import find_valid_entity
from evalwright.projects.try_dataset import open_rows

_ANY = "any"


def check_dataset(
    data: Data,
    *,
    against: Data | None = None,
    ids: Sequence[str] = (),
    texts: Sequence[str] = (),
    project: str = ".",
    env: Sequence[str] = (),
) -> DatasetCheck:
    """Return what a dataset contains and what may be wrong with it.

    `data` is the path of a .csv, .jsonl, .json or .parquet file, the key of a dataset in `project`,
    an iterable of dicts, or a data frame (pandas, polars, Arrow). `against` is another dataset,
    such as the training data: rows of `data` whose texts are also there are leaks. `ids` are the
    columns that identify a row. `texts` are the columns that are compared for repeated texts;
    default: the columns with several words per value.

    >>> check = ew.check_dataset([{"id": 1, "q": "Who?"}, {"id": 1, "q": "What?"}])
    >>> [(problem.check, problem.count) for problem in check.problems]
    [('duplicate_ids', 1)]
    """
    for option, names in (("ids", ids), ("texts", texts)):
        if isinstance(names, str):
            raise UsageError(f"`{option}` must be a list of columns", hint=f'{option}=["{names}"]')
    source = _open_source(data, project, env)
    other = None if against is None else _open_source(against, project, env)
    return check_rows(source, other, ids=ids, texts=texts)


def parse_checks(names: Sequence[str]) -> list[str]:
    """Split lists such as `leaks,missing`; `UsageError` for an unknown check."""
    checks = [part.strip() for name in names for part in name.split(",") if part.strip()]
    for check in checks:
        if check not in (*CHECKS, _ANY):
            known = f"the checks are {', '.join(CHECKS)}, and `any` for all"
            raise UsageError(
                f"unknown check `{check}`; {known}", hint=suggest(check, [*CHECKS, _ANY])
            )
    return checks


def _open_source(data: Data, project: str, env: Sequence[str]) -> CheckedSource:
    if not isinstance(data, str | Path):
        return RowsInMemory(iterate_rows(data, "rows"))
    name = str(data)
    if not name:
        raise NoInput("FILE or KEY is missing")
    if isinstance(data, Path) or _is_file(name):
        try:
            return CheckedFile(name)
        except ValueError as error:
            raise UsageError(str(error)) from error
    opened, entity = find_valid_entity("dataset", name, project, env)
    document: Any = entity.document
    generated: Mapping[str, Path] = {}
    if document.generator_specification is not None:
        generated = find_generated_files(opened, entity.key, RunOptions(env=tuple(env)))
    origin = document.origin.model_copy(update={"on_bad_rows": "exclude"})
    is_csv = isinstance(origin, Local) and find_format(origin.file_path.written) == ".csv"
    return CheckedRowsSource(open_rows(origin, generated), entity.key, is_typed_text=is_csv)


def _is_file(name: str) -> bool:
    """Whether a name is that of a file, not the key or the document of a dataset."""
    if name.endswith((".yaml", ".yml")):
        return False
    return "." in Path(name).name or "/" in name or Path(name).is_file()
