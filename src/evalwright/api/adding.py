"""Put documents into a project: each is checked, then copied with all that it is made of.

    tasks/qa.yaml      with `!include prompts/qa.txt` and `$ref: parts/solver.yaml`
                   →   project/tasks/qa.yaml, project/tasks/prompts/qa.txt, …

Everything is checked before anything is written, and what was written is taken back where the rest
cannot be: a mistake changes nothing. What lies there already is replaced only with `update`, and
only if it was part of the document that is replaced.
"""

import filecmp
import glob
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from evalwright.api.entities import (
    FOLDERS,
    NOUNS,
    environment_from,
    files_of,
    of_kind,
    refuse_shared,
)
from evalwright.errors import BadTasks, Unreadable, UsageError
from evalwright.report.entities import Kind

if TYPE_CHECKING:
    from evalwright.spec.documents.entities import Entity
    from evalwright.spec.documents.problems import Problem
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.reading import Document

_SHOWN = 5
_REFERENCES = {f"unknown_{kind}" for kind in NOUNS}
"""What is not in the project may be added later."""


class Added(Struct, frozen=True, kw_only=True):
    """One document that is in the project now."""

    key: str
    kind: Kind
    status: Literal["created", "updated", "unchanged"]
    files: list[str]
    """That were written."""
    warnings: list[str]


class _Copy(Struct, frozen=True):
    """A file, and where it goes."""

    source: Path
    target: Path

    @property
    def is_needed(self) -> bool:
        """Whether it is not there yet, or not the same."""
        if not self.target.exists():
            return True
        if self.target.samefile(self.source):
            return False
        return not filecmp.cmp(self.source, self.target, shallow=False)


class _Adding(Struct, frozen=True, kw_only=True):
    """What is to be done for one document."""

    entity: "Entity"
    old: "Entity | None"
    """Who has its key now."""
    target: Path
    copies: list[_Copy]
    """Of what is not there yet."""


def add_entities(
    kind: Kind,
    patterns: Sequence[str],
    project: str = ".",
    *,
    update: bool = False,
    env: Sequence[str] = (),
) -> list[Added]:
    """Check documents and copy them into a project; `BadTasks` if one is not as it should be."""
    from evalwright.spec.documents.project import read_project

    root = Path(project)
    if root.exists() and not root.is_dir():
        raise Unreadable(f"{project}: expected the folder of a project, it is a file")
    environment = environment_from(env)
    there = read_project(root, environment=environment) if root.is_dir() else None
    found = [_checked(kind, file, environment) for file in _files(patterns)]
    _refuse_twice([entity for _, entity in found])
    adding = [_planned(source, entity, root, there) for source, entity in found]
    for one in adding:
        _refuse_existing(one, update=update)
    _copy([copy for one in adding for copy in one.copies])
    return [_added(one, environment) for one in adding]


def add_provider(name: str, project: str = ".") -> Added:
    """Write a document for a model of a provider: `openai/gpt-4o`."""
    from evalwright.spec.documents.model import ProviderModel
    from evalwright.spec.documents.project import read_project

    try:
        model = ProviderModel(model=name)
    except ValueError as error:  # pydantic's, which is one
        why = str(error).partition("Value error, ")[2].partition(" [type=")[0]
        raise UsageError(f"`--provider {name}`: {why}") from error
    unchanged = Added(key=model.key, kind="model", status="unchanged", files=[], warnings=[])
    if Path(project).is_dir() and model.key in read_project(project, environment={}).models:
        return unchanged
    target = Path(project) / FOLDERS["model"] / f"{model.key.replace('$', '-')}.yaml"
    text = f"$provider: {model.model}\n"
    if target.exists():
        raise UsageError(f"{target}: already there, and left as it is")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return Added(key=model.key, kind="model", status="created", files=[str(target)], warnings=[])


def _files(patterns: Sequence[str]) -> list[Path]:
    found: dict[str, None] = {}
    for pattern in patterns:
        named = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may begin anywhere
        if not named:
            raise Unreadable(f"{pattern}: no such file")
        found.update(dict.fromkeys(named))
    for name in found:
        if Path(name).is_dir():
            raise Unreadable(f"{name}: expected a document, it is a folder", hint=f"{name}/*.yaml")
    return [Path(name) for name in found]


def _checked(kind: Kind, file: Path, environment: Mapping[str, str]) -> "tuple[Document, Entity]":
    """A document that is as it should be, whatever the project around it lacks."""
    from evalwright.spec.documents.project import read_project
    from evalwright.spec.documents.reading import read_document

    project = read_project(file, environment=environment)
    errors = [one for one in project.problems if _counts(one)]
    if project.kind is not None and project.kind != kind:
        what = "a run file" if project.kind == "run" else f"of the kind `{project.kind}`"
        noun = NOUNS.get(cast("Kind", project.kind))  # none for a run file or a policy
        raise UsageError(
            f"{file}: expected a document of the kind `{kind}`, it is {what}",
            hint=f"`evalwright {noun} add`" if noun else "`evalwright run` takes it as it is",
        )
    if errors:
        first = "; ".join(f"{one.file}:{one.line}: {one.detail}" for one in errors[:_SHOWN])
        more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
        raise BadTasks(
            f"{len(errors)} error{'s' if len(errors) > 1 else ''}, nothing was added: "
            f"{first}{more}",
            hint=f"`evalwright validate {file}` shows each at its place",
        )
    entity = next(one for one in of_kind(project, kind).values() if Path(one.file).samefile(file))
    return read_document(file, environment=environment), entity


