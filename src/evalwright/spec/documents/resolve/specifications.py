"""A task specification: as written in an evaluation, and resolved.

WrittenSpec(entity, evaluation, number, data)
ResolvedSpec(key="short", task=…, model_key="bot", values={"style": "short"}, …)

The result of a specification may be taken from a log:

    task_specifications:
      - key: first-pass
        task_key: capital-cities
        task_result_log_path: task_results/first-pass/task_result_log.json

Nothing of its task is run then, so neither the task nor its models and datasets need be in the
project.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypedDict

from msgspec import Struct

from evalwright.components import Component
from evalwright.spec.documents.checks.build import build_typed
from evalwright.spec.documents.checks.task_rules import leaves_dataset_open
from evalwright.spec.documents.checks.trials import check_trial_count
from evalwright.spec.documents.models.evaluation import (
    DEBUG_SAMPLES,
    CachePolicy,
    EvaluationDocument,
    RunConfig,
    Subsampling,
    TaskSpecification,
)
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.resolve.config_values import (
    UNKNOWN,
    GivenValue,
    UnknownValue,
)
from evalwright.spec.documents.resolve.documents import DocumentPart, ResolvedEvaluation
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place
from evalwright.spec.documents.yaml.text_files import path_beside
from evalwright.types import Issue

_LOG_FIELD = "task_result_log_path"


class WrittenSpec(NamedTuple):
    """A specification of an evaluation."""

    entity: Entity
    """The evaluation."""
    evaluation: ResolvedEvaluation
    number: int
    data: dict[str, Any]
    """Its fields, with the evaluation's values in them."""

    @property
    def path(self) -> FieldPath:
        """Where it stands in the evaluation."""
        return ("task_specifications", self.number)

    def field(self, name: str) -> str:
        """The dotted path of one of its fields, in its file."""
        return self.entity.part.field((*self.path, name))

    def missing(self, name: str) -> tuple[Place, str]:
        """Where it should give a value to a parameter of the task, and under which field."""
        own = ("dataset_key",) if name == "dataset_key" else ("task_config", name)
        path: FieldPath = (*self.path, *own)
        return self.entity.part.raw.marks.place(path), self.entity.part.field(path)

    def waits(self, *names: str | int) -> bool:
        """Whether a field depends on a value that only a run will know."""
        path = (*self.path, *names)
        return any(one[: len(path)] == path for one in self.evaluation.waiting)

    def text(self, name: str) -> str | None:
        """A field that is a text, if its value is known."""
        value = self.data.get(name)
        return str(value) if isinstance(value, str) and not self.waits(name) else None

    def values(self, task: Entity) -> dict[str, GivenValue]:
        """What it gives to the parameters of the task, `dataset_key` among them."""
        given: dict[str, GivenValue] = {}
        config = self.data.get("task_config")
        for name, value in config.items() if isinstance(config, dict) else ():
            given[str(name)] = self._given(value, "task_config", str(name))
        data = task.part.raw.data
        definition = data.get("definition") if isinstance(data, dict) else None
        names = [parameter.key for parameter in task.parameters]
        takes = "dataset_key" in names or leaves_dataset_open(definition)
        if takes and self.data.get("dataset_key") is not None:
            given["dataset_key"] = self._given(self.data["dataset_key"], "dataset_key")
        return given

    def typed(self) -> tuple[TaskSpecification | None, EvaluationDocument | None]:
        """The specification and its evaluation, as far as they are as they should be."""
        evaluation = self.evaluation.document
        if evaluation is None:
            return build_typed(TaskSpecification, self.data)[0], None
        specification = evaluation.task_specifications[self.number]
        return specification if isinstance(specification, TaskSpecification) else None, evaluation

    def _given(self, value: Any, *names: str) -> GivenValue:
        part, path = self.entity.part, (*self.path, *names)
        known = UNKNOWN if self.waits(*names) else value
        marks = part.raw.marks
        return GivenValue(
            known, marks.place(path), part.field(path), key_place=marks.key_place(path)
        )


def check_model_and_dataset(asked: WrittenSpec, task: TaskDocument) -> Iterator[Fault]:
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


def _tried_often(asked: WrittenSpec, task: TaskDocument) -> Iterator[Fault]:
    """What cannot be tried several times."""
    for name in ("trials", "repeatability"):
        why = why_not_repeatable(task)
        if asked.data.get(name) is not None and why:
            detail = f"task `{task.key}` {why}: it takes no `{name}`"
            yield Fault((*asked.path, name), "conflict", detail, "remove it", at_key=True)


def why_not_repeatable(task: TaskDocument) -> str:
    """Why the samples of a task cannot be tried several times; empty where they can."""
    definition = task.definition
    if not isinstance(definition, BenchmarkTask):
        return "is a system task, which has no samples"
    if definition.solver is not None and definition.solver.postprocessor is not None:
        return "has a postprocessor, which may make several samples of one"
    return ""


def count_trials(task: TaskDocument, *, own: int | None, run: int | None, asks: bool) -> int:
    """How often each sample of a task is tried. What a run says is for tasks that ask a model.

    `own` is what its specification says; `asks`: its solver asks a model.
    """
    definition = task.definition
    if not isinstance(definition, BenchmarkTask) or why_not_repeatable(task):
        return 1
    if own is not None:
        return own
    if definition.trials is not None:
        return run or definition.trials.num_trials
    return (run or 1) if asks or any(one.calls_model for one in definition.scorers) else 1


class Sampling(TypedDict):
    """How many samples, which, and what is taken from the store."""

    num_samples: int | None
    subsampling: Subsampling
    cache_policy: CachePolicy
    trials: int | None
    run_trials: int | None


