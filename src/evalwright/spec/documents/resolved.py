"""One task to run, with everything that it needs to be known by.

ResolvedSpec(key="short", task=…, model_key="bot", values={"style": "short"}, …)
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from evalwright.spec.documents.asked import Asked, number_of_trials
from evalwright.spec.documents.configuration import Given, Unknown
from evalwright.spec.documents.evaluation import CachePolicy, Subsampling
from evalwright.spec.documents.recorded import Recording, stand_in
from evalwright.spec.documents.resolving import Part
from evalwright.spec.documents.task import BenchmarkTask, TaskDocument


class ResolvedSpec(Struct, frozen=True, kw_only=True):
    """One task to run, with everything that it needs to be known by."""

    key: str
    """The name of its results; no other has it."""
    display_name: str
    task: TaskDocument
    """With its values in it."""
    written: Part
    """The same as its author wrote it."""
    values: dict[str, Any]
    """The value of every parameter of the task."""
    given: Mapping[str, Given] = {}
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
        return number_of_trials(
            self.task, own=self.trials, run=self.run_trials, asks=self.needs_model
        )

    @property
    def waits(self) -> bool:
        """Whether a parameter has no value yet, only one that stands in for it."""
        given = self.given
        return any(isinstance(one.value, Unknown) for one in given.values()) or any(
            one.required and one.key not in given for one in self.task.config_spec
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


def recorded_spec(asked: Asked, task_key: str, recording: Recording) -> ResolvedSpec:
    """A specification whose result is there already."""
    part, config = asked.entity.part, asked.data.get("task_config")
    task = stand_in(task_key, asked.text("display_name"))
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
