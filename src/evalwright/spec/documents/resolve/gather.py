"""Gather the documents of a project: what was named, what lies beside it, and all keys.

What was named (`main`) is always checked. What lies beside it is only known: a mistake in it counts
when something refers to it. In a folder, everything was named. A file whose key cannot be read is
kept apart (`unread`), because nobody knows what would refer to it.

An assessment plan (several evaluations with their values, as a server keeps them) is not run: its
author is told which evaluations it names, and how to run each.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import build_typed, locate_faults
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.resolve.config_values import GivenValue, read_given_values
from evalwright.spec.documents.resolve.documents import DocumentPart
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.layout import (
    FOLDERS,
    KIND_KEYS,
    PLAN_KEY,
    RUN_FILES,
    DocumentKind,
    ProjectFile,
    detect_kind,
    find_project_root,
    list_named_files,
    list_project_files,
)
from evalwright.spec.documents.resolve.placeholders import merge_secrets
from evalwright.spec.documents.resolve.policies import (
    WrittenPolicy,
    find_taken_keys,
    parse_policies,
)
from evalwright.spec.documents.yaml.compose import ComposedFiles
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    did_you_mean,
    locate_fault,
    quote_names,
    type_name,
)
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue

ENTITY_KINDS: tuple[DocumentKind, ...] = (
    "adapter",
    "model",
    "generator",
    "dataset",
    "task",
    "evaluation",
)
_LISTS: Mapping[str, DocumentKind] = {
    "model_adapters": "adapter",
    "models": "model",
    "dataset_generators": "generator",
    "datasets": "dataset",
    "tasks": "task",
}
_MOST_NAMED = 10


class GatheredProject(Struct, frozen=True, kw_only=True):
    """All that was found."""

    path: Path
    root: Path
    kind: DocumentKind | None
    """What the path itself is; None for a folder."""
    run: RunFile | None
    secrets: dict[str, str | Secret]
    config: dict[str, GivenValue]
    """The values that the run file gives."""
    entities: dict[DocumentKind, dict[str, Entity]]
    main: list[Entity]
    """Those that the path stands for."""
    evaluations: list[Entity]
    """Those that the path asks to be run."""
    targets: list[Entity]
    """The tasks to run where there is no evaluation."""
    policies: list[WrittenPolicy]
    """What the figures of a run must be."""
    problems: list[Issue]
    """Of the files that were named, but for those of their entities."""
    whole: list[Issue]
    """Those of them that no entity can be spared from: of the run file, and between documents."""
    unread: dict[DocumentKind, list[Issue]]
    """Those of the files, named or not, whose keys cannot be read: any key of the kind may be."""
    files: list[str]


class _Read(NamedTuple):
    """A file that has been read."""

    document: YamlDocument
    kind: DocumentKind | None
    main: bool
    folder: str


class _Item(NamedTuple):
    """A document in it."""

    kind: DocumentKind
    part: DocumentPart
    main: bool
    run: bool
    """It stands in the run file."""
    order: int = 0
    """When it was first met, there or in a folder."""


def gather_project(path: Path, environment: Mapping[str, str]) -> GatheredProject:
    """Read what a path stands for, and what lies beside it."""
    whole = path.is_dir()
    root = find_project_root(path)
    composed: ComposedFiles = {}
    reads = [_read(one, environment, composed, main=main) for one, main in _files(path, root)]
    fragments = {os.path.realpath(name) for one in reads for name in one.document.files[1:]}
    reads = [one for one in reads if not _is_fragment(one, fragments)]

    problems = [found for one in reads if one.main for found in _unsorted(one)]
    if whole and not reads:
        problems.append(_nothing(path))
    runs = [one for one in reads if one.kind == "run" and one.main]
    run, wrong = _run_file(runs[0].document) if runs else (None, [])
    wrong += [_another_run(one.document, runs[0].document) for one in runs[1:]]
    policies, bad = _policies([*runs[:1], *(one for one in reads if one.kind == "policy")])
    wrong += bad
    items = _drop_referred(item for one in reads for item in _items(one))
    secrets, twice = merge_secrets(*_secret_maps(reads, items))
    found = [(item, Entity(item.kind, item.part, secrets=secrets)) for item in items]
    entities, duplicates = _by_key(found)
    in_order = sorted(found, key=lambda pair: pair[0].order)
    main = [one for item, one in in_order if item.main]
    return GatheredProject(
        path=path,
        root=root,
        kind=None if whole or not reads else _kind_of(reads),
        run=run,
        secrets=secrets,
        config=_config(runs[0].document) if runs else {},
        entities=entities,
        main=main,
        evaluations=_evaluations(found),
        targets=_targets(in_order, entities),
        policies=policies,
        problems=list(dict.fromkeys([*problems, *wrong, *twice, *duplicates])),
        whole=[*_of_run_files(reads), *wrong, *twice, *duplicates],
        unread=_unread(reads),
        files=list(dict.fromkeys(name for one in reads if one.main for name in one.document.files)),
    )


def _files(path: Path, root: Path) -> Iterator[tuple[ProjectFile, bool]]:
    """What was named, and what lies beside it."""
    named = list_named_files(path, root)
    known = {os.path.realpath(one.path) for one in named}
    yield from ((one, True) for one in named)
    for one in list_project_files(root):
        if os.path.realpath(one.path) not in known:
            yield one, False


def _is_fragment(read: _Read, fragments: set[str]) -> bool:
    """Whether it is only a part of another document, and not one itself."""
    return (
        os.path.realpath(read.document.file) in fragments
        and detect_kind(read.document.data) is None
    )


def _read(
    found: ProjectFile, environment: Mapping[str, str], composed: ComposedFiles, *, main: bool
) -> _Read:
    document = read_document(found.path, environment=environment, composed=composed)
    kind = detect_kind(document.data, found.folder)
    if kind == "policy" and found.path.name in RUN_FILES:
        kind = "run"  # one that has nothing else in it
    return _Read(document, kind, main, found.folder)


def _kind_of(reads: list[_Read]) -> DocumentKind | None:
    return next(one.kind for one in reads if one.main)


def _unsorted(read: _Read) -> Iterable[Issue]:
    """The problems of a file; of a file with entities in it, they come with these."""
    document = read.document
    if read.kind == "run":
        return document.problems
    if read.kind is not None or any(one.level == "error" for one in document.problems):
        return document.problems
    return [
        *document.problems,
        *locate_faults([_no_kind(document.data)], document.marks, document.data),
    ]


def _no_kind(data: Any) -> Fault:
    """What is said of a file that is none of the kinds."""
    if isinstance(data, dict) and PLAN_KEY in data:
        return _plan_fault(data)
    keys = sorted(str(key) for key in data) if isinstance(data, dict) else []
    got = f"the keys {', '.join(keys)}" if keys else f"`{type_name(data)}`"
    misspelt = next((key for key in keys if did_you_mean(key, KIND_KEYS)), "")
    return Fault(
        (misspelt,) if misspelt else (),
        "unknown_kind",
        "expected a task, dataset, generator, model, adapter, evaluation, policy or run file, "
        f"got {got}",
        did_you_mean(misspelt, KIND_KEYS)
        or "a task has a `definition`, an evaluation `task_specifications`, a dataset a "
        "`source`, a model a `config`",
        at_key=True,
    )


def _of_run_files(reads: list[_Read]) -> Iterator[Issue]:
    """The problems of the run file, even of one that cannot be read."""
    for one in reads:
        if one.main and (one.kind == "run" or Path(one.document.file).name in RUN_FILES):
            yield from _unsorted(one)


def _unread(reads: list[_Read]) -> dict[DocumentKind, list[Issue]]:
    """The problems of the files in the project's folders whose keys cannot be read."""
    unread: dict[DocumentKind, list[Issue]] = {}
    for one in reads:
        if one.folder in FOLDERS and one.document.unread & {(), ("key",)}:
            kind = one.kind or FOLDERS[one.folder]
            unread.setdefault(kind, []).extend(one.document.problems)
    return unread


