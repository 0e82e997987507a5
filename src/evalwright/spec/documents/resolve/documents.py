"""Resolve a task, an evaluation or a generator: put the values of its parameters into it.

The order is always the same: settle parameters, replace placeholders, turn deprecated spellings
into current ones, fill in what may be left out, build the typed document. Where a class expects a
text and a lone placeholder gave a number or a list, the value is written out.

A deprecated spelling leaves a warning that says what to write now.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa
from evalwright.spec.documents.checks.build import build_typed, locate_faults
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
    read_parameters,
    settle_parameters,
)
from evalwright.spec.documents.resolve.placeholders import (
    find_placeholders,
    forbid_secrets,
    format_value,
    placeholder_name,
    substitute_values,
)
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place, format_path
from evalwright.spec.documents.yaml.reader import YamlDocument
from evalwright.types import Issue

_IN_EARNEST = {"wrong_type", "unknown_key", "missing_key", "bad_template", "bad_snippet"}
"""Rules that even a value which only stands in for another breaks in earnest: it is of the right
type, and what stands around it is the author's."""
_OF_A_SCORER = len(("definition", "scorers", 0))


T = TypeVar("T")
MissingAt = Callable[[str], tuple[Place, str]]
"""Says where, and under which field, the value of a parameter is missing."""
_Modernized = tuple[dict[str, Any], list[Fault]]
"""A mapping in present spelling, and what was said on the way. The one given is left alone."""


class DocumentPart(NamedTuple):
    """A document, or the part of a larger one that is a document of its own."""

    raw: YamlDocument
    """Its data and its marks."""
    below: FieldPath = ()
    """Where it stands in the file that it was read from; empty for a file of its own."""

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.raw.marks.place(())

    def field(self, path: FieldPath) -> str:
        """The dotted path of something in it, in its file."""
        return format_path((*self.below, *path))

    def problems(self, faults: Iterable[Fault], data: Any = None) -> list[Issue]:
        """Faults with their places; `data` is what their paths lead through, if not the raw one."""
        seen = self.raw.data if data is None else data
        return locate_faults(faults, self.raw.marks, seen, below=self.below, unread=self.raw.unread)

    def declaration(self, name: str) -> tuple[Place, str]:
        """Where it declares a parameter, and the field of that."""
        declared = self.raw.data.get("config_spec") if isinstance(self.raw.data, dict) else None
        path: FieldPath = ("config_spec",)
        for number, one in enumerate(declared if isinstance(declared, list) else []):
            if isinstance(one, dict) and one.get("key") == name:
                path = ("config_spec", number)
        return self.raw.marks.place(path), self.field(path)

    def lowered(self, problems: Iterable[Issue]) -> list[Issue]:
        """Problems whose fields begin at the document, as fields of its file."""
        start = format_path(self.below)
        return [
            replace(one, field=f"{start}.{one.field or ''}".rstrip(".")) if start else one
            for one in problems
        ]


class ResolvedTask(Struct, frozen=True, kw_only=True):
    """A task with its values."""

    document: TaskDocument | None
    """None if there are errors in it."""
    problems: list[Issue]
    """Of the task itself, and of the values that were given to it."""
    values: dict[str, Any]
    """The value of every parameter."""
    parameters: tuple[Parameter, ...]
    open: frozenset[str]
    """The parameters that have no value yet, only one that stands in."""
    dataset_keys: dict[str, str]
    """The datasets; by parameter where there are several, else under `""`."""


class ResolvedEvaluation(Struct, frozen=True, kw_only=True):
    """An evaluation with its values."""

    document: EvaluationDocument | None
    problems: list[Issue]
    data: dict[str, Any]
    """What the document was made of: the paths of its specifications lead through it."""
    waiting: frozenset[FieldPath]
    """The paths whose values depend on a parameter that has none yet."""


