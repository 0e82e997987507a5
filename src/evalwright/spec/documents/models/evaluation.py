"""An evaluation: the tasks to run, with their parameters, models and datasets.

    key: release-check
    display_name: "Release check"
    config_spec:
      - { type: model, key: model, display_name: "Model under test" }
    task_specifications:
      - task_key: capital-cities
        model_key: "<< config.model >>"
        task_config: { style: "short" }
        num_samples: 200
      - task_key: capital-cities
        models: [openai/gpt-4.1-mini, openai/gpt-4.1-nano]
        parameters: { temperature: 0 }
        variants:
          short: { style: "short" }
          polite: { style: "polite" }

The second specification is a matrix: each variant is run with each model, on the same samples. The
results are named `capital-cities-short` and `capital-cities-polite`.

The old syntax has no `config_spec`. It names models and datasets directly and sets the number of
samples itself. You can mix the old and the new syntax.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from evalwright.components import Component, Title, UserKey
from evalwright.spec.documents.models.model import GenerationParameters
from evalwright.spec.documents.models.parameters import AnyParameter
from evalwright.spec.documents.models.trials import RepeatabilityConfig, TrialsNumber
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, find_duplicate_keys

Subsampling = Literal["head", "random"]
CachePolicy = Literal["reuse", "update", "no-cache"]
SampleCount = Annotated[int, Field(ge=1, strict=True)]
AnyOrNames = Literal["any"] | list[str]

DEBUG_SAMPLES = 10
"""Number of samples with `mode: debug`."""


class TaskSpecification(Component):
    """One task in an evaluation, with values for its parameters."""

    type: Literal["standard"] = "standard"
    """Kind of specification."""
    key: UserKey | None = None
    """Key of the results. Default: the task's key, with a number if it is used more than once."""
    task_key: UserKey
    """Key of the task."""
    display_name: str | None = None
    """Display name. Default: the task's display name."""
    task_config: dict[str, Any] = Field(default_factory=dict)
    """Values for the task's parameters, by key."""
    model_key: Title | None = None
    """Model to evaluate: the key of a model in the project, or `provider/model`."""
    models: list[Title] | None = Field(default=None, min_length=1)
    """Models to evaluate and to compare with each other, instead of `model_key`."""
    parameters: GenerationParameters = Field(default_factory=dict)
    """Generation parameters of the evaluated models, such as `{ temperature: 0 }`. They override
    those in model documents and provider entries, and `-p`."""
    variants: dict[UserKey, dict[str, Any]] | None = Field(default=None, min_length=1)
    """Named sets of values for the task's parameters. The task is run once with each set, and the
    name is appended to the key of the results. A variant overrides `task_config`, `config` and
    `--set`."""
    dataset_key: Title | None = None
    """Dataset to evaluate, for a task that does not name one."""
    num_samples: SampleCount | None = None
    """Number of samples. Default: the number set by the evaluation or the run, otherwise all
    samples."""
    subsampling: Subsampling | None = None
    """Samples to use: the first samples, or a random selection with a fixed seed."""
    trials: TrialsNumber | None = None
    """Number of trials per sample. Overrides the task and the run."""
    repeatability: RepeatabilityConfig | None = None
    """Runs the specification several times and reports how well the runs agree."""
    task_result_log_path: Title | None = None
    """Path of a result log, relative to this document. The result is read from the log, and the
    specification is not run, so the project needs neither the task nor a model."""


class RepeatedInput(Component):
    """Task specifications that a repeatability specification runs."""

    evaluation_key: UserKey
    """Key of an evaluation in the project, possibly of this one."""
    task_specification_key: UserKey | None = None
    """Key of one of its task specifications. Default: all task specifications."""


class RepeatabilitySpecification(Component):
    """Runs task specifications of an evaluation several times."""

    type: Literal["repeatability"]
    """Kind of specification."""
    key: UserKey
    """Key of the results. With several inputs, it is a prefix of their keys."""
    display_name: str | None = None
    """Display name. Default: the task's display name."""
    repeatability_config: RepeatabilityConfig | None = None
    """Number of runs."""
    config: RepeatabilityConfig | None = None
    """Alias of `repeatability_config`."""
    num_samples: SampleCount | None = None
    """Number of samples. Default: the number in the repeated specification."""
    subsampling: Subsampling | None = None
    """Samples to use: the first samples, or a random selection with a fixed seed."""
    inputs: list[RepeatedInput] = Field(min_length=1)
    """Task specifications to run."""

    @property
    def num_runs(self) -> int:
        """Number of runs."""
        config = self.repeatability_config or self.config
        return config.num_runs if config else 1


