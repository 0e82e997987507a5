"""Add documents to a project: check them, then copy them with the files that they include.

    tasks/qa.yaml      with `!include prompts/qa.txt` and `$ref: parts/solver.yaml`
                   →   project/tasks/qa.yaml, project/tasks/prompts/qa.txt, …

Everything is checked before anything is written, and a failed copy is undone, so errors change
nothing. Existing files are replaced only with `update`, and only if they are part of the replaced
document.
"""

import filecmp
import glob
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from msgspec import Struct, structs

from evalwright.errors import BadTasks, Unreadable, UsageError
from evalwright.projects.kinds import FOLDERS, EntityKind
from evalwright.projects.lookup import (
    entities_of_kind,
    load_valid_environment,
    require_own_file,
)
from evalwright.spec.documents.models.model import ProviderModel
from evalwright.spec.documents.project import Project, read_project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.layout import find_include_root
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document

EntityStatus = Literal["created", "updated", "unchanged"]
_MOST_SHOWN = 5
_REFERENCE_RULES = {f"unknown_{kind}" for kind in FOLDERS}
"""Rules that are not checked, because missing entities may be added later."""


class AddedEntity(Struct, frozen=True, kw_only=True):
    """A document that was added to the project."""

    key: str
    kind: EntityKind
    status: EntityStatus
    files: list[str]
    warnings: list[str]


class _FileCopy(NamedTuple):
    source: Path
    target: Path


class _Addition(Struct, frozen=True, kw_only=True):
    entity: Entity
    replaced: Entity | None
    """Existing entity with the same key."""
    target: Path
    copies: list[_FileCopy]


def add_entities(
    kind: EntityKind,
    patterns: Sequence[str],
    project: str = ".",
    *,
    update: bool = False,
    env: Sequence[str] = (),
) -> list[AddedEntity]:
    """Check documents and copy them into a project; raise `BadTasks` if one is not valid."""
    root = Path(project)
    if root.exists() and not root.is_dir():
        raise Unreadable(f"{project}: expected the folder of a project, got a file")
    environment = load_valid_environment(env)
    current = read_project(root, environment=environment) if root.is_dir() else None
    documents = [_read_valid(kind, file, environment) for file in _expand(patterns)]
    _refuse_duplicate_keys([entity for _, entity in documents])
    additions = [_plan_addition(source, entity, root, current) for source, entity in documents]
    for addition in additions:
        _refuse_overwriting(addition, update=update)
    _copy_files([copy for addition in additions for copy in addition.copies])
    return [_describe_addition(addition, environment) for addition in additions]


def add_provider(name: str, project: str = ".") -> AddedEntity:
    """Write a document for a model of a provider, such as `openai/gpt-4o`."""
    try:
        model = ProviderModel(model=name)
    except ValueError as error:  # includes pydantic's ValidationError
        why = str(error).partition("Value error, ")[2].partition(" [type=")[0]
        raise UsageError(f"`--provider {name}`: {why}") from error
    entity = AddedEntity(key=model.key, kind="model", status="unchanged", files=[], warnings=[])
    if Path(project).is_dir() and model.key in read_project(project, environment={}).models:
        return entity
    target = Path(project) / FOLDERS["model"] / f"{model.key.replace('$', '-')}.yaml"
    if target.exists():
        raise UsageError(f"{target}: already exists and was not changed")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"$provider: {model.model}\n", encoding="utf-8")
    return structs.replace(entity, status="created", files=[str(target)])


def _expand(patterns: Sequence[str]) -> list[Path]:
    names: list[str] = []
    for pattern in patterns:
        matches = [pattern]
        if not Path(pattern).exists():
            matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute
        if not matches:
            raise Unreadable(f"{pattern}: no such file")
        names += matches
    for name in names:
        if Path(name).is_dir():
            raise Unreadable(f"{name}: expected a document, got a folder", hint=f"{name}/*.yaml")
    return [Path(name) for name in dict.fromkeys(names)]


def _read_valid(
    kind: EntityKind, file: Path, environment: Mapping[str, str]
) -> tuple[YamlDocument, Entity]:
    """Read a document that is valid in itself, even if the project lacks other documents."""
    project = read_project(file, environment=environment)
    if project.kind is not None and project.kind != kind:
        what = "a run file" if project.kind == "run" else f"one of the kind `{project.kind}`"
        hint = "run it with `evalwright run`"
        if project.kind in FOLDERS:
            hint = f"`evalwright {'eval' if project.kind == 'evaluation' else project.kind} add`"
        raise UsageError(f"{file}: expected a document of the kind `{kind}`, got {what}", hint=hint)
    problems = [issue for issue in project.problems if issue.rule not in _REFERENCE_RULES]
    errors = [f"{i.file}:{i.line}: {i.detail}" for i in problems if i.level == "error"]
    if errors:
        more = [f"and {len(errors) - _MOST_SHOWN} more"] if len(errors) > _MOST_SHOWN else []
        text = "; ".join(errors[:_MOST_SHOWN] + more)
        raise BadTasks(
            f"{len(errors)} error{'s' if len(errors) > 1 else ''}; nothing was added: {text}",
            hint=f"`evalwright validate {file}` shows each error with its position",
        )
    entities = entities_of_kind(project, kind).values()
    entity = next(entity for entity in entities if Path(entity.file).samefile(file))
    root = find_include_root(Path(file))
    return read_document(file, environment=environment, root=root), entity


