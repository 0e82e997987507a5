"""Judge a run by policies: which metrics a rule is about, whether it holds, and why.

A rule without a scope is about the run that is judged. `all_latest` is that run, and of every
other evaluation in the store its newest finished run. A scope with `evaluation_keys` is about the
newest finished runs of these (of the judged run's own evaluation: the judged run). The other keys
choose among the metrics of those runs.

A threshold rule holds if there is at least one such metric, and all meet the threshold. A key of a
scope that no metric has fails its rule, and so does a run that is not finished: neither has shown
anything. Metrics of checks (`purpose: qa`) are meant only where `scorer_keys` names them.

Two numbers that are nearer than 1e-9 (of 1, or of the larger one) are equal, for every operator: a
mean that is 0.8 but for the last bit is not below 0.8. A metric without a value meets nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from evalwright.nearest import nearest
from evalwright.plan.outline import PlanOutline
from evalwright.report.report import FailureRow, JudgedRow, MetricRow, PolicyRow, ReportBody
from evalwright.report.tables import count_noun, display_width, pad, table_to_markdown
from evalwright.report.to_tables import count_rules, policies_table
from evalwright.spec.documents.models.policy import (
    ALL_LATEST,
    PolicyDocument,
    PolicyRule,
    Scope,
    ThresholdDefinition,
)
from evalwright.text.visible import visible

Operator = Literal[">", ">=", "=", "<", "<="]
_SIGNS = {">": ">", ">=": "≥", "=": "=", "<": "<", "<=": "≤"}
_TOLERANCE = 1e-9
_FEW = 30
"""A number of samples below this is mentioned with a metric."""
_SCOPE_LISTS = {
    "task specification": "task_specification_keys",
    "scorer": "scorer_keys",
    "metric": "metric_keys",
}
_ROW_FIELDS = {*JudgedRow.__struct_fields__} & {*MetricRow.__struct_fields__} - {"reason"}
_MOST_NAMED = 8
_MOST_SHOWN = 3
_FEWEST_DIGITS, _MOST_DIGITS = 3, 10  # the tables of a report have three
_FEWEST_OF_ALL, _MOST_OF_ALL = 4, 15
_SMALLEST, _LARGEST = 1e-4, 1e6
"""What is not between these is written with an exponent."""


class Judgement(Struct, frozen=True, kw_only=True):
    """What `evalwright gate --json` prints."""

    run_id: str
    holds: bool
    """Whether every rule holds."""
    strict: bool
    """Whether the whole interval had to meet the threshold and no sample could be missing."""
    policies: list[PolicyRow]
    """The verdict for every rule."""


def gate_lines(judgement: Judgement) -> Iterator[str]:
    """Yield what each rule demands, and below it why it holds or fails, a metric per line."""
    rules = [f"{row.policy}/{row.rule}" for row in judgement.policies]
    width = max(map(display_width, rules))
    for rule, row in zip(rules, judgement.policies, strict=True):
        verdict = "holds" if row.holds else "FAILS"
        yield visible(f"{verdict}  {pad(rule, width)}  {row.demand}").rstrip()
        first, *others = row.reason.split("\n")
        yield visible(f"       {first}")
        yield from (visible(f"         {reason}") for reason in others)
    yield f"{judgement.run_id}: {count_rules(judgement.policies)}"


def gate_markdown(judgement: Judgement) -> str:
    """Return a page for an issue or a pull request."""
    verdict = "The policies hold" if judgement.holds else "The policies do not hold"
    strict = ", judged by whole intervals" if judgement.strict else ""
    title = f"# {verdict}\n\nRun `{judgement.run_id}`{strict}."
    return f"{title}\n\n{table_to_markdown(policies_table(judgement.policies))}\n"


class RunEvidence(Struct, frozen=True, kw_only=True):
    """A run, as far as policies look at it."""

    run_id: str
    evaluation: str
    """The key of the run's evaluation; empty if it has none."""
    unfinished: str = ""
    """Why nothing can be said of it; empty if something can."""
    rows: Sequence[MetricRow] = ()
    task_failures: Sequence[FailureRow] = ()
    """What could not be computed of all samples."""
    limit: int | None = None
    """How many samples a task at most were run; None for all."""
    specifications: Mapping[str, str] = {}
    """The key of the task specification of each task that is a variant."""

    def scope_values(self, task: str, scorer: str, metric: str) -> dict[str, tuple[str, ...]]:
        """Return the keys of something in the run that the lists of a scope are compared with."""
        specification = self.specifications.get(task)
        tasks = (task, specification) if specification else (task,)
        return dict(zip(_SCOPE_LISTS, (tasks, (scorer,), (metric,)), strict=True))


