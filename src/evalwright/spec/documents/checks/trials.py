"""Check the trials of a task: their definition, their scores, and their number.

The number of trials comes from the specification, the run or the task, so `check_trial_count` is
called when all are known:

    pass@k of more trials than there are      a warning: the value is extrapolated
    a metric of a text                        a warning: texts have no value over trials
    a rule that needs a truth value or text   an error: it would fail for every sample
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
    quote_names,
)

_DEFINITION: FieldPath = ("definition",)
_PATH: FieldPath = ("definition", "trials")
_A_SCORE = re.compile(r"\{\{-?\s*scores\.(\w+)\.(\w+)\s*-?\}\}")
_TRUTHS = {"is_true", "is_false"}


def check_trials_definition(definition: dict[str, Any]) -> Iterator[Fault]:
    """What must hold within the trials of a task, and between them and its solver."""
    trials = definition.get("trials")
    if not isinstance(trials, dict):
        return
    solver = definition.get("solver")
    if isinstance(solver, dict) and solver.get("postprocessor") is not None:
        yield Fault(
            _PATH,
            "conflict",
            "a postprocessor makes several samples of one, so trials cannot be put side by side",
            "remove `trials`, or the `postprocessor` of the solver",
            at_key=True,
        )
    listed_ = trials.get("score_aggregators")
    taken: dict[str, int] = {}
    for number, one in enumerate(listed_ if isinstance(listed_, list) else []):
        aggregator = one.get("aggregator") if isinstance(one, dict) else None
        if isinstance(aggregator, dict):
            path = (*_PATH, "score_aggregators", number, "aggregator")
            yield from _check_k(aggregator, path)
            yield from _repeated_name(aggregator, path, taken)


def _check_k(aggregator: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    function, k = aggregator.get("function"), aggregator.get("k")
    if function in PASS_FUNCTIONS and k is None:
        if not any(did_you_mean(str(key), ["k"]) for key in aggregator if key != "k"):
            detail = f"`k` is missing; `{function}` is about k trials"
            yield Fault((*path, "k"), "missing_key", detail, "such as `k: 3`")
    elif function in ("mean", "min", "max") and k is not None:
        detail = f"`{function}` is over all trials: it takes no `k`"
        yield Fault((*path, "k"), "conflict", detail, "remove it", at_key=True)


def _repeated_name(
    aggregator: dict[str, Any], path: FieldPath, taken: dict[str, int]
) -> Iterator[Fault]:
    name, number = aggregator.get("score_name"), path[-2]
    if not isinstance(name, str) or not isinstance(number, int):
        return
    if taken.setdefault(name, number) != number:
        detail = f"the name `{name}` is taken by aggregator {taken[name] + 1} of this list"
        yield Fault((*path, "score_name"), "duplicate_key", detail)


def check_aggregators(trials: TrialsDefinition | None, scorers: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every score that no scorer gives, and for every name that a scorer gives."""
    if trials is None:
        return
    for number, one in enumerate(trials.score_aggregators):
        name, path = one.aggregator.score_name, (*_PATH, "score_aggregators", number)
        for scorer in scorers:
            gives = scorer.score_names or ()
            if name in gives and one.score_name in gives and name != one.score_name:
                detail = f"`{scorer.type}` gives a score `{name}` itself"
                hint = "give the result another name"
                yield Fault((*path, "aggregator", "score_name"), "duplicate_key", detail, hint)
    if all(one.score_names is not None for one in scorers):
        yield from _unknown_scores(trials, scorers)


def _unknown_scores(trials: TrialsDefinition, scorers: Sequence[Any]) -> Iterator[Fault]:
    gives = list(dict.fromkeys(name for one in scorers for name in one.score_names))
    for number, one in enumerate(trials.score_aggregators):
        name = one.score_name
        if name in gives or is_stand_in(name):
            continue
        there = f"they give {quote_names(gives)}" if gives else "there are no scorers"
        yield Fault(
            (*_PATH, "score_aggregators", number, "score_name"),
            "unknown_score",
            f"no scorer gives a score `{name}`; {there}",
            did_you_mean(name, gives),
        )


