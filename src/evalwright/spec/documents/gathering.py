"""The documents of a project, sorted: what was named, what lies beside it, and who has which key.

What was named (`main`) is checked whatever happens. What lies beside is only known: a mistake in
it counts when something leads there. In a folder, everything was named. Of a file that has no key
because it cannot be read, nobody knows what would lead there: it is kept apart (`unread`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from evalwright.secrets import Secret
from evalwright.spec.documents.check import built, placed
from evalwright.spec.documents.configuration import Given, given_in
from evalwright.spec.documents.entities import Entity, entity
from evalwright.spec.documents.faults import Fault, did_you_mean, kind_of_value
from evalwright.spec.documents.folders import Found, files_in, files_of, project_of
from evalwright.spec.documents.kinds import FOLDERS, PLAN, RUN_FILES, SIGNS, Kind, kind_of
from evalwright.spec.documents.placeholders import gather_secrets
from evalwright.spec.documents.plans import plan_fault
from evalwright.spec.documents.policies import Written, policies_in, taken_keys
from evalwright.spec.documents.problems import Path, Problem
from evalwright.spec.documents.reading import Document, read_document
from evalwright.spec.documents.resolving import Part
from evalwright.spec.documents.run_file import RunFile

ENTITIES: tuple[Kind, ...] = ("adapter", "model", "generator", "dataset", "task", "evaluation")
_LISTS: Mapping[str, Kind] = {
    "model_adapters": "adapter",
    "models": "model",
    "dataset_generators": "generator",
    "datasets": "dataset",
    "tasks": "task",
}


class Gathered(Struct, frozen=True, kw_only=True):
    """All that was found."""

    path: FilePath
    root: FilePath
    kind: Kind | None
    """What the path itself is; None for a folder."""
    run: RunFile | None
    secrets: dict[str, str | Secret]
    config: dict[str, Given]
    """The values that the run file gives."""
    entities: dict[Kind, dict[str, Entity]]
    main: list[Entity]
    """Those that the path stands for."""
    evaluations: list[Entity]
    """Those that the path asks to be run."""
    targets: list[Entity]
    """The tasks to run where there is no evaluation."""
    policies: list[Written]
    """What the figures of a run must be."""
    problems: list[Problem]
    """Of the files that were named, but for those of their entities."""
    whole: list[Problem]
    """Those of them that no entity can be spared from: of the run file, and between documents."""
    unread: dict[Kind, list[Problem]]
    """Those of the files, named or not, whose keys cannot be read: any key of the kind may be."""
    files: list[str]


class _Read(NamedTuple):
    """A file that has been read."""

    document: Document
    kind: Kind | None
    main: bool
    folder: str


class _Item(NamedTuple):
    """A document in it."""

    kind: Kind
    part: Part
    main: bool
    run: bool
    """It stands in the run file."""


def gather(path: FilePath, environment: Mapping[str, str]) -> Gathered:
    """Read what a path stands for, and what lies beside it."""
    whole = path.is_dir()
    root = project_of(path)
    reads = [_read(one, environment, main=main) for one, main in _files(path, root)]
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
    items = [item for one in reads for item in _items(one)]
    secrets, twice = gather_secrets(*_secret_maps(reads, items))
    found = [(item, entity(item.kind, item.part, secrets=secrets)) for item in items]
    entities, duplicates = _by_key(found)
    main = [one for item, one in found if item.main]
    return Gathered(
        path=path,
        root=root,
        kind=None if whole or not reads else _kind_of(reads),
        run=run,
        secrets=secrets,
        config=_config(runs[0].document) if runs else {},
        entities=entities,
        main=main,
        evaluations=_evaluations(found),
        targets=_targets(found, entities),
        policies=policies,
        problems=list(dict.fromkeys([*problems, *wrong, *twice, *duplicates])),
        whole=[*_of_run_files(reads), *wrong, *twice, *duplicates],
        unread=_unread(reads),
        files=list(dict.fromkeys(name for one in reads if one.main for name in one.document.files)),
    )


def _files(path: FilePath, root: FilePath) -> Iterator[tuple[Found, bool]]:
    """What was named, and what lies beside it."""
    named = files_of(path, root)
    known = {os.path.realpath(one.path) for one in named}
    yield from ((one, True) for one in named)
    for one in files_in(root):
        if os.path.realpath(one.path) not in known:
            yield one, False


def _is_fragment(read: _Read, fragments: set[str]) -> bool:
    """Whether it is only a part of another document, and not one itself."""
    return os.path.realpath(read.document.file) in fragments and kind_of(read.document.data) is None


def _read(found: Found, environment: Mapping[str, str], *, main: bool) -> _Read:
    document = read_document(found.path, environment=environment)
    kind = kind_of(document.data, found.folder)
    if kind == "policy" and found.path.name in RUN_FILES:
        kind = "run"  # one that has nothing else in it
    return _Read(document, kind, main, found.folder)


def _kind_of(reads: list[_Read]) -> Kind | None:
    return next(one.kind for one in reads if one.main)


def _unsorted(read: _Read) -> Iterable[Problem]:
    """The problems of a file; of a file with entities in it, they come with these."""
    document = read.document
    if read.kind == "run":
        return document.problems
    if read.kind is not None or any(one.level == "error" for one in document.problems):
        return document.problems
    return [*document.problems, *placed([_no_kind(document.data)], document.marks, document.data)]


def _no_kind(data: Any) -> Fault:
    """What is said of a file that is none of the kinds."""
    if isinstance(data, dict) and PLAN in data:
        return plan_fault(data)
    keys = sorted(str(key) for key in data) if isinstance(data, dict) else []
    got = f"the keys {', '.join(keys)}" if keys else f"`{kind_of_value(data)}`"
    misspelt = next((key for key in keys if did_you_mean(key, SIGNS)), "")
    return Fault(
        (misspelt,) if misspelt else (),
        "unknown_kind",
        "expected a task, dataset, generator, model, adapter, evaluation, policy or run file, "
        f"got {got}",
        did_you_mean(misspelt, SIGNS)
        or "a task has a `definition`, an evaluation `task_specifications`, a dataset a "
        "`source`, a model a `config`",
        at_key=True,
    )


def _of_run_files(reads: list[_Read]) -> Iterator[Problem]:
    """The problems of the run file, even of one that cannot be read."""
    for one in reads:
        if one.main and (one.kind == "run" or FilePath(one.document.file).name in RUN_FILES):
            yield from _unsorted(one)


def _unread(reads: list[_Read]) -> dict[Kind, list[Problem]]:
    """The problems of the files in the project's folders whose keys cannot be read."""
    unread: dict[Kind, list[Problem]] = {}
    for one in reads:
        if one.folder in FOLDERS and one.document.unread & {(), ("key",)}:
            kind = one.kind or FOLDERS[one.folder]
            unread.setdefault(kind, []).extend(one.document.problems)
    return unread


