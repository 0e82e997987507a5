"""Gather the documents of a project: selected documents, neighboring files, and all keys.

Selected documents (`main`) are always checked. Errors in neighboring files are reported only if a
document refers to them. If a folder is selected, all its documents are selected. Other run files in
the same folder are read only if a plan or a repeatability specification refers to their evaluation.
Files whose keys cannot be read are kept separately (`unread`), because references to them are
unknown.

These other run files, and the models and adapters of an enclosing project, are borrowed: the
project's own documents take precedence.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from evalwright.secret_store import read_secrets
from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.resolve.config_values import GivenValue, read_given_values
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.layout import (
    FOLDERS,
    KIND_KEYS,
    RUN_FILES,
    DocumentKind,
    ProjectFile,
    describe_server_document,
    detect_kind,
    find_include_root,
    find_project_root,
    list_named_files,
    list_outer_models,
    list_project_files,
    list_top_files,
)
from evalwright.spec.documents.resolve.placeholders import find_secret_names, reveal_secret
from evalwright.spec.documents.resolve.plans import list_run_parts
from evalwright.spec.documents.resolve.policies import WrittenPolicy, parse_policies
from evalwright.spec.documents.yaml.compose import ComposedFiles
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    did_you_mean,
    get_list,
    get_mapping,
    locate_fault,
    type_name,
)
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue

_LISTS: Mapping[str, DocumentKind] = {
    "model_adapters": "adapter",
    "models": "model",
    "dataset_generators": "generator",
    "datasets": "dataset",
    "tasks": "task",
}
"""Lists in a run file, with the kinds of their documents."""
_MAY_USE_SECRETS = {"dataset", "generator", "model"}


class GatheredProject(Struct, frozen=True, kw_only=True):
    """The documents of a path, and the project that contains it."""

    path: Path
    root: Path
    kind: DocumentKind | None
    """The kind of the path's document; None for a folder."""
    run: RunFile | None
    secrets: dict[str, str | Secret]
    config: dict[str, GivenValue]
    """Parameter values in the run file."""
    entities: dict[DocumentKind, dict[str, Entity]]
    main: list[Entity]
    """Entities of the path itself."""
    evaluations: list[Entity]
    """Evaluations to run."""
    plans: list[Entity]
    """Assessment plans to run."""
    targets: list[Entity]
    """Tasks to run if there is no evaluation."""
    policies: list[WrittenPolicy]
    """Policies that a run must meet."""
    problems: list[Issue]
    """Problems of the selected files, without the problems of their entities."""
    blocking: list[Issue]
    """Problems that affect every run: in the run file and between documents."""
    unread: dict[DocumentKind, list[Issue]]
    """Problems of all files whose keys cannot be read, by kind."""
    files: list[str]


class _ReadFile(NamedTuple):
    """A file that has been read."""

    document: YamlDocument
    kind: DocumentKind | None
    main: bool
    folder: str
    borrowed: bool = False


class _Item(NamedTuple):
    """An entity, and how it was found."""

    entity: Entity
    main: bool
    in_run: bool
    """Whether the entity is in the run file."""
    order: int = 0
    """Position among all items, in reading order."""
    borrowed: bool = False

    @property
    def precedence(self) -> tuple[bool, bool, bool]:
        """Sort key: selected documents, the run file, other files, borrowed files."""
        return self.borrowed, not self.main, not self.in_run


