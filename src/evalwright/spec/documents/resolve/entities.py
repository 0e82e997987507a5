"""The entities of a project, which others refer to by key, and the check of such references.

A model need not be a document: `provider/model`, `provider:model` and `provider$model` name a model
of a known provider, and `latticeflow$placeholder` none at all. Only its server knows whether a
provider has such a model.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeVar

from evalwright.components import Location
from evalwright.registry import BUILT_IN, find_failure, names
from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import build_typed
from evalwright.spec.documents.checks.task_rules import leaves_dataset_open
from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.model import (
    BUILT_IN_ADAPTERS,
    AdapterDocument,
    ModelDocument,
    ProviderModel,
)
from evalwright.spec.documents.models.parameters import Parameter, is_stand_in
from evalwright.spec.documents.resolve.config_values import (
    DATASET_PARAMETER,
    UNKNOWN,
    GivenValue,
    read_parameters,
)
from evalwright.spec.documents.resolve.documents import (
    DocumentPart,
    MissingAt,
    ResolvedEvaluation,
    ResolvedGenerator,
    ResolvedTask,
    resolve_evaluation,
    resolve_generator,
    resolve_task,
)
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.placeholders import resolve_secrets
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, quote_names
from evalwright.spec.documents.yaml.text_files import display_path
from evalwright.types import Issue

T = TypeVar("T")
TypedDocument = Any
"""A TaskDocument, DatasetDocument, ModelDocument, ProviderModel, …: what its kind says."""
_SECRETS = {("config", "api_key"), ("config", "custom_headers"), ("config", "environment")}
_TRUSTED = ("config", "tls_context", "validation_context", "trusted_ca")
PLACEHOLDER_MODEL = "latticeflow$placeholder"
"""The model that is never asked."""
_NOT_LISTED = ("local",)
_MOST_LISTED = 12


class Entity:
    """A document that others refer to by its key. It is resolved when it is first asked for.

    What was resolved is kept: with the same values, a document is resolved once.
    """

    def __init__(
        self, kind: DocumentKind, part: DocumentPart, *, secrets: Mapping[str, str | Secret]
    ) -> None:
        self.kind = kind
        self.part = part
        """What was written. A task may be resolved from it with several sets of values."""
        self._secrets = secrets
        self._resolved: dict[str, Any] = {}
        place = part.raw.marks.place(("key",))
        self.file = place.file
        """The file that it is written in, as messages name it."""
        self.line = place.line
        data = part.raw.data if isinstance(part.raw.data, dict) else {}
        key = data.get("key")
        if kind == "model" and "$provider" in data and isinstance(self.document, ProviderModel):
            key = self.document.key
        self.key = str(key) if isinstance(key, str) else ""
        """What others call it; `""` if it has none that can be used."""

    @property
    def document(self) -> TypedDocument | None:
        """None if there are errors in it. Of a task, the document with values that stand in."""
        return self._checked[0]

    @property
    def problems(self) -> list[Issue]:
        """What is wrong with the document by itself."""
        return self._checked[1]

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Its parameters that are declared correctly."""
        return read_parameters(self.part.raw.data)[0]

    def resolve_task(
        self,
        given: Mapping[str, GivenValue],
        *,
        missing_at: MissingAt | None = None,
        lenient: bool = False,
    ) -> ResolvedTask:
        """The task with these values; see `documents.resolve_task`."""
        resolve = partial(resolve_task, self.part, given, missing_at=missing_at, lenient=lenient)
        return self._once(resolve, given, missing_at, lenient=lenient)

    def resolve_generator(
        self,
        given: Mapping[str, GivenValue],
        *,
        missing_at: MissingAt | None = None,
        lenient: bool = False,
    ) -> ResolvedGenerator:
        """The generator with these values; see `documents.resolve_generator`."""
        part = self.part
        resolve = partial(resolve_generator, part, given, missing_at=missing_at, lenient=lenient)
        return self._once(resolve, given, missing_at, lenient=lenient)

    def resolve_evaluation(
        self,
        given: Mapping[str, GivenValue],
        *,
        lenient: bool = False,
        for_tasks: Sequence[str] = (),
    ) -> ResolvedEvaluation:
        """The evaluation with these values; see `documents.resolve_evaluation`."""
        part = self.part
        resolve = partial(resolve_evaluation, part, given, lenient=lenient, for_tasks=for_tasks)
        return self._once(resolve, given, None, lenient=lenient)

    def _once(
        self,
        resolve: Callable[[], T],
        given: Mapping[str, GivenValue],
        missing_at: MissingAt | None,
        *,
        lenient: bool,
    ) -> T:
        """Resolve, unless it was done. Where all values are known, leniency changes nothing."""
        names = [one.key for one in self.parameters if one.default_value is None]
        data = self.part.raw.data
        if leaves_dataset_open(data.get("definition") if isinstance(data, dict) else None):
            names.append(DATASET_PARAMETER.key)
        missing = [name for name in names if name not in given or given[name].value is UNKNOWN]
        places = missing_at and [missing_at(name) for name in missing]
        key = repr((given, (lenient, missing, places) if missing else None))
        if key not in self._resolved:
            self._resolved[key] = resolve()
        resolved: T = self._resolved[key]
        return resolved

    @cached_property
    def _checked(self) -> tuple[TypedDocument | None, list[Issue]]:
        part = self.part
        if part.raw.data is None and () in part.raw.unread:
            return None, []
        match self.kind:
            case "task":
                task = self.resolve_task({}, lenient=True)
                return task.document, task.problems
            case "evaluation":
                evaluation = self.resolve_evaluation({}, lenient=True)
                return evaluation.document, evaluation.problems
            case "generator":
                generator = self.resolve_generator({}, lenient=True)
                return generator.document, generator.problems
            case "dataset":
                return _built(DatasetDocument, part)
            case "adapter":
                return _built(AdapterDocument, part)
        if isinstance(part.raw.data, dict) and "$provider" in part.raw.data:
            return _built(ProviderModel, part)
        data, problems = resolve_secrets(
            part.raw.data, self._secrets, allowed=_may_be_secret, marks=part.raw.marks
        )
        document, more = _built(ModelDocument, part, data)
        return document, [*part.lowered(problems), *more]


