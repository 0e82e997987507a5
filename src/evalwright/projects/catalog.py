"""List, show, check, export and delete the entities of a project.

Entities are read from the files of the project. To delete an entity, its file is removed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.datasets.url import show_address
from evalwright.engine.redact import make_redactor
from evalwright.errors import UsageError
from evalwright.plan.project import project_secrets
from evalwright.plan.row_checks import LogCheck, row_problems
from evalwright.projects.kinds import EntityKind
from evalwright.projects.lookup import (
    EntityReference,
    entities_of_kind,
    find_entity,
    find_references,
    is_yaml,
    load_valid_environment,
    open_project,
    require_own_file,
)
from evalwright.report.tables import Block, Facts
from evalwright.report.yaml_text import to_yaml
from evalwright.secrets import MASK, Redactor, find_credentials
from evalwright.spec.checking import Checking
from evalwright.spec.documents.models.model import ProviderModel
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.layout import FOLDERS as KIND_OF_FOLDER
from evalwright.spec.documents.resolve.layout import find_folder
from evalwright.spec.documents.validation import check_documents
from evalwright.spec.documents.yaml.problems import FieldPath
from evalwright.text.visible import visible

_UNKNOWN = "–"
_ADDRESSES = frozenset({"api_url", "base_url", "url"})
_KINDS_WITHOUT_ROWS = {"model", "adapter", "generator"}
_SECRET_SETTINGS = {"api_key", "custom_headers", "environment"}


class ListedEntity(Struct, frozen=True, kw_only=True):
    """A line of `evalwright task list` and similar commands."""

    key: str
    name: str
    kind: EntityKind
    file: str
    line: int
    valid: bool
    entity_type: str | None = None
    """For a task, `model`, `dataset` or `system`."""
    url: str | None = None
    """For a model, its URL, its name at the provider, or its connection type."""

    def table_row(self) -> dict[str, str]:
        """Return the cells of the table row, by column."""
        if self.kind == "task":
            return {"Key": self.key, "Entity type": self.entity_type or _UNKNOWN}
        row = {"Key": self.key, "Name": visible(self.name)}
        if self.kind == "model":
            row["URL"] = visible(self.url or _UNKNOWN)
        return row


class ShownEntity(ListedEntity, frozen=True, kw_only=True):
    """All information about an entity in a project."""

    files: list[str]
    """The file of the entity, followed by the files that it includes."""
    used_by: list[EntityReference]
    problems: list[str]
    document: dict[str, Any]
    """The document with included files and without secrets."""

    def to_blocks(self) -> Iterator[Block]:
        """Yield one line per fact, then the document."""
        yield Facts([*self._facts()])
        yield ""
        yield visible(to_yaml(self.document)).rstrip("\n")

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "key", self.key
        yield "kind", self.kind
        optional = {"name": self.name, "entity type": self.entity_type, "URL": self.url}
        yield from ((name, fact) for name, fact in optional.items() if fact)
        yield "file", f"{self.file}:{self.line}"
        yield from (("includes", file) for file in self.files[1:])
        for reference in self.used_by:
            yield "used by", f"{reference.file}:{reference.line}: {reference.what}"
        yield "valid", "yes" if self.valid else "no"
        yield from (("problem", problem) for problem in self.problems)


def list_entities(
    kind: EntityKind, project: str = ".", *, env: Sequence[str] = ()
) -> list[ListedEntity]:
    """List the entities of a kind, sorted by key."""
    opened = open_project(project, env)
    entities, redactor = entities_of_kind(opened, kind), _make_redactor(opened, env)
    return [ListedEntity(**_describe(entities[key], redactor)) for key in sorted(entities)]


def show_entity(
    kind: EntityKind, key: str, project: str = ".", *, env: Sequence[str] = ()
) -> ShownEntity:
    """Return all information about an entity."""
    opened = open_project(project, env)
    entity = find_entity(opened, kind, key)
    return ShownEntity(
        **_describe(entity, _make_redactor(opened, env)),
        files=entity.part.files,
        used_by=list(find_references(opened, entity)),
        problems=list(_list_problems(opened, entity)),
        document=_redact_document(entity),
    )


def export_entity(
    kind: EntityKind, key: str, project: str = ".", *, env: Sequence[str] = (), folder: str = "."
) -> dict[str, Any]:
    """Return a document with included files and without secrets; paths are relative to `folder`."""
    return _redact_document(find_entity(open_project(project, env), kind, key), folder=folder)


def delete_entity(
    kind: EntityKind, key: str, project: str = ".", *, env: Sequence[str] = ()
) -> str:
    """Remove the file of an entity; `UsageError` if it also contains other entities."""
    entity = find_entity(open_project(project, env), kind, key)
    require_own_file(kind, key, file=entity.file, line=entity.line)
    try:
        Path(entity.file).unlink()
    except OSError as error:
        raise UsageError(f"{entity.file}: cannot be removed: {error.strerror}") from error
    return entity.file


def check_kind(
    kind: EntityKind, project: str, *, check_log: LogCheck, env: Sequence[str] = ()
) -> list[Checking]:
    """Check all documents of a kind in a project, and the rows that their tasks use."""
    opened = open_project(project, env)
    root = Path(project).absolute()
    entities = entities_of_kind(opened, kind).values()
    files = {file for entity in entities for file in entity.part.files}
    for file in opened.files:
        if KIND_OF_FOLDER.get(find_folder(Path(file).absolute(), root)) == kind:
            files.add(file)
    row_issues = [] if kind in _KINDS_WITHOUT_ROWS else row_problems(opened, check_log)
    problems = [issue for issue in [*opened.problems, *row_issues] if issue.file in files]
    documents = [file for file in sorted(files) if is_yaml(file)]
    return list(check_documents(documents, problems, dict.fromkeys(documents, kind)))


def find_entity_file(kind: EntityKind, name: str, project: str, env: Sequence[str]) -> str:
    """Return the file of the entity with this key; a path is returned unchanged."""
    return name if is_yaml(name) else find_entity(open_project(project, env), kind, name).file


def _describe(entity: Entity, redactor: Redactor) -> dict[str, Any]:
    data = entity.part.raw.data if isinstance(entity.part.raw.data, dict) else {}
    document = entity.document
    return {
        "key": entity.key,
        "name": str(data.get("display_name") or ""),
        "kind": entity.kind,
        "file": entity.file,
        "line": entity.line,
        "valid": document is not None
        and all(problem.level != "error" for problem in entity.problems),
        "entity_type": getattr(document, "evaluates", None) if entity.kind == "task" else None,
        "url": _model_address(document, redactor) if entity.kind == "model" else None,
    }


def _make_redactor(project: Project, env: Sequence[str]) -> Redactor:
    return make_redactor(project_secrets(project, load_valid_environment(env)))


def _model_address(document: Any, redactor: Redactor) -> str | None:
    if isinstance(document, ProviderModel):
        return document.model
    config = getattr(document, "config", None)
    url = getattr(config, "url", None)
    if isinstance(url, str):
        return redactor.clean(Redactor(find_credentials(url)).clean(show_address(url)))
    return getattr(config, "model", None) or getattr(config, "connection_type", None)


def _list_problems(project: Project, entity: Entity) -> Iterator[str]:
    start, files = entity.part.field(()), entity.part.files
    for issue in project.problems:
        if issue.file in files and (issue.field or "").startswith(start or ""):
            level = "warning: " if issue.level == "warning" else ""
            yield f"{level}{issue.file}:{issue.line}: {issue.message}"


def _redact_document(entity: Entity, *, folder: str | None = None) -> dict[str, Any]:
    data = entity.part.raw.data
    document = _redact(data if isinstance(data, dict) else {}, (), entity.kind, make_redactor())
    if folder is not None and entity.kind == "dataset":
        _rebase_paths(document, data, folder)
        if isinstance(document.get("source"), dict):
            _rebase_paths(document["source"], data["source"], folder)
    return dict(document)


def _redact(value: Any, path: FieldPath, kind: str, redactor: Redactor) -> Any:
    """Return a redacted copy; placeholders of environment variables are kept."""
    if isinstance(value, dict):
        items = value.items()
        return {str(key): _redact(item, (*path, key), kind, redactor) for key, item in items}
    if isinstance(value, list):
        return [_redact(item, (*path, place), kind, redactor) for place, item in enumerate(value)]
    if not isinstance(value, str):
        return MASK if _is_secret(path, kind) and value is not None else value
    if variable := getattr(value, "variable", ""):
        return str(variable)
    if _is_secret(path, kind) and not value.strip().startswith(("<<", "$")):
        return MASK
    text = redactor.clean(str(value))
    return Redactor(find_credentials(text)).clean(text) if path[-1] in _ADDRESSES else text


def _is_secret(path: FieldPath, kind: str) -> bool:
    if kind == "generator":
        return path[:1] == ("secrets",)
    if kind == "dataset":
        return path == ("source", "api_key")
    if kind != "model":
        return False
    is_setting = path[:1] == ("config",) and len(path) > 1 and path[1] in _SECRET_SETTINGS
    return path[:1] == ("secrets",) or is_setting or path[-1:] == ("trusted_ca",)


_PATH_SOURCES = ("claude_code", "inspect_ai")
"""Sources whose `path` is a local path. For others, it may be a name on a hub."""


def _rebase_paths(document: dict[str, Any], data: Mapping[str, Any], folder: str) -> None:
    is_path = data.get("type") in _PATH_SOURCES
    for name in ("file_path", "directory_path", *(["path"] if is_path else ())):
        text = data.get(name)
        if isinstance(text, str) and not Path(text).is_absolute():
            path = Path(getattr(text, "file", "")).parent / text
            document[name] = os.path.relpath(path, folder)