def _refuse_duplicate_keys(entities: Sequence[Entity]) -> None:
    files: dict[str, str] = {}
    for entity in entities:
        if entity.key in files:
            raise UsageError(
                f"{files[entity.key]} and {entity.file} have the same key `{entity.key}`",
                hint="give one of them a different key",
            )
        files[entity.key] = entity.file


def _plan_addition(
    source: YamlDocument, entity: Entity, root: Path, current: Project | None
) -> _Addition:
    kind = cast("EntityKind", entity.kind)
    replaced = entities_of_kind(current, kind).get(entity.key) if current is not None else None
    target = root / FOLDERS[kind] / Path(entity.file).name
    if replaced is not None:
        require_own_file(kind, replaced.key, file=replaced.file, line=replaced.line)
        target = Path(replaced.file)
    copies = [_FileCopy(Path(entity.file), target)]
    source_folder = os.path.abspath(Path(entity.file).parent)  # noqa: PTH100 - keeps symbolic links
    project_folder = os.path.abspath(root)  # noqa: PTH100
    included = dict.fromkeys([*source.files[1:], *entity.part.files[1:]])
    for part in [*map(Path, included), *_data_files(entity)]:
        to = os.path.normpath(target.parent / os.path.relpath(part, source_folder))
        if not os.path.abspath(to).startswith(project_folder + os.sep):  # noqa: PTH100
            raise UsageError(
                f"{entity.file}: refers to {part}, which would be outside the project",
                hint="keep the files of a document next to it",
            )
        copies.append(_FileCopy(part, Path(to)))
    needed = [copy for copy in copies if not _is_same_file(*copy)]
    return _Addition(entity=entity, replaced=replaced, target=target, copies=needed)


def _is_same_file(source: Path, target: Path) -> bool:
    return target.exists() and (
        target.samefile(source) or filecmp.cmp(source, target, shallow=False)
    )


def _data_files(entity: Entity) -> Iterator[Path]:
    document: Any = entity.document
    if entity.kind != "dataset" or document is None:
        return
    for name in ("file_path", "directory_path"):
        location = getattr(document.origin, name, None)
        if location is None or Path(location.written).is_absolute():
            continue
        if location.path.is_dir():
            yield from (path for path in sorted(location.path.rglob("*")) if path.is_file())
        else:
            yield location.path


def _refuse_overwriting(addition: _Addition, *, update: bool) -> None:
    """Raise unless only files of the replaced entity are overwritten, and `update` is set."""
    entity, replaced = addition.entity, addition.replaced
    if replaced is not None and addition.copies and not update:
        raise UsageError(
            f"the project already has the {entity.kind} `{entity.key}`, in {replaced.file}",
            hint="use `--update` to replace it",
        )
    old_files = [*map(Path, replaced.part.files), *_data_files(replaced)] if replaced else []
    allowed = {os.path.realpath(file) for file in old_files}
    for copy in addition.copies:
        if copy.target.exists() and os.path.realpath(copy.target) not in allowed:
            raise UsageError(
                f"{copy.target}: already exists with different content, and was not changed",
                hint=f"rename {copy.source}",
            )


def _copy_files(copies: Iterable[_FileCopy]) -> None:
    """Copy all files or none: write each file next to its target, then rename all."""
    renames: list[tuple[Path, Path]] = []
    try:
        for copy in _merge_copies(copies):
            copy.target.parent.mkdir(parents=True, exist_ok=True)
            part = copy.target.with_name(f".{copy.target.name}.part")
            renames.append((part, copy.target))
            shutil.copyfile(copy.source, part)
        for part, target in renames:
            part.replace(target)
    except OSError as error:
        for part, _ in renames:
            part.unlink(missing_ok=True)
        raise UsageError(f"{error.filename}: cannot be copied: {error.strerror}") from error


def _merge_copies(copies: Iterable[_FileCopy]) -> list[_FileCopy]:
    """Copy a shared file only once; reject different files with the same target."""
    merged: dict[Path, _FileCopy] = {}
    for copy in copies:
        other = merged.setdefault(copy.target, copy)
        if not filecmp.cmp(copy.source, other.source, shallow=False):
            raise UsageError(
                f"{other.source} and {copy.source} would both become {copy.target}",
                hint="give one of them a different name",
            )
    return list(merged.values())


def _describe_addition(addition: _Addition, environment: Mapping[str, str]) -> AddedEntity:
    issues = read_project(addition.target, environment=environment).problems
    changed: EntityStatus = "updated" if addition.copies else "unchanged"
    return AddedEntity(
        key=addition.entity.key,
        kind=cast("EntityKind", addition.entity.kind),
        status="created" if addition.replaced is None else changed,
        files=[str(copy.target) for copy in addition.copies],
        warnings=[f"{issue.file}:{issue.line}: {issue.message}" for issue in issues],
    )
