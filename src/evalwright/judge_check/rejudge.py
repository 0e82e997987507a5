"""Query a judge again about samples that it has judged, and count changed verdicts.

    verdicts are    changed means
    labels          a different label
    scores          a difference of more than a tenth of the range

The project is read with the options of the run, and the judge must be the same. The engine queries
the model, so limits, retries, cache and budget apply. If the second verdict is missing, it does not
count as changed. Only counts are kept, so an interrupted check repeats its calls.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from evalwright.clients.stand_ins import StoredModel
from evalwright.datasets.sampling import choose_places, select_items
from evalwright.engine.redact import make_redactor
from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.errors import UsageError
from evalwright.judge_check.agreement import (
    MAX_EXAMPLES,
    Verdict,
    estimate_mean,
    estimate_mean_difference,
    estimate_share,
    is_near,
    read_verdict,
    reject_split_sample,
)
from evalwright.judge_check.options import JudgeCheckOptions
from evalwright.judge_check.probes import (
    NOT_APPLICABLE,
    NotApplicable,
    ProbeScorer,
    build_probe,
    build_repeat,
)
from evalwright.judge_check.unreadable import UnreadableTally
from evalwright.plan.manifest import Manifest, read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.plan.project import project_snippets, resolve_project
from evalwright.plan.samples import first_ml_task
from evalwright.ports import Case, Model, Solver, Store
from evalwright.report.judges import Judge, ProbeRow, RepeatsRow
from evalwright.report.tables import count_noun
from evalwright.secrets import Redactor
from evalwright.session.drive import drive_jobs
from evalwright.session.judges import describe_judge, judge_model_key
from evalwright.session.models import share_limits, wrap_models
from evalwright.session.progress import Progress
from evalwright.session.project_models import project_connector
from evalwright.session.run_files import find_folder, relative_to
from evalwright.session.snippets import open_snippets
from evalwright.session.stores import make_earlier_finder
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.types import Outcome, Run, Sample, Trace, Usage

_DIRECTIONS = {"true": "to correct", "false": "to incorrect"}
_MAX_DIRECTIONS = 12
_MAX_CONCURRENCY = 64
_HINT = "probes query the judge of the run again, so its document must exist"


def is_same_verdict(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts on a sample are the same."""
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return is_near(second - first)


class ProbeTally(Struct):
    """Counts of the verdicts before and after a probe."""

    probe: str
    n: int = 0
    directions: Counter[str] = field(default_factory=Counter)
    flipped: list[tuple[int, str]] = field(default_factory=list)
    """Ordinal and id of each sample whose verdict changed."""
    changes: list[float] = field(default_factory=list)
    failed: int = 0
    failure: str = ""
    not_applicable: int = 0
    reason: str = ""
    """Reason why the probe does not apply."""

    def add(self, sample: tuple[int, str], before: Verdict, after: Verdict) -> None:
        """Add both verdicts on a sample, which is given by ordinal and id."""
        self.n += 1
        if isinstance(before, str) or isinstance(after, str):
            direction = _DIRECTIONS.get(str(after), f"{before} → {after}")
        else:
            self.changes.append(after - before)
            direction = "higher" if after > before else "lower"
        if not is_same_verdict(before, after):
            self.flipped.append(sample)
            self.directions[direction] += 1

    def add_failure(self, failure: str) -> None:
        """Count a sample without a second verdict."""
        self.failed += 1
        self.failure = self.failure or failure

    def add_not_applicable(self, reason: str) -> None:
        """Count a sample to which the probe does not apply."""
        self.not_applicable += 1
        self.reason = self.reason or reason

    def to_row(self, *, seed: int = 0) -> ProbeRow:
        """Return the summary, which is independent of the order of the verdicts."""
        reason = self.reason or self.failure
        directions = sorted(self.directions.items(), key=lambda item: (-item[1], item[0]))
        return ProbeRow(
            probe=self.probe,
            n=self.n,
            flips=estimate_share(
                len(self.flipped), self.n, undefined=reason or "no sample was judged again"
            ),
            directions=dict(directions[:_MAX_DIRECTIONS]),
            examples=[sample_id for _, sample_id in sorted(self.flipped)[:MAX_EXAMPLES]],
            change=estimate_mean_difference(self.changes, seed=seed) if self.changes else None,
            failed=self.failed,
            not_applicable=self.not_applicable,
            reason=reason,
            failure=self.failure,
        )


