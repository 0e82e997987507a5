"""The entities of a project, which others refer to by key, and the checks of references.

A model need not be a document: `provider/model`, `provider:model` and `provider$model` refer to a
model of a known provider, and `latticeflow$placeholder` to no model. Whether a provider has such a
model is not checked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from evalwright.components import Location
from evalwright.errors import UsageError
from evalwright.generation_parameters import correct_parameter, split_parameters
from evalwright.registry import BUILT_IN, find_failure, names
from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.checks.explain import misspelled_parameter_fault
from evalwright.spec.documents.checks.task_rules import leaves_dataset_open
from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.model import (
    BUILT_IN_ADAPTERS,
    AdapterDocument,
    ModelDocument,
    ProviderModel,
)
from evalwright.spec.documents.models.parameters import Parameter, is_stand_in
from evalwright.spec.documents.models.plan import PlanDocument
from evalwright.spec.documents.resolve.config_values import (
    DATASET_PARAMETER,
    UNKNOWN,
    GivenValue,
    MissingAt,
    read_parameters,
)
from evalwright.spec.documents.resolve.documents import (
    ResolvedDocument,
    may_use_secrets,
    resolve_document,
)
from evalwright.spec.documents.resolve.earlier import FindEarlier
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.placeholders import find_unknown_secrets, resolve_secrets
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, quote_names
from evalwright.spec.documents.yaml.text_files import display_path
from evalwright.types import Issue

_SECRETS = {
    *(("config", "api_key"), ("config", "custom_headers"), ("config", "environment")),
    ("source", "api_key"),
}
_TRUSTED = ("config", "tls_context", "validation_context", "trusted_ca")
PLACEHOLDER_MODEL = "latticeflow$placeholder"
"""Key of the model that is never queried."""
_MOST_LISTED = 12
_CLASSES: dict[str, type[Any]] = {"dataset": DatasetDocument, "plan": PlanDocument}


class Entity:
    """A document that others refer to by key. It is resolved on first use.

    Results are cached: with the same values, a document is resolved only once.
    """

    def __init__(
        self,
        kind: DocumentKind,
        part: DocumentPart,
        *,
        secrets: Mapping[str, str | Secret],
        values: Mapping[str, GivenValue] | None = None,
    ) -> None:
        self.kind = kind
        self.part = part
        """Source of the document, which may be resolved with several sets of values."""
        self.values = values or {}
        """For an evaluation, the values in the `config` of its run file."""
        self._secrets = secrets
        self._resolved: dict[str, ResolvedDocument] = {}
        self.file, self.line, _ = part.place(("key",))
        """Place of the document, for messages."""
        key = part.data.get("key")
        if kind == "model" and "$provider" in part.data and self.document is not None:
            key = self.document.key
        self.key = str(key) if isinstance(key, str) else ""
        """Key that others use; `""` if it is missing or invalid."""

    @property
    def document(self) -> Any:
        """The typed document: a TaskDocument, DatasetDocument, ProviderModel, ….

        None if it has errors. For a task, the document contains placeholder values.
        """
        return self._document[0]

    @property
    def problems(self) -> list[Issue]:
        """Problems of the document itself."""
        return self._document[1]

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Parameters that are declared correctly."""
        return read_parameters(self.part.raw.data)[0]

    def resolve(
        self,
        given: Mapping[str, GivenValue],
        *,
        missing_at: MissingAt | None = None,
        lenient: bool = False,
        also: Sequence[str] = (),
    ) -> ResolvedDocument:
        """Resolve the document with these values; see `documents.resolve_document`.

        Results are cached. If all values are known, `lenient` has no effect.
        """
        names = [item.key for item in self.parameters if item.default_value is None]
        if leaves_dataset_open(self.part.data.get("definition")):
            names.append(DATASET_PARAMETER.key)
        missing = [name for name in names if name not in given or given[name].value is UNKNOWN]
        places = missing_at and [missing_at(name) for name in missing]
        key = repr((given, (lenient, missing, places) if missing else None))
        if key not in self._resolved:
            resolved = resolve_document(
                self.kind, self.part, given, missing_at=missing_at, lenient=lenient, also=also
            )
            if self.kind == "generator":
                faults = find_unknown_secrets(self.part.data, self._secrets, at=may_use_secrets)
                resolved.problems.extend(self.part.problems(faults))
            self._resolved[key] = resolved
        return self._resolved[key]

    @cached_property
    def _document(self) -> tuple[Any, list[Issue]]:
        part = self.part
        if part.raw.data is None and () in part.raw.unread:
            return None, []
        if self.kind in ("task", "evaluation", "generator"):
            resolved = self.resolve({}, lenient=True)
            return resolved.document, resolved.problems
        data, problems = part.raw.data, []
        kind: type[Any] = _CLASSES.get(self.kind, AdapterDocument)
        if self.kind == "model":
            kind = ProviderModel if "$provider" in part.data else ModelDocument
        if kind in {ModelDocument, DatasetDocument}:
            data, faults = resolve_secrets(data, self._secrets, allowed=_may_be_secret)
            problems = part.problems(faults)
        document, faults = build_instance(kind, data)
        return document, problems + part.problems([*faults, *_find_warnings(document)], data)