def gather_project(path: Path, environment: Mapping[str, str]) -> GatheredProject:
    """Read the documents of a path and the project that contains it."""
    root = find_project_root(path)
    files = _read_files(path, root, environment)
    named = [file for file in files if file.main]
    problems = [problem for file in named for problem in _file_problems(file)]
    if path.is_dir() and not files:
        detail = "expected a run.yaml, or documents in tasks/, datasets/, models/ or evaluations/"
        hint = "`evalwright init` writes a project that runs"
        problems.append(locate_fault(Fault((), "no_project", detail, hint), Place(str(path), 1)))
    runs = [file.document for file in named if file.kind == "run"]
    run, between = _read_run_file(runs)
    policy_files = [file.document for file in named if file.kind == "policy"]
    policies, policy_problems = parse_policies([*runs[:1], *policy_files])
    secrets: dict[str, str | Secret] = {}  # merged below, before any entity needs them
    items = _drop_duplicates(item for file in files for item in _list_items(file, secrets))
    entities, duplicates = _index_entities(items)
    between += [*policy_problems, *_merge_secrets(files, items, secrets), *duplicates]
    secrets |= _find_other_secrets(items, secrets, environment)
    in_order = sorted(items, key=lambda item: item.order)
    run_problems = [
        problem
        for file in named
        if file.kind == "run" or Path(file.document.file).name in RUN_FILES
        for problem in _file_problems(file)
    ]
    return GatheredProject(
        path=path,
        root=root,
        kind=None if path.is_dir() else named[0].kind,
        run=run,
        secrets=secrets,
        config=_read_config(runs[0]) if runs else {},
        entities=entities,
        main=[item.entity for item in in_order if item.main],
        evaluations=_choose_evaluations(items),
        plans=[item.entity for item in in_order if item.main and item.entity.kind == "plan"],
        targets=_choose_tasks(in_order, entities),
        policies=policies,
        problems=list(dict.fromkeys([*problems, *between])),
        blocking=[*run_problems, *between],
        unread=_list_unread(files),
        files=list(dict.fromkeys(name for file in named for name in file.document.files)),
    )


def _read_files(path: Path, root: Path, environment: Mapping[str, str]) -> list[_ReadFile]:
    """Read the selected and neighboring files; skip files that are only parts of others."""
    named = list_named_files(path, root)
    known = {os.path.realpath(file.path) for file in named}
    others = [file for file in list_project_files(root) if os.path.realpath(file.path) not in known]
    composed: ComposedFiles = {}
    files = [_read_file(file, environment, composed, main=True) for file in named]
    if any(file.kind == "run" for file in files):  # ignore other run files in the folder
        others = [file for file in others if file.folder]
    files += [_read_file(file, environment, composed, main=False) for file in others]
    borrowed = [
        *_read_run_files_of_evaluations(files, root, environment),
        *(_read_file(file, environment, composed, main=False) for file in list_outer_models(root)),
    ]
    files += [file._replace(borrowed=True) for file in borrowed if file.kind is not None]
    fragments = {os.path.realpath(name) for file in files for name in file.document.files[1:]}
    return [
        file
        for file in files
        if (file.main and not path.is_dir())
        or os.path.realpath(file.document.file) not in fragments
        or detect_kind(file.document.data) is not None
    ]


def _read_file(
    file: ProjectFile, environment: Mapping[str, str], composed: ComposedFiles, *, main: bool
) -> _ReadFile:
    root = find_include_root(file.path)
    document = read_document(file.path, environment=environment, root=root, composed=composed)
    kind = detect_kind(document.data, file.folder)
    if kind == "policy" and file.path.name in RUN_FILES:
        kind = "run"  # a run file without other fields
    return _ReadFile(document, kind, main, file.folder)


def _read_run_files_of_evaluations(
    files: list[_ReadFile], root: Path, environment: Mapping[str, str]
) -> Iterator[_ReadFile]:
    """Read other run files in the folder if documents refer to their evaluations."""
    missing_keys = {key for file in files for key in _named_evaluations(file.document.data)}
    missing_keys -= {key for file in files if (key := _evaluation_key(file)) is not None}
    if not missing_keys:
        return
    known = {os.path.realpath(file.document.file) for file in files}
    for file in list_top_files(root):
        if os.path.realpath(file.path) not in known:
            run_file = _read_file(file, environment, {}, main=False)
            if run_file.kind == "run" and _evaluation_key(run_file) in missing_keys:
                yield run_file


def _named_evaluations(data: Any) -> Iterator[str]:
    """Yield the evaluation keys in a plan or in repeatability specifications."""
    inputs = get_list(data, "evaluation_specifications")
    for evaluation in (data, get_mapping(data, "evaluation")):
        for specification in get_list(evaluation, "task_specifications"):
            inputs = [*inputs, *get_list(specification, "inputs")]
    for entry in inputs:
        key = entry.get("evaluation_key") if isinstance(entry, dict) else None
        if isinstance(key, str):
            yield key


