"""One task specification as it was written, and what it asks for."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypedDict

from evalwright.components import Component
from evalwright.spec.documents.check import built
from evalwright.spec.documents.configuration import UNKNOWN, Given, parameters_of
from evalwright.spec.documents.entities import Entity
from evalwright.spec.documents.evaluation import (
    DEBUG_SAMPLES,
    CachePolicy,
    EvaluationDocument,
    RunConfig,
    Subsampling,
    TaskSpecification,
)
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.marks import Place
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.resolving import ResolvedEvaluation
from evalwright.spec.documents.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.task_rules import leaves_dataset_open


class Asked(NamedTuple):
    """A specification of an evaluation."""

    entity: Entity
    """The evaluation."""
    evaluation: ResolvedEvaluation
    number: int
    data: dict[str, Any]
    """Its fields, with the evaluation's values in them."""

    @property
    def path(self) -> Path:
        """Where it stands in the evaluation."""
        return ("task_specifications", self.number)

    def field(self, name: str) -> str:
        """The dotted path of one of its fields, in its file."""
        return self.entity.part.field((*self.path, name))

    def missing(self, name: str) -> tuple[Place, str]:
        """Where it should give a value to a parameter of the task, and under which field."""
        own = ("dataset_key",) if name == "dataset_key" else ("task_config", name)
        path: Path = (*self.path, *own)
        return self.entity.part.raw.marks.place(path), self.entity.part.field(path)

    def waits(self, *names: str | int) -> bool:
        """Whether a field depends on a value that only a run will know."""
        path = (*self.path, *names)
        return any(one[: len(path)] == path for one in self.evaluation.waiting)

    def text(self, name: str) -> str | None:
        """A field that is a text, if its value is known."""
        value = self.data.get(name)
        return str(value) if isinstance(value, str) and not self.waits(name) else None

    def values(self, task: Any) -> dict[str, Given]:
        """What it gives to the parameters of the task, `dataset_key` among them."""
        given: dict[str, Given] = {}
        config = self.data.get("task_config")
        for name, value in config.items() if isinstance(config, dict) else ():
            given[str(name)] = self._given(value, "task_config", str(name))
        definition = task.get("definition") if isinstance(task, dict) else None
        names = [one.key for one in parameters_of(task)[0]]
        takes = "dataset_key" in names or leaves_dataset_open(definition)
        if takes and self.data.get("dataset_key") is not None:
            given["dataset_key"] = self._given(self.data["dataset_key"], "dataset_key")
        return given

    def typed(self) -> tuple[TaskSpecification | None, EvaluationDocument | None]:
        """The specification and its evaluation, as far as they are as they should be."""
        specification, _ = built(TaskSpecification, self.data)
        return specification, self.evaluation.document

    def _given(self, value: Any, *names: str) -> Given:
        part, path = self.entity.part, (*self.path, *names)
        known = UNKNOWN if self.waits(*names) else value
        marks = part.raw.marks
        return Given(known, marks.place(path), part.field(path), key_place=marks.key_place(path))


def shape_faults(asked: Asked, task: TaskDocument) -> Iterator[Fault]:
    """Which of model and dataset the kind of task wants."""
    path, about = asked.path, task.evaluates
    yield from _tried_often(asked, task)
    has_model = asked.data.get("model_key") is not None
    has_dataset = asked.data.get("dataset_key") is not None
    takes = any(one.key == "dataset_key" for one in task.config_spec)
    if about == "system":
        for name, there in (("model_key", has_model), ("dataset_key", has_dataset)):
            if there:
                detail = f"task `{task.key}` is a system task: it takes no `{name}`"
                yield Fault((*path, name), "conflict", detail, "remove it", at_key=True)
        return
    definition = task.definition
    named = isinstance(definition, BenchmarkTask) and definition.dataset is not None
    if has_dataset and named and not takes:
        detail = f"task `{task.key}` names its dataset itself: it takes no `dataset_key`"
        yield Fault((*path, "dataset_key"), "conflict", detail, "remove it", at_key=True)
    if about == "dataset" and has_model:
        detail = f"task `{task.key}` evaluates a dataset: its `model_key` is not used"
        yield Fault((*path, "model_key"), "unused", detail, level="warning", at_key=True)