class RepeatTally(Struct):
    """Counts of repeated verdicts on the same samples, with an unchanged prompt."""

    times: int
    n: int = 0
    equal: int = 0
    pairwise: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    failed: int = 0
    failure: str = ""

    def add(self, verdicts: list[Verdict], failure: str = "") -> None:
        """Add all verdicts on a sample; fewer than `times` verdicts count as a failure."""
        if len(verdicts) < self.times:
            self.failed += 1
            self.failure = self.failure or failure
            return
        are_same = [is_same_verdict(first, second) for first, second in combinations(verdicts, 2)]
        self.n += 1
        self.equal += all(are_same)
        self.pairwise.append(sum(are_same) / len(are_same))
        scores = [verdict for verdict in verdicts if not isinstance(verdict, str)]
        if scores:
            self.spreads.append(max(scores) - min(scores))

    def to_row(self, *, seed: int = 0) -> RepeatsRow:
        """Return the summary."""
        return RepeatsRow(
            times=self.times,
            n=self.n,
            all_equal=estimate_share(self.equal, self.n, undefined=self.failure),
            pairwise=estimate_mean(self.pairwise, seed=seed),
            spread=estimate_mean(self.spreads, seed=seed) if self.spreads else None,
            failed=self.failed,
            reason=self.failure,
        )


class RejudgeResult(Struct, kw_only=True):
    """Counts of all second verdicts."""

    probes: list[ProbeTally] = field(default_factory=list)
    repeats: RepeatTally | None = None
    unreadable: UnreadableTally = field(default_factory=UnreadableTally)
    samples: int = 0
    usage: Usage = Usage(cost=0.0)
    stop_reason: str = ""
    """Why the check ended early; empty if it did not."""
    overspent: str = ""
    """By how much the budget was exceeded; empty if it was not."""


