"""What a typed document holds, with the path of each."""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from evalwright.spec.documents.problems import Path

Part = TypeVar("Part")


def located(thing: Any, kind: type[Part], path: Path = ()) -> Iterator[tuple[Path, Part]]:
    """Everything of a kind in a document, and where it stands."""
    if isinstance(thing, kind):
        yield path, thing
    elif isinstance(thing, BaseModel):
        for name in type(thing).model_fields:
            yield from located(getattr(thing, name), kind, (*path, name))
    elif isinstance(thing, list | tuple):
        for number, one in enumerate(thing):
            yield from located(one, kind, (*path, number))
    elif isinstance(thing, dict):
        for name, one in thing.items():
            yield from located(one, kind, (*path, name))