def _nothing(path: FilePath) -> Problem:
    return Problem(
        file=str(path),
        line=1,
        rule="no_project",
        detail="expected a run.yaml, or documents in tasks/, datasets/, models/ or evaluations/",
        hint="`evalwright init` writes a project that runs",
    )


def _another_run(document: Document, first: Document) -> Problem:
    return Problem(
        file=document.file,
        line=1,
        rule="many_run_files",
        detail=f"expected one run file in a folder, {first.file} is another",
        hint="name the one that you mean, not the folder",
    )


def _run_file(document: Document) -> tuple[RunFile | None, list[Problem]]:
    run, wrong = built(RunFile, document.data)
    return run, placed(wrong, document.marks, document.data, unread=document.unread)


def _policies(reads: Iterable[_Read]) -> tuple[list[Written], list[Problem]]:
    """Those of the files that were named."""
    found: list[Written] = []
    problems: list[Problem] = []
    named = [one.document for one in reads if one.main]
    for document in named:
        written, wrong = policies_in(document)
        found += written
        problems += wrong
    return found, [*problems, *taken_keys(named)]


def _config(document: Document) -> dict[str, Given]:
    return given_in(document.data.get("config"), document.marks)


def _items(read: _Read) -> Iterator[_Item]:
    """The documents of a file: itself, or those in the lists of a run file."""
    document = read.document
    if read.kind in {None, "policy"}:
        return
    if read.kind != "run":
        yield _Item(read.kind, Part(document), read.main, run=False)
        return
    for name, kind in _LISTS.items():
        listed = document.data.get(name)
        for number, one in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(one, dict):
                yield _Item(kind, _part(document, (name, number), one), read.main, run=True)
    if isinstance(one := document.data.get("evaluation"), dict) and read.main:
        yield _Item("evaluation", _part(document, ("evaluation",), one), read.main, run=True)


