"""Resolve a task, an evaluation or a generator: insert the values of its parameters.

The order is always the same: determine the parameters, replace placeholders, convert deprecated
syntax, fill in optional fields, and build the typed document. If a class expects text and a
placeholder was replaced by a number or a list, the value is converted to text. Deprecated syntax
causes a warning that shows the current syntax.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple

from msgspec import Struct

from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa
from evalwright.spec.documents.checks.build import DocumentPart, build_instance, get_value
from evalwright.spec.documents.checks.generator_rules import (
    find_generator_warnings,
    modernize_generator,
)
from evalwright.spec.documents.checks.task_rules import (
    BETWEEN_FIELDS,
    complete_task,
    leaves_dataset_open,
)
from evalwright.spec.documents.models.evaluation import EvaluationDocument, complete_evaluation
from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.models.parameters import Parameter
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.resolve.config_values import (
    DATASET_PARAMETER,
    GivenValue,
    MissingAt,
    read_parameters,
    settle_parameters,
)
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.placeholders import (
    find_placeholders,
    forbid_secrets,
    format_value,
    placeholder_name,
    substitute_values,
)
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, get_list, get_mapping
from evalwright.types import Issue

_IN_EARNEST = {
    *("wrong_type", "unknown_key", "missing_key", "bad_template", "bad_snippet", "deprecated")
}
"""Rules that also apply to placeholder values, which have the right type."""
_SCORER_DEPTH = len(("definition", "scorers", 0))
_Prepared = tuple[dict[str, Any], list[Fault]]
"""Returns a changed copy of a mapping, and its faults."""


class ResolvedDocument(Struct, frozen=True, kw_only=True):
    """A task, an evaluation or a generator with the values of its parameters."""

    document: Any
    """Typed document, such as a TaskDocument; None if it cannot be built."""
    problems: list[Issue]
    """Problems of the document and of the values that were set for it."""
    data: dict[str, Any]
    """Data that the document was built from."""
    values: dict[str, Any]
    """Values of all parameters."""
    parameters: tuple[Parameter, ...]
    open: frozenset[str]
    """Parameters that have only a placeholder value."""
    waiting: frozenset[FieldPath]
    """Paths whose values depend on these parameters."""
    dataset_keys: dict[str, str]
    """Datasets of a task, by parameter if there are several, otherwise under `""`."""


def resolve_document(
    kind: DocumentKind,
    part: DocumentPart,
    given: Mapping[str, GivenValue],
    *,
    missing_at: MissingAt | None = None,
    lenient: bool = False,
    also: Iterable[str] = (),
) -> ResolvedDocument:
    """Insert values into a document; with `lenient`, placeholders replace missing values.

    `also` lists further names to suggest for a misspelled name.
    """
    parameters, faults = read_parameters(part.data)
    names = {parameter.key for parameter in parameters}
    is_open = kind == "task" and leaves_dataset_open(modernize_task(part.data)[0].get("definition"))
    if is_open and DATASET_PARAMETER.key not in names:
        parameters.append(DATASET_PARAMETER)
    settled = settle_parameters(
        parameters,
        given,
        whose=f"{kind} `{part.data.get('key', '?')}`",
        missing_at=missing_at or part.declaration,
        lenient=lenient,
        also=also,
    )
    waiting = frozenset(path for path, name in find_placeholders(part.data) if name in settled.open)
    choices = [settled.values]
    if lenient and (unset := _unset_parameters(parameters, given)):
        # The values may still be set where the document is used; in a run, they are null.
        choices = [*choices, {**settled.values, **unset}][missing_at is not None :]
    built = min((_build(kind, part, values, waiting) for values in choices), key=_count_errors)
    return ResolvedDocument(
        document=built.document,
        problems=[*part.problems(faults), *settled.problems, *built.problems],
        data=built.data,
        values=to_plain(built.values),
        parameters=tuple(parameters),
        open=settled.open,
        waiting=waiting,
        dataset_keys=_dataset_keys(built.data, _dataset_parameters(part.data)),
    )


def _unset_parameters(
    parameters: Iterable[Parameter], given: Mapping[str, GivenValue]
) -> dict[str, None]:
    return {
        parameter.key: None
        for parameter in parameters
        if parameter.nullable and parameter.default_value is None and parameter.key not in given
    }


class _BuiltDocument(NamedTuple):
    values: Mapping[str, Any]
    data: dict[str, Any]
    document: Any
    problems: list[Issue]


def _count_errors(built: _BuiltDocument) -> int:
    return sum(problem.level == "error" for problem in built.problems)


def _build(
    kind: DocumentKind, part: DocumentPart, values: Mapping[str, Any], waiting: Iterable[FieldPath]
) -> _BuiltDocument:
    document_class, prepare = _KINDS[kind]
    datasets = _dataset_parameters(part.data) if kind == "task" else []
    body = {key: value for key, value in part.data.items() if key != "config_spec"}
    declared = {key: value for key, value in part.data.items() if key == "config_spec"}

    def fill(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault], list[Fault]]:
        # With several datasets, a placeholder is the parameter's name, except in `keys`.
        names = {name: name for name in datasets if name in values}
        filled, unfilled = substitute_values(body, {**values, **names})
        if datasets:
            definition, keys = filled["definition"], [values.get(name, name) for name in datasets]
            dataset = {**definition["dataset"], "keys": keys}
            filled["definition"] = {**definition, "dataset": dataset}
        return *prepare({**filled, **declared}), unfilled

    data, faults, unfilled = fill(values)
    texts = {name: None if value is None else format_value(value) for name, value in values.items()}
    data, document, more = _build_with_texts(document_class, data, lambda: fill(texts)[0])
    known = {fault.path for fault in faults if fault.level == "error"}
    faults += [fault for fault in more if fault.path not in known]
    faults += [*_rule_warnings(document), *find_generator_warnings(document)]
    if kind == "task" and any(fault.level == "error" for fault in faults):
        document = None
    problems = part.problems([*unfilled, *forbid_secrets(part.data, allowed=may_use_secrets)])
    problems += part.problems(_filter_stand_ins(faults, waiting), data)
    return _BuiltDocument(values, data, document, problems)


def may_use_secrets(path: FieldPath) -> bool:
    """Whether a string in a task, evaluation or generator is code that may contain secrets."""
    in_generator = path[:2] in {("definition", "synthesizers"), ("definition", "synthesizer")}
    return in_generator and path[-1] == "synthesize_snippet"


def to_plain(value: Any) -> Any:
    """Copy a value without the places of its strings."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list) else value


