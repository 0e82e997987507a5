"""Ask a judge again about samples that it has judged: probes, and the same question repeated.

The project is read as the run's command said it; the judge must be the one of the run, to the last
letter of its prompt. Its model is asked through the engine, so limits, retries, cache and caps
hold. Nothing is stored but the figures: an interrupted check costs its calls, unless `--cache` has
kept them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from evalwright.api.assembly import Limits, equipped, shelf_of
from evalwright.api.comparing import refuse_parts, verdict_of
from evalwright.api.discretion import redactor_here
from evalwright.api.judges import judge_key, judge_of
from evalwright.api.located import at, folder_of
from evalwright.api.loops import complete
from evalwright.api.manifest import told_to
from evalwright.api.options import RunOptions, Watch
from evalwright.api.prepare import called_by, connects_of, resolved, secrets_of, snippets_of
from evalwright.datasets.sampling import chosen, sampled
from evalwright.errors import UsageError
from evalwright.plan.documents import ml_task_of
from evalwright.plan.plan import Job
from evalwright.report.judges import Judge
from evalwright.report.probing import Flips, Repeats
from evalwright.report.tables import counted
from evalwright.scorers.judging.probes import NOT_APPLICABLE, probe_of, repeat_of
from evalwright.scorers.judging.swapping import NotApplicable
from evalwright.types import Outcome, Sample, Trace, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from evalwright.api.connections import ConnectionPlan
    from evalwright.engine.models.cap import Budget
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew, Team
    from evalwright.ports import Case, Model, Snippets, Store
    from evalwright.scorers.judging.probes import Again
    from evalwright.secrets import Redactor
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec
    from evalwright.types import Run

MOST_AT_ONCE = 64


class Questions(Struct, frozen=True, kw_only=True):
    """What is asked again, and of how many samples."""

    probes: tuple[str, ...] = ()
    repeat: int = 1
    """Verdicts a sample, that of the run among them; 1 asks nothing."""
    samples: int = 50


class Answers(Struct, kw_only=True):
    """What came of it."""

    flips: list[Flips]
    repeats: Repeats | None
    samples: int = 0
    usage: Usage = Usage(cost=0.0)
    stopped: str = ""
    """Why it ended before its end."""
    interrupted: bool = False
    exceeded: str = ""
    """By how much it has cost more than it should."""


class AskedAgain:
    """One judge of a run, asked again."""

    def __init__(
        self, run: "Run", judge: Judge, store: "Store", options: RunOptions, *, watch: Watch
    ) -> None:
        self._run, self._judge, self._store, self._watch = run, judge, store, watch
        folder = folder_of(run)
        self._options = _as_told(run, options, folder)
        path = at(folder, run.manifest["plan"]["path"])
        project, specs = resolved(path, told_to(run).models, self._options, tell=watch.tell)
        self._project: Project = project
        self._spec = _spec_of(specs, judge, path)
        self._scorer = _scorer_of(self._spec, judge)
        self._name = called_by(project, judge_key(self._scorer))
        self._asked: dict[str, Again] = {}
        self._budget: Budget | None = None
        self._verdicts: dict[tuple[str, int, int], str | float] = {}
        self._traces: dict[str, dict[tuple[str, int], Trace]] = {}
        """By the model that answered: two models answer the same sample."""
        self.redactor: Redactor = redactor_here()

    def answers(self, questions: Questions, models: Sequence[str]) -> Answers:
        """Ask; raises before the first call if the judge is another one now."""
        probes, answers = self._probes(questions)
        judged = sum(self._is_judged(one) for one in self._outcomes(models))
        places = chosen(judged, questions.samples, "random")
        answers.samples = len(places)
        for one in answers.flips:
            one.not_applicable = 0 if one.probe in probes else len(places)
        if not probes or not places:
            return answers
        with ExitStack() as ending:
            crew = self._crew(probes, models, self._connected(), ending)
            self._watch.tell(
                f"`{self._judge.name}`: {len(places) * len(probes):,} calls of {self._name}, "
                f"{len(probes)} for each of {counted(len(places), 'sample')}"
            )
            self._ask(crew, self._jobs(models, places), answers, total=len(places))
        answers.exceeded = self._budget.exceeded if self._budget else ""
        return answers

    def _probes(self, questions: Questions) -> "tuple[dict[str, Again], Answers]":
        """Those that apply; of the others, why not."""
        probes: dict[str, Again] = {}
        flips = [Flips(probe=name) for name in questions.probes]
        for one in flips:
            try:
                probes[one.probe] = probe_of(one.probe, self._scorer)
            except NotApplicable as error:
                one.reason = str(error)
        for number in range(1, questions.repeat):
            again = repeat_of(number, self._scorer)
            probes[again.name] = again
        repeats = Repeats(times=questions.repeat) if questions.repeat > 1 else None
        self._asked = probes
        return probes, Answers(flips=flips, repeats=repeats)

    def _connected(self) -> "Callable[[Snippets | None], ConnectionPlan]":
        names = self._run.manifest["plan"]["models"]
        return connects_of(self._project, [self._spec], names, self._options)[self._name]

    def _crew(
        self,
        probes: "dict[str, Again]",
        models: Sequence[str],
        connect: "Callable[[Snippets | None], ConnectionPlan]",
        ending: ExitStack,
    ) -> "Crew":
        from evalwright.clients.unasked import Unasked
        from evalwright.engine.run import Crew

        snippets = self._pool()
        plan = connect(snippets)
        self._refuse_another(plan.client)
        secrets = [*secrets_of(self._project, self._options), *plan.secrets]
        self.redactor = redactor_here(secrets)
        crew = Crew(
            models={self._name: plan.client},
            teams={model: self._team(probes, model) for model in models},
            snippets=snippets,
        )
        limits = Limits(
            name=plan.name,
            requests_per_minute=plan.requests_per_minute,
            at_once=plan.at_once,
            remote=plan.remote,
            by_sample=plan.by_sample,
        )
        crew = equipped(crew, self._options, self._shared(ending), limits={self._name: limits})
        stand_ins: dict[str, Model] = {name: Unasked("") for name in models}
        return structs.replace(crew, models={**stand_ins, **crew.models})

    def _team(self, probes: "dict[str, Again]", model: str) -> "Team":
        from evalwright.engine.run import Team

        traces = self._traces.setdefault(model, {})
        definition: Any = self._spec.task.definition
        return Team(
            solver=Answered(traces) if definition.solver else None,
            scorers=probes,
            others={judge_key(self._scorer): self._name},
            task=ml_task_of(self._spec.task.tasks),
            tallies=True,
        )

    def _pool(self) -> "Snippets | None":
        from evalwright.snippets.pool import SnippetPool
        from evalwright.snippets.settings import Settings
        from evalwright.snippets.sources import sources_of

        snippets = tuple(snippets_of(self._project, [self._spec]))
        if not snippets:
            return None
        return SnippetPool(
            sources_of(snippets),
            log=lambda line: self._watch.tell(self.redactor.clean(line)),
            settings=Settings(timeout_s=self._options.snippet_timeout),
        )

    def _refuse_another(self, client: "Model") -> None:
        now = judge_of(
            self._judge.task, self._judge.scorer, self._scorer, model=self._name, client=client
        )
        if now.identity != self._judge.identity:
            raise UsageError(
                f"`{self._judge.name}` is another judge now than in run {self._run.id}: "
                "its prompt, its labels, its model or the model's settings have changed",
                hint="`evalwright score` judges with the new one: check that run; a value that "
                "was a secret is not kept with a run, and is given again with `--set`",
            )

    def _shared(self, ending: ExitStack) -> "Shared":
        from evalwright.engine.models.cap import Budget
        from evalwright.engine.models.count import Counters
        from evalwright.engine.models.prices import Prices, read_prices
        from evalwright.engine.models.stack import Shared

        told = self._options
        if told.max_cost is not None:
            self._budget = Budget(max_cost=told.max_cost, spent=Usage(cost=0.0), command="check")
        return Shared(
            counters=Counters(),
            redactor=self.redactor or None,
            prices=Prices(read_prices(told.prices) if told.prices else None),
            budget=self._budget,
            shelf=shelf_of(ending) if told.cache else None,
        )

    def _outcomes(self, models: Sequence[str]) -> Iterator[Outcome]:
        for model in models:
            yield from self._store.of_task(self._run.id, self._judge.task, model)

    def _is_judged(self, outcome: Outcome) -> bool:
        refuse_parts(self._judge, outcome)
        return self._judge.scorer in outcome.scores

    def _jobs(self, models: Sequence[str], places: Sequence[int]) -> Iterator[Job]:
        """One a sample; only of those under way the trace is kept."""
        judged = (one for one in self._outcomes(models) if self._is_judged(one))
        for number, outcome in enumerate(sampled(judged, places)):
            key = (outcome.model, number, outcome.trial)
            score = outcome.scores[self._judge.scorer]
            self._verdicts[key] = verdict_of(self._judge, score)
            if outcome.trace is not None:
                self._traces[outcome.model][outcome.sample_id, outcome.trial] = outcome.trace
            yield Job(
                task=outcome.model,  # the team is that of the model
                model=outcome.model,
                sample=Sample(outcome.sample_id, outcome.sample),
                ordinal=number,
                trial=outcome.trial,
            )

    def _ask(self, crew: "Crew", jobs: Iterator[Job], answers: Answers, *, total: int) -> None:
        from evalwright.engine.journal import Journal
        from evalwright.engine.run import run as run_engine
        from evalwright.engine.stop import Stop

        stop = Stop(most_failures=self._options.max_failures, total=total, tell=self._watch.tell)
        workers = min(self._options.concurrency or MOST_AT_ONCE, total)

        def fold(outcomes: Sequence[Outcome]) -> None:
            for one in outcomes:
                self._fold(one, answers)

        async def work() -> None:
            journal = Journal(fold, committed=self._watch.committed)
            with stop.on_ctrl_c():
                try:
                    await run_engine(jobs, crew, journal, workers=workers, stop=stop)
                finally:
                    await crew.models[self._name].close()
                    if crew.snippets is not None:
                        await crew.snippets.close()

        self._watch.begin(total, 0, None)
        try:
            complete(work())
        finally:
            self._watch.end(interrupted=stop.interrupted)
        answers.stopped, answers.interrupted = stop.reason, stop.interrupted

    def _fold(self, outcome: Outcome, answers: Answers) -> None:
        from evalwright.engine.tally import total

        answers.usage = total([answers.usage, *outcome.others.values()])
        before = self._verdicts.pop((outcome.model, outcome.ordinal, outcome.trial))
        scores = outcome.scores
        for flips in answers.flips:
            score = scores.get(flips.probe)
            if score is None and flips.not_applicable < answers.samples:
                flips.lacks(self._why(outcome, flips.probe), applies=True)
            elif score is None:  # it applies to no sample, and nothing was asked
                continue
            elif NOT_APPLICABLE in score.metadata:
                flips.lacks(str(score.metadata[NOT_APPLICABLE]), applies=False)
            else:
                flips.add(
                    (outcome.ordinal, outcome.sample_id), before, verdict_of(self._judge, score)
                )
        if answers.repeats is not None:
            again = [name for name in self._asked if name.startswith("again ")]
            given = [verdict_of(self._judge, scores[name]) for name in again if name in scores]
            lacking = [name for name in again if name not in scores]
            answers.repeats.add([before, *given], self._why(outcome, *lacking))

    def _why(self, outcome: Outcome, *probes: str) -> str:
        """Why one of these gave no verdict: an outcome knows only what broke first of all."""
        broke = (self._asked[name].broke for name in probes)
        first = next(filter(None, broke), outcome.failure.message if outcome.failure else "")
        return self.redactor.clean(first)


class Answered:
    """A solver whose answers are there already: each is handed over once."""

    name = "answered"
    version = 1

    def __init__(self, traces: dict[tuple[str, int], Trace]) -> None:
        self._traces = traces

    def reads(self, sample: Sample) -> str:
        """Nothing is stored under its key."""
        return sample.id

    def revised(self, sample: Sample, trace: Trace) -> Trace:
        """As it is."""
        del sample
        return trace

    async def solve(self, case: "Case") -> Trace:
        """What the run has stored."""
        return self._traces.pop((case.sample.id, case.trial))


def _as_told(run: "Run", options: RunOptions, folder: "Path") -> RunOptions:
    """The options, with what the run's own command said where nothing else is said now."""
    told = told_to(run)
    return structs.replace(
        options,
        parameters=run.manifest.get("parameters", {}),
        settings={**told.settings, **options.settings},
        evaluation=told.evaluation,
        config=options.config or (at(folder, told.config) if told.config else None),
        env=options.env or tuple(at(folder, one) for one in told.env),
    )


def _spec_of(specs: "Sequence[ResolvedSpec]", judge: Judge, path: str) -> "ResolvedSpec":
    for spec in specs:
        if spec.key == judge.task:
            return spec
    raise UsageError(
        f"{path}: the project has no task specification `{judge.task}` now; it has "
        + ", ".join(f"`{spec.key}`" for spec in specs),
        hint="probes ask the judge of the run again, and need its document",
    )


def _scorer_of(spec: "ResolvedSpec", judge: Judge) -> Any:
    for scorer in getattr(spec.task.definition, "scorers", ()):
        if (scorer.key or scorer.type) == judge.scorer and judge_key(scorer):
            return scorer
    raise UsageError(
        f"the task `{judge.task}` has no judge `{judge.scorer}` now",
        hint="probes ask the judge of the run again, and need its document",
    )
