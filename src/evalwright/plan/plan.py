"""A plan: what will be run, checked completely before the first model call.

Both authoring formats are compiled into the same types. A `Plan` has `TaskPlan`s; a task plan has
samples, the components that work on them, and what is done after the last sample. Nothing
after this package depends on the format that a task was written in.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct, field

from evalwright.errors import UsageError
from evalwright.plan.finalization import Finalization
from evalwright.plan.input_files import InputFile
from evalwright.plan.outline import PlanOutline, Ranking, TaskOutline
from evalwright.ports import Scorer, Snippets, Solver
from evalwright.secrets import Secret
from evalwright.types import NOTHING, MLTask, Outcome, Sample, Usage

if TYPE_CHECKING:
    from evalwright.components import Snippet


class Job(Struct, frozen=True, kw_only=True):
    """One sample for one model, once."""

    task: str
    model: str
    sample: Sample
    ordinal: int = 0
    """The position of the sample in its task, from 0."""
    trial: int = 0
    group: str = ""


class PlannedSample(NamedTuple):
    """A sample, and how it is run."""

    sample: Sample
    trials: int
    group: str
    """What tables are grouped by."""


class SampleSource(Protocol):
    """The samples of one task."""

    def planned_samples(self) -> Iterator[PlannedSample]:
        """Yield the samples in order; each call starts again."""


class Postprocessor(Protocol):
    """Turns one solved sample into several."""

    async def apply(
        self, sample: dict[str, Any], conversation: dict[str, Any], snippets: Snippets | None
    ) -> Sequence[tuple[dict[str, Any], dict[str, Any]]]:
        """Return samples, each with its conversation."""


class StopSignal(Protocol):
    """Whether a run was asked to stop."""

    @property
    def is_stopping(self) -> bool:
        """Whether it was."""


class RecordedResults(Protocol):
    """Results of a task that were computed elsewhere and are used unchanged."""

    @property
    def outline(self) -> TaskOutline:
        """The task that they are of."""

    @property
    def specification(self) -> dict[str, Any]:
        """What their log contains about the task."""

    @property
    def outcome_count(self) -> int:
        """The number of outcomes."""

    def outcomes(self, stop: StopSignal) -> AsyncIterator[list[Outcome]]:
        """The outcomes, in batches."""

    async def finalize(self, model: str, *, seed: int) -> Any:
        """The final result of the task, as `engine.results.FinalResult`."""


class TaskRuntime(Struct, frozen=True, kw_only=True):
    """The components that work on the samples of one task."""

    solver: Solver | None = None
    """None if no model is called: the samples themselves are scored."""
    scorers: Mapping[str, Scorer] = {}
    postprocessor: Postprocessor | None = None
    other_models: Mapping[str, str] = {}
    """Maps the task's names of models to the session's names."""
    ml_task: MLTask = "chat_completion"
    counts_other_usage: bool = False
    """Whether a component calls a model in addition to the solver."""
    ignores_memory: bool = False
    """Whether stored answers are ignored, because the agreement of repeated runs is measured."""


class TaskPlan(Struct, frozen=True, kw_only=True):
    """One task, ready to run."""

    outline: TaskOutline
    samples: SampleSource
    runtime: TaskRuntime
    finalization: Finalization | None = None
    """None if a report computes the metrics from the stored scores."""
    recorded: RecordedResults | None = None
    """The results, if the task is not run."""
    specification: dict[str, Any] = {}
    """What an exported result log says about the task."""

    @property
    def name(self) -> str:
        """The name of the task in reports."""
        return self.outline.name

    def jobs(self) -> Iterator[Job]:
        """Yield jobs sample by sample, so that early results are comparable across models."""
        name, models = self.outline.name, self.outline.models
        for ordinal, (sample, trials, group) in enumerate(self.samples.planned_samples()):
            for trial in range(trials):
                for model in models:
                    yield Job(
                        task=name,
                        model=model,
                        sample=sample,
                        ordinal=ordinal,
                        trial=trial,
                        group=group,
                    )


class CurrentRun(Struct):
    """The current run, where later tasks find the results of earlier ones; mutable."""

    run_id: str = ""
    store: Any = None
    """The store of the run, if not that of the earlier ones."""


class Plan(Struct, frozen=True, kw_only=True):
    """Every task, with everything that a session needs to run it."""

    tasks: tuple[TaskPlan, ...]
    models: tuple[str, ...]
    """The models that are evaluated."""
    path: str = ""
    evaluation: str = ""
    limit: int | None = None
    trials: int | None = None
    ranking: Ranking = "per_task"
    needs_sandbox: bool = False
    """Whether code from models is run."""
    snippets: "tuple[Snippet, ...]" = ()
    """The author's own functions."""
    reuses_outcomes: bool = True
    """Whether outcomes of earlier runs may be reused."""
    secrets: tuple[Secret, ...] = ()
    """Values that must not be stored."""
    policies: tuple[Any, ...] = ()
    """`PolicyDocument`s that the metrics must meet."""
    spent: Usage = NOTHING
    """What generating the rows cost."""
    notes: tuple[str, ...] = ()
    """Notes about the samples for the report."""
    files: tuple[InputFile, ...] = ()
    """The files that the tasks and their samples are from."""
    imported: str = ""
    """The path that all results were imported from."""
    current_run: CurrentRun = field(default_factory=CurrentRun)

    @property
    def outline(self) -> PlanOutline:
        """What the manifest stores of the plan."""
        return PlanOutline(
            tasks=tuple(task.outline for task in self.tasks),
            models=self.models,
            path=self.path,
            evaluation=self.evaluation,
            limit=self.limit,
            trials=self.trials,
            ranking=self.ranking,
        )

    @property
    def live_models(self) -> tuple[str, ...]:
        """The models that are evaluated now, not only in recorded results."""
        live = (task.outline.models for task in self.tasks if not task.recorded)
        return tuple(dict.fromkeys(name for names in live for name in names))

    @property
    def other_models(self) -> tuple[str, ...]:
        """The models that components call in addition to the evaluated ones."""
        names = (name for task in self.tasks for name in task.runtime.other_models.values())
        return tuple(dict.fromkeys(names))

    def waves(self) -> list[tuple[TaskPlan, ...]]:
        """Return the order of the tasks: each after the one whose results it reads."""
        tasks = {task.name: task for task in self.tasks}
        waves = order_by_source({name: task.outline.after for name, task in tasks.items()})
        return [tuple(tasks[name] for name in wave) for wave in waves]


def order_by_source(sources: Mapping[str, str]) -> list[list[str]]:
    """Return names in waves, each name after its source, if that is one of the names."""
    sorter = TopologicalSorter(
        {name: [source] if source in sources else [] for name, source in sources.items()}
    )
    try:
        sorter.prepare()
    except CycleError as error:
        circle = ", ".join(f"`{name}`" for name in sources if name in error.args[1])
        raise UsageError(f"circular dependency between task results: {circle}") from None
    waves = []
    while ready := sorter.get_ready():
        waves.append([name for name in sources if name in ready])
        sorter.done(*ready)
    return waves
