"""Connect the judge of a stored run again, and drive the engine with it.

The project is read as the run's command read it; the judge must be that of the run, to the last
letter of its prompt. The model is asked through the engine, so limits, retries, cache and cost cap
apply.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import structs

from evalwright.clients.placeholder import StoredModel
from evalwright.engine.models.cap import Budget
from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.errors import UsageError
from evalwright.plan.manifest import Manifest, read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.plan.project import project_snippets, resolve_project
from evalwright.plan.samples import first_ml_task
from evalwright.ports import Case, Model, Scorer
from evalwright.report.judges import Judge
from evalwright.secrets import Redactor
from evalwright.session.drive import drive_jobs
from evalwright.session.judges import describe_judge, judge_model_key
from evalwright.session.locate import find_folder, relative_to
from evalwright.session.models import share_limits, wrap_models
from evalwright.session.progress import Progress
from evalwright.session.project_models import project_connector
from evalwright.session.redaction import make_redactor
from evalwright.session.snippets import open_snippets
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.types import Outcome, Run, Sample, Trace

_MAX_CONCURRENCY = 64
_HINT = "probes ask the judge of the run again, and need its document"


class JudgeRuntime:
    """The judge of a run with its model, ready to judge the stored answers again."""

    def __init__(self, run: Run, judge: Judge, options: RunOptions, *, progress: Progress) -> None:
        self._run, self._judge, self._progress = run, judge, progress
        manifest, folder = read_manifest(run), find_folder(run, options.store)
        self._options = _restore_options(manifest, options, folder)
        self._evaluated = manifest.plan.models
        path = relative_to(folder, manifest.plan.path)
        self._project = resolve_project(
            path, manifest.command.models, self._options, tell=progress.tell
        )
        self._spec = _find_spec(self._project.specs, judge, path)
        self.scorer = _find_scorer(self._spec, judge)
        self.model_name = self._project.model_name(judge_model_key(self.scorer))
        self.redactor: Redactor = make_redactor()
        self._traces: dict[str, dict[tuple[str, int], Trace]] = {}
        """By the model that answered: two models answer the same sample."""
        self._budget: Budget | None = None
        self._resources: Resources | None = None

    @property
    def overspent(self) -> str:
        """By how much the cost cap was exceeded; empty if it was not."""
        return self._budget.exceeded if self._budget else ""

    @contextmanager
    def connect(self, scorers: Mapping[str, Scorer], models: Sequence[str]) -> Iterator[None]:
        """Connect the judge's model, wrapped with limits, retries, cache and redaction.

        Raise `UsageError` if it is not the judge of the run any more.
        """
        snippets = open_snippets(
            tuple(project_snippets(self._project.project, [self._spec])),
            self._options,
            log=lambda line: self._progress.tell(self.redactor.clean(line)),
        )
        connect = project_connector(self._project, self._options, evaluated=self._evaluated)
        connection = connect(self.model_name, snippets)
        self._refuse_another_judge(connection.client)
        self.redactor = make_redactor([*self._project.secrets, *connection.secrets])
        with ExitStack() as exit_stack:
            shared = share_limits(
                self._options, exit_stack, redactor=self.redactor, command="check"
            )
            self._budget = shared.budget
            stand_ins: dict[str, Model] = {name: StoredModel("") for name in models}
            wrapped = wrap_models({self.model_name: connection}, self._options, shared)
            self._resources = Resources(
                models={**stand_ins, **wrapped},
                tasks={model: self._task_runtime(scorers, model) for model in models},
                snippets=snippets,
            )
            yield

    def lend_trace(self, outcome: Outcome) -> None:
        """Keep the stored answer of an outcome until its job takes it."""
        if outcome.trace is not None:
            self._traces[outcome.model][outcome.sample_id, outcome.trial] = outcome.trace

    def run(
        self, jobs: Iterator[Job], commit: Callable[[Sequence[Outcome]], None], *, total: int
    ) -> str:
        """Run the jobs until all are done or the user stops them; return the reason to stop."""
        resources = self._resources
        if resources is None:
            raise RuntimeError("the judge is not connected")
        stop = Stop(most_failures=self._options.max_failures, total=total, tell=self._progress.tell)
        workers = min(self._options.concurrency or _MAX_CONCURRENCY, total)
        self._progress.begin(total, 0, None)
        drive_jobs(jobs, resources, commit, workers=workers, stop=stop, progress=self._progress)
        return stop.reason

    def _task_runtime(self, scorers: Mapping[str, Scorer], model: str) -> TaskRuntime:
        traces = self._traces.setdefault(model, {})
        definition: Any = self._spec.task.definition
        return TaskRuntime(
            solver=_StoredAnswers(traces) if definition.solver else None,
            scorers=scorers,
            other_models={judge_model_key(self.scorer): self.model_name},
            ml_task=first_ml_task(self._spec.task.tasks),
            counts_other_usage=True,
        )

    def _refuse_another_judge(self, client: Model) -> None:
        current = describe_judge(
            self._judge.task, self._judge.scorer, self.scorer, model=self.model_name, client=client
        )
        if current.identity != self._judge.identity:
            raise UsageError(
                f"`{self._judge.name}` is another judge now than in run {self._run.id}: "
                "its prompt, its labels, its model or the model's settings have changed",
                hint="`evalwright score` judges with the new one: check that run; a value that "
                "was a secret is not kept with a run, and is given again with `--set`",
            )


class _StoredAnswers:
    """A solver that returns the answers of the run; each is returned once."""

    name = "stored_answers"
    version = 1

    def __init__(self, traces: dict[tuple[str, int], Trace]) -> None:
        self._traces = traces

    def describe_inputs(self, sample: Sample) -> str:
        """Return the sample's id; nothing is stored under this key."""
        return sample.id

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return the trace unchanged."""
        del sample
        return trace

    async def solve(self, case: Case) -> Trace:
        """Return the stored answer."""
        return self._traces.pop((case.sample.id, case.trial))


def _restore_options(manifest: Manifest, options: RunOptions, folder: Path) -> RunOptions:
    """The options, completed with those of the run's own command."""
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
        f"{path}: the project has no task specification `{judge.task}` now; it has "
        + ", ".join(f"`{spec.key}`" for spec in specs),
        hint=_HINT,
    )


def _find_scorer(spec: ResolvedSpec, judge: Judge) -> Any:
    for scorer in getattr(spec.task.definition, "scorers", ()):
        if (scorer.key or scorer.type) == judge.scorer and judge_model_key(scorer):
            return scorer
    raise UsageError(f"the task `{judge.task}` has no judge `{judge.scorer}` now", hint=_HINT)
