"""Check the trials of a task: definition, scores and number.

The number of trials comes from the specification, the run or the task. `check_trial_count` is
called when all of these are known:

    pass@k with k above the number of trials  warning: the value is extrapolated
    a metric of a text score                  warning: text cannot be aggregated over trials
    a rule that needs a boolean or text       error: it would fail for every sample
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.models.task import BenchmarkTask
from evalwright.spec.documents.models.trials import (
    PASS_FUNCTIONS,
    TrialsDefinition,
    score_names_over_trials,
)
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    get_list,
    get_mapping,
    quote_names,
)

_TRIALS: FieldPath = ("definition", "trials")
_AGGREGATORS: FieldPath = (*_TRIALS, "score_aggregators")
_LONE_SCORE = re.compile(r"\{\{-?\s*scores\.(\w+)\.(\w+)\s*-?\}\}")


def check_trials_definition(definition: dict[str, Any]) -> Iterator[Fault]:
    """Yield faults in the trials of a task, and conflicts with its solver."""
    trials = definition.get("trials")
    postprocessor = get_mapping(definition, "solver").get("postprocessor")
    if isinstance(trials, dict) and postprocessor is not None:
        yield Fault(
            _TRIALS,
            "conflict",
            "a postprocessor may split a sample into several, so trials cannot be compared",
            "remove `trials`, or the `postprocessor` of the solver",
            at_key=True,
        )
    first: dict[str, int] = {}
    for number, score in enumerate(get_list(trials, "score_aggregators")):
        aggregator = get_mapping(score, "aggregator")
        path = (*_AGGREGATORS, number, "aggregator")
        yield from _check_k(aggregator, path)
        name = aggregator.get("score_name")
        if isinstance(name, str) and first.setdefault(name, number) != number:
            detail = (
                f"the name `{name}` is already used by aggregator {first[name] + 1} in this list"
            )
            yield Fault((*path, "score_name"), "duplicate_key", detail)


def _check_k(aggregator: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    function, k = aggregator.get("function"), aggregator.get("k")
    if function in PASS_FUNCTIONS and k is None:
        if not any(did_you_mean(str(key), ["k"]) for key in aggregator if key != "k"):
            detail = f"`k` is missing; `{function}` needs it"
            yield Fault((*path, "k"), "missing_key", detail, "for example, `k: 3`")
    elif function in ("mean", "min", "max") and k is not None:
        detail = f"`{function}` uses all trials: it does not accept `k`"
        yield Fault((*path, "k"), "conflict", detail, "remove it", at_key=True)


def check_aggregators(trials: TrialsDefinition | None, scorers: Sequence[Any]) -> Iterator[Fault]:
    """Yield a fault for every unknown score and for every result name that is in use."""
    all_known = all(scorer.score_names is not None for scorer in scorers)
    known = list(dict.fromkeys(name for each in scorers for name in each.score_names or ()))
    for number, score in enumerate(trials.score_aggregators if trials is not None else ()):
        name, result = score.score_name, score.aggregator.score_name
        path = (*_AGGREGATORS, number)
        for scorer in scorers if result != name else ():
            if {name, result} <= {*(scorer.score_names or ())}:
                detail = f"`{scorer.type}` already has a score `{result}`"
                hint = "give the result a different name"
                yield Fault((*path, "aggregator", "score_name"), "duplicate_key", detail, hint)
        if all_known and name not in known and not is_stand_in(name):
            gives = f"the scores are {quote_names(known)}" if known else "there are no scorers"
            detail = f"no scorer has a score `{name}`; {gives}"
            hint = did_you_mean(name, known)
            yield Fault((*path, "score_name"), "unknown_score", detail, hint)


def check_trial_count(definition: BenchmarkTask, trials: int, *, key: str) -> Iterator[Fault]:
    """Yield problems with the number of trials of the specification `key`."""
    yield from _warn_of_extrapolation(definition, trials, key)
    if trials > 1:
        yield from _warn_of_texts(definition, trials)
        yield from _check_rules(definition, trials)


def _warn_of_extrapolation(definition: BenchmarkTask, trials: int, key: str) -> Iterator[Fault]:
    if definition.trials is None:
        return
    suffix = f" of `{key}`" if definition.trials.num_trials != trials else ""
    for number, score in enumerate(definition.trials.score_aggregators):
        aggregator, k = score.aggregator, score.aggregator.k
        if aggregator.function not in PASS_FUNCTIONS or k is None or k <= trials:
            continue
        if trials == 1:
            effect = f"`{aggregator.short}` is 0 or 1 per sample"
            detail = f"k = {k}, but there is one trial{suffix}: {effect}"
        else:
            detail = f"k = {k} is more than the {trials} trials{suffix}: the value is extrapolated"
        hint = f"increase `num_trials` to at least {k}"
        path = (*_AGGREGATORS, number, "aggregator", "k")
        yield Fault(path, "suspicious_k", detail, hint, level="warning")


def _warn_of_texts(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    """Warn about metrics of text scores, which cannot be aggregated over trials."""
    for number, scorer in enumerate(definition.scorers):
        path: FieldPath = ("definition", "scorers", number)
        metrics: list[tuple[FieldPath, str, Iterable[str]]] = []
        if scorer.metrics is not None:
            metrics = [
                ((*path, "metrics", place), metric.type, metric.fields() or ())
                for place, metric in enumerate(scorer.metrics)
            ]
        elif scorer.purpose == "score":
            metrics = [(path, kind, (field,)) for kind, field in scorer.default_metrics]
        for where, kind, fields in metrics:
            for name in sorted(set(fields) & set(scorer.text_scores)):
                detail = f"{_no_value(name, trials)}: `{kind}` will also have no value"
                hint = (
                    "use `repeatability`, which compares text between runs, or one trial per sample"
                )
                yield Fault(where, "no_value_over_trials", detail, hint, level="warning")


def _check_rules(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    """Yield a fault for rules that need a boolean, which becomes a mean over trials."""
    scorers = {scorer.key or scorer.type: scorer for scorer in definition.scorers}
    texts = {(key, name) for key, scorer in scorers.items() for name in scorer.text_scores}
    for number, rule in enumerate(definition.actions or ()):
        path = ("definition", "actions", number, "filter")
        expression, op = rule.filter.expression, rule.filter.op
        for variable in expression.variables():
            match variable:
                case ("scores", str(key), name, *_) if (key, name) in texts:
                    hint = (
                        "convert it to a number with a `python` scorer, or use one trial per sample"
                    )
                    detail = _no_value(name, trials)
                    yield Fault((*path, "expression"), "no_value_over_trials", detail, hint)
        score = _LONE_SCORE.fullmatch(expression.source.strip())
        scorer = scorers.get(score[1]) if score else None
        if not score or not scorer or not scorer.score_names or op not in {"is_true", "is_false"}:
            continue
        names = score_names_over_trials(definition.trials, scorer.score_names, scorer.text_scores)
        if score[2] in names and score[2] not in scorer.text_scores:
            mean = f"over {trials} trials, `{score[2]}` is a mean"
            sign = "greater_than" if op == "is_true" else "less_than"
            hint = f"compare it: `op: {sign}`, `value: 0.5`"
            detail = f"`{op}` needs true or false; {mean}"
            yield Fault((*path, "op"), "no_value_over_trials", detail, hint)


def _no_value(name: Any, trials: int) -> str:
    return f"`{name}` is text, which has no value over {trials} trials"
