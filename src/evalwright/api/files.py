"""The verbs that look at files and run nothing: validate, lint, init, schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalwright.errors import NoInput, UsageError
from evalwright.spec.checking import Checking, is_project
from evalwright.types import Issue

if TYPE_CHECKING:
    from evalwright.spec.documents.lint import DocumentLint
    from evalwright.spec.records.check import Validated
    from evalwright.spec.records.lint.linter import Linting


STARTER = Path(__file__).parents[1] / "starter"
"""The project that `init` writes: one task of each kind, and an offline model."""


def validate(path: str | Path | Sequence[str | Path], *, env: Sequence[str] = ()) -> Validated:
    """Check files and folders; return two lists: the valid records and the errors.

    A path is a file of task records, a document, a run file or the folder of a project. Documents
    have no records: they are valid if there are no errors. Warnings are not included. `env` lists
    files with environment variables for documents.

    >>> records, errors = ew.validate("tasks.jsonl")
    >>> len(records), len(errors)
    (10, 0)
    """
    from evalwright.spec.records.check import Validated, validate_file

    paths = [path] if isinstance(path, str | Path) else list(path)
    if not paths:
        raise NoInput("no file was given")
    result = Validated([], [])
    for each in paths:
        if is_project(str(each)):
            result.errors.extend(_project_errors(str(each), env))
        else:
            records, errors = validate_file(each)
            result.records.extend(records)
            result.errors.extend(errors)
    return result


def _project_errors(path: str, env: Sequence[str]) -> Iterator[Issue]:
    for checking in checks([path], env=env):
        yield from checking
        unreadable = checking.unreadable
        if unreadable and Path(checking.file) == Path(path):
            raise unreadable
        if unreadable:
            detail = unreadable.message
            yield Issue(file=checking.file, line=1, rule="unreadable", detail=detail)


def checks(paths: Sequence[str], *, env: Sequence[str] = ()) -> list[Checking]:
    """The same for many files and projects: iterate each for its issues.

    Of records nothing is kept. A project is one entry a file.
    """
    checkings: list[Checking] = []
    for path in paths:
        if is_project(path):
            from evalwright.api.documents import validate_project

            checkings += validate_project(path, env)
        else:
            checkings.append(Checking(path))
    return checkings


def lint(path: str | Path) -> Linting:
    """Find valid but suspicious records in a task file.

    Iterate over the result to get the findings. If the file cannot be read to its end, the
    iteration raises `Unreadable`.

    >>> [finding.rule for finding in ew.lint("tasks.jsonl")]
    []
    """
    from evalwright.spec.records.lint.linter import Linting

    if is_project(str(path)):
        raise UsageError(
            f"{path}: a project has several files",
            hint=f"`evalwright lint {path}` lints all of them",
        )
    return Linting(str(path), raises=True)


def lints(paths: Sequence[str], *, env: Sequence[str] = ()) -> list[Linting | DocumentLint]:
    """Lint several files and projects. A project has one entry per file."""
    from evalwright.spec.records.lint.linter import Linting

    lintings: list[Linting | DocumentLint] = []
    for path in paths:
        if is_project(path):
            from evalwright.api.documents import lint_project_files

            lintings += lint_project_files(path, env)
        else:
            lintings.append(Linting(path))
    return lintings


_NOT_FOR_GIT = (
    b"# Runs are kept here, and editors find their schemas here.\n*\n!schemas/\n!schemas/*\n"
)


def init(directory: str | Path) -> list[Path]:
    """Write a project and ten task records into a directory; refuse to overwrite.

    What was written, the run file first. A README of one's own is left as it is.
    """
    from evalwright.spec.records.fixtures import TASKS

    folder = Path(directory)
    files = {folder / name: content for name, content in starter_files()}
    files[folder / TASKS.name] = TASKS.read_bytes()
    for path in files:
        if path.exists() and path.name != "README.md":
            raise UsageError(f"{path}: already exists and was not changed")
    for kind in ("task", "dataset", "model", "evaluation", "run"):
        text = json.dumps(schema(kind), indent=2)
        files[folder / ".evalwright" / "schemas" / f"{kind}.json"] = text.encode()
    files[folder / ".evalwright" / ".gitignore"] = _NOT_FOR_GIT
    written = [path for path, content in files.items() if _create_file(path, content)]
    return sorted(written, key=lambda path: (path.name != "run.yaml", len(path.parts), path))


def starter_files() -> Iterator[tuple[str, bytes]]:
    """Yield the path of each starter file, relative to the project's folder, and its content."""
    for path in sorted(STARTER.rglob("*")):
        # Installers compile Python files.
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(STARTER).as_posix(), path.read_bytes()


def _create_file(path: Path, content: bytes) -> bool:
    """Whether the file was not there, and is now."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError as error:
        if path.is_file():
            return False
        raise UsageError(f"{path.parent}: {error.strerror}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return True


SCHEMAS = (
    *("records", "report", "task", "dataset", "generator", "model", "evaluation", "plan"),
    *("policy", "run", "perplexity", "check", "comparison"),
)


def schema(kind: str) -> dict[str, object]:
    """Return the JSON Schema for a document type, such as `records`, `task` or `report`.

    >>> ew.schema("records")["required"]
    ['task_id', 'category', 'prompt', 'targets', 'metric_name', 'post_process']
    """
    if kind == "records":
        from evalwright.spec.records.schema import record_schema

        return record_schema()
    if kind == "report":
        from evalwright.report.schemas import report_schema

        return report_schema()
    if kind == "perplexity":
        from evalwright.perplexity.report import perplexity_schema

        return perplexity_schema()
    if kind == "check":
        from evalwright.dataset_check.report import dataset_check_schema

        return dataset_check_schema()
    if kind == "comparison":
        from evalwright.comparison.report import ComparisonReport
        from evalwright.report.schemas import struct_schema

        return struct_schema(ComparisonReport, "evalwright comparison")
    if kind in SCHEMAS:
        from evalwright.spec.documents.models.schema import json_schema

        return json_schema(cast("Any", kind))
    known = ", ".join(f"`{name}`" for name in SCHEMAS)
    raise UsageError(f"unknown schema `{kind}`; the schemas are {known}")