def report_evidence(report: ReportBody, plan: PlanOutline) -> RunEvidence:
    """Return what a report gives a policy to look at."""
    unfinished = f"is not finished ({report.status}; samples done: {report.summary.samples})"
    return RunEvidence(
        run_id=report.run_id,
        evaluation=plan.evaluation,
        unfinished=unfinished if report.status in {"stopped", "failed"} else "",
        rows=[row for row in report.metrics if row.group is None],
        task_failures=[failure for failure in report.failures if not failure.sample_ids],
        limit=plan.limit,
        specifications={task.name: task.specification for task in plan.tasks if task.variant},
    )


def needs_other_runs(policies: Iterable[PolicyDocument]) -> bool:
    """Whether any rule is about other runs than the one that is judged."""
    scopes = (rule.scope for policy in policies for rule in policy.rules)
    return any(
        scope == ALL_LATEST or (isinstance(scope, Scope) and bool(scope.evaluation_keys))
        for scope in scopes
    )


def judge(
    policies: Iterable[PolicyDocument],
    own: RunEvidence,
    others: Sequence[RunEvidence] = (),
    *,
    strict: bool = False,
) -> list[PolicyRow]:
    """Judge by every rule; `others` are the newest finished runs of other evaluations."""
    return [
        _judge_rule(policy, rule, own, others, strict=strict)
        for policy in policies
        for rule in policy.rules
    ]


class _RunMetric(NamedTuple):
    run: RunEvidence
    row: MetricRow

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """What the lists of a scope are compared with."""
        keys = self.run.scope_values(self.row.task, self.row.scorer, self.row.key)
        return {**keys, "evaluation": (self.run.evaluation,)}


def _judge_rule(
    policy: PolicyDocument,
    rule: PolicyRule,
    own: RunEvidence,
    others: Sequence[RunEvidence],
    *,
    strict: bool,
) -> PolicyRow:
    runs, missing = _select_runs(rule, own, others)
    in_runs = [_RunMetric(run, row) for run in runs for row in run.rows]
    in_scope = [metric for metric in in_runs if _is_in_scope(rule, metric)]
    problems = (
        missing
        or [f"run {run.run_id} {run.unfinished}" for run in runs if run.unfinished]
        or list(_find_unused_keys(rule, in_runs))
        or list(_explain_no_metric(rule, in_runs, in_scope))
    )
    metrics = [] if problems else _find_metrics(rule.definition.metric, in_scope)
    verdicts = [_judge_metric(rule, metric, strict=strict) for metric in metrics]
    is_met = all if isinstance(rule.definition, ThresholdDefinition) else any
    failure = "" if missing else _find_task_failure(rule, runs, strict=strict)
    reason = "; ".join(problems) or _reason(rule, metrics, verdicts, strict=strict)
    reasons = (reason, *_find_keys_without_metric(rule, runs, metrics), failure)
    meets = is_met(verdict.meets for verdict in verdicts)
    return PolicyRow(
        policy=policy.key,
        rule=rule.key,
        name=rule.display_name or rule.key,
        demand=_demand(rule),
        holds=not problems and meets and not (strict and failure),
        reason="; ".join(filter(None, reasons)),
        figures=[_judged_row(*pair) for pair in zip(metrics, verdicts, strict=True)],
    )


def _demand(rule: PolicyRule) -> str:
    definition = rule.definition
    if isinstance(definition, ThresholdDefinition):
        return f"{definition.metric} {definition.operator} {definition.threshold:.12g}"
    return f"{definition.metric} exists"


def _select_runs(
    rule: PolicyRule, own: RunEvidence, others: Sequence[RunEvidence]
) -> tuple[list[RunEvidence], list[str]]:
    if rule.scope == ALL_LATEST:
        return [own, *others], []
    keys = rule.scope.evaluation_keys if isinstance(rule.scope, Scope) else None
    if not keys:
        return [own], []
    runs = {run.evaluation: run for run in (*others, own) if run.evaluation}
    missing = [
        f"there is no finished run of the evaluation `{key}`{_suggest(key, list(runs))}"
        for key in keys
        if key not in runs
    ]
    return [runs[key] for key in dict.fromkeys(keys) if key in runs], missing


def _scope_lists(rule: PolicyRule) -> dict[str, list[str]]:
    lists = {what: getattr(rule.scope, name, None) for what, name in _SCOPE_LISTS.items()}
    return {what: keys for what, keys in lists.items() if keys is not None}


