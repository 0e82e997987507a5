"""The verbs that look at files and run nothing: validate, lint, init, schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalwright.errors import UsageError
from evalwright.spec.checking import Checking

if TYPE_CHECKING:
    from evalwright.spec.documents.linting import DocumentLinting
    from evalwright.spec.records.check import Validated
    from evalwright.spec.records.lint import Linting


def validate(path: str | Path) -> Validated:
    """Every record and every error of a task file, as two lists."""
    from evalwright.spec.records.check import validate_file

    return validate_file(path)


def checks(paths: Sequence[str], *, env: Sequence[str] = ()) -> list[Checking]:
    """The same for many files and projects: iterate each for its issues.

    Of records nothing is kept. A project is one entry a file.
    """
    found: list[Checking] = []
    for path in paths:
        if is_project(path):
            found += _documents(path, env)
        else:
            found.append(Checking(path))
    return found


def is_project(path: str) -> bool:
    """Whether a path is that of task documents, not of task records."""
    # Unlike pathlib's, it is False for what may not be looked at.
    return path.endswith((".yaml", ".yml")) or isdir(path)  # noqa: PTH112


def _documents(path: str, env: Sequence[str]) -> Iterator[Checking]:
    from evalwright.api.rows_of import row_problems
    from evalwright.spec.documents.checking import checked
    from evalwright.spec.documents.kinds import RUN_FILES
    from evalwright.spec.documents.project import read_project
    from evalwright.spec.documents.variables import environment_with

    environment, problems = environment_with(env)
    project = read_project(path, environment=environment)
    groups = (project.tasks, project.datasets, project.generators, project.models)
    more = (project.adapters, project.evaluations)
    entities = [one for group in (*groups, *more) for one in group.values()]
    kinds: dict[str, str] = {entity.file: entity.kind for entity in entities}
    if project.kind is not None and project.files:
        kinds[project.files[0]] = project.kind
    kinds.update({file: "run" for file in project.files if Path(file).name in RUN_FILES})
    if not any(one.level == "error" for one in problems):
        problems = [*problems, *row_problems(project)]
    return checked(project.files, [*problems, *project.problems], kinds)


def lint(path: str | Path) -> Linting:
    """What is legal and still suspicious in a task file: iterate for the findings."""
    from evalwright.spec.records.lint import Linting

    if is_project(str(path)):
        raise UsageError(
            f"{path}: this is a project, which has several files",
            hint=f"`evalwright lint {path}` lints all of them",
        )
    return Linting(str(path))


def lints(paths: Sequence[str], *, env: Sequence[str] = ()) -> list[Linting | DocumentLinting]:
    """The same for many files and projects. A project is one entry a file."""
    found: list[Linting | DocumentLinting] = []
    for path in paths:
        if is_project(path):
            found += _linted(path, env)
        else:
            found.append(lint(path))
    return found


def _linted(path: str, env: Sequence[str]) -> Iterator[DocumentLinting]:
    from evalwright.spec.documents.linting import lint_project
    from evalwright.spec.documents.project import read_project
    from evalwright.spec.documents.variables import environment_with

    environment, _ = environment_with(env)
    return lint_project(read_project(path, environment=environment))


_NOT_FOR_GIT = (
    b"# Runs are kept here, and editors find their schemas here.\n*\n!schemas/\n!schemas/*\n"
)


def init(directory: str | Path) -> list[Path]:
    """Write a project and ten task records into a directory; refuse to overwrite.

    What was written, the run file first. A README of one's own is left as it is.
    """
    from evalwright.spec.documents.starter import starter_files
    from evalwright.spec.records.fixtures import TASKS

    folder = Path(directory)
    files = {folder / name: content for name, content in starter_files()}
    files[folder / TASKS.name] = TASKS.read_bytes()
    for path in files:
        if path.exists() and path.name != "README.md":
            raise UsageError(f"{path}: already there, and left as it is")
    for kind in ("task", "dataset", "model", "evaluation", "run"):
        text = json.dumps(schema(kind), indent=2)
        files[folder / ".evalwright" / "schemas" / f"{kind}.json"] = text.encode()
    files[folder / ".evalwright" / ".gitignore"] = _NOT_FOR_GIT
    written = [path for path, content in files.items() if _written(path, content)]
    return sorted(written, key=lambda path: (path.name != "run.yaml", len(path.parts), path))


def _written(path: Path, content: bytes) -> bool:
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
    *("records", "report", "task", "dataset", "generator", "model", "evaluation", "policy", "run"),
    "perplexity",
)


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one of `SCHEMAS`."""
    if kind == "records":
        from evalwright.spec.records.schema import record_schema

        return record_schema()
    if kind == "report":
        from evalwright.report.schema import report_schema

        return report_schema()
    if kind == "perplexity":
        from evalwright.report.schema import perplexity_schema

        return perplexity_schema()
    if kind in SCHEMAS:
        from evalwright.spec.documents.schema import json_schema

        return json_schema(cast("Any", kind))
    known = ", ".join(f"`{one}`" for one in SCHEMAS)
    raise UsageError(f"there is no schema `{kind}`; there are {known}")