def _nothing(path: Path) -> Issue:
    return Issue(
        file=str(path),
        line=1,
        rule="no_project",
        detail="expected a run.yaml, or documents in tasks/, datasets/, models/ or evaluations/",
        hint="`evalwright init` writes a project that runs",
    )


def _another_run(document: YamlDocument, first: YamlDocument) -> Issue:
    return Issue(
        file=document.file,
        line=1,
        rule="many_run_files",
        detail=f"expected one run file in a folder, {first.file} is another",
        hint="name the one that you mean, not the folder",
    )


def _run_file(document: YamlDocument) -> tuple[RunFile | None, list[Issue]]:
    run, wrong = build_typed(RunFile, document.data)
    return run, locate_faults(wrong, document.marks, document.data, unread=document.unread)


def _policies(reads: Iterable[_Read]) -> tuple[list[WrittenPolicy], list[Issue]]:
    """Those of the files that were named."""
    found: list[WrittenPolicy] = []
    problems: list[Issue] = []
    named = [one.document for one in reads if one.main]
    for document in named:
        written, wrong = parse_policies(document)
        found += written
        problems += wrong
    return found, [*problems, *find_taken_keys(named)]


def _config(document: YamlDocument) -> dict[str, GivenValue]:
    return read_given_values(document.data.get("config"), document.marks)


def _items(read: _Read) -> Iterator[_Item]:
    """The documents of a file: itself, or those in the lists of a run file."""
    document = read.document
    if read.kind in {None, "policy"}:
        return
    if read.kind != "run":
        yield _Item(read.kind, DocumentPart(document), read.main, run=False)
        return
    for name, kind in _LISTS.items():
        listed = document.data.get(name)
        for number, one in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(one, dict):
                yield _Item(kind, _part(document, (name, number), one), read.main, run=True)
    if isinstance(one := document.data.get("evaluation"), dict) and read.main:
        yield _Item("evaluation", _part(document, ("evaluation",), one), read.main, run=True)


