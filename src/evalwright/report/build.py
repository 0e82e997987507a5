"""Build a Report from the rows and final results of a run.

A failed sample is in no mean. Models are ranked on the samples that all of them completed; beside
that stand each model's own mean, and its bounds if every failure counted 0 or 1.
A sample with several trials is completed when all of them are; its score is their mean.
The metrics of a finalized task are stored with the run, because a Python metric is the author's
code, which reading a report must not run. Those of other tasks are computed here, from the rows.
The order in which outcomes landed changes nothing.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct, structs

from evalwright._version import __version__
from evalwright.engine.results import MetricValue, TaskModelResult
from evalwright.metrics.scores import Measure
from evalwright.plan.input_files import describe_change
from evalwright.plan.outline import PlanOutline, PrimaryMetric, TaskOutline
from evalwright.report.calibration import calibration_row
from evalwright.report.display_names import find_display_names
from evalwright.report.fold import ModelFold, RunFold, fold_rows
from evalwright.report.outcomes import MOST_CATEGORIES, OutcomeReader, TaskScores
from evalwright.report.programs import count_verified_programs
from evalwright.report.ranking import (
    Contestant,
    Members,
    RankedTask,
    compare_pairs,
    find_ranked_tasks,
    rank_models,
)
from evalwright.report.report import (
    CodeExecution,
    LeaderboardRow,
    LeftOutRow,
    MetricRow,
    PerplexityRow,
    Report,
    Status,
    Summary,
    TaskPairwiseRow,
    UsageRow,
)
from evalwright.report.result_rows import (
    agreement_rows,
    failure_rows,
    flaky_rows,
    metric_row,
    metric_rows,
    repeat_rows,
    rule_rows,
    task_failure_rows,
    usage_rows,
)
from evalwright.report.tables import count_noun
from evalwright.stats.arrays import Floats, unit_values
from evalwright.stats.interval import UNBOUNDED, Bounds, join_bounds
from evalwright.stats.likelihood import perplexity
from evalwright.stats.mean import average
from evalwright.stats.pass_at_k import pass_at_k, pass_at_k_interval
from evalwright.types import CONTAINS_TARGET, Outcome, Row

CODE = "code_exec"
_MCQ = "mcq"
_CONFIDENCES = "`-p logprobs=true`, if the model returns them, or `--confidence self`"
_OPTION_SHARE = "; its confidence is its share of the likelihoods of all letters"
_ANY_OF_K = "pass@"
_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""And the most that any sample was tried."""
_MOST_READ = 2_000
"""Outcomes that are searched for wrong answers with the target in them."""
_CHANGE_RECORDS = (
    "ask for the answer alone in the prompt, change `post_process`, or score with `f1`"
)
_CHANGE_VALUE = (
    "ask for the answer alone in the prompt, or set the `value` of the scorer to the part of the "
    "answer that is compared"
)
_NO_ANSWER = UsageRow(requests=0, prompt_tokens=0, completion_tokens=0, total_tokens=0, cost=None)


class ReportFacts(Struct, frozen=True, kw_only=True):
    """Facts about a run that neither its rows nor its results hold."""

    run_id: str
    name: str = ""
    tags: dict[str, str] = {}
    wall_seconds: float
    reused: int = 0
    stopped: bool = False
    """Whether something stopped the run; it is finished all the same if every sample landed."""
    stop_reason: str = ""
    resume_hint: str = "the same command resumes it"
    bins: int = 10
    seed: int = 0
    calibrate: bool = False
    """Whether a temperature is fitted to the confidences."""
    code_execution: CodeExecution | None = None
    notes: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()
    """The files that changed during the run."""
    mcq: str = "letter"
    """How multiple choice was answered."""
    confidence: str = "logprobs"
    """Where the confidences are from."""
    specifications: Mapping[str, Mapping[str, Any]] = {}
    """What a result log would say about each task: display names, for one."""


def build_report(
    plan: PlanOutline,
    rows: Iterable[Row],
    facts: ReportFacts,
    *,
    results: Sequence[TaskModelResult] | None = None,
    samples: Callable[..., Iterator[Outcome]],
) -> Report:
    """Return one frozen report.

    `results` are those of the finalized tasks; None if finalization did not happen. A plan without
    finalized tasks needs none. `samples(failed=…)` reads the outcomes, by task, sample, trial and
    model.
    """
    return _ReportBuilder(plan, rows, facts, results, samples).build()