AnySpecification = Annotated[
    TaskSpecification | RepeatabilitySpecification, Field(discriminator="type")
]


class EvaluationDocument(Component):
    """An evaluation: tasks to run together."""

    key: UserKey
    """Key of the evaluation."""
    display_name: Title
    """Display name."""
    description: str = ""
    """Description in one sentence."""
    long_description: str | None = None
    """Long description in Markdown."""
    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Parameters. In a specification, `<< config.NAME >>` is replaced by the value of a
    parameter."""
    task_specifications: list[AnySpecification]
    """Task specifications to run."""
    num_samples: SampleCount | None = None
    """Number of samples per task. A task specification can override it."""
    subsampling: Subsampling | None = None
    """Samples to use. A task specification can override it."""
    cache_policy: CachePolicy | None = None
    """Whether to `reuse` stored results (default), `update` them, or ignore them (`no-cache`)."""
    mode: Literal["debug", "full"] | None = None
    """Deprecated: `debug` uses 10 samples."""
    tags: list[str] = Field(default_factory=list)
    """Tags for searching."""
    use_cases: AnyOrNames | None = None
    """Intended use cases. Not used."""
    domains: AnyOrNames | None = None
    """Subject areas. Not used."""
    providers: AnyOrNames | None = None
    """Intended model providers. Not used."""


class RunConfig(Component):
    """Settings of a run."""

    num_samples: SampleCount | None = None
    """Number of samples per task. A task specification can override it."""
    subsampling: Subsampling | None = None
    """Samples to use. A task specification can override it."""
    cache_policy: CachePolicy | None = None
    """Whether to `reuse` stored results (default), `update` them, or ignore them (`no-cache`)."""
    trials_config: TrialsNumber | None = None
    """Number of trials per sample for every task that calls a model. A task specification can
    override it."""


def complete_evaluation(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Return the data with defaults, and conflicts between fields."""
    faults: list[Fault] = []
    if "config_spec" in data and "description" not in data:
        detail = "`description` is missing; an empty string is used"
        faults.append(Fault(("description",), "missing_description", detail, level="warning"))
    specifications = data.get("task_specifications")
    if not isinstance(specifications, list):
        return data, faults
    faults += find_duplicate_keys(specifications, ("task_specifications",), "specification")
    completed = list(specifications)
    for number, specification in enumerate(specifications):
        if isinstance(specification, dict):
            completed[number] = {"type": "standard", **specification}
            faults += _check_models(specification, ("task_specifications", number))
            if specification.get("type") == "repeatability":
                faults += _check_num_runs(specification, ("task_specifications", number))
    return {**data, "task_specifications": completed}, faults


def _check_models(specification: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    """Check that a specification names its models once, and in one place."""
    models = specification.get("models")
    if models is not None and specification.get("model_key") is not None:
        detail = "expected one of `model_key` and `models`, got both"
        yield Fault((*path, "model_key"), "conflict", detail, "add it to `models`", at_key=True)
    first: dict[str, int] = {}
    for number, model in enumerate(models if isinstance(models, list) else ()):
        if isinstance(model, str) and first.setdefault(model, number) != number:
            detail = f"the model `{model}` is already in this list"
            yield Fault((*path, "models", number), "duplicate_model", detail, "remove it")


def _check_num_runs(specification: dict[str, Any], path: FieldPath) -> Iterator[Fault]:
    """Check that a repeatability specification sets the number of runs exactly once."""
    named = [
        name for name in ("repeatability_config", "config") if specification.get(name) is not None
    ]
    if not named:
        detail = "`repeatability_config` is missing"
        hint = "for example, `repeatability_config: { num_runs: 5 }`"
        yield Fault((*path, "repeatability_config"), "missing_key", detail, hint)
    elif len(named) > 1:
        detail = "expected one of `repeatability_config` and `config`, got both"
        yield Fault((*path, "config"), "conflict", detail, at_key=True)
