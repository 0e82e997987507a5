"""Check rules between the fields of a task on its plain data.

The data may contain any other errors: each rule reads only the fields that it needs and skips
missing ones. The classes in `models.task` check the structure.

For judges:

    label_twice    a label occurs in both lists, or twice in one list, ignoring spaces, quotes, bold
                   and a final period
    blank_label    a label contains only spaces
    empty_scale    `score_max` is not above `score_min`
    conflict       two options specify contradictory places of the verdict
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalwright.components import USER_KEY
from evalwright.nearest import nearest
from evalwright.scorers.judging.verdict_values import bare_label, plain_label
from evalwright.spec.documents.checks.trials import check_trials_definition
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    find_duplicate_keys,
    get_list,
    get_mapping,
    quote_names,
)

_SCORES = re.compile(r"(?<![.\w])scores\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*(['\"])(.*?)\2\s*\])")

_MAY_LACK = re.compile(r"\b(?:defined|undefined|default)\b")
"""Parts of an expression that handle missing values."""

_PARTS = ("type", "evaluated_entity_type", "dataset", "solver", "scorers", "actions", "trials")
COMPARE_ANSWERS = frozenset(
    {"bleu", "chrf", "code_exec", "contains", "contains_all", "contains_any", "exact_match"}
    | {"equals_number", "icontains", "json_schema", "levenshtein", "llm_rubric"}
    | {"pairwise_judge", "regex_match", "rouge_l", "semantic_similarity", "starts_with"}
    | {"string_equals"}
)
"""Scorers whose `value` is the answer by default."""
_NEED_ANSWERS = ("cost", "latency", "rag_checker")
_OWN_SCORES = ("python", "python_all_samples")
_NO_CHAT = {"custom", "embeddings"}
_ASK_ONCE = ("single_turn_solver", "grouped_single_turn_solver")
"""Solvers whose output is the unchanged output of the model."""
BETWEEN_FIELDS = frozenset({"label_twice", "empty_scale"})
"""Rules about several fields of a scorer. They are skipped if any field is a placeholder value."""
_JUDGES = frozenset({"model_as_a_judge_classifier", "model_as_a_judge_scorer", "labeler_via_model"})
_LABEL_LISTS = {
    "model_as_a_judge_classifier": ("correct_labels", "incorrect_labels"),
    "labeler_via_model": ("valid_labels",),
}


def complete_task(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Fill in optional fields (keys, the entity type); return contradictions."""
    definition = data.get("definition")
    if not isinstance(definition, dict):
        return data, []
    definition = dict(definition)
    faults = [*find_duplicate_keys(get_list(data, "config_spec"), ("config_spec",), "parameter")]
    if definition.get("type") == "benchmark_task":
        faults += _complete_benchmark(definition)
        faults += _check_values_without_chat(get_list(data, "tasks"), definition)
        faults += check_trials_definition(definition)
    return {**data, "definition": definition}, faults


def evaluated_kind(definition: dict[str, Any]) -> str:
    """Return the entity type that a task evaluates; `""` if it is misspelled."""
    if definition.get("type", "benchmark_task") == "system_task":
        return "system"
    kind = definition.get("evaluated_entity_type")
    if kind is None:
        return "dataset" if definition.get("solver") is None else "model"
    return kind if kind in ("model", "dataset") else ""


def leaves_dataset_open(definition: Any) -> bool:
    """Whether the task specification must set the dataset of the task."""
    return (
        isinstance(definition, dict)
        and evaluated_kind(definition) == "dataset"
        and definition.get("dataset") is None
    )


def _complete_benchmark(definition: dict[str, Any]) -> list[Fault]:
    misspelt = {nearest(str(key), _PARTS) for key in definition if key not in _PARTS}
    faults = [fault for fault in _check_parts(definition) if fault.path[-1] not in misspelt]
    faults += _check_dataset(definition.get("dataset"))
    if kind := evaluated_kind(definition):
        definition["evaluated_entity_type"] = kind
    scorers = get_list(definition, "scorers")
    if scorers:
        path: FieldPath = ("definition", "scorers")
        faults += find_duplicate_keys(scorers, path, "scorer")
        faults += check_judges(scorers)
        faults += _warn_without_metrics(scorers)
        if kind == "dataset" and "solver" not in misspelt:
            faults += _check_values_without_solver(scorers)
        definition["scorers"] = scorers = assign_keys(scorers)
        for number, scorer in _list_mappings(scorers):
            if metrics := get_list(scorer, "metrics"):
                faults += find_duplicate_keys(metrics, (*path, number, "metrics"), "metric")
                scorers[number] = {**scorer, "metrics": _assign_metric_keys(metrics)}
    actions = get_list(definition, "actions")
    faults += find_duplicate_keys(actions, ("definition", "actions"), "rule")
    faults += _check_score_names(actions, _list_keys(scorers))
    return faults