def _find_unscored_models(results: Iterable[TaskModelResult]) -> Iterator[tuple[str, str]]:
    for result in results:
        broken = result.finished.broken
        if any(each.stage == "score" and each.what == each.scorer for each in broken):
            yield result.task, result.model


class _ReportBuilder:
    def __init__(
        self,
        plan: PlanOutline,
        rows: Iterable[Row],
        facts: ReportFacts,
        results: Sequence[TaskModelResult] | None,
        samples: Callable[..., Iterator[Outcome]],
    ) -> None:
        self.plan, self.facts, self.samples = plan, facts, samples
        self.is_unfinalized = results is None and any(task.finalized for task in plan.tasks)
        self.results = results or ()
        self.tasks = {task.name: task for task in plan.tasks}
        self.models = [model for model in plan.models if model]
        self.fold = fold_rows(plan, rows, unscored=set(_find_unscored_models(self.results)))
        self.metrics = {
            (result.task, result.model): list(
                metric_rows(result, excluded_rows=self.tasks[result.task].excluded_rows)
            )
            for result in self.results
        }
        """Of finalized tasks, by task and model."""
        self.ranking: list[RankedTask] = []
        if plan.ranking != "all_tasks" and not self.is_unfinalized:
            self.ranking = find_ranked_tasks(plan.tasks)
        self.pass_scorers = self._find_pass_scorers()
        self.reader = OutcomeReader(
            tasks=self.tasks,
            fold=self.fold,
            ranked=[
                ranked
                for ranked in self.ranking
                if self.tasks[ranked.contestants[0].task].finalized
            ],
            pass_scorers=self.pass_scorers,
            checks={
                (row.task, row.scorer)
                for rows_of_task in self.metrics.values()
                for row in rows_of_task
                if row.purpose == "qa"
            },
            has_results=not self.is_unfinalized,
            has_self_reports=facts.confidence == "self",
            has_weighed_options=facts.mcq == "loglikelihood",
        )
        self.reader.read(samples)
        for result in self.results:
            self.fold.account.add_result(result.finished)
        self.leaderboard: list[LeaderboardRow] = []
        self.pairwise: list[TaskPairwiseRow] = []
        self.not_ranked: list[str] = []
        """Why tasks have no leaderboard."""

    def build(self) -> Report:
        """Return the report."""
        facts, fold, results = self.facts, self.fold, self.results
        broken = task_failure_rows(results)
        failed = failure_rows(fold.failures, self.samples(failed=True) if fold.failed else iter(()))
        self._rank_all()
        left_out = list(dict.fromkeys(_left_out_rows(self.plan)))
        metrics = list(self._metric_rows())
        return Report(
            run_id=facts.run_id,
            status=self._status(has_failures=bool(fold.failed or broken)),
            models=self.models,
            tasks=[task.name for task in self.plan.tasks],
            metrics=metrics,
            leaderboard=self.leaderboard,
            pairwise=self.pairwise,
            calibration={
                model: calibration_row(
                    fold.models[model].answers,
                    bins=facts.bins,
                    seed=facts.seed,
                    calibrate=facts.calibrate,
                )
                for model in self.models
            },
            perplexity={model: _perplexity_row(fold.models[model]) for model in self.models},
            usage=self._usage(),
            summary=Summary(
                samples=fold.samples,
                completed=fold.samples - fold.failed_samples,
                reused=facts.reused,
                failed=fold.failed_samples,
                excluded=sum(task.invalid for task in self.plan.tasks)
                + sum(result.finished.left_out for result in results),
                excluded_rows=sum(task.excluded_rows for task in self.plan.tasks),
                wall_seconds=round(facts.wall_seconds, 3),
                trials=fold.landed if self._noun == "trials" else 0,
                flaky=sum(result.finished.all_flaky for result in results),
                wrong=fold.wrong,
                planned=sum(
                    (task.records if task.finalized else task.jobs) * len(task.models)
                    for task in self.plan.tasks
                    if task.kind != "system"
                ),
            ),
            failures=[*failed, *broken],
            left_out=left_out,
            rules=rule_rows(results),
            code_execution=facts.code_execution
            and count_verified_programs(facts.code_execution, self.samples()),
            notes=list(self._notes()),
            version=__version__,
            kind="records" if self.plan.ranking == "all_tasks" else "evaluation",
            repeatability=[row for result in results for row in repeat_rows(result)],
            agreement=[
                row
                for result in results
                for row in agreement_rows(result, self.tasks[result.task].repeats)
            ],
            flaky=[row for result in results for row in flaky_rows(result)],
            asked_beside=usage_rows(fold.account.beside),
            display_names=find_display_names(self.plan.tasks, facts.specifications, metrics),
            name=facts.name,
            tags=facts.tags,
            stored=self.samples,
        )

    @property
    def _noun(self) -> str:
        """What has landed: a sample, or one of several trials of it."""
        tried = any(task.finalized and task.tries > 1 for task in self.plan.tasks)
        return "trials" if tried else "samples"

    def _status(self, *, has_failures: bool) -> Status:
        is_incomplete = self.fold.landed < self.plan.total or self.is_unfinalized
        was_stopped = any(result.finished.stopped for result in self.results)
        if was_stopped or (self.facts.stopped and is_incomplete):
            return "stopped"
        return "finished_with_failures" if has_failures else "finished"

    def _usage(self) -> dict[str, UsageRow]:
        """Models whose metrics are made from rows are listed even if no answer arrived."""
        answered = usage_rows(self.fold.account.answers)
        listed = [model for task in self.plan.tasks if not task.finalized for model in task.models]
        return {
            model: answered.get(model, _NO_ANSWER) for model in dict.fromkeys([*listed, *answered])
        }

    def _metric_rows(self) -> Iterator[MetricRow]:
        for task in self.plan.tasks:
            if not task.finalized:
                for model in task.models:
                    yield from _rows_from_scores(task, model, self.fold, seed=self.facts.seed)
        for result in self.results:
            yield from self.metrics[result.task, result.model]
            if result.task in self.pass_scorers:
                yield from self._pass_at_k_rows(self.tasks[result.task], result.model)

    def _find_pass_scorers(self) -> dict[str, str]:
        """Return the finalized tasks that have pass@k, with the scorer that says what passes.

        It is the scorer of the primary metric, or else of the first. A task with pass rates of its
        own has none.
        """
        scorers = {}
        for task in self.plan.tasks:
            own = [row for model in task.models for row in self.metrics.get((task.name, model), ())]
            candidates = [task.primary.scorer] if task.primary else []
            candidates += [row.scorer for row in own if row.purpose == "score"]
            is_tried = task.finalized and not task.landed and (task.trials > 1 or task.code_exec)
            has_own = any(_ANY_OF_K in row.metric for row in own)
            if is_tried and own and candidates and not has_own:
                scorers[task.name] = candidates[0]
        return scorers

    def _pass_at_k_rows(self, task: TaskOutline, model: str) -> Iterator[MetricRow]:
        scores, scorer = self.reader.scores[task.name, model], self.pass_scorers[task.name]
        own = [row for row in self.metrics[task.name, model] if row.scorer == scorer]
        if scores.has_parts or not own:
            return
        attempts = [(task.tries, passes) for passes in scores.passes if passes >= 0]
        measures = _measure_pass_at_k(attempts, seed=self.facts.seed)
        if not any(row.interval for row in own):
            reason = own[0].reason
            measures = [structs.replace(row, interval=None, reason=reason) for row in measures]
        yield from _score_rows(
            task, model, scorer, measures, failed=own[0].failed, excluded=own[0].excluded
        )

    def _rank_all(self) -> None:
        if self.plan.ranking == "all_tasks":
            scores = {model: self.fold.models[model].means() for model in self.models}
            self._rank(scores, self.fold.categories())
        for ranked in self.ranking:
            self._rank_task(ranked)

    def _rank_task(self, ranked: RankedTask) -> None:
        contestants, task = ranked.contestants, self.tasks[ranked.contestants[0].task]
        if not task.finalized:
            places = self.fold.places(task)
            scores = {
                contestant.label: self.fold.models[contestant.model].means()[places]
                for contestant in contestants
            }
            categories = [(name, inside[places]) for name, inside in self.fold.categories()]
            self._rank(scores, categories, ranked=ranked)
            return
        own = {
            contestant.label: self.reader.scores[contestant.task, contestant.model]
            for contestant in contestants
        }
        if self._can_rank(ranked, list(own.values())):
            self._rank(
                {label: task_scores.values() for label, task_scores in own.items()},
                self.reader.categories[task.name].members(),
                ranked=structs.replace(ranked, bounds=self._score_bounds(ranked)),
                excluded={label: task_scores.excluded for label, task_scores in own.items()},
                has_intervals=not any(
                    self._withholds_intervals(ranked.primary, contestant)
                    for contestant in contestants
                ),
            )

    def _rank(
        self,
        scores: Mapping[str, Floats],
        categories: Iterable[tuple[str, Members]],
        *,
        excluded: Mapping[str, int] | None = None,
        **options: Any,
    ) -> None:
        options["seed"] = self.facts.seed
        board = rank_models(scores, categories, excluded=excluded, **options)
        self.leaderboard += board
        self.pairwise += compare_pairs(scores, [row.model for row in board], **options)

    def _can_rank(self, ranked: RankedTask, scores: Sequence[TaskScores]) -> bool:
        """Whether there is one finite score per sample; a note says why not."""
        if any(own.has_parts for own in scores):
            why = "a postprocessor decides what is scored"
        elif any(own.has_large_values for own in scores):
            why = "scores are infinite or too large to be squared"
        elif any(own.scored and not own.with_field for own in scores):
            return False  # the metric says so
        else:
            if self.reader.categories[ranked.contestants[0].task].are_too_many:
                why = f"there are more than {MOST_CATEGORIES}"
                self.not_ranked.append(f"`{ranked.name}`: no means by category, because {why}")
            return True
        self.not_ranked.append(f"`{ranked.name}`: no leaderboard, because {why}")
        return False

    def _score_bounds(self, ranked: RankedTask) -> Bounds:
        places = {(task, model) for _, task, model in ranked.contestants}
        bounds = [
            value.bounds
            for result in self.results
            for value in result.finished.figures
            if (result.task, result.model) in places and value.scorer == ranked.primary.scorer
            if value.measure.name == ranked.primary.metric
        ]
        return join_bounds(bounds or [UNBOUNDED])

    def _withholds_intervals(self, primary: PrimaryMetric, contestant: Contestant) -> bool:
        """Whether finalization gave no interval, because the samples are not independent."""
        _, task, model = contestant
        rows = self.metrics.get((task, model), ())
        names = primary.scorer, primary.metric
        own = next((row for row in rows if (row.scorer, row.metric) == names), None)
        if own is None or own.interval is not None or own.value is None:
            return False
        values = self.reader.scores[task, model].values()
        return average(values[~np.isnan(values)], seed=self.facts.seed).interval is not None

    def _notes(self) -> Iterator[str]:
        facts, fold = self.facts, self.fold
        yield from facts.notes
        yield from map(describe_change, facts.changed_files)
        yield from self._notes_on_asking()
        # What judges say of how they were asked, each once.
        yield from dict.fromkeys(note for result in self.results for note in result.finished.notes)
        for model in self.models:
            if truncated := fold.models[model].truncated:
                yield f"{model}: scored answers that were cut off at the token limit: {truncated}"
        if facts.calibrate and not self.is_unfinalized:
            for model in self.models:
                if not fold.models[model].answers.confidences:
                    yield f"`--calibrate`: no answer of {model} has a confidence; {_CONFIDENCES}"
        if fold.wrong:
            yield from self._notes_on_contained_targets()
        yield from self.not_ranked
        for result in self.results:
            if result.finished.stopped:
                yield (
                    f"`{result.task}` was not finished in its original run, so its metrics "
                    f"cover only the samples in the log: {result.finished.stopped}"
                )
        yield from self._notes_on_missing()

    def _notes_on_contained_targets(self) -> Iterator[str]:
        is_of_records = self.plan.ranking == "all_tasks"
        change = _CHANGE_RECORDS if is_of_records else _CHANGE_VALUE
        reasons: dict[str, list[str]] = {}
        for outcome in islice(self.samples(), _MOST_READ):
            for score in outcome.scores.values():
                if score.metadata.get(CONTAINS_TARGET):
                    reasons.setdefault(outcome.model, []).append(score.reason)
        first = f" among the first {_MOST_READ:,}" if self.fold.landed > _MOST_READ else ""
        for model, examples in reasons.items():
            answers = count_noun(len(examples), "wrong answer")
            contain = "contains its target" if len(examples) == 1 else "contain their target"
            whose = f" of {model}" if model else ""
            yield f"{answers}{whose}{first} {contain} ({examples[0]}): {change}"

    def _notes_on_asking(self) -> Iterator[str]:
        has_self_reports = self.facts.confidence == "self"
        if self.facts.mcq == "loglikelihood":
            records, samples = int(self.fold.members(_MCQ).sum()), self.reader.weighed
            for count, noun in ((records, "record"), (samples, "sample")):
                if count:
                    yield (
                        f"`--mcq loglikelihood`: {count} multiple-choice {noun}{'s'[: count != 1]} "
                        f"answered with the most likely letter"
                        f"{'' if has_self_reports else _OPTION_SHARE}"
                    )
        if has_self_reports:
            yield "`--confidence self`: confidences are each model's own estimates"
        for model, count in self.reader.silent.items():
            if count:
                yield f"{model}: replies without a number when asked how sure it is: {count}"

    def _notes_on_missing(self) -> Iterator[str]:
        facts, landed, total = self.facts, self.fold.landed, self.plan.total
        if landed < total or self.is_unfinalized:
            why = f" ({facts.stop_reason})" if facts.stop_reason else ""
            done = f"{landed} of {total} {self._noun}"
            if landed >= total:
                done = f"all {total} {self._noun} done, but no metrics computed"
            yield f"not finished{why}: {done}; {facts.resume_hint}"