def _is_in_scope(rule: PolicyRule, metric: _RunMetric, *, counts_checks: bool = False) -> bool:
    """Whether every list has it. A check of the samples counts only where its scorer is named."""
    lists = _scope_lists(rule)
    is_meant = counts_checks or "scorer" in lists or metric.row.purpose != "qa"
    return is_meant and not any(
        set(keys).isdisjoint(metric.keys[what]) for what, keys in lists.items()
    )


def _find_metrics(name: str, metrics: Sequence[_RunMetric]) -> list[_RunMetric]:
    """Find the metrics of a name; else those with a key of that name that an author gave."""
    named = [metric for metric in metrics if name in {metric.row.metric, metric.row.name}]
    return named or [metric for metric in metrics if metric.row.own_key and metric.row.key == name]


def _find_unused_keys(rule: PolicyRule, metrics: Sequence[_RunMetric]) -> Iterator[str]:
    for what, keys in _scope_lists(rule).items() if metrics else ():
        present = list(dict.fromkeys(key for metric in metrics for key in metric.keys[what]))
        for key in keys:
            if key not in present:
                yield f"no metric has the {what} `{key}`{_suggest(key, present)}"


def _explain_no_metric(
    rule: PolicyRule, in_runs: Sequence[_RunMetric], in_scope: Sequence[_RunMetric]
) -> Iterator[str]:
    name = rule.definition.metric
    if _find_metrics(name, in_scope):
        return
    listed = [metric for metric in in_runs if _is_in_scope(rule, metric, counts_checks=True)]
    if not in_runs:
        yield "the run has no metrics"
    elif checks := _find_metrics(name, listed):
        scorer = checks[0].row.scorer
        yield (
            f"`{name}` is a metric of a check (`purpose: qa`); a rule applies to it only if "
            f"`scorer_keys` names its scorer, `{scorer}`"
        )
    elif not in_scope:
        yield "no metric matches all lists of its scope"
    else:
        names = list(dict.fromkeys(metric.row.metric for metric in in_scope))
        where = " in its scope" if isinstance(rule.scope, Scope) else ""
        yield f"there is no metric `{name}`{where}{_suggest(name, names)}"


def _find_keys_without_metric(
    rule: PolicyRule, runs: Sequence[RunEvidence], metrics: Sequence[_RunMetric]
) -> Iterator[str]:
    """Yield the keys of a scope that have no metric of this name, where others have."""
    lists = {**_scope_lists(rule), "evaluation": [run.evaluation for run in runs]}
    for what, keys in lists.items() if metrics else ():
        present = {key for metric in metrics for key in metric.keys[what]}
        absent = [key for key in dict.fromkeys(keys) if key and key not in present]
        if absent:
            yield f"no such metric for the {what}{'s'[: len(absent) != 1]} {_quote(absent)}"


def _find_task_failure(rule: PolicyRule, runs: Sequence[RunEvidence], *, strict: bool) -> str:
    """Say what could not be computed, and may have been a metric that the rule is about."""
    for run in runs:
        for failure in run.task_failures if not run.unfinished else ():
            if _covers(rule, run, failure):
                refused = ", so no rule about it can hold strictly" if strict else ""
                return f"not everything could be computed{refused}: {failure.message}"
    return ""


def _covers(rule: PolicyRule, run: RunEvidence, failure: FailureRow) -> bool:
    """Whether a scope has it; what is not known of it may be anything."""
    lists = _scope_lists(rule)
    values = run.scope_values(failure.task, failure.scorer, failure.metric)
    if any(
        any(values[what]) and set(keys).isdisjoint(values[what]) for what, keys in lists.items()
    ):
        return False
    checks = {(row.task, row.scorer) for row in run.rows if row.purpose == "qa"}
    return "scorer" in lists or (failure.task, failure.scorer) not in checks


def _suggest(key: str, names: Sequence[str]) -> str:
    if close := nearest(key, names):
        return f"; did you mean `{close}`?"
    known = sorted(filter(None, names))
    return f"; there {'is' if len(known) == 1 else 'are'} {_quote(known)}" if known else ""


def _quote(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_MOST_NAMED]) + more