def resolve_task(
    part: DocumentPart,
    given: Mapping[str, GivenValue],
    *,
    missing_at: MissingAt | None = None,
    lenient: bool = False,
) -> ResolvedTask:
    """Put values into a task; with `lenient`, what is not given is stood in for."""
    data = part.raw.data if isinstance(part.raw.data, dict) else {}
    parameters, faults = read_parameters(data)
    if leaves_dataset_open(modernize_task(data)[0].get("definition")):
        parameters = [*parameters, *_implicit(parameters)]
    whose = f"task `{data.get('key', '?')}`"
    where = missing_at or part.declaration
    settled = settle_parameters(parameters, given, whose=whose, missing_at=where, lenient=lenient)
    problems = [*part.problems(faults), *settled.problems]

    names = _aligned(data)
    waiting = _waiting(data, settled.open)
    tries = [settled.values]
    if lenient and (unset := _unset(parameters, given)):
        # A task by itself may still be given them; where it is used, null is what a run has.
        tries = [*tries, {**settled.values, **unset}][missing_at is not None :]
    made = min((_made(part, names, values, waiting) for values in tries), key=_Made.errors)
    return ResolvedTask(
        document=made.document,
        problems=[*problems, *made.problems],
        values=to_plain(made.values),
        parameters=tuple(parameters),
        open=settled.open,
        dataset_keys=_dataset_keys(made.complete, names),
    )


class _Made(NamedTuple):
    """A task with one set of values."""

    values: Mapping[str, Any]
    complete: dict[str, Any]
    document: TaskDocument | None
    problems: list[Issue]

    def errors(self) -> int:
        return sum(one.level == "error" for one in self.problems)


def _unset(parameters: Iterable[Parameter], given: Mapping[str, GivenValue]) -> dict[str, None]:
    """The parameters that are null because nobody gives them a value."""
    return {
        one.key: None
        for one in parameters
        if one.nullable and one.default_value is None and one.key not in given
    }


def _made(
    part: DocumentPart, names: list[str], values: Mapping[str, Any], waiting: list[FieldPath]
) -> _Made:
    called = {name: name for name in names if name in values}

    def modern(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault], list[Issue]]:
        filled, undeclared = _filled(part, {**values, **called})
        _align(filled, names, values)
        return *modernize_task(filled), undeclared

    now, old, undeclared = modern(values)
    complete, wrong = complete_task(now)
    complete, document, unshaped = _built(
        TaskDocument, complete, lambda: complete_task(modern(_written(values))[0])[0]
    )
    wrong = [*wrong, *_unless_seen(wrong, unshaped), *_rule_warnings(document)]
    problems = [*undeclared, *part.problems([*old, *_in_earnest(wrong, waiting)], complete)]
    if any(one.level == "error" for one in wrong):
        document = None
    return _Made(values, complete, document, problems)


def resolve_evaluation(
    part: DocumentPart,
    given: Mapping[str, GivenValue],
    *,
    lenient: bool = False,
    for_tasks: Iterable[str] = (),
) -> ResolvedEvaluation:
    """Put values into an evaluation; with `lenient`, what is not given is stood in for.

    `for_tasks` are the parameters of its tasks: what a misspelt name may have meant.
    """
    data = part.raw.data if isinstance(part.raw.data, dict) else {}
    parameters, faults = read_parameters(data)
    whose = f"evaluation `{data.get('key', '?')}`"
    where = part.declaration
    settled = settle_parameters(
        parameters, given, whose=whose, missing_at=where, lenient=lenient, also=for_tasks
    )
    filled, undeclared = _filled(part, settled.values)
    modern, old = modernize_evaluation(filled)
    complete, wrong = complete_evaluation(modern)

    def in_texts() -> Any:
        texts, _ = _filled(part, _written(settled.values))
        return complete_evaluation(modernize_evaluation(texts)[0])[0]

    complete, document, unshaped = _built(EvaluationDocument, complete, in_texts)
    waiting = _waiting(data, settled.open)
    found = [*old, *_in_earnest([*wrong, *unshaped], waiting)]
    return ResolvedEvaluation(
        document=document,
        problems=[
            *part.problems(faults),
            *settled.problems,
            *undeclared,
            *part.problems(found, complete),
        ],
        data=complete,
        waiting=frozenset(waiting),
    )


class ResolvedGenerator(NamedTuple):
    """A generator with its values."""

    document: GeneratorDocument | None
    problems: list[Issue]
    """Of the generator itself, and of the values that were given to it."""
    data: dict[str, Any]
    """What the document was made of."""


def resolve_generator(
    part: DocumentPart,
    given: Mapping[str, GivenValue],
    *,
    missing_at: MissingAt | None = None,
    lenient: bool = False,
) -> ResolvedGenerator:
    """Put values into a generator; with `lenient`, what is not given is stood in for."""
    data = part.raw.data if isinstance(part.raw.data, dict) else {}
    parameters, faults = read_parameters(data)
    whose = f"generator `{data.get('key', '?')}`"
    where = missing_at or part.declaration
    settled = settle_parameters(parameters, given, whose=whose, missing_at=where, lenient=lenient)
    filled, undeclared = _filled(part, settled.values)
    complete, document, unshaped = _built(
        GeneratorDocument, filled, lambda: _filled(part, _written(settled.values))[0]
    )
    found = _in_earnest(unshaped, _waiting(data, settled.open))
    problems = [*part.problems(faults), *settled.problems, *undeclared]
    return ResolvedGenerator(document, [*problems, *part.problems(found, complete)], complete)


