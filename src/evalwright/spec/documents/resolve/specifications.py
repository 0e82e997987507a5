"""Task specifications, as written in an evaluation and as resolved.

WrittenSpec(entity, evaluation, number, data)
ResolvedSpec(key="short", task=…, model_keys=("bot",), values={"style": "short"}, …)

The result of a specification may be read from a log:

    task_specifications:
      - key: first-pass
        task_key: capital-cities
        task_result_log_path: task_results/first-pass/task_result_log.json

In that case, the task is not run, so neither the task nor its models and datasets need to be in the
project.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from evalwright.spec.documents.checks.build import (
    DocumentPart,
    build_instance,
    find_parts,
    get_value,
)
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
from evalwright.spec.documents.resolve.config_values import UNKNOWN, GivenValue, read_given_value
from evalwright.spec.documents.resolve.documents import ResolvedDocument
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    get_list,
    get_mapping,
)
from evalwright.spec.documents.yaml.text_files import path_beside
from evalwright.types import Issue

_LOG_FIELD = "task_result_log_path"
_SUBJECTS = ("model_key", "models", "parameters", "dataset_key")
"""Fields that say what a task evaluates, and how it is called."""


class WrittenSpec(NamedTuple):
    """A task specification as written in an evaluation."""

    entity: Entity
    """The evaluation."""
    evaluation: ResolvedDocument
    number: int
    data: dict[str, Any]
    """Fields of the specification, with the evaluation's parameter values inserted."""
    variant: str = ""
    """The variant that is resolved, if the specification has variants."""

    @property
    def path(self) -> FieldPath:
        """Path of the specification in the evaluation."""
        return ("task_specifications", self.number)

    @property
    def place(self) -> Place:
        """Place of the specification."""
        return self.entity.part.place(self.path)

    @property
    def key(self) -> str:
        """Key of the results."""
        return "-".join(filter(None, (str(self.data.get("key")), self.variant)))

    def list_variants(self) -> "list[WrittenSpec]":
        """Return the specification once per variant; itself if it has none or is not run."""
        if self.text(_LOG_FIELD) or (*self.path, "variants") in self.evaluation.waiting:
            return [self]
        names = get_mapping(self.data, "variants")
        return [self._replace(variant=str(name)) for name in names] or [self]

    def missing(self, name: str) -> tuple[Place, str]:
        """Return the place and the field where a parameter of the task should be set."""
        own: FieldPath = ("dataset_key",) if name == "dataset_key" else ("task_config", name)
        if self.variant:
            own = ("variants", self.variant, name)
        path: FieldPath = (*self.path, *own)
        return self.entity.part.place(path), self.entity.part.field(path)

    def waits(self, *names: str | int) -> bool:
        """Whether a field depends on a value that is known only in a run."""
        path = (*self.path, *names)
        return any(
            waiting[: len(path)] == path or path[: len(waiting)] == waiting
            for waiting in self.evaluation.waiting
        )

    def text(self, name: str) -> str | None:
        """Return the value of a text field, if it is known."""
        value = self.data.get(name)
        return str(value) if isinstance(value, str) and not self.waits(name) else None

    def model_keys(self) -> dict[FieldPath, str]:
        """Return the evaluated models whose keys are known, by the path of the key."""
        places: list[tuple[str | int, ...]] = [("model_key",)]
        places += [("models", number) for number in range(len(get_list(self.data, "models")))]
        keys = {(*self.path, *place): get_value(self.data, place) for place in places}
        return {
            path: str(key)
            for path, key in keys.items()
            if isinstance(key, str) and not self.waits(*path[len(self.path) :])
        }

    def variant_values(self) -> dict[str, GivenValue]:
        """Return the values that the variant sets."""
        values = get_mapping(get_mapping(self.data, "variants"), self.variant)
        return {
            str(name): self._read_value(value, "variants", self.variant, name)
            for name, value in values.items()
        }

    def values(self, task: Entity) -> dict[str, GivenValue]:
        """Return the values for the task's parameters, including `dataset_key`."""
        values = {
            str(name): self._read_value(value, "task_config", str(name))
            for name, value in get_mapping(self.data, "task_config").items()
        }
        takes_dataset = leaves_dataset_open(task.part.data.get("definition")) or any(
            parameter.key == "dataset_key" for parameter in task.parameters
        )
        if takes_dataset and self.data.get("dataset_key") is not None:
            values["dataset_key"] = self._read_value(self.data["dataset_key"], "dataset_key")
        return values

    def build(self) -> tuple[TaskSpecification | None, EvaluationDocument | None]:
        """Return the typed specification and evaluation; None if they are not valid."""
        evaluation = self.evaluation.document
        if evaluation is None:
            return build_instance(TaskSpecification, self.data)[0], None
        specification = evaluation.task_specifications[self.number]
        return specification if isinstance(specification, TaskSpecification) else None, evaluation

    def _read_value(self, value: Any, *names: str) -> GivenValue:
        known = UNKNOWN if self.waits(*names) else value
        return read_given_value(self.entity.part, (*self.path, *names), known)


