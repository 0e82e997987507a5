"""Ask a judge again about samples that it has judged: with probes, and with the same prompt.

Only counts are kept: an interrupted check costs its calls again, unless `--cache` has kept the
replies.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from evalwright.datasets.sampling import chosen, sampled
from evalwright.judge_check.agreement import Verdict, read_verdict, refuse_split_sample
from evalwright.judge_check.options import JudgeCheckOptions
from evalwright.judge_check.probes import NOT_APPLICABLE, ProbeScorer, build_probe, build_repeat
from evalwright.judge_check.prompt_swap import NotApplicable
from evalwright.judge_check.runtime import JudgeRuntime
from evalwright.judge_check.stability import ProbeTally, RepeatTally
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Job
from evalwright.ports import Store
from evalwright.report.judges import Judge
from evalwright.report.tables import count_noun
from evalwright.secrets import Redactor
from evalwright.session.progress import Progress
from evalwright.types import Outcome, Run, Sample, Usage


class RejudgeResult(Struct, kw_only=True):
    """Second verdicts, counted."""

    probes: list[ProbeTally] = field(default_factory=list)
    repeats: RepeatTally | None = None
    samples: int = 0
    usage: Usage = Usage(cost=0.0)
    stop_reason: str = ""
    """Why it ended early; empty if it did not."""
    overspent: str = ""
    """By how much the cost cap was exceeded; empty if it was not."""


class Rejudging:
    """One judge of a run, asked again."""

    def __init__(
        self, run: Run, judge: Judge, store: Store, options: RunOptions, *, progress: Progress
    ) -> None:
        self._run, self._judge, self._store, self._progress = run, judge, store, progress
        self._runtime = JudgeRuntime(run, judge, options, progress=progress)
        self._scorers: dict[str, ProbeScorer] = {}
        self._repeat_names: list[str] = []
        self._first_verdicts: dict[int, Verdict] = {}
        """Of the samples under way, by ordinal."""

    @property
    def redactor(self) -> Redactor:
        """Removes the secrets of the project and of the judge's connection."""
        return self._runtime.redactor

    def run(self, options: JudgeCheckOptions, models: Sequence[str]) -> RejudgeResult:
        """Ask the judge; raise before the first call if it is not the judge of the run."""
        result = self._build_scorers(options)
        judged = sum(1 for _ in self._judged_outcomes(models))
        places = chosen(judged, options.samples, "random")
        result.samples = len(places)
        for tally in result.probes:
            if tally.probe not in self._scorers:
                tally.not_applicable = len(places)
        if not self._scorers or not places:
            return result
        with self._runtime.connect(self._scorers, models):
            calls = len(places) * len(self._scorers)
            self._progress.tell(
                f"`{self._judge.name}`: {calls:,} calls of {self._runtime.model_name}, "
                f"{len(self._scorers)} for each of {count_noun(len(places), 'sample')}"
            )

            def count_verdicts(outcomes: Sequence[Outcome]) -> None:
                for outcome in outcomes:
                    self._count_verdicts(outcome, result)

            jobs = self._build_jobs(models, places)
            result.stop_reason = self._runtime.run(jobs, count_verdicts, total=len(places))
        result.overspent = self._runtime.overspent
        return result

    def _build_scorers(self, options: JudgeCheckOptions) -> RejudgeResult:
        """Build one scorer per probe that applies and per repeat."""
        tallies = [ProbeTally(probe=name) for name in options.probes]
        for tally in tallies:
            try:
                self._scorers[tally.probe] = build_probe(tally.probe, self._runtime.scorer)
            except NotApplicable as error:
                tally.reason = str(error)
        repeats = [build_repeat(n, self._runtime.scorer) for n in range(1, options.repeat)]
        self._scorers |= {scorer.name: scorer for scorer in repeats}
        self._repeat_names = [scorer.name for scorer in repeats]
        return RejudgeResult(
            probes=tallies, repeats=RepeatTally(times=options.repeat) if repeats else None
        )

    def _judged_outcomes(self, models: Sequence[str]) -> Iterator[Outcome]:
        for model in models:
            for outcome in self._store.of_task(self._run.id, self._judge.task, model):
                refuse_split_sample(self._judge, outcome)
                if self._judge.scorer in outcome.scores:
                    yield outcome

    def _build_jobs(self, models: Sequence[str], places: Sequence[int]) -> Iterator[Job]:
        """Build one job per sample; only the traces of samples under way are in memory."""
        outcomes = sampled(self._judged_outcomes(models), places)
        for ordinal, outcome in enumerate(outcomes):
            score = outcome.scores[self._judge.scorer]
            self._first_verdicts[ordinal] = read_verdict(self._judge, score)
            self._runtime.lend_trace(outcome)
            yield Job(
                task=outcome.model,  # the runtime has one team per model
                model=outcome.model,
                sample=Sample(outcome.sample_id, outcome.sample),
                ordinal=ordinal,
                trial=outcome.trial,
            )

    def _count_verdicts(self, outcome: Outcome, result: RejudgeResult) -> None:
        result.usage = sum(outcome.others.values(), result.usage)
        before = self._first_verdicts.pop(outcome.ordinal)
        scores = outcome.scores
        for tally in result.probes:
            if tally.probe not in self._scorers:
                continue
            score = scores.get(tally.probe)
            if score is None:
                tally.add_failure(self._explain_failure(outcome, [tally.probe]))
            elif NOT_APPLICABLE in score.metadata:
                tally.add_not_applicable(str(score.metadata[NOT_APPLICABLE]))
            else:
                after = read_verdict(self._judge, score)
                tally.add((outcome.ordinal, outcome.sample_id), before, after)
        if result.repeats is not None:
            names = self._repeat_names
            verdicts = [read_verdict(self._judge, scores[name]) for name in names if name in scores]
            missing = [name for name in names if name not in scores]
            result.repeats.add([before, *verdicts], self._explain_failure(outcome, missing))

    def _explain_failure(self, outcome: Outcome, names: Sequence[str]) -> str:
        """Say why a scorer gave no verdict; an outcome keeps only its first failure."""
        failures = (self._scorers[name].first_failure for name in names)
        message = outcome.failure.message if outcome.failure else ""
        return self.redactor.clean(next(filter(None, failures), message))