def _rows_from_scores(
    task: TaskOutline, model: str, fold: RunFold, *, seed: int
) -> Iterator[MetricRow]:
    """Yield the mean of a task that is not finalized, and its pass@k.

    pass@k is over the completed samples that run code or were tried more than once: a program
    passes when all its targets do, which the mean, made of shares of targets, does not say.
    """
    if task.primary is None:
        return
    own, places = fold.models[model], fold.places(task)
    means = own.means()[places]
    is_done = ~np.isnan(means)
    trials = np.asarray(own.completed)[places]
    correct = np.asarray(own.correct)[places]
    counted = is_done & ((trials > 1) | fold.members(CODE)[places])
    attempts = list(zip(trials[counted].tolist(), correct[counted].tolist(), strict=True))
    failed = int((np.asarray(own.failed)[places] > 0).sum())
    mean = average(unit_values(means[is_done]), seed=seed)
    measures = [
        Measure("mean", mean.mean, mean.interval, int(is_done.sum())),
        *_measure_pass_at_k(attempts, seed=seed),
    ]
    yield from _score_rows(
        task, model, task.primary.scorer, measures, failed=failed, excluded=task.invalid
    )


def _score_rows(
    task: TaskOutline,
    model: str,
    scorer: str,
    measures: Iterable[Measure],
    *,
    failed: int,
    excluded: int,
) -> Iterator[MetricRow]:
    for measure in measures:
        value = MetricValue(scorer=scorer, metric=measure.name, measure=measure, failed=failed)
        yield metric_row(task.name, model, value, excluded=excluded)


