"""Check the documents of a project that are of one kind."""

from collections.abc import Sequence
from pathlib import Path

from evalwright.plan.row_checks import LogCheck, row_problems
from evalwright.projects.kinds import EntityKind
from evalwright.projects.lookup import (
    entities_of_kind,
    find_entity,
    is_yaml,
    open_project,
    source_files,
)
from evalwright.spec.checking import Checking
from evalwright.spec.documents.resolve.layout import FOLDERS, find_folder
from evalwright.spec.documents.validation import check_documents

_KINDS_WITHOUT_ROWS = {"model", "adapter", "generator"}


def check_kind(
    kind: EntityKind, project: str, *, check_log: LogCheck, env: Sequence[str] = ()
) -> list[Checking]:
    """Check all documents of a kind in a project, and the rows that their tasks use."""
    opened = open_project(project, env)
    entities = entities_of_kind(opened, kind).values()
    files = {file for entity in entities for file in source_files(entity)}
    files |= {file for file in opened.files if _is_in_folder_of(kind, file, Path(project))}
    row_issues = [] if kind in _KINDS_WITHOUT_ROWS else row_problems(opened, check_log)
    problems = [one for one in [*opened.problems, *row_issues] if one.file in files]
    documents = [file for file in sorted(files) if is_yaml(file)]
    return list(check_documents(documents, problems, dict.fromkeys(documents, kind)))


def find_entity_file(kind: EntityKind, name: str, project: str, env: Sequence[str]) -> str:
    """Return the file of the entity with a key; a path of a document is returned unchanged."""
    if is_yaml(name):
        return name
    return find_entity(open_project(project, env), kind, name).file


def _is_in_folder_of(kind: EntityKind, file: str, project: Path) -> bool:
    return FOLDERS.get(find_folder(Path(file).absolute(), project.absolute())) == kind