def _counts(problem: "Problem") -> bool:
    return problem.level == "error" and problem.rule not in _REFERENCES


def _refuse_twice(entities: "Sequence[Entity]") -> None:
    files: dict[str, str] = {}
    for one in entities:
        if one.key in files:
            raise UsageError(
                f"{files[one.key]} and {one.file} have the same key `{one.key}`",
                hint="give one of them another key",
            )
        files[one.key] = one.file


def _planned(source: "Document", entity: "Entity", root: Path, there: "Project | None") -> _Adding:
    kind: Any = entity.kind
    old = of_kind(there, kind).get(entity.key) if there is not None else None
    name = Path(entity.file).name
    target = root / FOLDERS[kind] / name
    if old is not None:
        refuse_shared(old)
        target = Path(old.file)
    copies = [_Copy(Path(entity.file), target)]
    home = os.path.abspath(Path(entity.file).parent)  # noqa: PTH100 - links stay what they are
    inside = os.path.abspath(root)  # noqa: PTH100
    for part in _parts(source, entity):
        to = os.path.normpath(target.parent / os.path.relpath(part, home))
        if not os.path.abspath(to).startswith(inside + os.sep):  # noqa: PTH100
            raise UsageError(
                f"{entity.file}: refers to {part}, which would lie outside of the project",
                hint="keep what a document is made of beside it",
            )
        copies.append(_Copy(part, Path(to)))
    return _Adding(
        entity=entity,
        old=old,
        target=target,
        copies=[one for one in copies if one.is_needed],
    )


def _parts(source: "Document", entity: "Entity") -> Iterator[Path]:
    """The files that a document is made of, and those with its rows."""
    files = dict.fromkeys([*source.files[1:], *files_of(entity)[1:]])
    yield from map(Path, files)
    yield from _rows_of(entity)


def _rows_of(entity: "Entity") -> Iterator[Path]:
    """The files with the rows of a dataset that are kept beside it."""
    document: Any = entity.document
    if entity.kind != "dataset" or document is None:
        return
    for name in ("file_path", "directory_path"):
        location = getattr(document.origin, name, None)
        if location is None or Path(location.written).is_absolute():
            continue
        if location.path.is_dir():
            yield from (one for one in sorted(location.path.rglob("*")) if one.is_file())
        else:
            yield location.path


def _refuse_existing(adding: _Adding, *, update: bool) -> None:
    """What lies there stays, unless it is to be replaced, and by nothing else."""
    entity, old = adding.entity, adding.old
    if old is not None and adding.copies and not update:
        raise UsageError(
            f"the project has the {entity.kind} `{entity.key}` already, in {old.file}",
            hint="`--update` puts this one in its place",
        )
    its = [*map(Path, files_of(old)), *_rows_of(old)] if old else []
    replaced = {os.path.realpath(one) for one in its}
    for copy in adding.copies:
        if copy.target.exists() and os.path.realpath(copy.target) not in replaced:
            raise UsageError(
                f"{copy.target}: already there, of something else, and left as it is",
                hint=f"give {copy.source} another name",
            )


def _copy(copies: Iterable[_Copy]) -> None:
    """All of them, or none: what is whole beside its place is then put there."""
    whole: list[tuple[Path, Path]] = []
    try:
        for one in _once(copies):
            one.target.parent.mkdir(parents=True, exist_ok=True)
            beside = one.target.with_name(f".{one.target.name}.part")
            whole.append((beside, one.target))
            shutil.copyfile(one.source, beside)
        for beside, target in whole:
            beside.replace(target)
    except OSError as error:
        for beside, _ in whole:
            beside.unlink(missing_ok=True)
        raise UsageError(f"{error.filename}: cannot be copied: {error.strerror}") from error


def _once(copies: Iterable[_Copy]) -> list[_Copy]:
    """Several documents may be made of one file, but not of two that go to one place."""
    found: dict[Path, _Copy] = {}
    for one in copies:
        other = found.setdefault(one.target, one)
        if not filecmp.cmp(one.source, other.source, shallow=False):
            raise UsageError(
                f"{other.source} and {one.source} would both become {one.target}",
                hint="give one of them another name",
            )
    return list(found.values())


def _added(adding: _Adding, environment: Mapping[str, str]) -> Added:
    from evalwright.spec.documents.project import read_project

    problems = read_project(adding.target, environment=environment).problems
    return Added(
        key=adding.entity.key,
        kind=cast("Kind", adding.entity.kind),
        status="created" if adding.old is None else "updated" if adding.copies else "unchanged",
        files=[str(one.target) for one in adding.copies],
        warnings=[
            f"{one.file}:{one.line}: {one.detail}" + (f"; {one.hint}" if one.hint else "")
            for one in problems
        ],
    )