def _reason(
    rule: PolicyRule, metrics: Sequence[_RunMetric], verdicts: Sequence["Verdict"], *, strict: bool
) -> str:
    if len(metrics) == 1:
        return verdicts[0].reason
    pairs = list(zip(metrics, verdicts, strict=True))
    bad = [pair for pair in pairs if not pair[1].meets]
    if not isinstance(rule.definition, ThresholdDefinition):
        good = [pair for pair in pairs if pair[1].meets]
        whole = " of all samples" if strict else ""
        has = "have" if len(good) != 1 else "has"
        example = _join_reasons((good or bad)[:1])
        return f"{len(good)} of {len(pairs)} metrics {has} a value{whole}; {example}"
    if not bad:
        closest, *rest = sorted(pairs, key=lambda pair: (pair[1].sure, pair[1].margin))
        doubts = _doubts(rule.definition, [metric.row for metric, _ in rest])
        shown = ";\n".join([_join_reasons([closest]), *doubts])
        return f"met by all {len(pairs)} metrics; closest to failing:\n{shown}"
    bad.sort(key=lambda pair: (pair[1].margin, pair[1].sure))
    more = f";\nand {len(bad) - _MOST_SHOWN} more" if len(bad) > _MOST_SHOWN else ""
    shown = _join_reasons(bad[:_MOST_SHOWN])
    return f"not met by {len(bad)} of {len(pairs)} metrics:\n{shown}{more}"


def _doubts(definition: ThresholdDefinition, rows: Sequence[MetricRow]) -> Iterator[str]:
    """Say what else a reader must know of metrics that meet a threshold and are not shown."""
    operator, threshold = definition.operator, definition.threshold
    reach = sum(bool(_find_end_across(row, operator, threshold)) for row in rows)
    failed = [row.failed for row in rows if row.failed]
    absent = [row.absent for row in rows if row.absent]
    if reach:
        yield f"the intervals of {count_noun(reach, 'more metric')} cross the threshold"
    if failed:
        more = count_noun(len(failed), "more metric")
        yield f"failed samples are excluded from {more} ({sum(failed)} in total)"
    if absent:
        without = f"{count_noun(len(absent), 'more metric')} ({sum(absent)} in total)"
        yield f"scores without a value are excluded from {without}"


def _join_reasons(pairs: Iterable[tuple[_RunMetric, "Verdict"]]) -> str:
    reasons = []
    for (run, row), verdict in pairs:
        names = (run.evaluation, row.task, row.model, row.scorer, row.metric)
        reasons.append(f"{', '.join(filter(None, names))}: {verdict.reason}")
    return ";\n".join(reasons)


def _judged_row(metric: _RunMetric, verdict: "Verdict") -> JudgedRow:
    facts = {name: getattr(metric.row, name) for name in _ROW_FIELDS}
    run_id = metric.run.run_id
    return JudgedRow(**facts, run_id=run_id, meets=verdict.meets, reason=verdict.reason)


class Verdict(NamedTuple):
    """Whether a metric meets a threshold, and why."""

    meets: bool
    reason: str
    margin: float = 0.0
    """How far it is on the right side; below zero on the wrong one."""
    sure: float = 0.0
    """The same of the end of its interval that is nearest to failing."""


def _judge_metric(rule: PolicyRule, metric: _RunMetric, *, strict: bool) -> Verdict:
    definition, row, limit = rule.definition, metric.row, metric.run.limit
    if isinstance(definition, ThresholdDefinition):
        verdict = compare(row, definition.operator, definition.threshold, strict=strict)
    else:
        verdict = check_exists(row, strict=strict)
    if limit is None or row.n + row.absent + row.failed + row.excluded < limit:
        return verdict
    limited = f"the run was limited to {count_noun(limit, 'sample')} per task"
    return verdict._replace(reason=f"{verdict.reason}; {limited}")


def compare(row: MetricRow, operator: Operator, threshold: float, *, strict: bool) -> Verdict:
    """Compare a metric with a threshold.

    With `strict`, its whole interval must meet it, and no sample may be missing.
    """
    value = row.value
    if value is None or math.isnan(value):
        return Verdict(meets=False, reason=_no_value(row), margin=-math.inf, sure=-math.inf)
    ends = [end for end in (row.ci_low, row.ci_high) if end is not None]
    meets = _meets(value, operator, threshold)
    refusals = []
    if strict and meets:
        if len(ends) < 2:  # noqa: PLR2004 - both
            refusals.append("a strict rule needs an interval")
        elif not all(_meets(end, operator, threshold) for end in ends):
            refusals.append("the whole interval must meet it")
        refusals += _refuse_missing(row)
    comparison = _describe_comparison(row, value, operator, threshold)
    return Verdict(
        meets=meets and not refusals,
        reason="; ".join([comparison, *_missing_samples(row), *refusals]),
        margin=_margin(value, operator, threshold),
        sure=min(_margin(number, operator, threshold) for number in (value, *ends)),
    )


