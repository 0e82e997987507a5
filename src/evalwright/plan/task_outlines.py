"""The outline of a task in a project, and the metrics and trials that it plans."""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from pydantic import TypeAdapter

from evalwright.components import FOR_KEYS
from evalwright.metrics.base import AnyMetric, FieldMetric
from evalwright.plan.finalization import ScorerMetrics, TrialAggregate, TrialPlan
from evalwright.plan.keys import key_of
from evalwright.plan.outline import MetricOutline, PrimaryMetric, TaskOutline
from evalwright.plan.samples import RowSamples
from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.resolve.specifications import ResolvedSpec

_DESCRIPTIVE_FIELDS = {"display_name", "description", "long_description", "tags", "config_spec"}
"""Fields of a task that change no result."""


def outline_task(spec: ResolvedSpec, samples: RowSamples, models: tuple[str, ...]) -> TaskOutline:
    """Return the outline of a task specification with its samples and models."""
    task_json = spec.task.model_dump_json(exclude=_DESCRIPTIVE_FIELDS, context=FOR_KEYS)
    places = "" if isinstance(samples.places, range) else str(list(samples.places))
    rows_digest = samples.rows.digest
    return TaskOutline(
        name=spec.key,
        task_key=spec.task.key,
        display_name=spec.display_name,
        specification=spec.written_key,
        variant=spec.variant,
        kind=spec.task.evaluates,
        models=models,
        records=len(samples.places),
        trials=spec.num_trials,
        repeats=spec.repeats,
        code_exec=len(samples.places) if runs_code(spec) else 0,
        after=spec.dataset_keys.get("", "") if spec.source == "task_result" else "",
        values=spec.values,
        digest=key_of(task_json, rows_digest, places),
        samples_digest=key_of(rows_digest, places, str(len(samples.places))) if rows_digest else "",
        issues=samples.issues,
        excluded_rows=samples.excluded_rows,
        primary=_primary_metric(spec),
        metrics=tuple(_metric_outlines(spec)),
        component_digests=_component_digests(spec),
        finalized=True,
    )


def runs_code(spec: ResolvedSpec) -> bool:
    """Whether a scorer of the task runs code from a model."""
    return any(scorer.needs_sandbox for scorer in getattr(spec.task.definition, "scorers", ()))


def _component_digests(spec: ResolvedSpec) -> dict[str, str]:
    """Return a hash of the solver, of each scorer without its metrics, and of the action rules."""
    definition = spec.task.definition
    parts: dict[str, list[Any]] = {
        "solver": [getattr(definition, "solver", None)],
        **{
            f"scorer `{scorer.key or scorer.type}`": [scorer]
            for scorer in getattr(definition, "scorers", ())
        },
        "action rules": [*(getattr(definition, "actions", None) or ())],
    }
    return {
        name: key_of(
            *(
                part.model_dump_json(exclude={"metrics", "display_name"}, context=FOR_KEYS)
                for part in several
                if part is not None
            )
        )
        for name, several in parts.items()
    }


def _metric_outlines(spec: ResolvedSpec) -> Iterator[MetricOutline]:
    trials = trial_plan(spec)
    for scorer in getattr(spec.task.definition, "scorers", ()):
        if scorer.purpose != "score":
            continue
        name = scorer.key or scorer.type
        measured = scorer_metrics(scorer, trials)
        for _, metric in measured.metrics:
            terms = metric.sample_terms()
            lower = terms is not None and set(terms.fields) <= set(scorer.lower_is_better)
            yield MetricOutline(
                scorer=name, metric=metric.value_name, terms=terms, lower_is_better=lower
            )
        if measured.default_metric is not None:
            yield MetricOutline(scorer=name)


def _primary_metric(spec: ResolvedSpec) -> PrimaryMetric | None:
    """Return the first metric with `purpose: score` that is a mean over samples.

    A mean of aggregated trials has no value per outcome, so it is skipped.
    """
    trials = trial_plan(spec)
    aggregated = {
        name for aggregate in (trials.aggregates if trials else ()) for name in aggregate.names
    }
    for scorer in getattr(spec.task.definition, "scorers", ()):
        if scorer.purpose != "score":
            continue
        for _, metric in scorer_metrics(scorer, trials).metrics:
            if not isinstance(metric, FieldMetric) or metric.type != "mean":
                continue
            if metric.field not in aggregated:
                return PrimaryMetric(
                    scorer=scorer.key or scorer.type, field=metric.field, metric=metric.value_name
                )
    return None


def trial_plan(spec: ResolvedSpec) -> TrialPlan | None:
    """Return how the trials of a sample are aggregated; None with one trial per sample."""
    definition = getattr(spec.task.definition, "trials", None)
    if definition is None and spec.num_trials * spec.repeats == 1:
        return None
    aggregates = tuple(
        TrialAggregate(
            score=score.score_name,
            function=score.aggregator.function,
            k=score.aggregator.k or 0,
            names=names,
        )
        for score, names in (definition.with_names() if definition else ())
    )
    return TrialPlan(trials=spec.num_trials, repeats=spec.repeats, aggregates=aggregates)


def scorer_metrics(scorer: ScorerSpec, trials: TrialPlan | None = None) -> ScorerMetrics:
    """Return the metrics of a scorer: its own, or the defaults of its type.

    A scorer whose scores only a run shows has the mean of each number by default.

    Aggregated scores have default metrics too: an author who asks for pass@3 of a score wants
    to see it.
    """
    metrics: list[tuple[str, Any]] = []
    own_keys: frozenset[str] = frozenset()
    has_means = scorer.metrics is None and scorer.purpose == "score" and not scorer.default_metrics
    if scorer.metrics is not None:
        metrics = [(str(metric.key or metric.type), metric) for metric in scorer.metrics]
        own_keys = frozenset(str(metric.key) for metric in scorer.metrics if metric.own_key)
    elif scorer.purpose == "score":
        defaults = [*scorer.default_metrics]
        means = {field for kind, field in defaults if kind == "mean"}
        aggregates = trials.aggregates if trials else ()
        names = [aggregate.names[-1] for aggregate in aggregates if aggregate.score in means]
        defaults += [("mean", name) for name in names if name not in means]
        several = len(defaults) > 1
        metrics = [
            (f"{kind}_{field}" if several else kind, _default_metric(kind, field))
            for kind, field in defaults
        ]
    return ScorerMetrics(
        purpose=scorer.purpose,
        metrics=tuple(metrics),
        own_keys=own_keys,
        ranges=scorer.score_ranges,
        default_metric=partial(_default_metric, "mean") if has_means else None,
    )


@cache
def _default_metric(kind: str, field: str) -> Any:
    return TypeAdapter(AnyMetric).validate_python({"type": kind, "field": field})
