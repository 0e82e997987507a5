"""The verbs that look at files and run nothing: validate, lint, init, schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.errors import UsageError
from evalwright.spec.checking import Checking

if TYPE_CHECKING:
    from evalwright.spec.records.check import Validated
    from evalwright.spec.records.lint import Linting


def validate(path: str | Path) -> Validated:
    """Every record and every error of a task file, as two lists."""
    from evalwright.spec.records.check import validate_file

    return validate_file(path)


def checks(paths: Sequence[str]) -> list[Checking]:
    """The same for many files, keeping nothing: iterate each for its issues."""
    return [Checking(path) for path in paths]


def lint(path: str | Path) -> Linting:
    """What is legal and still suspicious in a task file: iterate for the findings."""
    from evalwright.spec.records.lint import Linting

    return Linting(str(path))


def init(directory: str | Path) -> Path:
    """Write the ten example tasks into a directory; refuse to overwrite."""
    from evalwright.spec.records.fixtures import TASKS

    target = Path(directory) / TASKS.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(TASKS.read_bytes())
    except FileExistsError as error:
        raise UsageError(f"{target}: already there, and left as it is") from error
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
    return target


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of `records` or `report`."""
    if kind == "records":
        from evalwright.spec.records.schema import record_schema

        return record_schema()
    if kind == "report":
        from evalwright.report.schema import report_schema

        return report_schema()
    raise UsageError(f"there is no schema `{kind}`; there are `records` and `report`")