def _build_with_texts(
    kind: type[Any], data: dict[str, Any], fill_texts: Callable[[], Any]
) -> tuple[dict[str, Any], Any, list[Fault]]:
    """Build a document; convert values of placeholders to text where the class expects text.

    `fill_texts` returns the same data with all values as text.
    """
    texts: Any = None
    while True:
        document, faults = build_instance(kind, data)
        wanted = [fault.path for fault in faults if _expects_text(fault, data)]
        if wanted and texts is None:
            texts = fill_texts()
        replaced = False
        for path in wanted:
            if isinstance(text := get_value(texts, path), str):
                data, replaced = _replace_at(data, path, text), True
        if not replaced:
            return data, document, faults


def _expects_text(fault: Fault, data: Any) -> bool:
    if fault.rule != "wrong_type" or isinstance(get_value(data, fault.path), str):
        return False
    wanted = fault.detail.partition(", got ")[0]
    return "`str`" in wanted and not any(kind in wanted for kind in ("`bool`", "`int`", "`float`"))


def _replace_at(data: Any, path: FieldPath, value: Any) -> Any:
    if not path:
        return value
    changed = copy(data)
    changed[path[0]] = _replace_at(data[path[0]], path[1:], value)
    return changed


def _dataset_parameters(data: Mapping[str, Any]) -> list[str]:
    """Return the parameters for a task's datasets, or the key for a literal."""
    keys = get_list(get_mapping(get_mapping(data, "definition"), "dataset"), "keys")
    return [placeholder_name(key) or str(key) for key in keys]


def _dataset_keys(data: Mapping[str, Any], names: list[str]) -> dict[str, str]:
    dataset = get_mapping(get_mapping(data, "definition"), "dataset")
    if isinstance(dataset.get("keys"), list):
        keys = [str(key) for key in dataset["keys"]]
        return dict(zip(names if len(names) == len(keys) else keys, keys, strict=True))
    key = dataset.get("key")
    return {"": str(key)} if isinstance(key, str) and key else {}


