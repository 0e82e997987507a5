"""Check what must hold between the fields of a task, on its plain data.

The data may be wrong in any other way at the same time: each rule looks only at what it needs, and
passes over what is missing. The classes of `models.task` check the shape.

For judges:

    label_twice    a label that is in both lists, or twice in one; case, spaces, quotes, bold and a
                   final period make no difference
    blank_label    a label of nothing but spaces
    empty_scale    `score_max` that is not above `score_min`
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalwright.components import USER_KEY
from evalwright.nearest import nearest
from evalwright.scorers.judging.readers import fold_bare_label, fold_label
from evalwright.spec.documents.checks.trials import check_trials_definition
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    find_duplicate_keys,
    get_list,
    quote_names,
)

_SCORES = re.compile(r"(?<![.\w])scores\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*(['\"])(.*?)\2\s*\])")

_MAY_LACK = re.compile(r"\b(?:defined|undefined|default)\b")
"""What an expression says that is ready for something to be missing."""

_PARTS = ("type", "evaluated_entity_type", "dataset", "solver", "scorers", "actions", "trials")
_COMPARE_ANSWERS = ("string_equals", "bleu", "semantic_similarity", "code_exec")
_NEED_ANSWERS = ("rag_checker",)
_NO_CHAT = {"custom", "embeddings"}
_ASK_ONCE = ("single_turn_solver", "grouped_single_turn_solver")
"""The solvers whose output is the model's, whatever that is."""
BETWEEN_FIELDS = frozenset({"label_twice", "empty_scale"})
"""Rules about several fields of one scorer: if any of them only stands in, nothing is known."""
_LABEL_LISTS = {
    "model_as_a_judge_classifier": ("correct_labels", "incorrect_labels"),
    "labeler_via_model": ("valid_labels",),
}