def _tried_often(asked: Asked, task: TaskDocument) -> Iterator[Fault]:
    """What cannot be tried several times."""
    for name in ("trials", "repeatability"):
        why = cannot_repeat(task)
        if asked.data.get(name) is not None and why:
            detail = f"task `{task.key}` {why}: it takes no `{name}`"
            yield Fault((*asked.path, name), "conflict", detail, "remove it", at_key=True)


def cannot_repeat(task: TaskDocument) -> str:
    """Why the samples of a task cannot be tried several times; empty where they can."""
    definition = task.definition
    if not isinstance(definition, BenchmarkTask):
        return "is a system task, which has no samples"
    if definition.solver is not None and definition.solver.postprocessor is not None:
        return "has a postprocessor, which may make several samples of one"
    return ""


def number_of_trials(task: TaskDocument, *, own: int | None, run: int | None, asks: bool) -> int:
    """How often each sample of a task is tried. What a run says is for tasks that ask a model.

    `own` is what its specification says; `asks`: its solver asks a model.
    """
    definition = task.definition
    if not isinstance(definition, BenchmarkTask) or cannot_repeat(task):
        return 1
    if own is not None:
        return own
    if definition.trials is not None:
        return run or definition.trials.num_trials
    return (run or 1) if asks or any(one.asks for one in definition.scorers) else 1


class Sampling(TypedDict):
    """How many samples, which, and what is taken from the store."""

    num_samples: int | None
    subsampling: Subsampling
    cache_policy: CachePolicy
    trials: int | None
    run_trials: int | None


def sampling(
    specification: TaskSpecification | None,
    evaluation: EvaluationDocument | None,
    run_config: RunConfig,
) -> Sampling:
    """A specification knows best, then the run, then the evaluation."""
    told = [one for one in (specification, run_config, evaluation) if one is not None]
    debug = DEBUG_SAMPLES if evaluation is not None and evaluation.mode == "debug" else None
    counts = [one.num_samples for one in told if one.num_samples is not None]
    orders = [one.subsampling for one in told if one.subsampling is not None]
    policies = [run_config.cache_policy, evaluation.cache_policy if evaluation else None]
    kept = [one for one in policies if one is not None]
    own = specification.trials if specification is not None else None
    often = run_config.trials_config
    return Sampling(
        num_samples=counts[0] if counts else debug,
        subsampling=orders[0] if orders else "head",
        cache_policy=kept[0] if kept else "reuse",
        trials=own.num_trials if own else None,
        run_trials=often.num_trials if often else None,
    )


def source_of(task: TaskDocument) -> Literal["dataset", "task_result"]:
    """Where its rows come from."""
    definition = task.definition
    if isinstance(definition, BenchmarkTask) and definition.dataset is not None:
        return definition.dataset.source
    return "dataset"


def _named_models(part: Any, path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Every `model_key` of a solver, and of what it is made of."""
    if isinstance(part, Component):
        for name in type(part).model_fields:
            value, below = getattr(part, name), (*path, name)
            if name == "model_key" and isinstance(value, str):
                yield below, (value,)
            else:
                yield from _named_models(value, below)
    elif isinstance(part, list | tuple):
        for number, one in enumerate(part):
            yield from _named_models(one, (*path, number))


def models_in(definition: BenchmarkTask) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The models that a task names itself, beside the one that is evaluated."""
    if definition.solver is not None:
        yield from _named_models(definition.solver, ("definition", "solver"))
    for number, scorer in enumerate(definition.scorers):
        field = "judge_model_key" if hasattr(scorer, "judge_model_key") else "model_key"
        yield ("definition", "scorers", number, field), tuple(scorer.model_keys)