def _rule_warnings(document: Any) -> Iterator[Fault]:
    rules = getattr(getattr(document, "definition", None), "actions", None)
    for number, rule in enumerate(rules or []):
        for warning in rule.filter.warnings():
            path: FieldPath = ("definition", "actions", number, "filter", "expression")
            yield Fault(path, "suspicious_expression", warning, level="warning")


def _filter_stand_ins(faults: Iterable[Fault], waiting: Iterable[FieldPath]) -> Iterator[Fault]:
    """Yield the faults that are not caused by a placeholder value."""
    scorers = {path[:_SCORER_DEPTH] for path in waiting}
    for fault in faults:
        is_placeholder = any(fault.path[: len(path)] == path for path in waiting) or (
            fault.rule in BETWEEN_FIELDS and fault.path[:_SCORER_DEPTH] in scorers
        )
        if fault.rule in _IN_EARNEST or not is_placeholder:
            yield fault


def modernize_task(data: dict[str, Any]) -> _Prepared:
    """Replace deprecated names, places and fields of a task by the current ones."""
    if not isinstance(data.get("definition"), dict):
        return data, []
    definition = {"type": "benchmark_task", **data["definition"]}
    faults: list[Fault] = []
    if definition["type"] == "declarative_task":
        definition["type"] = "benchmark_task"
        detail = "`declarative_task` is the old name of `benchmark_task`"
        hint = "write `benchmark_task`, or omit `type`"
        faults.append(_deprecated_key(("definition", "type"), detail, hint))
    outer, inner = (part.get("evaluated_entity_type") for part in (data, definition))
    if outer is not None and inner not in (None, outer):
        detail = f"expected `{inner}`, as in `definition.evaluated_entity_type`, got `{outer}`"
        hint = "remove this one: `evaluated_entity_type` is deprecated here"
        faults.append(Fault(("evaluated_entity_type",), "conflict", detail, hint))
    elif outer is not None:
        detail = "`evaluated_entity_type` is deprecated here"
        hint = "write it inside `definition`"
        faults.append(_deprecated_key(("evaluated_entity_type",), detail, hint))
        if outer in ("model", "dataset") and definition["type"] == "benchmark_task":
            definition["evaluated_entity_type"] = outer
    if "fast_subset_size" in get_mapping(definition, "dataset"):
        detail = "`fast_subset_size` is deprecated and has no effect"
        hint = "remove it; use `num_samples` to run fewer samples"
        path = ("definition", "dataset", "fast_subset_size")
        faults.append(_deprecated_key(path, detail, hint))
    return {**data, "definition": definition}, [*faults, *_deprecated_columns(definition)]


def _deprecated_columns(definition: dict[str, Any]) -> Iterator[Fault]:
    """Yield warnings about deprecated scorer fields that name columns; the scorer converts them."""
    for number, scorer in enumerate(get_list(definition, "scorers")):
        if isinstance(scorer, dict) and scorer.get("type") == "string_equals_mcqa":
            for old, new in StringEqualsMcqa.deprecated.items():
                if old in scorer:
                    path = ("definition", "scorers", number, old)
                    hint = f'write `{new}: "{{{{ sample.{scorer[old]} }}}}"`'
                    yield _deprecated_key(path, f"`{old}` is deprecated", hint)


def _deprecated_key(path: FieldPath, detail: str, hint: str) -> Fault:
    return Fault(path, "deprecated", detail, hint, level="warning", at_key=True)


def _prepare_task(data: dict[str, Any]) -> _Prepared:
    modern, deprecated = modernize_task(data)
    complete, faults = complete_task(modern)
    return complete, [*deprecated, *faults]


def _prepare_evaluation(data: dict[str, Any]) -> _Prepared:
    complete, faults = complete_evaluation(data)
    if "mode" in data:  # replaced by `num_samples`
        hint = "use `num_samples` instead" if data["mode"] == "debug" else "remove it"
        faults.insert(0, _deprecated_key(("mode",), "`mode` is deprecated", hint))
    return complete, faults


_KINDS: Mapping[DocumentKind, tuple[type[Any], Callable[[dict[str, Any]], _Prepared]]] = {
    "task": (TaskDocument, _prepare_task),
    "evaluation": (EvaluationDocument, _prepare_evaluation),
    "generator": (GeneratorDocument, modernize_generator),
}