def _evaluation_key(file: _ReadFile) -> str | None:
    """Return the key of the evaluation in a file; None if there is none."""
    data = file.document.data
    in_run = file.kind == "run" and (file.main or not file.folder)
    evaluation = get_mapping(data, "evaluation") if in_run else data
    is_evaluation = in_run or file.kind == "evaluation"
    key = evaluation.get("key") if is_evaluation and isinstance(evaluation, dict) else None
    return key if isinstance(key, str) else None


def _file_problems(file: _ReadFile) -> list[Issue]:
    document = file.document
    if file.kind is not None or any(problem.level == "error" for problem in document.problems):
        return document.problems
    return [*document.problems, *DocumentPart(document).problems([_unknown_kind(document.data)])]


def _unknown_kind(data: Any) -> Fault:
    if detail := describe_server_document(data):
        return Fault((), "unsupported", detail, level="warning")
    keys = sorted(str(key) for key in data) if isinstance(data, dict) else []
    got = f"the keys {', '.join(keys)}" if keys else f"`{type_name(data)}`"
    misspelt = next((key for key in keys if did_you_mean(key, KIND_KEYS)), "")
    return Fault(
        (misspelt,) if misspelt else (),
        "unknown_kind",
        "expected a task, dataset, generator, model, adapter, evaluation, assessment plan, policy "
        "or run file, "
        f"got {got}",
        did_you_mean(misspelt, KIND_KEYS)
        or "a task has a `definition`, an evaluation `task_specifications`, a dataset a "
        "`source`, a model a `config`",
        at_key=True,
    )


def _list_unread(files: list[_ReadFile]) -> dict[DocumentKind, list[Issue]]:
    unread: dict[DocumentKind, list[Issue]] = {}
    for file in files:
        if file.borrowed:
            continue
        if file.folder in FOLDERS and file.document.unread & {(), ("key",)}:
            kind = file.kind or FOLDERS[file.folder]
            unread.setdefault(kind, []).extend(file.document.problems)
    return unread


def _read_run_file(documents: list[YamlDocument]) -> tuple[RunFile | None, list[Issue]]:
    """Return the first run file and its problems; additional run files are a problem."""
    if not documents:
        return None, []
    first, *others = documents
    run, faults = build_instance(RunFile, first.data)
    problems = DocumentPart(first).problems(faults)
    for other in others:
        detail = f"expected one run file per folder, but {first.file} is also a run file"
        fault = Fault(
            (), "many_run_files", detail, "specify one of the files instead of the folder"
        )
        problems.append(locate_fault(fault, Place(other.file, 1)))
    return run, problems


def _read_config(run: YamlDocument) -> dict[str, GivenValue]:
    """Read the values that a run file sets."""
    return read_given_values(DocumentPart(run), ("config",), get_mapping(run.data, "config"))


def _list_items(file: _ReadFile, secrets: Mapping[str, str | Secret]) -> Iterator[_Item]:
    document = file.document
    if file.kind not in {None, "policy", "run"}:
        entity = Entity(file.kind, DocumentPart(document), secrets=secrets)
        yield _Item(entity, file.main, in_run=False, borrowed=file.borrowed)
    if file.kind == "plan" and file.main:
        for _, run in list_run_parts(document):
            for kind, path in _list_parts(run.raw.data):
                entity = Entity(kind, DocumentPart.inside(run.raw, path), secrets=secrets)
                yield _Item(entity, main=False, in_run=True, borrowed=True)
    if file.kind != "run":
        return
    parts = _list_parts(document.data)
    if isinstance(document.data.get("evaluation"), dict) and (file.main or file.borrowed):
        parts.append(("evaluation", ("evaluation",)))
    for kind, path in parts:
        part = DocumentPart.inside(document, path)
        values = _read_config(document) if kind == "evaluation" else None
        entity = Entity(kind, part, secrets=secrets, values=values)
        yield _Item(entity, file.main, in_run=True, borrowed=file.borrowed)


def _list_parts(run: Any) -> list[tuple[DocumentKind, FieldPath]]:
    """Return the entities in the lists of a run file."""
    return [
        (kind, (name, number))
        for name, kind in _LISTS.items()
        for number, item in enumerate(get_list(run, name))
        if isinstance(item, dict)
    ]


