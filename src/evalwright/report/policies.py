"""Policies to verdicts: which figures a rule is about, whether it holds, and why.

A rule without a scope is about the run that is judged. `all_latest` is that run, and of every
other evaluation in the store its newest finished run. A scope with `evaluation_keys` is about the
newest finished runs of these (of the judged run's own evaluation: the judged run). The other keys
choose among the figures of those runs.

A threshold rule holds if there is at least one such figure, and all meet the threshold. A key of a
scope that nothing answers to fails its rule, and so does a run that is not finished: neither has
shown anything. Figures of checks (`purpose: qa`) are meant only where `scorer_keys` names them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from evalwright.nearest import nearest
from evalwright.report.report import FailureRow, JudgedRow, MetricRow, PolicyRow, ReportBody
from evalwright.report.verdicts import Verdict, compare, present, reaches_over
from evalwright.spec.documents.models.policy import (
    ALL_LATEST,
    PolicyDocument,
    PolicyRule,
    Scope,
    ThresholdDefinition,
)

_MOST_NAMED = 8
_MOST_TOLD = 3


class Judgement(Struct, frozen=True, kw_only=True):
    """What `evalwright gate --json` prints."""

    run_id: str
    holds: bool
    """Whether every rule does."""
    strict: bool
    """Whether the whole interval had to meet, and no sample to be missing."""
    policies: list[PolicyRow]


class Evidence(Struct, frozen=True, kw_only=True):
    """A run, as far as policies look at it."""

    run_id: str
    evaluation: str
    """Its key; empty where the run is of none."""
    unfinished: str = ""
    """Why nothing can be said of it; empty if something can."""
    rows: Sequence[MetricRow] = ()
    broken: Sequence[FailureRow] = ()
    """What could not be computed of all samples."""
    limit: int | None = None
    """How many samples a task at most were run; None for all."""


def evidence_of(report: ReportBody, evaluation: str, *, limit: int | None = None) -> Evidence:
    """What a report gives a policy to look at."""
    summary = report.summary
    stopped = report.status in {"stopped", "failed"}
    told = f"is not finished ({report.status}; samples done: {summary.samples})"
    return Evidence(
        run_id=report.run_id,
        evaluation=evaluation,
        unfinished=told if stopped else "",
        rows=report.metrics,
        broken=[one for one in report.failures if not one.sample_ids],
        limit=limit,
    )


def looks_around(policies: Iterable[PolicyDocument]) -> bool:
    """Whether any rule is about other runs than the one that is judged."""
    scopes = (rule.scope for policy in policies for rule in policy.rules)
    return any(
        scope == ALL_LATEST or (isinstance(scope, Scope) and bool(scope.evaluation_keys))
        for scope in scopes
    )


def judge(
    policies: Iterable[PolicyDocument],
    own: Evidence,
    others: Sequence[Evidence] = (),
    *,
    strict: bool = False,
) -> list[PolicyRow]:
    """Every rule of every policy; `others` are the newest finished runs of other evaluations."""
    return [
        _judged(policy, rule, _Evidences(own, others), strict=strict)
        for policy in policies
        for rule in policy.rules
    ]


class _Evidences(NamedTuple):
    own: Evidence
    others: Sequence[Evidence]


class _Figure(NamedTuple):
    run: Evidence
    row: MetricRow


def _judged(
    policy: PolicyDocument, rule: PolicyRule, known: _Evidences, *, strict: bool
) -> PolicyRow:
    runs, missing = _runs(rule, known)
    in_runs = [_Figure(one, row) for one in runs for row in one.rows]
    in_scope = [one for one in in_runs if _in_scope(rule, one.row)]
    wrong = (
        missing
        or list(_unfinished(runs))
        or list(_unanswered(rule, in_runs))
        or list(_empty(rule, in_runs, in_scope))
    )
    meant = [] if wrong else _called(rule.definition.metric, in_scope)
    verdicts = [_verdict(rule, one, strict=strict) for one in meant]
    broken = "" if missing else _broken(rule, runs, strict=strict)
    reason = "; ".join(wrong) or _reason(rule, meant, verdicts, strict=strict)
    return PolicyRow(
        policy=policy.key,
        rule=rule.key,
        name=rule.display_name or rule.key,
        demand=demand_of(rule),
        holds=not wrong and _holds(rule, verdicts) and not (strict and broken),
        reason="; ".join(one for one in (reason, *_without(rule, runs, meant), broken) if one),
        figures=[_row(one, verdict) for one, verdict in zip(meant, verdicts, strict=True)],
    )


def demand_of(rule: PolicyRule) -> str:
    """What must hold, on one line."""
    definition = rule.definition
    if isinstance(definition, ThresholdDefinition):
        return f"{definition.metric} {definition.operator} {definition.threshold:.12g}"
    return f"{definition.metric} exists"


def _runs(rule: PolicyRule, known: _Evidences) -> tuple[list[Evidence], list[str]]:
    """The runs that a rule is about, and the evaluations that have none."""
    if rule.scope == ALL_LATEST:
        return [known.own, *known.others], []
    keys = rule.scope.evaluation_keys if isinstance(rule.scope, Scope) else None
    if not keys:
        return [known.own], []
    every = {one.evaluation: one for one in (*known.others, known.own) if one.evaluation}
    missing = [
        f"there is no finished run of the evaluation `{key}`{_instead(key, list(every))}"
        for key in keys
        if key not in every
    ]
    return [every[key] for key in dict.fromkeys(keys) if key in every], missing


def _unfinished(runs: Sequence[Evidence]) -> Iterator[str]:
    for run in runs:
        if run.unfinished:
            yield f"run {run.run_id} {run.unfinished}"


def _in_scope(rule: PolicyRule, row: MetricRow) -> bool:
    """Whether every list has it. A check of the samples is meant only where its scorer is named."""
    named = isinstance(rule.scope, Scope) and rule.scope.scorer_keys is not None
    return (named or row.purpose != "qa") and _is_listed(rule, row)


def _is_listed(rule: PolicyRule, row: MetricRow) -> bool:
    return all(value in keys for _, keys, value in _chosen(rule, row))


def _chosen(rule: PolicyRule, row: MetricRow) -> Iterator[tuple[str, list[str], str]]:
    """The lists of a scope, each with what a figure has of it."""
    return _listed(rule, row.task, row.scorer, row.key)


def _listed(
    rule: PolicyRule, task: str, scorer: str, metric: str
) -> Iterator[tuple[str, list[str], str]]:
    if not isinstance(rule.scope, Scope):
        return
    for what, keys, value in (
        ("task specification", rule.scope.task_specification_keys, task),
        ("scorer", rule.scope.scorer_keys, scorer),
        ("metric", rule.scope.metric_keys, metric),
    ):
        if keys is not None:
            yield what, list(keys), value


def _called(metric: str, figures: Sequence[_Figure]) -> list[_Figure]:
    """The figures of a name; where none has it, those of the metric that its author calls so."""
    named = [one for one in figures if metric in {one.row.metric, one.row.name}]
    return named or [one for one in figures if one.row.own_key and one.row.key == metric]


def _unanswered(rule: PolicyRule, figures: Sequence[_Figure]) -> Iterator[str]:
    """The keys of a scope that no figure has."""
    there: dict[str, dict[str, None]] = {}
    wanted: dict[str, list[str]] = {}
    for one in figures:
        for what, keys, value in _chosen(rule, one.row):
            wanted[what] = keys
            there.setdefault(what, {})[value] = None
    for what, keys in wanted.items():
        for key in keys:
            if key not in there[what]:
                yield f"no figure of a {what} `{key}`{_instead(key, list(there[what]))}"


def _empty(
    rule: PolicyRule, in_runs: Sequence[_Figure], in_scope: Sequence[_Figure]
) -> Iterator[str]:
    """Why there is nothing to judge, if so."""
    metric = rule.definition.metric
    if _called(metric, in_scope):
        return
    if not in_runs:
        yield "there are no figures at all"
        return
    checks = _called(metric, [one for one in in_runs if _is_listed(rule, one.row)])
    if checks:  # they are in the scope, but for what they are
        scorer = checks[0].row.scorer
        yield (
            f"`{metric}` is a figure of a check (`purpose: qa`), which a rule is about only if "
            f"`scorer_keys` names its scorer, `{scorer}`"
        )
    elif not in_scope:
        yield "no figure is in all lists of its scope at once"
    else:
        names = list(dict.fromkeys(one.row.metric for one in in_scope))
        where = " in its scope" if isinstance(rule.scope, Scope) else ""
        yield f"there is no metric `{metric}`{where}{_instead(metric, names)}"


def _without(rule: PolicyRule, runs: Sequence[Evidence], meant: Sequence[_Figure]) -> Iterator[str]:
    """The members of a scope that have no figure of this name, where others have."""
    if not meant:
        return
    there: dict[str, set[str]] = {}
    lists: dict[str, list[str]] = {}
    for one in meant:
        for what, keys, value in _chosen(rule, one.row):
            lists[what] = keys
            there.setdefault(what, set()).add(value)
    lists["evaluation"] = [one.evaluation for one in runs]
    there["evaluation"] = {one.run.evaluation for one in meant}
    for what, keys in lists.items():
        bare = [key for key in dict.fromkeys(keys) if key and key not in there[what]]
        if bare:
            yield f"there is none of the {what}{'s'[: len(bare) != 1]} {_names(bare)}"


def _broken(rule: PolicyRule, runs: Sequence[Evidence], *, strict: bool) -> str:
    """What could not be computed, and may have been a figure that the rule is about."""
    for run in runs:
        for one in run.broken if not run.unfinished else ():
            if _covers(rule, run, one):
                refused = ", and then no rule about it holds strictly" if strict else ""
                return f"not everything could be computed{refused}: {one.message}"
    return ""


def _covers(rule: PolicyRule, run: Evidence, broken: FailureRow) -> bool:
    """Whether a scope has it; what is not known of it may be anything."""
    listed = list(_listed(rule, broken.task, broken.scorer, broken.metric))
    if any(value and value not in keys for _, keys, value in listed):
        return False
    named = any(what == "scorer" for what, *_ in listed)
    checks = {(row.task, row.scorer) for row in run.rows if row.purpose == "qa"}
    return named or (broken.task, broken.scorer) not in checks


def _instead(key: str, names: Sequence[str]) -> str:
    """The nearest name that there is, or all of them."""
    if close := nearest(key, names):
        return f"; did you mean `{close}`?"
    known = sorted(name for name in names if name)
    return f"; there {'is' if len(known) == 1 else 'are'} {_names(known)}" if known else ""


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_MOST_NAMED]) + more


def _verdict(rule: PolicyRule, figure: _Figure, *, strict: bool) -> Verdict:
    definition, row = rule.definition, figure.row
    if isinstance(definition, ThresholdDefinition):
        found = compare(row, definition.operator, definition.threshold, strict=strict)
    else:
        found = present(row, strict=strict)
    limit = figure.run.limit
    if limit is None or row.n + row.absent + row.failed + row.excluded < limit:
        return found
    limited = f"the run was limited to {limit} sample{'s'[: limit != 1]} a task"
    return found._replace(reason=f"{found.reason}; {limited}")


def _holds(rule: PolicyRule, verdicts: Sequence[Verdict]) -> bool:
    met = [one.meets for one in verdicts]
    return all(met) if isinstance(rule.definition, ThresholdDefinition) else any(met)


def _reason(
    rule: PolicyRule, figures: Sequence[_Figure], verdicts: Sequence[Verdict], *, strict: bool
) -> str:
    """Of one figure its own; of several, those that decide."""
    if len(figures) == 1:
        return verdicts[0].reason
    pairs = list(zip(figures, verdicts, strict=True))
    bad = [pair for pair in pairs if not pair[1].meets]
    if not isinstance(rule.definition, ThresholdDefinition):
        good = [pair for pair in pairs if pair[1].meets]
        whole = " of all samples" if strict else ""
        has = "have" if len(good) != 1 else "has"
        return (
            f"{len(good)} of {len(pairs)} figures {has} a value{whole}; {_told((good or bad)[:1])}"
        )
    if not bad:
        nearest_one, *rest = sorted(pairs, key=lambda pair: (pair[1].sure, pair[1].margin))
        told = _told([nearest_one])
        doubts = "".join(
            f"; {one}" for one in _doubts(rule.definition, [one.row for one, _ in rest])
        )
        return f"all {len(pairs)} figures meet it; the nearest to failing is {told}{doubts}"
    bad.sort(key=lambda pair: (pair[1].margin, pair[1].sure))
    rest_of = f"; and {len(bad) - _MOST_TOLD} more" if len(bad) > _MOST_TOLD else ""
    return f"not met by {len(bad)} of {len(pairs)} figures: {_told(bad[:_MOST_TOLD])}{rest_of}"


def _doubts(definition: ThresholdDefinition, rows: Sequence[MetricRow]) -> Iterator[str]:
    """What else a reader must know of figures that meet a threshold and are not shown."""
    operator, threshold = definition.operator, definition.threshold
    reach = sum(reaches_over(row, operator, threshold) for row in rows)
    failed = [row.failed for row in rows if row.failed]
    absent = [row.absent for row in rows if row.absent]
    if reach:
        yield f"the interval of {reach} more reaches over"
    if failed:
        yield f"{len(failed)} more left out failed samples, {sum(failed)} in all"
    if absent:
        yield f"{len(absent)} more left out scores without a value, {sum(absent)} in all"


def _told(pairs: Iterable[tuple[_Figure, Verdict]]) -> str:
    return "; ".join(f"{_who(one)}: {verdict.reason}" for one, verdict in pairs)


def _who(figure: _Figure) -> str:
    row = figure.row
    parts = (figure.run.evaluation, row.task, row.model, row.scorer, row.metric)
    return ", ".join(part for part in parts if part)


def _row(figure: _Figure, verdict: Verdict) -> JudgedRow:
    row = figure.row
    return JudgedRow(
        run_id=figure.run.run_id,
        task=row.task,
        model=row.model,
        scorer=row.scorer,
        metric=row.metric,
        value=row.value,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        failed=row.failed,
        meets=verdict.meets,
        reason=verdict.reason,
        n=row.n,
        absent=row.absent,
    )
