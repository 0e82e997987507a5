"""Compare runs: pair their samples, compute every metric, name what changed, list the flips."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from msgspec import Struct, structs

from evalwright._version import __version__
from evalwright.comparison.changes import describe_changes
from evalwright.comparison.flips import OutputReader, find_flips
from evalwright.comparison.pairing import MetricKey, PairedTerms, Pairing, ScoreReader, Selection
from evalwright.comparison.report import ComparedRun, ComparisonReport, ComparisonRow, Flip
from evalwright.comparison.sides import (
    Matchup,
    RunSide,
    check_models,
    explain_no_match,
    match_runs,
    match_within,
    read_side,
)
from evalwright.comparison.statistic import compare_metric, decide
from evalwright.errors import UsageError
from evalwright.ports import Store
from evalwright.types import Run

_MOST_GROUPS = 50
_MOST_PAIRS = 500
"""Pairs of models that are compared within one run."""


class ComparisonOptions(Struct, frozen=True, kw_only=True):
    """What to compare, and how."""

    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    """Only these tasks; all if empty."""
    margin: float = 0.0
    by: str = ""
    cluster: str = ""
    seed: int = 0
    flips: int = 10
    """Maximum number of flipped samples per task."""


class _Compared(NamedTuple):
    row: ComparisonRow
    pairing: Pairing
    paired: PairedTerms


def compare_runs(store: Store, runs: Sequence[Run], options: ComparisonOptions) -> ComparisonReport:
    """Compare each run with the first, or all models and variants within a single run."""
    sides = [read_side(run) for run in runs]
    check_models(sides, options.models)
    matchups = list(_find_matchups(sides, options))
    reader = ScoreReader(store, Selection(options.by, options.cluster))
    compared: list[_Compared] = []
    warnings: dict[str, None] = {}
    for matchup in matchups:
        pairing = reader.pair(matchup)
        warnings.update(dict.fromkeys(describe_changes(pairing, matchup)))
        own, refused = _compare_pairing(pairing, options)
        compared += own
        warnings.update(dict.fromkeys(refused))
    rows = decide([each.row for each in compared], margin=options.margin)
    compared = [each._replace(row=row) for each, row in zip(compared, rows, strict=True)]
    flips = list(_find_all_flips(store, compared, options))
    return ComparisonReport(
        a=runs[0].id,
        b=runs[-1].id,
        runs=[_describe_run(store, side) for side in _without_repeats(sides)],
        comparisons=rows,
        flips=flips,
        flipped=sum(each.row.flipped for each in _primary_only(compared)),
        warnings=list(warnings),
        margin=options.margin,
        version=__version__,
    )


def _find_matchups(sides: Sequence[RunSide], options: ComparisonOptions) -> Iterator[Matchup]:
    first, *others = sides
    if not others:
        matchups = list(match_within(first, options.models))
        if not matchups:
            raise UsageError(
                f"run {first.name} has nothing to compare: one model and one variant per task",
                hint="name a second run: evalwright compare BASELINE RUN",
            )
        if len(matchups) > _MOST_PAIRS:
            raise UsageError(
                f"run {first.name} has {len(matchups):,} pairs of models; at most "
                f"{_MOST_PAIRS} are compared",
                hint="choose models with -m",
            )
        yield from _select_tasks(matchups, options)
        return
    for other in others:
        matchups = list(match_runs(first, other, options.models))
        if not matchups:
            raise explain_no_match(first, other)
        yield from _select_tasks(matchups, options)


def _select_tasks(matchups: Sequence[Matchup], options: ComparisonOptions) -> list[Matchup]:
    if not options.tasks:
        return list(matchups)
    known = dict.fromkeys(matchup.a.task.name for matchup in matchups)
    for task in options.tasks:
        if not any(task in matchup.a.task.names for matchup in matchups):
            names = ", ".join(f"`{name}`" for name in known)
            raise UsageError(f"the runs share no task `{task}`; they share {names}")
    wanted = set(options.tasks)
    return [matchup for matchup in matchups if not wanted.isdisjoint(matchup.a.task.names)]


def _compare_pairing(
    pairing: Pairing, options: ComparisonOptions
) -> tuple[list[_Compared], list[str]]:
    compared, refused = [], []
    for metric in pairing.a.metrics:
        if not metric[1]:
            continue
        reason = _refusal(pairing, metric)
        if reason:
            refused.append(reason)
            continue
        groups = [None, *_find_groups(pairing)] if options.by else [None]
        for group in groups:
            row, paired = compare_metric(
                pairing,
                metric,
                has_clusters=bool(options.cluster),
                seed=options.seed,
                group=group,
            )
            compared.append(_Compared(row, pairing, paired))
    task = pairing.b.side.task.name
    refused += [
        f"{task}: only B has the metric `{metric}` of `{scorer}`"
        for scorer, metric in pairing.b.metrics
        if metric and (scorer, metric) not in pairing.a.metrics
    ]
    if options.cluster and not any(pairing.a.samples[key].cluster for key in pairing.shared):
        raise UsageError(
            f"{task}: no sample has a value at `{options.cluster}`",
            hint="--cluster takes a path in the sample, such as metadata.document",
        )
    if options.by and not any(pairing.a.samples[key].group for key in pairing.shared):
        raise UsageError(
            f"{task}: no sample has a value at `{options.by}`",
            hint="--by takes a path in the sample, such as category",
        )
    return compared, refused


def _refusal(pairing: Pairing, metric: MetricKey) -> str:
    task, (scorer, name) = pairing.b.side.task.name, metric
    own, other = pairing.a.metrics[metric], pairing.b.metrics.get(metric)
    if other is None:
        return f"{task}: only A has the metric `{name}` of `{scorer}`"
    if own.terms is None or other.terms is None:
        return (
            f"{task}: `{name}` of `{scorer}` is not compared, because it is not a mean or a ratio "
            "over samples"
        )
    if own.terms != other.terms:
        return f"{task}: `{name}` of `{scorer}` is defined differently in the two runs"
    return ""


def _find_groups(pairing: Pairing) -> list[str]:
    counts: dict[str, int] = {}
    for key in pairing.shared:
        group = pairing.a.samples[key].group
        counts[group] = counts.get(group, 0) + 1
    largest = sorted(counts, key=lambda group: (-counts[group], group))[:_MOST_GROUPS]
    return sorted(filter(None, largest))


def _primary_only(compared: Iterable[_Compared]) -> list[_Compared]:
    """Return the primary metric of each pairing, over all samples; else its first metric."""
    chosen: dict[int, _Compared] = {}
    for each in compared:
        if each.row.group is None:
            place = id(each.pairing)
            if place not in chosen or (each.row.is_primary and not chosen[place].row.is_primary):
                chosen[place] = each
    return list(chosen.values())


def _find_all_flips(
    store: Store, compared: Sequence[_Compared], options: ComparisonOptions
) -> Iterator[Flip]:
    reader = OutputReader(store)
    for each in _primary_only(compared):
        a, b = each.pairing.a.side, each.pairing.b.side
        for flipped in find_flips(each.row, each.pairing, each.paired, limit=options.flips):
            scorer = flipped.flip.scorer
            output_a, target_a = reader.read(a, flipped.a, scorer)
            output_b, target_b = reader.read(b, flipped.b, scorer)
            yield structs.replace(
                flipped.flip, output_a=output_a, output_b=output_b, target=target_b or target_a
            )


def _without_repeats(sides: Sequence[RunSide]) -> list[RunSide]:
    return list({side.run.id: side for side in sides}.values())


def _describe_run(store: Store, side: RunSide) -> ComparedRun:
    costs, latencies, failed = 0.0, [], 0
    has_unknown_cost = False
    for row in store.rows(side.run.id):
        failed += row.failure_type is not None
        if row.finish:
            latencies.append(row.latency_s)
            has_unknown_cost = has_unknown_cost or row.cost is None
            costs += row.cost or 0.0
    return ComparedRun(
        id=side.run.id,
        name=side.manifest.name,
        created=side.run.created,
        status=side.run.status,
        models=[model for model in side.manifest.plan.models if model],
        cost=None if has_unknown_cost else costs,
        latency_s=median(latencies) if latencies else None,
        failed=failed,
    )