def to_plain(value: Any) -> Any:
    """The value without the places of its texts."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    return [to_plain(one) for one in value] if isinstance(value, list) else value


def _implicit(parameters: list[Parameter]) -> list[Parameter]:
    return (
        [] if any(one.key == DATASET_PARAMETER.key for one in parameters) else [DATASET_PARAMETER]
    )


def _filled(part: DocumentPart, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Issue]]:
    """The data with its placeholders replaced, except those in the declarations themselves."""
    data = part.raw.data if isinstance(part.raw.data, dict) else {}
    body = {key: one for key, one in data.items() if key != "config_spec"}
    filled, problems = substitute_values(body, values, marks=part.raw.marks)
    if "config_spec" in data:
        filled["config_spec"] = data["config_spec"]
    return filled, part.lowered([*problems, *forbid_secrets(data, part.raw.marks)])


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as texts; null stays null, for it is none."""
    return {name: one if one is None else format_value(one) for name, one in values.items()}


def _built(
    kind: type[T], data: dict[str, Any], in_texts: Callable[[], Any]
) -> tuple[dict[str, Any], T | None, list[Fault]]:
    """The data, the document and its faults.

    `in_texts` gives the same data with all values as texts: where the class wants a text and there
    is one in those, a placeholder alone stood there.
    """
    texts: Any = None
    while True:
        document, faults = build_typed(kind, data)
        wanted = [fault.path for fault in faults if _wants_text(fault, _at(data, fault.path))]
        if wanted and texts is None:
            texts = in_texts()
        found = [(path, text) for path in wanted if isinstance(text := _at(texts, path), str)]
        if not found:
            return data, document, faults
        for path, text in found:
            data = _with(data, path, text)


def _wants_text(fault: Fault, value: Any) -> bool:
    """Whether it is about a text, not about one of several scalars: those are no lists."""
    if fault.rule != "wrong_type" or isinstance(value, str):
        return False
    wanted = fault.detail.partition(", got ")[0]
    return "`str`" in wanted and not any(kind in wanted for kind in ("`bool`", "`int`", "`float`"))


def _at(data: Any, path: FieldPath) -> Any:
    for step in path:
        there = step in data if isinstance(data, dict) else isinstance(data, list)
        data = data[step] if there else None
    return data


def _with(data: Any, path: FieldPath, value: Any) -> Any:
    """A copy with another value at a path that it has."""
    if not path:
        return value
    changed = copy(data)
    changed[path[0]] = _with(data[path[0]], path[1:], value)
    return changed


def _aligned(data: Mapping[str, Any]) -> list[str]:
    """The parameters that name the datasets of a task with several; of a literal, the key."""
    definition = data.get("definition")
    dataset = definition.get("dataset") if isinstance(definition, dict) else None
    keys = dataset.get("keys") if isinstance(dataset, dict) else None
    return [placeholder_name(one) or str(one) for one in keys] if isinstance(keys, list) else []


def _align(filled: dict[str, Any], names: list[str], values: Mapping[str, Any]) -> None:
    """Several datasets: a placeholder is the parameter's name everywhere but in `keys`."""
    if names:
        definition = filled["definition"]
        keys = [values.get(name, name) for name in names]
        filled["definition"] = {**definition, "dataset": {**definition["dataset"], "keys": keys}}


def _unless_seen(known: list[Fault], more: list[Fault]) -> Iterable[Fault]:
    """What the classes say and the rules have not said already, of the same value."""
    seen = {fault.path for fault in known if fault.level == "error"}
    return [fault for fault in more if fault.path not in seen]


def _rule_warnings(task: TaskDocument | None) -> Iterable[Fault]:
    """What is legal in an action rule, and never what its author meant."""
    rules = getattr(task.definition, "actions", None) if task is not None else None
    for number, rule in enumerate(rules or []):
        for warning in rule.filter.warnings():
            path: FieldPath = ("definition", "actions", number, "filter", "expression")
            yield Fault(path, "suspicious_expression", warning, level="warning")


