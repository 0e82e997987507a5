"""Which classes stand behind a place of a document: the way of an error, walked along the fields.

pydantic says where it failed by a tuple of keys, in which the members of unions stand too
(`scorers`, 0, `bleu`, `value`). Walking it along the data and the classes at the same time tells
the two apart.
"""

import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from evalwright.spec.documents.problems import Path


class Spot(NamedTuple):
    """Where an error leads to."""

    path: Path
    """In the data."""
    value: Any
    """What stands there; None where nothing does."""
    kinds: list[Any]
    """What may stand there: classes, and the types of plain values."""
    around: list[Any]
    """The classes of what it stands in."""


def spot_of(location: Sequence[str | int], top: Any, data: Any) -> Spot:
    """Follow pydantic's way through the data."""
    path: list[str | int] = []
    here, kinds = data, list(_members(top))
    around: list[Any] = []
    for number, step in enumerate(location):
        inside = list(_inside(kinds, step))
        there = _has(here, step)
        # A member's tag may be the name of one of its fields, too.
        tagged = isinstance(here, dict) and here.get("type") == step
        plain = not inside and not (there and len(kinds) == 1)
        if (tagged or plain) and (chosen := _chosen(kinds, step)):
            kinds = chosen
            continue
        last = number == len(location) - 1
        if not there and not (inside and last):
            continue  # the name of a union's member, or of a validator
        path.append(step)
        here = here[step] if there else None
        kinds, around = inside, kinds
    return Spot(tuple(path), here, kinds, around)


def keys_of(kinds: list[Any]) -> list[str]:
    """Every key that the classes have."""
    found: dict[str, None] = {}
    for kind in _classes(kinds):
        found.update(dict.fromkeys(_fields(kind)))
    return list(found)


def _members(annotation: Any, tag: str = "") -> Iterator[Any]:
    """The annotation's own alternatives, without None; each with its tag if it has one."""
    if hasattr(annotation, "__metadata__"):
        inner = [one.tag for one in annotation.__metadata__ if isinstance(one, Tag)]
        yield from _members(annotation.__origin__, inner[0] if inner else tag)
    elif get_origin(annotation) in {Union, types.UnionType}:
        for one in get_args(annotation):
            yield from _members(one, tag)
    elif annotation is not type(None):
        yield _Tagged(annotation, tag) if tag else annotation


class _Tagged(NamedTuple):
    kind: Any
    tag: str


def _bare(kind: Any) -> Any:
    return kind.kind if isinstance(kind, _Tagged) else kind


def _classes(kinds: list[Any]) -> list[type[BaseModel]]:
    bare = (_bare(kind) for kind in kinds)
    return [kind for kind in bare if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _fields(kind: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _inside(kinds: list[Any], step: str | int) -> Iterator[Any]:
    """What stands behind a key or a number of these."""
    for kind in kinds:
        bare = _bare(kind)
        origin = get_origin(bare)
        if isinstance(step, int) and origin in {list, tuple, set, frozenset}:
            yield from _members(get_args(bare)[0])
        elif isinstance(step, str) and origin is dict:
            yield from _members(get_args(bare)[1])
    for one in _classes(kinds):
        if field := _fields(one).get(str(step)):
            whole = field.annotation
            tags = [meta.tag for meta in field.metadata if isinstance(meta, Tag)]
            yield from _members(whole, tags[0] if tags else "")


def _chosen(kinds: list[Any], step: str | int) -> list[Any]:
    """The members of a union that pydantic calls by this name."""
    return [kind for kind in kinds if len(kinds) > 1 and step in _names(kind)]


def _names(kind: Any) -> set[Any]:
    bare = _bare(kind)
    found = {kind.tag} if isinstance(kind, _Tagged) else set()
    found.add(getattr(bare, "__name__", ""))
    for one in _classes([bare]):
        for field in one.model_fields.values():
            if get_origin(field.annotation) is Literal:
                found.update(get_args(field.annotation))
    return found


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