def find_duplicate_variants(specs: Iterable[WrittenSpec]) -> Iterator[Fault]:
    """Yield a fault for each variant whose results have the name of other results."""
    variants = [each for spec in specs for each in spec.list_variants()]
    counts = Counter(each.key for each in variants)
    for each in variants:
        if each.variant and counts[each.key] > 1:
            detail = (
                f"the results would have the same name, `{each.key}`, as those of another "
                "specification"
            )
            path = (*each.path, "variants", each.variant)
            yield Fault(path, "duplicate_key", detail, "rename the variant", at_key=True)


def find_unused_values(
    specs: Iterable[WrittenSpec], given: Mapping[str, GivenValue], tasks: Mapping[str, Entity]
) -> list[Issue]:
    """Warn about each value from the run or the command that variants override everywhere."""
    overriding: dict[str, str] = {}
    used: set[str] = set()
    for spec in specs:
        task = tasks.get(spec.text("task_key") or "")
        names = {parameter.key for parameter in task.parameters} if task is not None else set()
        for each in spec.list_variants():
            own = each.variant_values().keys()
            overriding |= dict.fromkeys(own, str(spec.data.get("key")))
            used |= names - own
    return [
        value.problem(
            Fault(
                (),
                "no_effect",
                f"the value of `{name}` has no effect, because every variant of "
                f"`{overriding[name]}` sets `{name}`",
                "remove it, or remove the parameter from a variant",
                level="warning",
            )
        )
        for name, value in given.items()
        if name in overriding and name not in used
    ]


def check_model_and_dataset(spec: WrittenSpec, task: TaskDocument) -> Iterator[Fault]:
    """Check that a specification sets only what its task accepts."""

    def conflict(name: str, why: str) -> Fault:
        detail = f"task `{task.key}` {why}: it does not accept `{name}`"
        return Fault((*spec.path, name), "conflict", detail, "remove it", at_key=True)

    for name in ("trials", "repeatability"):
        if spec.data.get(name) is not None and (why := why_not_repeatable(task)):
            yield conflict(name, why)
    names = [name for name in _SUBJECTS if spec.data.get(name) is not None]
    definition = task.definition
    if not isinstance(definition, BenchmarkTask):
        yield from (conflict(name, "is a system task") for name in names)
        return
    takes_dataset = any(parameter.key == "dataset_key" for parameter in task.config_spec)
    if "dataset_key" in names and definition.dataset is not None and not takes_dataset:
        yield conflict("dataset_key", "already specifies its dataset")
    for name in names if task.evaluates == "dataset" else ():
        if name != "dataset_key":
            detail = f"task `{task.key}` evaluates a dataset: its `{name}` is not used"
            yield Fault((*spec.path, name), "unused", detail, level="warning", at_key=True)


def why_not_repeatable(task: TaskDocument) -> str:
    """Return why a task cannot have several trials; empty if it can."""
    definition = task.definition
    if not isinstance(definition, BenchmarkTask):
        return "is a system task, which has no samples"
    if definition.solver is not None and definition.solver.postprocessor is not None:
        return "has a postprocessor, which may split a sample into several"
    return ""


def choose_sampling(
    specification: TaskSpecification | None,
    evaluation: EvaluationDocument | None,
    run_config: RunConfig,
) -> dict[str, Any]:
    """Return sampling fields of a `ResolvedSpec` from the specification, run or evaluation."""
    sources = [each for each in (specification, run_config, evaluation) if each is not None]
    debug = DEBUG_SAMPLES if evaluation is not None and evaluation.mode == "debug" else None
    counts = [each.num_samples for each in sources if each.num_samples is not None]
    policy = run_config.cache_policy or (evaluation.cache_policy if evaluation else None)
    trials = specification.trials if specification is not None else None
    run_trials = run_config.trials_config
    return {
        "num_samples": counts[0] if counts else debug,
        "subsampling": next(filter(None, (each.subsampling for each in sources)), "head"),
        "cache_policy": policy or "reuse",
        "trials": trials.num_trials if trials else None,
        "run_trials": run_trials.num_trials if run_trials else None,
    }


def sample_source(task: TaskDocument) -> Literal["dataset", "task_result"]:
    """Return the source of the task's rows."""
    definition = task.definition
    if isinstance(definition, BenchmarkTask) and definition.dataset is not None:
        return definition.dataset.source
    return "dataset"


def find_named_models(definition: BenchmarkTask) -> Iterator[tuple[FieldPath, str]]:
    """Yield the models in a task other than the evaluated model."""
    for path, text in find_parts(definition.solver, str, ("definition", "solver")):
        if path[-1] == "model_key":
            yield path, text
    for number, scorer in enumerate(definition.scorers):
        field = "judge_model_key" if hasattr(scorer, "judge_model_key") else "model_key"
        for key in scorer.model_keys:
            yield ("definition", "scorers", number, field), key


class Recording(Struct, frozen=True):
    """A result log, and the field that refers to it."""

    file: str
    """Path of the log, relative to the current folder."""
    path: FieldPath
    """Field in the evaluation that refers to the log."""