def _find_warnings(document: Any) -> Iterable[Fault]:
    if isinstance(document, DatasetDocument):
        yield from document.warnings()
        yield from _missing_files(document)
    elif isinstance(document, ModelDocument | AdapterDocument):
        yield from document.warnings()


def _missing_files(document: DatasetDocument) -> Iterable[Fault]:
    for name in ("file_path", "directory_path", "path"):
        location = getattr(document.origin, name, None)
        if isinstance(location, Location) and not location.path.exists():
            path = ("source", name) if document.source is not None else (name,)
            detail = f"no such file or folder: `{location.written}`"
            hint = f"the path is relative to this document: {display_path(str(location.path))}"
            yield Fault(path, "missing_file", detail, hint)


def _may_be_secret(path: FieldPath) -> bool:
    return path[:2] in _SECRETS or path == _TRUSTED


class References(NamedTuple):
    """The entities of a project, by kind and key."""

    entities: Mapping[DocumentKind, Mapping[str, Entity]]
    alone: bool = False
    """Whether a single document was selected, whose references may be elsewhere."""
    unread: frozenset[DocumentKind] = frozenset()
    """Kinds with unreadable files, which may contain missing keys."""
    find_earlier: FindEarlier | None = None
    """Finds evaluations of earlier runs; None without a store."""

    def missing(self, kind: DocumentKind, key: str, path: FieldPath) -> Fault | None:
        """Return the fault of a reference; None if it is valid or may be valid elsewhere."""
        known = list(self.entities[kind])
        if kind == "model":
            try:
                key, parameters = split_parameters(key)
            except UsageError as error:
                return Fault(path, "bad_value", error.message, error.hint)
            for name in parameters:
                if meant := correct_parameter(name):
                    return misspelled_parameter_fault(path, name, meant)
        if key in known or is_stand_in(key) or (kind in self.unread and not self.alone):
            return None
        if kind == "model":
            return self._missing_model(key, path)
        if kind == "adapter" and key in BUILT_IN_ADAPTERS:
            return None
        return self._unknown(kind, key, path, known)

    def check_values(
        self, resolved: ResolvedDocument, given: Mapping[str, GivenValue]
    ) -> Iterator[Issue]:
        """Check that the models and datasets in given values exist."""
        for parameter in resolved.parameters:
            kind: Any = getattr(parameter, "type", "")
            key = resolved.values.get(parameter.key)
            if kind in ("model", "dataset") and isinstance(key, str):
                value = None if parameter.key in resolved.open else given.get(parameter.key)
                if value is not None and (fault := self.missing(kind, key, ())):
                    yield value.problem(fault)

    def _missing_model(self, key: str, path: FieldPath) -> Fault | None:
        for separator in ("/", ":", "$"):
            provider, split, model = key.partition(separator)
            if not split:
                continue
            if failure := find_failure("models", provider):
                return Fault(path, "broken_plugin", str(failure), failure.plugin.advice)
            if key == PLACEHOLDER_MODEL or _is_provider(provider):
                return None if model else self._unknown("model", key, path, [])
            if separator != "$":
                known = names("models")
                detail = f"unknown provider `{provider}`; expected {quote_names(known)}"
                return Fault(path, "unknown_model", detail, did_you_mean(provider, known))
        return self._unknown("model", key, path, list(self.entities["model"]))

    def _unknown(self, kind: DocumentKind, key: str, path: FieldPath, known: list[str]) -> Fault:
        has = f"it has {quote_names(known, most=_MOST_LISTED)}" if known else "it has none"
        others = len(known) - (kind == "evaluation")  # the evaluation itself is not a candidate
        level: Literal["error", "warning"] = "warning" if self.alone and others < 1 else "error"
        detail = f"the project has no {kind} `{key}`; {has}"
        return Fault(path, f"unknown_{kind}", detail, did_you_mean(key, known), level)


def model_key_of(name: str) -> str:
    """Return the key of a model without the generation parameters after it."""
    return split_parameters(name)[0]


def _is_provider(name: str) -> bool:
    # Plugins are searched last, because this reads the metadata of all installed packages.
    return name in BUILT_IN["models"] or name == "local" or name in names("models")