def _built(kind: type[Any], part: DocumentPart, data: Any = None) -> tuple[Any, list[Issue]]:
    seen = part.raw.data if data is None else data
    document, faults = build_typed(kind, seen)
    return document, part.problems([*faults, *_notes(document)], seen)


def _notes(document: Any) -> Iterable[Fault]:
    """What is accepted, and should be written otherwise now."""
    if isinstance(document, DatasetDocument):
        yield from document.warnings()
        yield from _not_there(document)
    elif isinstance(document, ModelDocument | AdapterDocument):
        yield from document.warnings()


def _not_there(document: DatasetDocument) -> Iterable[Fault]:
    """The file or the folder of a dataset that lies on this machine."""
    for name in ("file_path", "directory_path"):
        location = getattr(document.origin, name, None)
        if isinstance(location, Location) and not location.path.exists():
            path = ("source", name) if document.source is not None else (name,)
            detail = f"expected a file or folder, there is no `{location.written}`"
            hint = f"it is looked for beside this document, as {display_path(str(location.path))}"
            yield Fault(path, "missing_file", detail, hint)


def _may_be_secret(path: FieldPath) -> bool:
    return path[:2] in _SECRETS or path == _TRUSTED


class References(NamedTuple):
    """The entities of a project, by kind and key."""

    entities: Mapping[DocumentKind, Mapping[str, Entity]]
    alone: bool = False
    """One document was named, not a project: what it refers to may be elsewhere."""
    unread: frozenset[DocumentKind] = frozenset()
    """The kinds of which there are files that cannot be read: a key may be in one of them."""

    def missing(self, kind: DocumentKind, key: str, path: FieldPath) -> Fault | None:
        """What is wrong with a reference; None if it leads somewhere, or may do so later."""
        known = list(self.entities[kind])
        if key in known or is_stand_in(key) or (kind in self.unread and not self.alone):
            return None
        if kind == "model":
            return self._missing_model(key, path)
        if kind == "adapter" and key in BUILT_IN_ADAPTERS:
            return None
        return self._unknown(kind, key, path, known)

    def _missing_model(self, key: str, path: FieldPath) -> Fault | None:
        for separator in ("/", ":", "$"):
            provider, found, model = key.partition(separator)
            if not found:
                continue
            if failure := find_failure("models", provider):
                return Fault(path, "broken_plugin", str(failure), failure.plugin.advice)
            if key == PLACEHOLDER_MODEL or _is_provider(provider):
                return None if model else self._unknown("model", key, path, [])
            if separator != "$":
                known = names("models")
                detail = f"`{provider}` is no provider known here; there are {quote_names(known)}"
                return Fault(path, "unknown_model", detail, did_you_mean(provider, known))
        return self._unknown("model", key, path, list(self.entities["model"]))

    def _unknown(self, kind: DocumentKind, key: str, path: FieldPath, known: list[str]) -> Fault:
        has = f"it has {_some(known)}" if known else "it has none"
        others = len(known) - (kind == "evaluation")  # one of them is what refers to it
        level: Literal["error", "warning"] = "warning" if self.alone and others < 1 else "error"
        detail = f"the project has no {kind} `{key}`; {has}"
        return Fault(path, f"unknown_{kind}", detail, did_you_mean(key, known), level)


def _is_provider(name: str) -> bool:
    # Plugins are looked for last: that reads the metadata of every installed package.
    return name in BUILT_IN["models"] or name in _NOT_LISTED or name in names("models")


def _some(known: list[str]) -> str:
    rest = len(known) - _MOST_LISTED
    return quote_names(known[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")