def check_trial_count(definition: BenchmarkTask, trials: int, *, key: str) -> Iterator[Fault]:
    """What is wrong with so many trials; `key` is the specification that has them."""
    told = definition.trials
    other = told is not None and told.num_trials != trials
    yield from _extrapolated(definition, trials, f" of `{key}`" if other else "")
    if trials > 1:
        yield from _texts_measured(definition, trials)
        yield from _rules(definition, trials)


def _extrapolated(definition: BenchmarkTask, trials: int, of: str) -> Iterator[Fault]:
    for number, one in enumerate(definition.trials.score_aggregators if definition.trials else ()):
        k = one.aggregator.k
        if one.aggregator.function not in PASS_FUNCTIONS or k is None or k <= trials:
            continue
        path = (*_DEFINITION, "trials", "score_aggregators", number, "aggregator", "k")
        if trials == 1:
            detail = f"k = {k}, and one trial{of}: `{one.aggregator.short}` is 0 or 1 for a sample"
        else:
            detail = f"k = {k} is more than the {trials} trials{of}: the figure is extrapolated"
        hint = "nothing shows so many trials; more `num_trials` would"
        yield Fault(path, "suspicious_k", detail, hint, level="warning")


def _texts_measured(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    for number, scorer in enumerate(definition.scorers):
        path: FieldPath = (*_DEFINITION, "scorers", number)
        read: list[tuple[FieldPath, str, Iterable[str]]] = []
        if scorer.metrics is not None:
            read = [
                ((*path, "metrics", place), one.type, one.fields() or ())
                for place, one in enumerate(scorer.metrics)
            ]
        elif scorer.purpose == "score":
            read = [(path, kind, (field,)) for kind, field in scorer.default_metrics]
        for where, kind, fields in read:
            for name in sorted(set(fields) & set(scorer.text_scores)):
                detail = (
                    f"`{name}` is a text, and over {trials} trials there is nothing of it: "
                    f"`{kind}` will have no value"
                )
                hint = "`repeatability` compares texts between runs; or try each sample once"
                yield Fault(where, "no_value_over_trials", detail, hint, level="warning")


def _rules(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    scorers = {one.key or one.type: one for one in definition.scorers}
    for number, rule in enumerate(definition.actions or ()):
        path = (*_DEFINITION, "actions", number, "filter")
        expression = rule.filter.expression
        for _, key, name, *_ in (one for one in expression.variables() if _is_score(one)):
            if key in scorers and name in scorers[key].text_scores:
                detail = f"`{name}` is a text, and over {trials} trials there is nothing of it"
                hint = "let a `python` scorer make a number of it, or try each sample once"
                yield Fault((*path, "expression"), "no_value_over_trials", detail, hint)
        alone = _A_SCORE.fullmatch(expression.source.strip())
        scorer = scorers.get(alone[1]) if alone else None
        if (
            alone is None
            or scorer is None
            or scorer.score_names is None
            or rule.filter.op not in _TRUTHS
        ):
            continue
        given = set(
            score_names_over_trials(definition.trials, scorer.score_names, scorer.text_scores)
        ) - {*scorer.text_scores}
        if alone[2] in given:
            detail = (
                f"`{rule.filter.op}` wants true or false, and over {trials} trials "
                f"`{alone[2]}` is their mean, a number"
            )
            sign = "greater_than" if rule.filter.op == "is_true" else "less_than"
            hint = f"compare it: `op: {sign}`, `value: 0.5`"
            yield Fault((*path, "op"), "no_value_over_trials", detail, hint)


def _is_score(path: tuple[Any, ...]) -> bool:
    """Whether a variable leads to one score of one scorer."""
    return len(path) >= len(("scores", "key", "name")) and path[0] == "scores"