def _drop_referred(items: Iterable[_Item]) -> list[_Item]:
    """Keep a document once that lies in a folder and that the run file refers to as well."""
    kept: dict[int, _Item] = {}
    numbers: dict[tuple[object, ...], list[int]] = {}
    for order, new in enumerate(items):
        file, *position = new.part.raw.marks.place(("key",))
        same_place = numbers.setdefault((new.kind, os.path.realpath(file), *position), [])
        same = [one for one in same_place if kept[one].part.raw.data == new.part.raw.data]
        item = new._replace(order=kept[same[0]].order if same else order)
        if not same or _precedence(new) < _precedence(kept[same[0]]):
            kept[order] = item
            same_place.append(order)
            for number in same:
                del kept[number]
                same_place.remove(number)
    return list(kept.values())


def _precedence(item: _Item) -> tuple[bool, bool]:
    """What was named comes first, then what stands in the run file."""
    return not item.main, not item.run


def _part(document: YamlDocument, path: FieldPath, data: dict[str, Any]) -> DocumentPart:
    """A part of a run file. What is in a file of its own begins there."""
    marks = document.marks.below(path)
    unread = frozenset(one[len(path) :] for one in document.unread if one[: len(path)] == path)
    raw = replace(document, data=data, marks=marks, problems=[], unread=unread)
    elsewhere = marks.place(("key",)).file != document.file
    return DocumentPart(raw, () if elsewhere else path)


def _secret_maps(
    reads: list[_Read], items: list[_Item]
) -> Iterator[tuple[Mapping[str, Any], Any, FieldPath]]:
    for read in reads:
        if read.kind == "run" and isinstance(found := read.document.data.get("secrets"), dict):
            yield found, read.document.marks, ("secrets",)
    for item in items:
        found = item.part.raw.data.get("secrets") if isinstance(item.part.raw.data, dict) else None
        if item.kind in {"model", "generator"} and isinstance(found, dict):
            yield found, item.part.raw.marks, ("secrets",)


def _by_key(
    found: list[tuple[_Item, Entity]],
) -> tuple[dict[DocumentKind, dict[str, Entity]], list[Issue]]:
    """The entities by key, what was named first; and the keys that two different ones have."""
    entities: dict[DocumentKind, dict[str, Entity]] = {kind: {} for kind in ENTITY_KINDS}
    problems: list[Issue] = []
    for _, one in sorted(found, key=lambda pair: _precedence(pair[0])):
        if not one.key:
            continue
        first = entities[one.kind].setdefault(one.key, one)
        if first is not one and not _same(first, one):
            problems.append(_taken(first, one))
    return entities, problems


def _same(one: Entity, other: Entity) -> bool:
    return one.line == other.line and os.path.realpath(one.file) == os.path.realpath(other.file)


def _taken(first: Entity, one: Entity) -> Issue:
    detail = f"the key `{one.key}` is that of another {one.kind}, at {first.file}:{first.line}"
    fault = Fault((), "duplicate_key", detail, "give one of them another key")
    return locate_fault(fault, Place(one.file, one.line), one.part.field(("key",)))


def _evaluations(found: list[tuple[_Item, Entity]]) -> list[Entity]:
    """The run file's, if it has one; else all that were named."""
    named = [(item, one) for item, one in found if item.main and one.kind == "evaluation"]
    in_run = [one for item, one in named if item.run]
    return in_run or [one for _, one in named]


def _targets(
    found: list[tuple[_Item, Entity]], entities: Mapping[DocumentKind, Mapping[str, Entity]]
) -> list[Entity]:
    """The tasks that were named, each once; for a run file without tasks, those beside it."""
    main = {one.key: one for item, one in found if item.main and one.kind == "task"}
    has_run = any(item.run for item, _ in found if item.main)
    if not main and has_run:
        return list(entities["task"].values())
    return list(main.values())


def _plan_fault(data: dict[str, Any]) -> Fault:
    """What is said of a plan, at its list of evaluations."""
    keys = _named_evaluations(data.get(PLAN_KEY))
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    named = f"; it names {quote_names(keys[:_MOST_NAMED])}{more}" if keys else ""
    return Fault(
        (PLAN_KEY,),
        "unsupported",
        f"an assessment plan is not run here{named}",
        "run its evaluations one by one: `evalwright run . --evaluation KEY --config FILE`, "
        "FILE with `evaluation_config` as `config`, `evaluation_run_config` as `run_config`",
        at_key=True,
    )


def _named_evaluations(specifications: Any) -> list[str]:
    """The keys that it names, each once."""
    given = specifications if isinstance(specifications, list) else []
    named = [one.get("evaluation_key") for one in given if isinstance(one, dict)]
    texts = [" ".join(one.split()) for one in named if isinstance(one, str)]
    return list(dict.fromkeys(one for one in texts if one))