def complete_task(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The data with what may be left out (keys, the entity type), and what contradicts itself."""
    definition = data.get("definition")
    if not isinstance(definition, dict):
        return data, []
    definition = dict(definition)
    faults = [*find_duplicate_keys(get_list(data, "config_spec"), ("config_spec",), "parameter")]
    if definition.get("type") == "benchmark_task":
        faults += _benchmark(definition)
        faults += _without_chat(data.get("tasks"), definition)
        faults += check_trials_definition(definition)
    return {**data, "definition": definition}, faults


def evaluated_kind(definition: dict[str, Any]) -> str:
    """What the task of a definition is about; `""` where that is misspelt."""
    if definition.get("type", "benchmark_task") == "system_task":
        return "system"
    told = definition.get("evaluated_entity_type")
    if told is None:
        return "dataset" if definition.get("solver") is None else "model"
    return told if told in ("model", "dataset") else ""


def leaves_dataset_open(definition: Any) -> bool:
    """Whether it is a task for a dataset that only the specification names."""
    return (
        isinstance(definition, dict)
        and evaluated_kind(definition) == "dataset"
        and definition.get("dataset") is None
    )


def _benchmark(definition: dict[str, Any]) -> list[Fault]:
    meant = {nearest(str(key), _PARTS) for key in definition if key not in _PARTS}
    faults = [one for one in _parts(definition) if one.path[-1] not in meant]
    faults += _dataset(definition.get("dataset"))
    if about := evaluated_kind(definition):
        definition["evaluated_entity_type"] = about
    scorers = definition.get("scorers")
    if isinstance(scorers, list):
        path: FieldPath = ("definition", "scorers")
        faults += find_duplicate_keys(scorers, path, "scorer")
        faults += check_judges(scorers)
        if evaluated_kind(definition) == "dataset" and "solver" not in meant:
            faults += _without_answers(scorers)
        definition["scorers"] = scorers = assign_keys(scorers)
        for number, scorer in enumerate(scorers):
            if isinstance(scorer, dict) and isinstance(metrics := scorer.get("metrics"), list):
                faults += find_duplicate_keys(metrics, (*path, number, "metrics"), "metric")
                scorers[number] = {**scorer, "metrics": _with_metric_keys(metrics)}
    actions = definition.get("actions")
    if isinstance(actions, list):
        faults += find_duplicate_keys(actions, ("definition", "actions"), "rule")
        faults += _scores_known(actions, _keys(scorers))
    return faults


def _parts(definition: dict[str, Any]) -> Iterator[Fault]:
    """Which parts a task needs."""
    solver, dataset = definition.get("solver"), definition.get("dataset")
    match evaluated_kind(definition):
        case "model":
            why = "a task that evaluates a model needs it"
            if solver is None:
                hint = 'to evaluate a dataset, write `evaluated_entity_type: "dataset"`'
                detail = f"`solver` is missing; {why}"
                yield Fault(("definition", "solver"), "missing_key", detail, hint)
            if dataset is None:
                detail = f"`dataset` is missing; {why}"
                yield Fault(("definition", "dataset"), "missing_key", detail)
        case "dataset" if solver is not None:
            detail = "a task that evaluates a dataset has no solver"
            hint = 'remove it, or write `evaluated_entity_type: "model"`'
            yield Fault(("definition", "solver"), "conflict", detail, hint, at_key=True)


def _dataset(dataset: Any) -> Iterator[Fault]:
    if not isinstance(dataset, dict):
        return
    path = ("definition", "dataset")
    one, several = dataset.get("key"), dataset.get("keys")
    if one is None and several is None:
        yield Fault((*path, "key"), "missing_key", "`key` is missing", "or `keys`, for several")
    if one is not None and several is not None:
        detail = "expected one of `key` and `keys`, got both"
        yield Fault((*path, "keys"), "conflict", detail, at_key=True)
    if several is not None and dataset.get("source") == "task_result":
        detail = "`source: task_result` goes with `key`, not with `keys`"
        yield Fault((*path, "source"), "conflict", detail)


def _without_answers(scorers: list[Any]) -> Iterator[Fault]:
    """What compares an answer must say what stands for it, where no solver gives any."""
    detail = "`value` is missing; a task without a solver has no answer to compare"
    yield from _unsaid(scorers, detail, 'such as `value: "{{ sample.answer }}"`')
    for number, scorer in enumerate(scorers):
        if isinstance(scorer, dict) and scorer.get("type") in _NEED_ANSWERS:
            detail = f"`{scorer['type']}` judges an answer; a task without a solver has none"
            hint = "for answers that were recorded, write `solver: {type: pass_through_solver}`"
            yield Fault(("definition", "scorers", number, "type"), "conflict", detail, hint)


def _without_chat(tasks: Any, definition: dict[str, Any]) -> Iterator[Fault]:
    """The same where a model answers with something else than a message."""
    solver = definition.get("solver")
    chats = not isinstance(tasks, list) or not tasks or not {*map(str, tasks)} <= _NO_CHAT
    if chats or not isinstance(solver, dict) or solver.get("type") not in _ASK_ONCE:
        return
    if solver.get("postprocessor") is not None:  # it may make messages of anything
        return
    hint = 'say in `value` what is compared, such as `value: "{{ solver_output.output.label }}"`'
    detail = f"`value` is missing; a model for {quote_names(tasks)} gives no message to compare"
    yield from _unsaid(definition.get("scorers"), detail, hint)


def _unsaid(scorers: Any, detail: str, hint: str) -> Iterator[Fault]:
    """The scorers that compare an answer, and do not say what it is."""
    for number, scorer in enumerate(scorers if isinstance(scorers, list) else []):
        if not isinstance(scorer, dict) or scorer.get("type") not in _COMPARE_ANSWERS:
            continue
        misspelt = any(did_you_mean(str(key), ["value"]) for key in scorer if key != "value")
        if scorer.get("value") is None and not misspelt:
            yield Fault(("definition", "scorers", number, "value"), "missing_key", detail, hint)


def assign_keys(parts: list[Any], *, name: str = "type") -> list[Any]:
    """The parts, each with a key: its own, or its type, with a number where types repeat."""
    taken = set(_keys(parts))
    unnamed = Counter(str(part[name]) for part in parts if _unnamed(part) and name in part)
    counts: Counter[str] = Counter()
    made: list[Any] = []
    for part in parts:
        if not _unnamed(part) or not isinstance(part.get(name), str):
            made.append(part)
            continue
        base = key = str(part[name])
        while (unnamed[base] > 1 and key == base) or key in taken:
            counts[base] += 1
            key = f"{base}_{counts[base]}"
        taken.add(key)
        made.append({**part, "key": key})
    return made


def _with_metric_keys(metrics: list[Any]) -> list[Any]:
    """The same for metrics, where the field tells two of one type apart."""
    types = Counter(str(one.get("type")) for one in metrics if _unnamed(one))
    fields = Counter(_typed_field(one) for one in metrics if _unnamed(one))
    named: list[Any] = []
    for one in metrics:
        key = _typed_field(one)
        if (
            _unnamed(one)
            and types[str(one.get("type"))] > 1
            and fields[key] == 1
            and re.match(USER_KEY, key)
            and key not in _keys(metrics)
        ):
            named.append({**one, "key": key})
        else:
            named.append(one)
    return assign_keys(named)


def _typed_field(metric: Any) -> str:
    return f"{metric.get('type')}_{metric.get('field')}" if isinstance(metric, dict) else ""


def _unnamed(part: Any) -> bool:
    return isinstance(part, dict) and part.get("key") is None


def _keys(parts: Any) -> list[str]:
    if not isinstance(parts, list):
        return []
    found = (part.get("key") for part in parts if isinstance(part, dict))
    return [key for key in found if isinstance(key, str)]


def _scores_known(actions: list[Any], scorers: list[str]) -> Iterator[Fault]:
    """A rule that looks at the scores of a scorer that is not there fails for every sample.

    One that asks whether they are there does not: it always finds the same.
    """
    if any(is_stand_in(key) for key in scorers):
        return
    for number, rule in enumerate(actions):
        condition = rule.get("filter") if isinstance(rule, dict) else None
        expression = condition.get("expression") if isinstance(condition, dict) else None
        if not isinstance(condition, dict) or not isinstance(expression, str):
            continue
        ready = condition.get("op") in ("exists", "not_exists") or _MAY_LACK.search(expression)
        for found in _SCORES.finditer(expression):
            key = found[1] or found[3]
            if key in scorers or key in {"items", "keys", "values", "get"}:
                continue
            known = f"the scorers are {quote_names(scorers)}" if scorers else "there are no scorers"
            yield Fault(
                ("definition", "actions", number, "filter", "expression"),
                "unknown_scorer",
                f"no scorer has the key `{key}`; {known}",
                did_you_mean(key, scorers),
                level="warning" if ready else "error",
            )


def check_judges(scorers: list[Any]) -> Iterator[Fault]:
    """What contradicts itself in the judges among the scorers."""
    for number, scorer in enumerate(scorers):
        if not isinstance(scorer, dict):
            continue
        path: FieldPath = ("definition", "scorers", number)
        kind = str(scorer.get("type"))
        if kind in _LABEL_LISTS:
            yield from _check_labels(scorer, _LABEL_LISTS[kind], path)
        elif kind == "model_as_a_judge_scorer":
            yield from _check_scale(scorer, path)


def _check_labels(
    scorer: dict[str, Any], lists: tuple[str, ...], path: FieldPath
) -> Iterator[Fault]:
    first: dict[str, tuple[str, str]] = {}
    for name in lists:
        labels = scorer.get(name)
        for number, label in enumerate(labels if isinstance(labels, list) else []):
            if not isinstance(label, str) or not label or is_stand_in(label):
                continue
            there: FieldPath = (*path, name, number)
            if not (plain := fold_bare_label(label)):
                yield Fault(there, "blank_label", "expected a label, got nothing but spaces")
            elif plain in first:
                yield Fault(there, "label_twice", _repeated_label(str(label), name, *first[plain]))
            else:
                first[plain] = (str(label), name)


def _repeated_label(label: str, name: str, other: str, where: str) -> str:
    if where != name:
        known = "" if other == label else f", as `{other}`"
        return f"the label `{label}` is one of the `{where}` too{known}: it must mean one thing"
    if other == label:
        return f"the label `{label}` stands here twice"
    if fold_label(other) != fold_label(label):
        return f"the labels `{other}` and `{label}` read alike: quotes and periods do not count"
    return f"the labels `{other}` and `{label}` read alike: a judge's answer is taken in any case"


def _check_scale(scorer: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    lowest, highest = scorer.get("score_min", 0.0), scorer.get("score_max", 1.0)
    if not _is_number(lowest) or not _is_number(highest) or lowest < highest:
        return
    name = "score_max" if "score_max" in scorer else "score_min"
    detail = f"expected `score_max` above `score_min`, got {highest:g} and {lowest:g}"
    yield Fault((*path, name), "empty_scale", detail)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
