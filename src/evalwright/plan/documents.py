"""A plan made of task documents: what will be run, and on which rows.

What is planned is kept with the run, so it is plain data; what carries it out (solvers, scorers,
datasets) stands beside it, by the same name, in `Prepared`. Each dataset is read once, to its end,
before anything is run: how many rows there are, and whether each can be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, Protocol

from msgspec import Struct

from evalwright.datasets.aligned import Aligned
from evalwright.datasets.sampling import sampled
from evalwright.errors import UsageError
from evalwright.plan.plan import Job
from evalwright.types import MLTask, Sample

NO_MODEL = ""
"""What stands for the model of a task that asks none."""

Kind = Literal["model", "dataset", "system"]


class PlannedSpec(Struct, frozen=True, kw_only=True):
    """One task with its values, its data and its models."""

    name: str
    """The key of the task specification."""
    task_key: str
    display_name: str = ""
    kind: Kind = "model"
    models: tuple[str, ...] = (NO_MODEL,)
    records: int = 0
    """How many samples."""
    trials: int = 1
    """How often each is tried."""
    repeats: int = 1
    """How often all of it is run. Run r has the trials r·T to r·T + T - 1."""
    after: str = ""
    """The specification whose results are the samples."""
    values: dict[str, Any] = {}
    """Of the task's parameters."""
    digest: str = ""
    """Of the task with its values, and of its data."""

    landed: int = 0
    """The trials that a log has, where its samples were not all tried equally often."""

    @property
    def tries(self) -> int:
        """How often each sample is tried in all runs."""
        return self.trials * self.repeats

    @property
    def jobs(self) -> int:
        """Of each model."""
        return self.landed or self.records * self.tries


class DocumentPlan(Struct, frozen=True, kw_only=True):
    """Every task specification of an evaluation."""

    tasks: tuple[PlannedSpec, ...]
    models: tuple[str, ...]
    """The models that are evaluated."""
    evaluation: str = ""
    path: str = ""
    limit: int | None = None
    samples: None = None
    kind: Literal["documents"] = "documents"

    @property
    def needs_sandbox(self) -> bool:
        """Whether a model's code is run: no scorer of a document does."""
        return False

    @property
    def noun(self) -> str:
        """What a job is: a sample, or one of several trials of it."""
        return "trials" if any(task.tries > 1 for task in self.tasks) else "samples"

    @property
    def total(self) -> int:
        """How many jobs there are."""
        return sum(task.jobs * len(task.models) for task in self.tasks)

    def waves(self) -> list[tuple[PlannedSpec, ...]]:
        """The order to run them in: each after the one whose results it reads."""
        done: set[str] = set()
        names = {task.name for task in self.tasks}
        left = list(self.tasks)
        waves = []
        while left:
            ready = [one for one in left if one.after not in names or one.after in done]
            if not ready:
                circle = ", ".join(f"`{one.name}`" for one in left)
                raise UsageError(f"task results that wait for each other: {circle}")
            waves.append(tuple(ready))
            done |= {one.name for one in ready}
            left = [one for one in left if one.name not in done]
        return waves


class Identified(Protocol):
    """Rows that have ids."""

    @property
    def digest(self) -> str:
        """Of all that decides which rows come."""
        ...

    def identified(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each row with its id, in their order."""
        ...


class Data(Struct, frozen=True, kw_only=True):
    """The rows of one specification, as samples."""

    rows: Identified
    places: Sequence[int]
    """Of the rows that are used, in order."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """Of each of several datasets, the rows of these samples: for a scorer of all samples."""

    def samples(self) -> Iterator[Sample]:
        """In their order, each with its id."""
        return (Sample(id_, row) for id_, row in sampled(self.rows.identified(), self.places))


class NoRows:
    """The data of a task that has none: one sample, and nothing in it."""

    digest = ""

    def identified(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """One, which is empty."""
        yield "0", {}


class Leading:
    """Of several datasets, the rows of the first: what a scorer of all samples scores."""

    def __init__(self, aligned: Aligned) -> None:
        self._aligned = aligned
        self._name, self._first = next(iter(aligned.parts.items()))

    @property
    def digest(self) -> str:
        """Of all of them."""
        return self._aligned.digest

    def identified(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each with its id, under the name of its dataset."""
        return ((id_, {self._name: row}) for id_, row in self._first.identified())

    def check(self) -> int:
        """How many there are."""
        return self._first.check()


def jobs_of(tasks: Sequence[PlannedSpec], data: Mapping[str, Data]) -> Iterator[Job]:
    """Sample by sample, so that what is done early is comparable across models."""
    for task in tasks:
        for ordinal, sample in enumerate(data[task.name].samples()):
            for trial, model in product(range(task.tries), task.models):
                yield Job(
                    task=task.name,
                    model=model,
                    sample=sample,
                    ordinal=ordinal,
                    trial=trial,
                    group=task.kind,
                )


def ml_task_of(tasks: Sequence[MLTask]) -> MLTask:
    """What a task asks its model for: the first that it names, and chat where it names none."""
    return tasks[0] if tasks else "chat_completion"