def _measure_pass_at_k(attempts: Sequence[tuple[int, int]], *, seed: int) -> list[Measure]:
    """Return pass@k of samples given as (trials, passes), at every usual k, and at the most."""
    most = max((n for n, _ in attempts), default=0)
    measures = []
    for k in sorted({*(k for k in _KS if k <= most), *([most] if most else [])}):
        able = [(n, c) for n, c in attempts if n >= k]
        value = math.fsum(pass_at_k(n, c, k) for n, c in able) / len(able)
        interval = pass_at_k_interval(able, k, seed=seed)
        measures.append(Measure(f"{_ANY_OF_K}{k}", value, interval, len(able)))
    return measures


def _perplexity_row(model: ModelFold) -> PerplexityRow:
    value = perplexity(math.fsum(model.nlls), model.nll_tokens)
    return PerplexityRow(
        perplexity=value if math.isfinite(value) else None,  # JSON has no infinity
        tokens=model.nll_tokens,
        covered=len(model.nlls),
        n=model.answers.outcomes,
    )


def _left_out_rows(plan: PlanOutline) -> Iterator[LeftOutRow]:
    for task in plan.tasks:
        for issue in task.issues:
            yield LeftOutRow(
                file=issue.file or task.path,
                line=issue.line,
                rule=issue.rule,
                field=issue.field,
                task_id=issue.task_id,
                detail=issue.detail,
            )
