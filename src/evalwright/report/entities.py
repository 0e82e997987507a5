"""Tasks, datasets, models and what else a project has, as their commands print them."""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from evalwright.report.samples import visible

Kind = Literal["task", "dataset", "generator", "model", "adapter", "evaluation"]

COLUMNS: dict[Kind, tuple[str, ...]] = {
    "task": ("Key", "Entity type"),
    "dataset": ("Key", "Name"),
    "generator": ("Key", "Name"),
    "model": ("Key", "Name", "URL"),
    "adapter": ("Key", "Name"),
    "evaluation": ("Key", "Name"),
}
_UNKNOWN = "–"


class ListedEntity(Struct, frozen=True, kw_only=True):
    """One line of `evalwright task list` and its like."""

    key: str
    name: str
    kind: Kind
    file: str
    line: int
    valid: bool
    """Whether there is no error in it."""
    entity_type: str | None = None
    """Of a task: `model`, `dataset` or `system`."""
    url: str | None = None
    """Of a model: its address, or what stands for one."""


class UsedBy(Struct, frozen=True, kw_only=True):
    """Where a project speaks of an entity."""

    file: str
    line: int
    what: str


class ShownEntity(ListedEntity, frozen=True, kw_only=True):
    """All that a project knows of one."""

    files: list[str]
    """The file that it is written in, then those that it is made of."""
    used_by: list[UsedBy]
    problems: list[str]
    document: dict[str, Any]
    """As it was written, with what it includes; without secrets."""


def cells(entity: ListedEntity) -> tuple[str, ...]:
    """A row under `COLUMNS`."""
    if entity.kind == "task":
        return entity.key, entity.entity_type or _UNKNOWN
    if entity.kind == "model":
        return entity.key, visible(entity.name), visible(entity.url or _UNKNOWN)
    return entity.key, visible(entity.name)


def entity_lines(entity: ShownEntity) -> Iterator[str]:
    """A fact a line, then the document."""
    from evalwright.report.yaml_text import to_yaml

    facts = list(_facts(entity))
    width = max(len(name) for name, _ in facts)
    for name, fact in facts:
        yield f"{name:<{width}}  {visible(fact)}"
    yield ""
    yield visible(to_yaml(entity.document)).rstrip("\n")


def _facts(entity: ShownEntity) -> Iterator[tuple[str, str]]:
    yield "key", entity.key
    yield "kind", entity.kind
    if entity.name:
        yield "name", entity.name
    if entity.entity_type:
        yield "entity type", entity.entity_type
    if entity.url:
        yield "URL", entity.url
    yield "file", f"{entity.file}:{entity.line}"
    for file in entity.files[1:]:
        yield "made of", file
    for one in entity.used_by:
        yield "used by", f"{one.file}:{one.line}: {one.what}"
    yield "valid", "yes" if entity.valid else "no"
    for problem in entity.problems:
        yield "problem", problem