def find_recording(spec: WrittenSpec) -> Recording | None:
    """Return the result log of a specification; None if it has none."""
    file, path = spec.text(_LOG_FIELD), (*spec.path, _LOG_FIELD)
    if not file:
        return None
    return Recording(path_beside(spec.entity.part.place(path).file, file), path)


def warn_without_effect(spec: WrittenSpec) -> list[Fault]:
    """Warn about fields that matter only in a run, in a specification that is not run."""
    return [
        Fault(
            (*spec.path, name),
            "no_effect",
            f"`{name}` has no effect, because the result is read from `{_LOG_FIELD}`",
            "remove it",
            level="warning",
        )
        for name in ("trials", "repeatability", "models", "parameters", "variants")
        if spec.data.get(name) is not None
    ]


class ResolvedSpec(Struct, frozen=True, kw_only=True):
    """A fully resolved task to run."""

    key: str
    """Name of the results, unique in the run."""
    display_name: str
    task: TaskDocument
    """Task with the values of its parameters."""
    written: DocumentPart
    """Task as written by the author."""
    values: dict[str, Any]
    """Values of all parameters of the task."""
    given_values: Mapping[str, GivenValue] = {}
    """Values other than defaults, with their places."""
    model_keys: tuple[str, ...] = ()
    """Evaluated models; empty if no model is set or needed."""
    parameters: Mapping[str, Any] = {}
    """Generation parameters of the evaluated models."""
    variant: str = ""
    """Name of the variant, if the specification has variants."""
    written_key: str = ""
    """Key of the specification that has this variant."""
    dataset_keys: dict[str, str]
    """Datasets, by parameter if there are several, otherwise under `""`."""
    source: Literal["dataset", "task_result"] = "dataset"
    """`task_result`: the dataset key is the key of another specification."""
    num_samples: int | None = None
    """Number of samples to use; None for all."""
    subsampling: Subsampling = "head"
    cache_policy: CachePolicy = "reuse"
    trials: int | None = None
    """Number of trials per sample, if the specification sets it."""
    run_trials: int | None = None
    """Number of trials per sample, if the run sets it."""
    repeats: int = 1
    """Number of runs of the whole task."""
    evaluation_key: str | None = None
    earlier_run: str = ""
    """Run to repeat, if the evaluation is not in a file of the project."""
    recording: Recording | None = None
    """Log with the result, if the task is not run. In that case, `task` is a placeholder."""
    file: str = ""
    line: int = 0

    @property
    def names(self) -> set[str]:
        """Keys by which others can refer to the specification."""
        return {self.key, self.written_key} - {""}

    @property
    def needs_model(self) -> bool:
        """Whether the task cannot run without a model."""
        return needs_model(self.task)

    @property
    def num_trials(self) -> int:
        """Number of trials per sample."""
        definition = self.task.definition
        if not isinstance(definition, BenchmarkTask) or why_not_repeatable(self.task):
            return 1
        if self.trials is not None:
            return self.trials
        if definition.trials is not None:
            return self.run_trials or definition.trials.num_trials
        # The run's number of trials applies only to tasks that query a model.
        asks = self.needs_model or any(scorer.calls_model for scorer in definition.scorers)
        return self.run_trials or 1 if asks else 1

    @property
    def waits(self) -> bool:
        """Whether a parameter has only a placeholder value."""
        return any(value.value is UNKNOWN for value in self.given_values.values()) or any(
            parameter.needs_value and parameter.key not in self.given_values
            for parameter in self.task.config_spec
        )


def needs_model(task: TaskDocument) -> bool:
    """Whether a task calls a model: it evaluates a model, and answers are not recorded."""
    definition = task.definition
    return (
        isinstance(definition, BenchmarkTask)
        and definition.evaluated_entity_type == "model"
        and definition.solver is not None
        and definition.solver.type != "pass_through_solver"
    )


def resolve_recorded_spec(spec: WrittenSpec, task_key: str, recording: Recording) -> ResolvedSpec:
    """Return a specification with an existing result; its task is an empty placeholder."""
    name = spec.text("display_name") or task_key
    return ResolvedSpec(
        key=str(spec.data.get("key")),
        display_name=name,
        task=TaskDocument(
            key=task_key,
            display_name=name,
            description="",
            definition=BenchmarkTask(evaluated_entity_type="dataset"),
        ),
        written=spec.entity.part,
        values=get_mapping(spec.data, "task_config"),
        model_keys=tuple(filter(None, [spec.text("model_key")])),
        dataset_keys={},
        evaluation_key=spec.entity.key,
        recording=recording,
        file=spec.place.file,
        line=spec.place.line,
    )


def check_trial_counts(specs: Iterable[ResolvedSpec]) -> list[Issue]:
    """Return problems with the trials of specifications that have all values."""
    problems: dict[Issue, None] = {}
    for spec in specs:
        definition = spec.task.definition
        if spec.recording is None and not spec.waits and isinstance(definition, BenchmarkTask):
            faults = check_trial_count(definition, spec.num_trials, key=spec.key)
            problems.update(dict.fromkeys(spec.written.problems(faults)))
    return list(problems)
