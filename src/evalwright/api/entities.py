"""What a project has: list, show, check, export and delete its tasks, datasets, models and so on.

The files of a project are its registry: what is listed is what lies there, and to delete is to
remove a file.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.nearest import nearest
from evalwright.report.entities import Kind, ListedEntity, ShownEntity, UsedBy
from evalwright.secrets import MASK, Redactor

if TYPE_CHECKING:
    from evalwright.spec.checking import Checking
    from evalwright.spec.documents.entities import Entity
    from evalwright.spec.documents.problems import Path as Steps
    from evalwright.spec.documents.problems import Problem
    from evalwright.spec.documents.project import Project

NOUNS: Mapping[Kind, str] = {
    "task": "task",
    "dataset": "dataset",
    "generator": "generator",
    "model": "model",
    "adapter": "adapter",
    "evaluation": "eval",
}
"""What the command calls each kind."""
FOLDERS: Mapping[str, str] = {
    "task": "tasks",
    "dataset": "datasets",
    "generator": "dataset_generators",
    "model": "models",
    "adapter": "model_adapters",
    "evaluation": "evaluations",
}
"""Where a project keeps them."""


def list_entities(kind: Kind, project: str = ".", *, env: Sequence[str] = ()) -> list[ListedEntity]:
    """Those of a kind, in the order of their keys."""
    found = of_kind(open_project(project, env), kind)
    return [ListedEntity(**_facts(found[key])) for key in sorted(found)]


def show_entity(
    kind: Kind, key: str, project: str = ".", *, env: Sequence[str] = ()
) -> ShownEntity:
    """All that a project knows of one."""
    opened = open_project(project, env)
    entity = find_entity(opened, kind, key)
    return ShownEntity(
        **_facts(entity),
        files=files_of(entity),
        used_by=list(_used_by(opened, entity)),
        problems=[_sentence(one) for one in _problems(opened, entity)],
        document=written(entity),
    )


def check_entities(
    kind: Kind, names: Sequence[str], project: str = ".", *, env: Sequence[str] = ()
) -> "list[Checking]":
    """What `validate` says of some, by key or by file; of all of a kind if none is named."""
    from evalwright.api.files import checks

    if names:
        return checks([_file_of(kind, name, project, env) for name in names], env=env)
    from evalwright.api.rows_of import row_problems
    from evalwright.spec.documents.checking import checked

    opened = open_project(project, env)
    files = {file for one in of_kind(opened, kind).values() for file in files_of(one)}
    files |= {one for one in opened.files if _lies_in(one, Path(project), kind)}
    rows = [] if kind in {"model", "adapter", "generator"} else row_problems(opened)
    mine = [one for one in [*opened.problems, *rows] if one.file in files]
    named = [file for file in sorted(files) if _is_yaml(file)]
    return list(checked(named, mine, dict.fromkeys(named, kind)))


def export_entity(
    kind: Kind, key: str, project: str = ".", *, env: Sequence[str] = (), folder: str = "."
) -> dict[str, Any]:
    """A document with what it includes in it and without secrets; its paths lead from `folder`."""
    return written(find_entity(open_project(project, env), kind, key), folder=folder)


def delete_entity(kind: Kind, key: str, project: str = ".", *, env: Sequence[str] = ()) -> str:
    """Remove the file of one; UsageError if others stand in it too."""
    entity = find_entity(open_project(project, env), kind, key)
    refuse_shared(entity)
    try:
        Path(entity.file).unlink()
    except OSError as error:
        raise UsageError(f"{entity.file}: cannot be removed: {error.strerror}") from error
    return entity.file


def refuse_shared(entity: "Entity | ListedEntity") -> None:
    """UsageError if an entity is not alone in its file."""
    from evalwright.spec.documents.kinds import kind_of
    from evalwright.spec.documents.reading import read_document

    data = read_document(entity.file, environment={}).data
    if kind_of(data, FOLDERS[entity.kind]) != entity.kind:
        raise UsageError(
            f"the {entity.kind} `{entity.key}` stands in {entity.file} with others",
            hint=f"remove it there, at line {entity.line}",
        )


def open_project(folder: str, env: Sequence[str] = ()) -> "Project":
    """The project of a folder; UsageError where there is none."""
    from evalwright.spec.documents.project import read_project

    if not Path(folder).is_dir():
        raise Unreadable(f"{folder}: expected the folder of a project, there is none")
    project = read_project(folder, environment=environment_from(env))
    if not project.files:
        raise UsageError(
            f"{folder}: no project here: no run.yaml, no tasks/, datasets/ or models/",
            hint="`evalwright init` writes one; `--project DIR` names another folder",
        )
    return project


def environment_from(env: Sequence[str]) -> dict[str, str]:
    """Where documents find their variables."""
    from evalwright.api.prepare import refuse
    from evalwright.spec.documents.variables import environment_with

    environment, problems = environment_with(env)
    refuse(", ".join(env) or ".env", problems)
    return environment


def of_kind(project: "Project", kind: Kind) -> "Mapping[str, Entity]":
    """The entities of a kind, by key."""
    groups = {
        "task": project.tasks,
        "dataset": project.datasets,
        "generator": project.generators,
        "model": project.models,
        "adapter": project.adapters,
        "evaluation": project.evaluations,
    }
    return groups[kind]


def find_entity(project: "Project", kind: Kind, key: str) -> "Entity":
    """One by its key; `UnknownName` with the nearest that there is."""
    found = of_kind(project, kind)
    if key in found:
        return found[key]
    suggestion = nearest(key, list(found))
    has = f"it has {', '.join(sorted(found)[:12])}" if found else "it has none"
    raise UnknownName(
        f"the project has no {kind} `{key}`; {has}",
        hint=f"did you mean `{suggestion}`?" if suggestion else "",
    )


def files_of(entity: "Entity") -> list[str]:
    """The file of an entity, then those whose texts it has."""
    found: dict[str, None] = {entity.file: None}
    for _, text in _texts(entity.part.raw.data, ()):
        found[getattr(text, "file", "") or entity.file] = None
    return list(found)


def written(entity: "Entity", *, folder: str | None = None) -> dict[str, Any]:
    """The data of a document without secrets; paths lead from a folder, if one is given."""
    from evalwright.api.discretion import redactor_here

    data = entity.part.raw.data
    made = _plain(data if isinstance(data, dict) else {}, (), entity.kind, redactor_here())
    if folder is not None and entity.kind == "dataset":
        _lead_from(made, data, folder)
        if isinstance(made.get("source"), dict):
            _lead_from(made["source"], data["source"], folder)
    return dict(made)


_REF = re.compile(r"""\$ref["']?\s*:\s*["']?([^"'\s}]+)""")
_HIDDEN = {"api_key", "custom_headers", "environment"}


def _plain(value: Any, path: "Steps", kind: str, redactor: Redactor) -> Any:
    """Values without their places; what came out of the environment is as it was written."""
    if isinstance(value, dict):
        return {str(key): _plain(one, (*path, key), kind, redactor) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, (*path, place), kind, redactor) for place, one in enumerate(value)]
    if not isinstance(value, str):
        return MASK if _is_secret(path, kind) and value is not None else value
    variable = getattr(value, "variable", "")
    if variable:
        return str(variable)
    if _is_secret(path, kind) and not value.strip().startswith(("<<", "$")):
        return MASK
    return redactor.clean(str(value))


def _is_secret(path: "Steps", kind: str) -> bool:
    if kind == "generator":
        return path[:1] == ("secrets",)
    if kind != "model":
        return False
    inner = path[:1] == ("config",) and len(path) > 1 and path[1] in _HIDDEN
    return path[:1] == ("secrets",) or inner or path[-1:] == ("trusted_ca",)


def _lead_from(made: dict[str, Any], data: Mapping[str, Any], folder: str) -> None:
    for name in ("file_path", "directory_path"):
        text = data.get(name)
        if isinstance(text, str) and not Path(text).is_absolute():
            there = Path(getattr(text, "file", "")).parent / text
            made[name] = os.path.relpath(there, folder)


def _facts(entity: "Entity") -> dict[str, Any]:
    data = entity.part.raw.data if isinstance(entity.part.raw.data, dict) else {}
    document = entity.document
    return {
        "key": entity.key,
        "name": str(data.get("display_name") or ""),
        "kind": entity.kind,
        "file": entity.file,
        "line": entity.line,
        "valid": document is not None and all(one.level != "error" for one in entity.problems),
        "entity_type": getattr(document, "evaluates", None) if entity.kind == "task" else None,
        "url": _address(document) if entity.kind == "model" else None,
    }


def _address(document: Any) -> str | None:
    """Of a model: where it is asked, without what may be a key."""
    from evalwright.datasets.url import shown
    from evalwright.spec.documents.model import ProviderModel

    if isinstance(document, ProviderModel):
        return document.model
    config = getattr(document, "config", None)
    url = getattr(config, "url", None)
    if isinstance(url, str):
        return shown(url)
    return getattr(config, "model", None) or getattr(config, "connection_type", None)


def _problems(project: "Project", entity: "Entity") -> "Iterator[Problem]":
    start, files = entity.part.field(()), files_of(entity)
    for one in project.problems:
        if one.file in files and (not start or one.field.startswith(start)):
            yield one


def _sentence(problem: "Problem") -> str:
    where = f"{problem.file}:{problem.line}"
    hint = f"; {problem.hint}" if problem.hint else ""
    level = "warning: " if problem.level == "warning" else ""
    return f"{level}{where}: {problem.detail}{hint}"


def _used_by(project: "Project", entity: "Entity") -> Iterator[UsedBy]:
    """Where the key of an entity stands, and who refers to its file."""
    for kind in NOUNS:
        for other in of_kind(project, kind).values():
            if other is entity:
                continue
            for path, text in _texts(other.part.raw.data, ()):
                if text == entity.key and _names(entity.kind, path):
                    place = other.part.raw.marks.place(path)
                    what = f"{other.kind} `{other.key}`, {other.part.field(path)}"
                    yield UsedBy(file=place.file, line=place.line, what=what)
    yield from referred_to(project, entity)


def _names(kind: str, path: "Steps") -> bool:
    """Whether a text at this path is the key of something of that kind."""
    if {"task_config", "dataset_generator_config"} & {*path} or path[-1:] == ("default_value",):
        return kind in {"model", "dataset"}
    ways: Mapping[str, tuple[Steps, ...]] = {
        "task": (("task_key",),),
        "model": (("model_key",),),
        "dataset": (("dataset_key",), ("dataset", "key"), ("data_source", "key")),
        "generator": (("dataset_generator_key",),),
        "adapter": (("adapter", "key"),),
    }
    return any(path[-len(way) :] == way for way in ways.get(kind, ())) or (
        kind == "dataset" and path[-3:-1] in {("dataset", "keys"), ("data_source", "keys")}
    )


def referred_to(project: "Project", entity: "Entity") -> Iterator[UsedBy]:
    """Where the run file of a project has a `$ref` to the file of an entity."""
    from evalwright.spec.documents.kinds import RUN_FILES

    for name in RUN_FILES:
        run = project.root / name
        if not run.is_file() or run.samefile(entity.file):
            continue
        lines = run.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if (found := _REF.search(line)) and _is(run.parent / found[1], entity.file):
                yield UsedBy(file=str(run), line=number, what=line.strip().removeprefix("- "))


def _is(path: Path, file: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(file)


def _texts(value: Any, path: "Steps") -> "Iterator[tuple[Steps, str]]":
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(one, (*path, key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _texts(one, (*path, place))


def _file_of(kind: Kind, name: str, project: str, env: Sequence[str]) -> str:
    """The file of a key; a path is one already."""
    if _is_yaml(name):
        return name
    return find_entity(open_project(project, env), kind, name).file


def _lies_in(file: str, project: Path, kind: Kind) -> bool:
    from evalwright.spec.documents.folders import folder_of
    from evalwright.spec.documents.kinds import FOLDERS as ALL

    return ALL.get(folder_of(Path(file).absolute(), project.absolute())) == kind


def _is_yaml(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))
