"""Whether policies name what the tasks of a project have: metrics, scorers, specifications.

Most metrics say what their figures are called. Of those that do not (an author's own, or one of
labels that only the answers have) only a run shows it: if there is one of them, nothing is said.
A rule about other evaluations is not looked at.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from evalwright.metrics.base import CountsMetric, FieldMetric
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.evidence import KEY as EVIDENCE
from evalwright.spec.documents.faults import Fault, did_you_mean, listed
from evalwright.spec.documents.policies import Written
from evalwright.spec.documents.policy import PolicyRule, Scope
from evalwright.spec.documents.problems import Path, Problem
from evalwright.spec.documents.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.values import is_stand_in

_MOST_LISTED = 8
_OF_TRIALS = ("@", "^")
"""Figures of several trials have these in their names, and are made beside the others."""


class _Named(NamedTuple):
    """A figure, as far as documents tell."""

    figure: str
    key: str
    """Of its metric."""
    own_key: bool
    """Whether the author has given the key."""
    scorer: str
    purpose: str


def unknown_names(
    policies: Iterable[Written], tasks: Sequence[tuple[str, TaskDocument]]
) -> Iterator[Problem]:
    """A warning for each metric and each key of a scope that no task has; tasks by their keys."""
    written = list(policies)
    if not written or not tasks:
        return
    named = _named(task for _, task in tasks)
    for one in written:
        for number, rule in enumerate(one.document.rules):
            if not (isinstance(rule.scope, Scope) and rule.scope.evaluation_keys):
                faults = [*_metric(rule, named or []), *_scope(rule, tasks, named)]
                for fault in faults:
                    yield one.problem(fault._replace(path=("rules", number, *fault.path)))


def _metric(rule: PolicyRule, named: list[_Named]) -> Iterator[Fault]:
    metric = rule.definition.metric
    scorers = rule.scope.scorer_keys if isinstance(rule.scope, Scope) else None
    # A check of the samples is meant only where its scorer is named.
    meant = [one for one in named if one.purpose == "score" or one.scorer in (scorers or ())]
    names = [name for one in meant for name in (one.figure, *([one.key] if one.own_key else []))]
    # Two figures of one name are told apart by the keys of their metrics, put before it.
    among = {*names, *(f"{one.key}_{one.figure}" for one in meant)}
    if named and metric not in among and not any(sign in metric for sign in _OF_TRIALS):
        yield _unknown(("definition", "metric"), "metric", metric, names)


def _scope(
    rule: PolicyRule,
    tasks: Sequence[tuple[str, TaskDocument]],
    named: list[_Named] | None,
) -> Iterator[Fault]:
    if not isinstance(rule.scope, Scope):
        return
    known = {
        "task_specification_keys": ("task specification", [key for key, _ in tasks]),
        "scorer_keys": ("scorer", [key for _, task in tasks for key in _scorers(task)]),
        "metric_keys": ("metric", [one.key for one in named or []]),
    }
    for field, (what, names) in known.items():
        for number, key in enumerate(getattr(rule.scope, field) or []):
            if names and key not in names and not any(map(is_stand_in, names)):
                yield _unknown(("scope", field, number), what, key, names)


def _unknown(path: Path, what: str, name: str, names: list[str]) -> Fault:
    there = list(dict.fromkeys(names))
    more = ", …" if len(there) > _MOST_LISTED else ""
    known = f"; there are {listed(there[:_MOST_LISTED])}{more}" if there else ""
    detail = f"no task here has a {what} `{name}`{known}"
    rule = f"unknown_{what.replace(' ', '_')}"
    return Fault(path, rule, detail, did_you_mean(name, there), "warning")


def _scorers(task: TaskDocument) -> list[str]:
    definition = task.definition
    if isinstance(definition, BenchmarkTask):
        return [one.key or one.type for one in definition.scorers]
    return [EVIDENCE]


def _named(tasks: Iterable[TaskDocument]) -> list[_Named] | None:
    """What figures are called, each with the key of its metric; None where that is not known."""
    known: list[_Named] = []
    for task in tasks:
        if not isinstance(task.definition, BenchmarkTask):
            return None
        for scorer in task.definition.scorers:
            for one in _of_scorer(scorer):
                if one is None or is_stand_in(one.figure) or is_stand_in(one.key):
                    return None
                known.append(one)
    return known


def _of_scorer(scorer: ScorerSpec) -> Iterator[_Named | None]:
    whose = {"scorer": scorer.key or scorer.type, "purpose": scorer.purpose}
    if scorer.metrics is not None:
        for metric in scorer.metrics:
            figure = _figure_of(metric)
            key, own = str(metric.key or metric.type), metric.own_key
            yield None if figure is None else _Named(figure, key, own_key=own, **whose)
    elif scorer.purpose == "score":
        several = len(scorer.default_metrics) > 1
        for kind, field in scorer.default_metrics:
            known = kind not in {"frequency", "multiclass-classification"}
            key = f"{kind}_{field}" if several else kind
            yield _Named(f"{field}_{kind}", key, own_key=False, **whose) if known else None


def _figure_of(metric: Any) -> str | None:
    if isinstance(metric, FieldMetric):
        return metric.figure
    return metric.name or metric.type if isinstance(metric, CountsMetric) else None