def _part(document: Document, path: Path, data: dict[str, Any]) -> Part:
    """A part of a run file. What is in a file of its own begins there."""
    marks = document.marks.below(path)
    unread = frozenset(one[len(path) :] for one in document.unread if one[: len(path)] == path)
    raw = replace(document, data=data, marks=marks, problems=[], unread=unread)
    elsewhere = marks.place(("key",)).file != document.file
    return Part(raw, () if elsewhere else path)


def _secret_maps(
    reads: list[_Read], items: list[_Item]
) -> Iterator[tuple[Mapping[str, Any], Any, Path]]:
    for read in reads:
        if read.kind == "run" and isinstance(found := read.document.data.get("secrets"), dict):
            yield found, read.document.marks, ("secrets",)
    for item in items:
        found = item.part.raw.data.get("secrets") if isinstance(item.part.raw.data, dict) else None
        if item.kind in {"model", "generator"} and isinstance(found, dict):
            yield found, item.part.raw.marks, ("secrets",)


def _by_key(
    found: list[tuple[_Item, Entity]],
) -> tuple[dict[Kind, dict[str, Entity]], list[Problem]]:
    """The entities by key, what was named first; and the keys that two different ones have."""
    entities: dict[Kind, dict[str, Entity]] = {kind: {} for kind in ENTITIES}
    problems: list[Problem] = []
    for _, one in sorted(found, key=lambda pair: (not pair[0].main, not pair[0].run)):
        if not one.key:
            continue
        first = entities[one.kind].setdefault(one.key, one)
        if first is not one and not _same(first, one):
            problems.append(_taken(first, one))
    return entities, problems


def _same(one: Entity, other: Entity) -> bool:
    return one.line == other.line and os.path.realpath(one.file) == os.path.realpath(other.file)


def _taken(first: Entity, one: Entity) -> Problem:
    return Problem(
        file=one.file,
        line=one.line,
        rule="duplicate_key",
        field=one.part.field(("key",)),
        detail=f"the key `{one.key}` is that of another {one.kind}, at {first.file}:{first.line}",
        hint="give one of them another key",
    )


def _evaluations(found: list[tuple[_Item, Entity]]) -> list[Entity]:
    """The run file's, if it has one; else all that were named."""
    named = [(item, one) for item, one in found if item.main and one.kind == "evaluation"]
    in_run = [one for item, one in named if item.run]
    return in_run or [one for _, one in named]


def _targets(
    found: list[tuple[_Item, Entity]], entities: Mapping[Kind, Mapping[str, Entity]]
) -> list[Entity]:
    """The tasks that were named, each once; for a run file without tasks, those beside it."""
    main = {one.key: one for item, one in found if item.main and one.kind == "task"}
    has_run = any(item.run for item, _ in found if item.main)
    if not main and has_run:
        return list(entities["task"].values())
    return list(main.values())