class Rejudging:
    """Queries one judge of a run again about the stored answers of some models."""

    def __init__(
        self,
        run: Run,
        judge: Judge,
        store: Store,
        options: RunOptions,
        *,
        models: Sequence[str],
        progress: Progress,
    ) -> None:
        self._run, self._judge, self._store, self._progress = run, judge, store, progress
        manifest, folder = read_manifest(run), find_folder(run, options.store)
        self._options = _restore_options(manifest, options, folder)
        self._evaluated = manifest.plan.models
        path = relative_to(folder, manifest.plan.path)
        self._project = resolve_project(
            path,
            manifest.command.models,
            self._options,
            tell=progress.tell,
            find_earlier=make_earlier_finder(options.store),
        )
        self._spec = _find_spec(self._project.specs, judge, path)
        self._judge_spec = _find_scorer(self._spec, judge)
        self._model_name = self._project.model_name(judge_model_key(self._judge_spec))
        self.redactor: Redactor = make_redactor()
        """Removes the secrets of the project and of the judge's connection."""
        self._scorers: dict[str, ProbeScorer] = {}
        self._repeat_names: list[str] = []
        self._first_verdicts: dict[int, Verdict] = {}
        """Verdicts of the samples in progress, by ordinal."""
        self._traces: dict[str, dict[tuple[str, int], Trace]] = {model: {} for model in models}
        """Stored answers of the samples in progress, by model."""

    def run(self, options: JudgeCheckOptions) -> RejudgeResult:
        """Query the judge; raise before the first call if it differs from the judge of the run."""
        result = self._build_scorers(options)
        judged = sum(1 for _ in self._judged_outcomes())
        places = choose_places(judged, options.samples, "random")
        result.samples = len(places)
        for tally in result.probes:
            if tally.probe not in self._scorers:
                tally.not_applicable = len(places)
        if self._scorers and places:
            self._ask_judge(places, result)
        return result

    def _build_scorers(self, options: JudgeCheckOptions) -> RejudgeResult:
        tallies = [ProbeTally(probe=name) for name in options.probes]
        for tally in tallies:
            try:
                self._scorers[tally.probe] = build_probe(tally.probe, self._judge_spec)
            except NotApplicable as error:
                tally.reason = str(error)
        repeats = [build_repeat(n, self._judge_spec) for n in range(1, options.repeat)]
        self._scorers |= {scorer.name: scorer for scorer in repeats}
        self._repeat_names = [scorer.name for scorer in repeats]
        return RejudgeResult(
            probes=tallies, repeats=RepeatTally(times=options.repeat) if repeats else None
        )

    def _judged_outcomes(self) -> Iterator[Outcome]:
        for model in self._traces:
            for outcome in self._store.outcomes(self._run.id, task=self._judge.task, model=model):
                reject_split_sample(self._judge, outcome)
                if self._judge.scorer in outcome.scores:
                    yield outcome

    def _ask_judge(self, places: Sequence[int], result: RejudgeResult) -> None:
        """Connect the judge's model and run one job per sample."""
        total, tell = len(places), self._progress.tell
        snippets = open_snippets(
            tuple(project_snippets(self._project.project, [self._spec])),
            self._options,
            log=lambda line: tell(self.redactor.clean(line)),
        )
        connect = project_connector(self._project, self._options, evaluated=self._evaluated)
        connection = connect(self._model_name, snippets)
        self._check_same_judge(connection.client)
        self.redactor = make_redactor([*self._project.secrets, *connection.secrets])
        with ExitStack() as closing:
            shared = share_limits(self._options, closing, redactor=self.redactor, command="check")
            stand_ins: dict[str, Model] = {name: StoredModel("") for name in self._traces}
            wrapped = wrap_models({self._model_name: connection}, self._options, shared)
            resources = Resources(
                models={**stand_ins, **wrapped},
                tasks={model: self._task_runtime(model) for model in self._traces},
                snippets=snippets,
            )
            tell(
                f"`{self._judge.name}`: {total * len(self._scorers):,} calls to "
                f"{self._model_name}, {len(self._scorers)} for each of "
                f"{count_noun(total, 'sample')}"
            )
            stop = Stop(most_failures=self._options.max_failures, total=total, tell=tell)
            self._progress.begin(total, 0, None)
            drive_jobs(
                self._build_jobs(places),
                resources,
                partial(self._count_verdicts, result),
                workers=min(self._options.concurrency or _MAX_CONCURRENCY, total),
                stop=stop,
                progress=self._progress,
            )
        for scorer in self._scorers.values():
            for rule, sample_id in sorted(scorer.unreadable):
                result.unreadable.add(rule, sample_id)
        result.stop_reason = stop.reason
        result.overspent = shared.budget.overrun if shared.budget else ""

    def _check_same_judge(self, client: Model) -> None:
        judge, spec, model = self._judge, self._judge_spec, self._model_name
        current = describe_judge(judge.task, judge.scorer, spec, model=model, client=client)
        if current.identity != judge.identity:
            raise UsageError(
                f"`{judge.name}` is not the same judge as in run {self._run.id}: "
                "its prompt, its labels, its model or the model's settings have changed",
                hint="`evalwright score` judges with the new one: check that run; values of "
                "secrets are not stored with a run, so pass them again with `--set`",
            )

    def _task_runtime(self, model: str) -> TaskRuntime:
        definition: Any = self._spec.task.definition
        return TaskRuntime(
            solver=_StoredAnswers(self._traces[model]) if definition.solver else None,
            scorers=self._scorers,
            other_models={judge_model_key(self._judge_spec): self._model_name},
            ml_task=first_ml_task(self._spec.task.tasks),
            counts_other_usage=True,
        )

    def _build_jobs(self, places: Sequence[int]) -> Iterator[Job]:
        """Build one job per sample; only the traces of samples in progress are in memory."""
        for ordinal, outcome in enumerate(select_items(self._judged_outcomes(), places)):
            score = outcome.scores[self._judge.scorer]
            self._first_verdicts[ordinal] = read_verdict(self._judge, score)
            if outcome.trace is not None:
                self._traces[outcome.model][outcome.sample_id, outcome.trial] = outcome.trace
            yield Job(
                task=outcome.model,  # there is one task runtime per model
                model=outcome.model,
                sample=Sample(outcome.sample_id, outcome.sample),
                ordinal=ordinal,
                trial=outcome.trial,
            )

    def _count_verdicts(self, result: RejudgeResult, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            result.usage = sum(outcome.others.values(), result.usage)
            before = self._first_verdicts.pop(outcome.ordinal)
            verdicts = {
                name: read_verdict(self._judge, score)
                for name, score in outcome.scores.items()
                if NOT_APPLICABLE not in score.metadata
            }
            for tally in result.probes:
                score = outcome.scores.get(tally.probe)
                if tally.probe in verdicts:
                    sample = (outcome.ordinal, outcome.sample_id)
                    tally.add(sample, before, verdicts[tally.probe])
                elif score is not None:
                    tally.add_not_applicable(str(score.metadata[NOT_APPLICABLE]))
                elif tally.probe in self._scorers:
                    tally.add_failure(self._explain_failure(outcome, [tally.probe]))
            if result.repeats is not None:
                repeats = [verdicts[name] for name in self._repeat_names if name in verdicts]
                missing = [name for name in self._repeat_names if name not in verdicts]
                result.repeats.add([before, *repeats], self._explain_failure(outcome, missing))

    def _explain_failure(self, outcome: Outcome, names: Sequence[str]) -> str:
        """Explain why a scorer gave no verdict. An outcome keeps only its first failure."""
        failures = (self._scorers[name].first_failure for name in names)
        message = outcome.failure.message if outcome.failure else ""
        return self.redactor.clean(next(filter(None, failures), message))


class _StoredAnswers(Solver):
    """A solver that returns the stored answers of the run, each once."""

    name = "stored_answers"
    version = 1

    def __init__(self, traces: dict[tuple[str, int], Trace]) -> None:
        self._traces = traces

    def describe_inputs(self, sample: Sample) -> str:
        return sample.id  # nothing is stored under this key

    async def solve(self, case: Case) -> Trace:
        return self._traces.pop((case.sample.id, case.trial))


def _restore_options(manifest: Manifest, options: RunOptions, folder: Path) -> RunOptions:
    command = manifest.command
    config = relative_to(folder, command.config) if command.config else None
    return structs.replace(
        options,
        parameters=manifest.parameters,
        settings={**command.settings, **options.settings},
        evaluation=command.evaluation,
        config=options.config or config,
        env=options.env or tuple(relative_to(folder, path) for path in command.env),
    )


def _find_spec(specs: Sequence[ResolvedSpec], judge: Judge, path: str) -> ResolvedSpec:
    for spec in specs:
        if spec.key == judge.task:
            return spec
    raise UsageError(
        f"{path}: the project no longer has a task specification `{judge.task}`; it has "
        + ", ".join(f"`{spec.key}`" for spec in specs),
        hint=_HINT,
    )


def _find_scorer(spec: ResolvedSpec, judge: Judge) -> Any:
    for scorer in getattr(spec.task.definition, "scorers", ()):
        if (scorer.key or scorer.type) == judge.scorer and judge_model_key(scorer):
            return scorer
    raise UsageError(f"the task `{judge.task}` no longer has a judge `{judge.scorer}`", hint=_HINT)