def check_exists(row: MetricRow, *, strict: bool) -> Verdict:
    """Check that a metric has a value; with `strict`, one of all samples."""
    value = row.value
    if value is None or math.isnan(value):
        return Verdict(meets=False, reason=_no_value(row))
    texts = _format_numbers(value, row.ci_low, row.ci_high, threshold=None)
    refusals = list(_refuse_missing(row)) if strict else []
    parts = [f"{texts[value]}{_describe_interval(row, texts)}", *_missing_samples(row), *refusals]
    return Verdict(meets=not refusals, reason="; ".join(parts))


def _no_value(row: MetricRow) -> str:
    return f"no value: {row.reason or 'nothing was measured'}"


def _missing_samples(row: MetricRow) -> Iterator[str]:
    """Say what a metric leaves out against its will, and of how few samples it is."""
    if row.failed:
        are = "is" if row.failed == 1 else "are"
        yield f"{count_noun(row.failed, 'sample')} failed, and {are} not included"
    if row.absent:
        have = "has" if row.absent == 1 else "have"
        without = f"{count_noun(row.absent, 'score')} {have} no value"
        yield f"over {row.n} of {row.n + row.absent} samples: {without}"
    elif 0 < row.n < _FEW:
        yield f"over {count_noun(row.n, 'sample')}"


def _refuse_missing(row: MetricRow) -> Iterator[str]:
    if row.failed:
        yield "no sample may fail"
    if row.absent:
        yield "no score may be without a value"


def _meets(value: float, operator: Operator, threshold: float) -> bool:
    if math.isclose(value, threshold, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return operator in {">=", "=", "<="}
    return operator in ({">", ">="} if value > threshold else {"<", "<="})


def _margin(value: float, operator: Operator, threshold: float) -> float:
    if operator == "=":
        return -abs(value - threshold)
    return value - threshold if operator in {">", ">="} else threshold - value


def _describe_comparison(row: MetricRow, value: float, operator: Operator, threshold: float) -> str:
    """Write `0.813 ≥ 0.800, but the interval reaches down to 0.790`."""
    texts = _format_numbers(value, row.ci_low, row.ci_high, threshold=threshold)
    meets = _meets(value, operator, threshold)
    actual: tuple[Operator, ...] = ("=", ">", "<")
    sign = operator if meets else next(sign for sign in actual if _meets(value, sign, threshold))
    interval = _describe_interval(row, texts)
    if across := _find_end_across(row, operator, threshold):
        way, end = across
        interval = f", but the interval reaches {way} to {texts[end]}"
    elif operator == "=" and not meets and _contains(row, threshold):
        interval = interval.replace("interval", "but the interval includes it:")
    return f"{texts[value]} {_SIGNS[sign]} {texts[threshold]}{interval}"


def _find_end_across(
    row: MetricRow, operator: Operator, threshold: float
) -> tuple[str, float] | None:
    """Find an end of the interval that is on the other side of the threshold than the value."""
    if row.value is None or row.ci_low is None or row.ci_high is None:
        return None
    meets = _meets(row.value, operator, threshold)
    ends = (("down", row.ci_low), ("up", row.ci_high))
    return next((end for end in ends if _meets(end[1], operator, threshold) != meets), None)


def _contains(row: MetricRow, number: float) -> bool:
    low, high = row.ci_low, row.ci_high
    return low is not None and high is not None and low <= number <= high


def _describe_interval(row: MetricRow, texts: Mapping[float, str]) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ", without an interval"
    return f", interval [{texts[row.ci_low]}, {texts[row.ci_high]}]"


def _format_numbers(*values: float | None, threshold: float | None) -> dict[float, str]:
    """Write each number with so many digits that what is not equal does not look equal."""
    numbers = [number for number in (*values, threshold) if number is not None]
    largest = max(map(abs, numbers))
    fewest = _FEWEST_DIGITS
    if threshold is not None:
        decimals = f"{threshold:.{_MOST_DIGITS}f}".rstrip("0").partition(".")[2]
        fewest = max(fewest, len(decimals))
    form, digits = "f", range(fewest, _MOST_DIGITS + 1)
    if largest >= _LARGEST or 0 < largest < _SMALLEST:
        form, digits = "g", range(_FEWEST_OF_ALL, _MOST_OF_ALL + 1)
    for count in digits:
        texts = {number: f"{number:z.{count}{form}}" for number in numbers}
        if threshold is None or all(
            texts[number] != texts[threshold] or _meets(number, "=", threshold)
            for number in numbers
        ):
            return texts
    return {number: repr(number) for number in numbers}