def _waiting(data: Mapping[str, Any], names: frozenset[str]) -> list[FieldPath]:
    """The paths with a placeholder of one of these parameters in them."""
    return [found.path for found in find_placeholders(data) if found.name in names] if names else []


def _in_earnest(faults: Iterable[Fault], waiting: list[FieldPath]) -> list[Fault]:
    """The faults that are not only those of a value that stands in for another."""
    scorers = {path[:_OF_A_SCORER] for path in waiting}
    return [
        fault
        for fault in faults
        if fault.rule in _IN_EARNEST
        or not (
            any(fault.path[: len(path)] == path for path in waiting)
            or (fault.rule in BETWEEN_FIELDS and fault.path[:_OF_A_SCORER] in scorers)
        )
    ]


def _dataset_keys(data: Mapping[str, Any], names: list[str]) -> dict[str, str]:
    definition = data.get("definition")
    dataset = definition.get("dataset") if isinstance(definition, dict) else None
    if not isinstance(dataset, dict):
        return {}
    keys, key = dataset.get("keys"), dataset.get("key")
    if isinstance(keys, list):
        texts = [str(one) for one in keys]
        return dict(zip(names if len(names) == len(texts) else texts, texts, strict=True))
    return {"": str(key)} if isinstance(key, str) and key else {}


def modernize_task(data: dict[str, Any]) -> _Modernized:
    """A task: the old name of its kind, where its entity type stands, fields of before."""
    definition = data.get("definition")
    if not isinstance(definition, dict):
        return data, []
    faults: list[Fault] = []
    data, definition = dict(data), dict(definition)
    data["definition"] = definition
    _old_type(definition, faults)
    _old_entity_type(data, definition, faults)
    _fast_subset(definition, faults)
    faults += _old_columns(definition)
    return data, faults


def modernize_evaluation(data: dict[str, Any]) -> _Modernized:
    """An evaluation: `mode` is a number of samples now."""
    if "mode" not in data:
        return data, []
    hint = "write `num_samples` in its place" if data["mode"] == "debug" else "leave it out"
    return data, [_old(("mode",), "`mode` is deprecated", hint)]


def _old_type(definition: dict[str, Any], faults: list[Fault]) -> None:
    if definition.get("type") == "declarative_task":
        faults.append(
            _old(
                ("definition", "type"),
                "`declarative_task` is the old name of `benchmark_task`",
                "write `benchmark_task`, or leave `type` out",
            )
        )
        definition["type"] = "benchmark_task"
    definition.setdefault("type", "benchmark_task")


def _old_entity_type(data: dict[str, Any], definition: dict[str, Any], faults: list[Fault]) -> None:
    outer = data.get("evaluated_entity_type")
    if outer is None:
        return
    path = ("evaluated_entity_type",)
    inner = definition.get("evaluated_entity_type")
    if inner is not None and inner != outer:
        faults.append(
            Fault(
                path,
                "conflict",
                f"expected `{inner}`, as in `definition.evaluated_entity_type`, got `{outer}`",
                "remove this one: it is the deprecated place",
            )
        )
        return
    hint = "write it inside `definition`"
    faults.append(_old(path, "`evaluated_entity_type` is deprecated at this place", hint))
    if outer in ("model", "dataset") and definition["type"] == "benchmark_task":
        definition["evaluated_entity_type"] = outer


def _fast_subset(definition: dict[str, Any], faults: list[Fault]) -> None:
    dataset = definition.get("dataset")
    if isinstance(dataset, dict) and "fast_subset_size" in dataset:
        path = ("definition", "dataset", "fast_subset_size")
        hint = "leave it out; `num_samples` of a run takes fewer samples"
        faults.append(_old(path, "`fast_subset_size` is deprecated, and without effect", hint))


def _old_columns(definition: dict[str, Any]) -> Iterator[Fault]:
    """Fields of a scorer that name columns; the scorer itself reads them still."""
    scorers = definition.get("scorers")
    for number, scorer in enumerate(scorers if isinstance(scorers, list) else []):
        if isinstance(scorer, dict) and scorer.get("type") == "string_equals_mcqa":
            for old, new in StringEqualsMcqa.deprecated.items():
                if old in scorer:
                    path = ("definition", "scorers", number, old)
                    hint = f'write `{new}: "{{{{ sample.{scorer[old]} }}}}"`'
                    yield _old(path, f"`{old}` is deprecated", hint)


def _old(path: FieldPath, detail: str, hint: str) -> Fault:
    return Fault(path, "deprecated", detail, hint, level="warning", at_key=True)
