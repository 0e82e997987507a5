"""Open a project; find its entities, their files, and the places that use them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.nearest import suggest
from evalwright.plan.project import refuse_errors
from evalwright.projects.kinds import FOLDERS, EntityKind
from evalwright.spec.documents.checks.build import walk_texts
from evalwright.spec.documents.project import Project, read_project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.layout import RUN_FILES, detect_kind, find_include_root
from evalwright.spec.documents.yaml.environment import load_environment
from evalwright.spec.documents.yaml.problems import FieldPath
from evalwright.spec.documents.yaml.reader import read_document

_MOST_NAMED = 12
_REF = re.compile(r"""\$ref["']?\s*:\s*["']?([^"'\s}]+)""")
_KEY_FIELDS: Mapping[str, tuple[FieldPath, ...]] = {
    "task": (("task_key",),),
    "model": (("model_key",),),
    "dataset": (("dataset_key",), ("dataset", "key"), ("data_source", "key")),
    "generator": (("dataset_generator_key",),),
    "adapter": (("adapter", "key"),),
}
"""Last steps of the field paths that contain the key of an entity, by kind."""
_KEY_LISTS = {("dataset", "keys"), ("data_source", "keys")}
_PARAMETER_FIELDS = {"task_config", "dataset_generator_config"}
"""Fields with parameter values, which may be keys of models or datasets."""


class EntityReference(Struct, frozen=True, kw_only=True):
    """A place in a project that refers to an entity."""

    file: str
    line: int
    what: str


def open_project(folder: str, env: Sequence[str] = ()) -> Project:
    """Read the project in a folder; raise `UsageError` if the folder has none."""
    if not Path(folder).is_dir():
        raise Unreadable(f"{folder}: no such folder")
    project = read_project(folder, environment=load_valid_environment(env))
    if not project.files:
        raise UsageError(
            f"{folder}: not a project: it has no run.yaml, tasks/, datasets/ or models/",
            hint="create one with `evalwright init`, "
            "or name a different folder with `--project DIR`",
        )
    return project


def load_valid_environment(env: Sequence[str]) -> dict[str, str]:
    """Return the environment variables for documents: from the process, `.env` and `env`."""
    environment, problems = load_environment(env)
    refuse_errors(", ".join(env) or ".env", problems)
    return environment


def entities_of_kind(project: Project, kind: EntityKind) -> Mapping[str, Entity]:
    """Return the entities of a kind, by key."""
    entities: Mapping[str, Entity] = getattr(project, f"{kind}s")
    return entities


def find_entity(project: Project, kind: EntityKind, key: str) -> Entity:
    """Return the entity with this key; `UnknownName` suggests the nearest key."""
    entities = entities_of_kind(project, kind)
    if key in entities:
        return entities[key]
    has = f"it has {', '.join(sorted(entities)[:_MOST_NAMED])}" if entities else "it has none"
    message = f"the project has no {kind} `{key}`; {has}"
    raise UnknownName(message, hint=suggest(key, list(entities)))


def find_valid_entity(
    kind: EntityKind, name: str, project: str, env: Sequence[str]
) -> tuple[Project, Entity]:
    """Return the entity with this key or in this file; `BadTasks` if it is not valid."""
    if is_yaml(name):
        opened = read_project(name, environment=load_valid_environment(env))
        if opened.kind not in {kind, None}:
            raise UsageError(
                f"{name}: expected a {kind}, got a document of the kind `{opened.kind}`"
            )
        refuse_errors(name, opened.problems)
        entities = entities_of_kind(opened, kind).values()
        return opened, next(entity for entity in entities if Path(entity.file).samefile(name))
    opened = open_project(project, env)
    entity = find_entity(opened, kind, name)
    generation = opened.generations.problems(entity) if kind == "dataset" else ()
    refuse_errors(entity.file, [*entity.part.raw.problems, *entity.problems, *generation])
    return opened, entity


def require_own_file(kind: EntityKind, key: str, *, file: str, line: int) -> None:
    """Raise `UsageError` if an entity shares its file with others."""
    data = read_document(file, environment={}, root=find_include_root(Path(file))).data
    if detect_kind(data, FOLDERS[kind]) != kind:
        raise UsageError(
            f"the {kind} `{key}` is in {file} together with other documents",
            hint=f"remove it there, at line {line}",
        )


def find_references(project: Project, entity: Entity) -> Iterator[EntityReference]:
    """Yield the places that refer to an entity by key or file."""
    for kind in FOLDERS:
        for other in entities_of_kind(project, kind).values():
            if other is entity:
                continue
            for path, text in walk_texts(other.part.raw.data):
                if text == entity.key and _is_key(entity.kind, path):
                    place = other.part.raw.marks.place(path)
                    what = f"{other.kind} `{other.key}`, {other.part.field(path)}"
                    yield EntityReference(file=place.file, line=place.line, what=what)
    yield from find_run_file_references(project, entity)


def find_run_file_references(project: Project, entity: Entity) -> Iterator[EntityReference]:
    """Yield the lines of the project's run files with a `$ref` to the file of an entity."""
    for path in _run_files(project.root):
        if path.samefile(entity.file):
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            match = _REF.search(line)
            if match and os.path.realpath(path.parent / match[1]) == os.path.realpath(entity.file):
                what = line.strip().removeprefix("- ")
                yield EntityReference(file=str(path), line=number, what=what)


def find_run_file(folder: Path) -> str | None:
    """Return the path of the run file in a folder, if it has one."""
    return next(map(str, _run_files(folder)), None)


def _run_files(folder: Path) -> Iterator[Path]:
    return (path for name in RUN_FILES if (path := folder / name).is_file())


def is_yaml(name: str) -> bool:
    """Whether a name is the name of a YAML file, not a key."""
    return name.endswith((".yaml", ".yml"))


def _is_key(kind: str, path: FieldPath) -> bool:
    if _PARAMETER_FIELDS & {*path} or path[-1:] == ("default_value",):
        return kind in {"model", "dataset"}
    return any(path[-len(steps) :] == steps for steps in _KEY_FIELDS.get(kind, ())) or (
        kind == "dataset" and path[-3:-1] in _KEY_LISTS
    )
