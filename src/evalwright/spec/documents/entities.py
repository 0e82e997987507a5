"""The things of a project that others name by a key, each checked as what it is."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from evalwright.components import Location
from evalwright.secrets import Secret
from evalwright.spec.documents.check import built
from evalwright.spec.documents.dataset import DatasetDocument
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.kinds import Kind
from evalwright.spec.documents.model import AdapterDocument, ModelDocument, ProviderModel
from evalwright.spec.documents.placeholders import resolve_secrets
from evalwright.spec.documents.problems import Path, Problem
from evalwright.spec.documents.resolving import (
    Part,
    resolve_evaluation,
    resolve_generator,
    resolve_task,
)
from evalwright.spec.documents.texts import shown

Typed = Any
"""A TaskDocument, DatasetDocument, ModelDocument, ProviderModel, …: what its kind says."""


class Entity(Struct, frozen=True, kw_only=True):
    """One of them."""

    key: str
    """What others call it; `""` if it has none that can be used."""
    kind: Kind
    file: str
    """The file that it is written in, as messages name it."""
    line: int
    part: Part
    """What was written: a task is resolved from it with other values, again and again."""
    document: Typed | None
    """None if there are errors in it. Of a task, the document with values that stand in."""
    problems: list[Problem]


def entity(kind: Kind, part: Part, *, secrets: Mapping[str, str | Secret]) -> Entity:
    """Check a document of a kind; what is wrong is in the entity's problems."""
    document, problems = _typed(kind, part, secrets)
    data = part.raw.data
    key = data.get("key") if isinstance(data, dict) else None
    if isinstance(document, ProviderModel):
        key = document.key
    place = part.raw.marks.place(("key",))
    return Entity(
        key=str(key) if isinstance(key, str) else "",
        kind=kind,
        file=place.file,
        line=place.line,
        part=part,
        document=document,
        problems=problems,
    )


def _typed(
    kind: Kind, part: Part, secrets: Mapping[str, str | Secret]
) -> tuple[Typed | None, list[Problem]]:
    if part.raw.data is None and () in part.raw.unread:
        return None, []
    match kind:
        case "task":
            task = resolve_task(part, {}, lenient=True)
            return task.document, task.problems
        case "evaluation":
            evaluation = resolve_evaluation(part, {}, lenient=True)
            return evaluation.document, evaluation.problems
        case "generator":
            generator = resolve_generator(part, {}, lenient=True)
            return generator.document, generator.problems
        case "dataset":
            return _built(DatasetDocument, part)
        case "adapter":
            return _built(AdapterDocument, part)
        case _:
            if isinstance(part.raw.data, dict) and "$provider" in part.raw.data:
                return _built(ProviderModel, part)
            data, problems = resolve_secrets(
                part.raw.data, secrets, allowed=_may_be_secret, marks=part.raw.marks
            )
            document, more = _built(ModelDocument, part, data)
            return document, [*part.lowered(problems), *more]


def _built(kind: type[Any], part: Part, data: Any = None) -> tuple[Any, list[Problem]]:
    seen = part.raw.data if data is None else data
    document, faults = built(kind, seen)
    return document, part.problems([*faults, *_notes(document)], seen)


def _notes(document: Any) -> Iterable[Fault]:
    """What is accepted, and should be written otherwise now."""
    if isinstance(document, DatasetDocument):
        yield from document.warnings()
        yield from _not_there(document)
    elif isinstance(document, ModelDocument | AdapterDocument):
        for note in document.notes():
            path = tuple(note.field.split("."))
            yield Fault(path, "deprecated", note.detail, note.hint, level="warning")


def _not_there(document: DatasetDocument) -> Iterable[Fault]:
    """The file or the folder of a dataset that lies on this machine."""
    for name in ("file_path", "directory_path"):
        location = getattr(document.origin, name, None)
        if isinstance(location, Location) and not location.path.exists():
            path = ("source", name) if document.source is not None else (name,)
            detail = f"expected a file or folder, there is no `{location.written}`"
            hint = f"it is looked for beside this document, as {shown(str(location.path))}"
            yield Fault(path, "missing_file", detail, hint)


_SECRETS = {("config", "api_key"), ("config", "custom_headers"), ("config", "environment")}
_TRUSTED = ("config", "tls_context", "validation_context", "trusted_ca")


def _may_be_secret(path: Path) -> bool:
    return path[:2] in _SECRETS or path == _TRUSTED