def _list_mappings(parts: list[Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(number, part) for number, part in enumerate(parts) if isinstance(part, dict)]


def _check_parts(definition: dict[str, Any]) -> Iterator[Fault]:
    kind = evaluated_kind(definition)
    if kind == "dataset" and definition.get("solver") is not None:
        detail = "a task that evaluates a dataset has no solver"
        hint = 'remove it, or write `evaluated_entity_type: "model"`'
        yield Fault(("definition", "solver"), "conflict", detail, hint, at_key=True)
    for name in ("solver", "dataset") if kind == "model" else ():
        if definition.get(name) is None:
            is_solver = name == "solver"
            hint = 'to evaluate a dataset, write `evaluated_entity_type: "dataset"`'
            detail = f"`{name}` is missing; a task that evaluates a model requires it"
            path = ("definition", name)
            yield Fault(path, "missing_key", detail, hint if is_solver else "")


def _check_dataset(dataset: Any) -> Iterator[Fault]:
    if not isinstance(dataset, dict):
        return
    path = ("definition", "dataset")
    key, keys = dataset.get("key"), dataset.get("keys")
    if key is None and keys is None:
        yield Fault(
            (*path, "key"), "missing_key", "`key` is missing", "or set `keys` for several datasets"
        )
    if key is not None and keys is not None:
        detail = "expected one of `key` and `keys`, got both"
        yield Fault((*path, "keys"), "conflict", detail, at_key=True)
    if keys is not None and dataset.get("source") == "task_result":
        detail = "`source: task_result` needs `key`, not `keys`"
        yield Fault((*path, "source"), "conflict", detail)


def _check_values_without_solver(scorers: list[Any]) -> Iterator[Fault]:
    """Yield a fault for each scorer without a `value` in a task without a solver."""
    detail = "`value` is missing; a task without a solver has no answer to compare"
    yield from _missing_values(scorers, detail, 'for example, `value: "{{ sample.answer }}"`')
    for number, scorer in _list_mappings(scorers):
        if str(scorer.get("type")) in _NEED_ANSWERS:
            detail = f"`{scorer['type']}` scores an answer, but a task without a solver has none"
            hint = "for recorded answers, write `solver: {type: pass_through_solver}`"
            yield Fault(("definition", "scorers", number, "type"), "conflict", detail, hint)


def _check_values_without_chat(tasks: list[Any], definition: dict[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each scorer without a `value` if the model's output is not a message."""
    solver = get_mapping(definition, "solver")
    builder = get_mapping(solver, "input_builder").get("type")
    may_chat = "custom" in tasks and builder == "chat_completion"  # the model may support chat
    chats = not tasks or may_chat or not {*map(str, tasks)} <= _NO_CHAT
    makes_messages = solver.get("postprocessor") is not None  # it may create messages
    if chats or makes_messages or solver.get("type") not in _ASK_ONCE:
        return
    hint = 'set `value` to the text to compare, such as `value: "{{ solver_output.output.label }}"`'
    detail = f"`value` is missing; a model for {quote_names(tasks)} returns no message to compare"
    yield from _missing_values(get_list(definition, "scorers"), detail, hint)


def _missing_values(scorers: list[Any], detail: str, hint: str) -> Iterator[Fault]:
    for number, scorer in _list_mappings(scorers):
        misspelt = any(did_you_mean(str(key), ["value"]) for key in scorer if key != "value")
        compares = str(scorer.get("type")) in COMPARE_ANSWERS
        if compares and scorer.get("value") is None and not misspelt:
            yield Fault(("definition", "scorers", number, "value"), "missing_key", detail, hint)


def _warn_without_metrics(scorers: list[Any]) -> Iterator[Fault]:
    """Warn about `python` scorers without metrics, whose default metrics may not fit."""
    for number, scorer in _list_mappings(scorers):
        kind = scorer.get("type")
        lacks_metrics = scorer.get("metrics") is None and scorer.get("purpose") != "qa"
        misspelt = any(did_you_mean(str(key), ["metrics"]) for key in scorer if key != "metrics")
        if kind in _OWN_SCORES and lacks_metrics and not misspelt:
            default_note = "the report shows the mean of each numeric score by default"
            advice = "list the metrics you want, or write `metrics: []`"
            detail = f"this `{kind}` scorer has no `metrics`: {default_note}; {advice}"
            path = ("definition", "scorers", number, "type")
            yield Fault(path, "no_metrics", detail, level="warning")


def assign_keys(parts: list[Any], *, name: str = "type") -> list[Any]:
    """Return the parts with keys. The default key is the type, numbered if types repeat."""
    used_keys = set(_list_keys(parts))
    unnamed = Counter(str(part[name]) for part in parts if _lacks_key(part) and name in part)
    counts: Counter[str] = Counter()
    named: list[Any] = []
    for part in parts:
        if not _lacks_key(part) or not isinstance(part.get(name), str):
            named.append(part)
            continue
        base = key = str(part[name])
        while (unnamed[base] > 1 and key == base) or key in used_keys:
            counts[base] += 1
            key = f"{base}_{counts[base]}"
        used_keys.add(key)
        named.append({**part, "key": key})
    return named


def _assign_metric_keys(metrics: list[Any]) -> list[Any]:
    """Return the metrics with keys. The field distinguishes metrics of the same type."""
    unnamed = [metric for metric in metrics if _lacks_key(metric)]
    types = Counter(str(metric.get("type")) for metric in unnamed)
    fields = Counter(_typed_field(metric) for metric in unnamed)
    named = list(metrics)
    for number, metric in enumerate(metrics):
        key = _typed_field(metric) if _lacks_key(metric) else ""
        is_unique = fields[key] == 1 and key not in _list_keys(metrics)
        if is_unique and types[str(metric.get("type"))] > 1 and re.match(USER_KEY, key):
            named[number] = {**metric, "key": key}
    return assign_keys(named)


def _typed_field(metric: dict[str, Any]) -> str:
    return f"{metric.get('type')}_{metric.get('field')}"


def _lacks_key(part: Any) -> bool:
    return isinstance(part, dict) and part.get("key") is None


def _list_keys(parts: list[Any]) -> list[str]:
    keys = (part.get("key") for _, part in _list_mappings(parts))
    return [key for key in keys if isinstance(key, str)]


def _check_score_names(actions: list[Any], scorers: list[str]) -> Iterator[Fault]:
    """Yield a fault for each rule that reads the scores of an unknown scorer.

    Such a rule fails for every sample, except if it only tests whether the scores exist.
    """
    if any(is_stand_in(key) for key in scorers):
        return
    for number, rule in _list_mappings(actions):
        condition = get_mapping(rule, "filter")
        expression = condition.get("expression")
        if not isinstance(expression, str):
            continue
        ready = condition.get("op") in ("exists", "not_exists") or _MAY_LACK.search(expression)
        for match in _SCORES.finditer(expression):
            key = match[1] or match[3]
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
    """Yield contradictions in the judge scorers."""
    for number, scorer in _list_mappings(scorers):
        path: FieldPath = ("definition", "scorers", number)
        kind = str(scorer.get("type"))
        yield from _check_labels(scorer, _LABEL_LISTS.get(kind, ()), path)
        if kind in _JUDGES:
            yield from _check_place(scorer, path)
        if kind == "model_as_a_judge_scorer":
            yield from _check_scale(scorer, path)


def _check_labels(
    scorer: dict[str, Any], lists: tuple[str, ...], path: FieldPath
) -> Iterator[Fault]:
    first: dict[str, tuple[str, str]] = {}
    for name in lists:
        for number, label in enumerate(get_list(scorer, name)):
            if not isinstance(label, str) or not label or is_stand_in(label):
                continue
            where = (*path, name, number)
            if not (plain := bare_label(label)):
                yield Fault(where, "blank_label", "expected a label, got only spaces")
            elif plain in first:
                yield Fault(where, "label_twice", _explain_label(str(label), name, *first[plain]))
            else:
                first[plain] = (str(label), name)


def _explain_label(label: str, name: str, other: str, where: str) -> str:
    if where != name:
        known = "" if other == label else f", as `{other}`"
        return (
            f"the label `{label}` is also in `{where}`{known}: a label must have only one meaning"
        )
    if other == label:
        return f"the label `{label}` is in this list twice"
    ignored = "spaces" if plain_label(other) == plain_label(label) else "quotes and periods"
    return f"the labels `{other}` and `{label}` are the same: {ignored} are ignored"


def _check_place(scorer: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    """Yield contradictions between the options for the place of the verdict."""
    position, pattern = scorer.get("verdict_position"), scorer.get("verdict_pattern")
    structured = str(scorer.get("use_structured_outputs")).lower() in {"true", "yes", "on"}
    if position == "json" and pattern is not None:
        detail = (
            "`verdict_position: json` reads a key of the JSON and does not use `verdict_pattern`"
        )
        yield Fault((*path, "verdict_pattern"), "conflict", detail, "remove one", at_key=True)
    elif structured:
        chosen = "verdict_pattern" if pattern is not None else "verdict_position"
        if pattern is not None or position in {"first_line", "last_line"}:
            detail = f"`{chosen}` finds no verdict in the JSON replies of `use_structured_outputs`"
            hint = "remove it, or write `use_structured_outputs: false`"
            yield Fault((*path, chosen), "conflict", detail, hint, at_key=True)


def _check_scale(scorer: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    lowest, highest = scorer.get("score_min", 0.0), scorer.get("score_max", 1.0)
    if {type(lowest), type(highest)} <= {int, float} and not lowest < highest:
        name = "score_max" if "score_max" in scorer else "score_min"
        detail = f"expected `score_max` above `score_min`, got {highest:g} and {lowest:g}"
        yield Fault((*path, name), "empty_scale", detail)