def choose_sampling(
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


def sample_source(task: TaskDocument) -> Literal["dataset", "task_result"]:
    """Where its rows come from."""
    definition = task.definition
    if isinstance(definition, BenchmarkTask) and definition.dataset is not None:
        return definition.dataset.source
    return "dataset"


def _named_models(part: Any, path: FieldPath) -> Iterator[tuple[FieldPath, tuple[str, ...]]]:
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


def find_named_models(definition: BenchmarkTask) -> Iterator[tuple[FieldPath, tuple[str, ...]]]:
    """The models that a task names itself, beside the one that is evaluated."""
    if definition.solver is not None:
        yield from _named_models(definition.solver, ("definition", "solver"))
    for number, scorer in enumerate(definition.scorers):
        field = "judge_model_key" if hasattr(scorer, "judge_model_key") else "model_key"
        yield ("definition", "scorers", number, field), tuple(scorer.model_keys)


class Recording(Struct, frozen=True):
    """Where a result is."""

    file: str
    """The log, from the current folder."""
    path: FieldPath
    """The field that names it, in the evaluation."""


def find_recording(asked: WrittenSpec) -> Recording | None:
    """The log that a specification names, relative to its document; None if it names none."""
    written, path = asked.text(_LOG_FIELD), (*asked.path, _LOG_FIELD)
    if not written:
        return None
    return Recording(path_beside(asked.entity.part.raw.marks.place(path).file, written), path)


def warn_without_effect(asked: WrittenSpec) -> list[Fault]:
    """What a specification says of how often it is run, though it is not run at all."""
    return [
        Fault(
            (*asked.path, name),
            "no_effect",
            f"`{name}` has no effect: the result is taken from the log of `{_LOG_FIELD}`",
            "leave it out",
            level="warning",
        )
        for name in ("trials", "repeatability")
        if asked.data.get(name) is not None
    ]


def _stand_in_task(task_key: str, display_name: str | None) -> TaskDocument:
    """What stands for the task: it does nothing."""
    return TaskDocument(
        key=task_key,
        display_name=display_name or task_key,
        description="",
        definition=BenchmarkTask(evaluated_entity_type="dataset"),
    )


class ResolvedSpec(Struct, frozen=True, kw_only=True):
    """One task to run, with everything that it needs to be known by."""

    key: str
    """The name of its results; no other has it."""
    display_name: str
    task: TaskDocument
    """With its values in it."""
    written: DocumentPart
    """The same as its author wrote it."""
    values: dict[str, Any]
    """The value of every parameter of the task."""
    given: Mapping[str, GivenValue] = {}
    """Those of them that are no defaults, with their places."""
    model_key: str | None
    """The model that is evaluated; None if none is named, or none is needed."""
    dataset_keys: dict[str, str]
    """The datasets: by parameter where there are several, else one under `""`."""
    source: Literal["dataset", "task_result"] = "dataset"
    """`task_result`: the dataset key is the key of another specification."""
    num_samples: int | None = None
    """How many samples to take; None for all."""
    subsampling: Subsampling = "head"
    cache_policy: CachePolicy = "reuse"
    trials: int | None = None
    """How often each sample is tried, if the specification says so."""
    run_trials: int | None = None
    """The same, if the run does."""
    repeats: int = 1
    """How often all of it is run."""
    evaluation_key: str | None = None
    recording: Recording | None = None
    """The log that the result is taken from, if nothing is to be run; the task is a stand-in."""
    file: str = ""
    line: int = 0

    @property
    def needs_model(self) -> bool:
        """Whether it cannot run without a model."""
        return needs_model(self.task)

    @property
    def num_trials(self) -> int:
        """How often each sample is tried."""
        return count_trials(self.task, own=self.trials, run=self.run_trials, asks=self.needs_model)

    @property
    def waits(self) -> bool:
        """Whether a parameter has no value yet, only one that stands in for it."""
        given = self.given
        return any(isinstance(one.value, UnknownValue) for one in given.values()) or any(
            one.needs_value and one.key not in given for one in self.task.config_spec
        )


def needs_model(task: TaskDocument) -> bool:
    """Whether a task asks a model: all that evaluate one do, but for recorded answers."""
    definition = task.definition
    return (
        isinstance(definition, BenchmarkTask)
        and definition.evaluated_entity_type == "model"
        and definition.solver is not None
        and definition.solver.type != "pass_through_solver"
    )


def resolve_recorded(asked: WrittenSpec, task_key: str, recording: Recording) -> ResolvedSpec:
    """A specification whose result is there already."""
    part, config = asked.entity.part, asked.data.get("task_config")
    task = _stand_in_task(task_key, asked.text("display_name"))
    return ResolvedSpec(
        key=str(asked.data.get("key")),
        display_name=task.display_name,
        task=task,
        written=part,
        values=config if isinstance(config, dict) else {},
        model_key=asked.text("model_key"),
        dataset_keys={},
        evaluation_key=asked.entity.key,
        recording=recording,
        file=part.raw.marks.place(asked.path).file,
        line=part.raw.marks.place(asked.path).line,
    )


def check_trial_counts(specs: Iterable[ResolvedSpec]) -> list[Issue]:
    """Of each specification, at the places of its task; what waits for a value is not judged."""
    found: dict[Issue, None] = {}
    for spec in specs:
        definition = spec.task.definition
        if spec.recording is None and not spec.waits and isinstance(definition, BenchmarkTask):
            faults = check_trial_count(definition, spec.num_trials, key=spec.key)
            found.update(dict.fromkeys(spec.written.problems(faults)))
    return list(found)