def _drop_duplicates(items: Iterable[_Item]) -> list[_Item]:
    """Keep a document only once if it is in a folder and also in the run file."""
    places: dict[tuple[object, ...], dict[int, _Item]] = {}
    for number, item in enumerate(items):
        part = item.entity.part
        file, *position = part.place(("key",))
        place = (item.entity.kind, os.path.realpath(file), *position)
        known = places.setdefault(place, {})
        duplicates = [
            n for n, other in known.items() if other.entity.part.raw.data == part.raw.data
        ]
        if not duplicates:
            known[number] = item._replace(order=number)
        elif item.precedence < known[duplicates[0]].precedence:
            known[number] = item._replace(order=known.pop(duplicates[0]).order)
    unique = {number: item for known in places.values() for number, item in known.items()}
    return [unique[number] for number in sorted(unique)]


def _merge_secrets(
    files: list[_ReadFile], items: list[_Item], secrets: dict[str, str | Secret]
) -> Iterator[Issue]:
    parts = [DocumentPart(file.document) for file in files if file.kind == "run"]
    plans = [file.document for file in files if file.kind == "plan" and file.main]
    parts += [run for plan in plans for _, run in list_run_parts(plan)]
    parts += [item.entity.part for item in items if item.entity.kind in _MAY_USE_SECRETS]
    first: dict[str, Place] = {}
    for part in parts:
        for name, value in get_mapping(part.data, "secrets").items():
            place = part.raw.marks.key_place(("secrets", name))
            if name not in secrets:
                secrets[name], first[name] = value, place
            elif reveal_secret(secrets[name]) != reveal_secret(value):
                other = first[name]
                detail = f"the secret `{name}` has a different value in {other.file}:{other.line}"
                hint = "give one of them a different name"
                fault = Fault(("secrets", name), "two_secrets", detail, hint, at_key=True)
                yield from part.problems([fault])


def _find_other_secrets(
    items: list[_Item], declared: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> dict[str, Secret]:
    """Return undeclared secrets that documents use, from the environment or the secret store."""
    parts = [item.entity.part for item in items if item.entity.kind in _MAY_USE_SECRETS]
    names = {name for part in parts for name in find_secret_names(part.raw.data)}
    names -= declared.keys()
    secrets = {
        name: Secret(environment[name], declared=True) for name in names if name in environment
    }
    if names - secrets.keys():
        stored = read_secrets()
        secrets |= {name: stored[name] for name in names - secrets.keys() if name in stored}
    return secrets


def _index_entities(
    items: list[_Item],
) -> tuple[dict[DocumentKind, dict[str, Entity]], list[Issue]]:
    """Return the entities by key, selected ones first, and a problem for each duplicate key."""
    entities: dict[DocumentKind, dict[str, Entity]] = {kind: {} for kind in _LISTS.values()}
    entities |= {"evaluation": {}, "plan": {}}
    problems: list[Issue] = []
    borrowed = {id(item.entity) for item in items if item.borrowed}
    for item in sorted(items, key=lambda item: item.precedence):
        entity = item.entity
        if not entity.key:
            continue
        first = entities[entity.kind].setdefault(entity.key, entity)
        if item.borrowed and (entity.kind != "evaluation" or id(first) not in borrowed):
            continue  # own documents take precedence; duplicates in other run files are ambiguous
        if _written_at(first) != _written_at(entity):
            where = f"{first.file}:{first.line}"
            detail = f"the key `{entity.key}` is already used by another {entity.kind}, at {where}"
            fault = Fault((), "duplicate_key", detail, "give one of them a different key")
            place = Place(entity.file, entity.line)
            problems.append(locate_fault(fault, place, entity.part.field(("key",))))
    return entities, problems


def _written_at(entity: Entity) -> tuple[str, int]:
    return os.path.realpath(entity.file), entity.line


def _choose_evaluations(items: list[_Item]) -> list[Entity]:
    """Return the run file's evaluation or, if it has none, all selected evaluations."""
    named = [item for item in items if item.main and item.entity.kind == "evaluation"]
    return [item.entity for item in ([item for item in named if item.in_run] or named)]


def _choose_tasks(
    items: list[_Item], entities: Mapping[DocumentKind, Mapping[str, Entity]]
) -> list[Entity]:
    named = [item for item in items if item.main]
    tasks = {item.entity.key: item.entity for item in named if item.entity.kind == "task"}
    has_run = any(item.in_run for item in named)
    return list((tasks or (entities["task"] if has_run else tasks)).values())
