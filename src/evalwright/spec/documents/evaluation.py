"""An evaluation: which tasks are run, with which values, on which models and datasets.

    key: release-check
    display_name: "Release check"
    config_spec:
      - { type: model, key: model, display_name: "Model under test" }
    task_specifications:
      - task_key: capital-cities
        model_key: "<< config.model >>"
        task_config: { style: "short" }
        num_samples: 200

The older form has no `config_spec`, names its models and datasets outright, and says itself how
many samples to take. Both forms may be mixed.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from evalwright.components import Component, Title, UserKey
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.parameters import AnyParameter
from evalwright.spec.documents.problems import Path

Subsampling = Literal["head", "random"]
CachePolicy = Literal["reuse", "update", "no-cache"]
SampleCount = Annotated[int, Field(ge=1, strict=True)]
Any_ = Literal["any"] | list[str]

DEBUG_SAMPLES = 10
"""How many samples `mode: debug` takes."""


class TaskSpecification(Component):
    """One task of an evaluation, with its values."""

    type: Literal["standard"] = "standard"
    """The kind of specification."""

    key: UserKey | None = None
    """The name of its results. Without it: the task's key, with a number where it repeats."""

    task_key: UserKey
    """The task."""

    display_name: str | None = None
    """The name that is shown; without it, the task's."""

    task_config: dict[str, Any] = Field(default_factory=dict)
    """The values of the task's parameters, by their keys."""

    model_key: Title | None = None
    """The model that is evaluated: a key of the project, or `provider/model`."""

    dataset_key: Title | None = None
    """The dataset that is evaluated, by a task that does not name one itself."""

    num_samples: SampleCount | None = None
    """How many samples to take; without it, as many as the evaluation or the run says, or all."""

    subsampling: Subsampling | None = None
    """Which ones: the first, or some drawn with a fixed seed."""


class EvaluationDocument(Component):
    """Tasks to run together."""

    key: UserKey
    """The name of the evaluation."""

    display_name: Title
    """The name that is shown."""

    description: str = ""
    """What it is for, in a sentence."""

    long_description: str | None = None
    """The same at length, in Markdown."""

    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Its parameters; `<< config.NAME >>` in a specification stands for the value of one."""

    task_specifications: list[TaskSpecification]
    """What is run."""

    num_samples: SampleCount | None = None
    """How many samples of each task to take, where its specification does not say."""

    subsampling: Subsampling | None = None
    """Which ones, where the specification does not say."""

    cache_policy: CachePolicy | None = None
    """`reuse` what the store has (so it is without this), `update` it, or use `no-cache`."""

    mode: Literal["debug", "full"] | None = None
    """Deprecated: `debug` takes 10 samples."""

    tags: list[str] = Field(default_factory=list)
    """Words to find it by."""

    use_cases: Any_ | None = None
    """For whom it is meant; not used here."""

    domains: Any_ | None = None
    """Which field it is about; not used here."""

    providers: Any_ | None = None
    """Whose models it is meant for; not used here."""


class RunConfig(Component):
    """How a run goes about an evaluation."""

    num_samples: SampleCount | None = None
    """How many samples of each task to take, where its specification does not say."""

    subsampling: Subsampling | None = None
    """Which ones, where the specification does not say."""

    cache_policy: CachePolicy | None = None
    """`reuse` what the store has (so it is without this), `update` it, or use `no-cache`."""


def evaluation_rules(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The data without what is not supported yet, and what must hold between its fields."""
    faults: list[Fault] = []
    if "config_spec" in data and "description" not in data:
        detail = "`description` is missing; it is taken as empty"
        faults.append(Fault(("description",), "missing_description", detail, level="warning"))
    specifications = data.get("task_specifications")
    if not isinstance(specifications, list):
        return data, faults
    kept = list(specifications)
    taken: dict[str, int] = {}
    for number, one in enumerate(specifications):
        if isinstance(one, dict):
            path: Path = ("task_specifications", number)
            faults += _later(one, path)
            faults += _taken(one, path, taken)
            kept[number] = {key: one[key] for key in one if key not in _LATER}
            if one.get("type") == "repeatability":
                what = "a specification of the type `repeatability`"
                faults.append(_unsupported(path, what))
    return {**data, "task_specifications": kept}, faults


def run_config_rules(data: Any, path: Path) -> tuple[Any, list[Fault]]:
    """The same for `run_config`."""
    if not isinstance(data, dict) or "trials_config" not in data:
        return data, []
    fault = _unsupported((*path, "trials_config"), "`trials_config`")
    return {key: data[key] for key in data if key != "trials_config"}, [fault]


_LATER = ("trials", "repeatability", "task_result_log_path")


def _later(one: dict[str, Any], path: Path) -> Iterator[Fault]:
    for key in _LATER:
        if one.get(key) is not None:
            yield _unsupported((*path, key), f"`{key}`")


def _unsupported(path: Path, what: str) -> Fault:
    detail = f"{what} is not supported by this version"
    return Fault(path, "unsupported", detail, at_key=True)


def _taken(one: dict[str, Any], path: Path, taken: dict[str, int]) -> Iterator[Fault]:
    """A key that another specification has."""
    key, number = one.get("key"), path[-1]
    if isinstance(key, str) and isinstance(number, int) and taken.setdefault(key, number) != number:
        detail = f"the key `{key}` is taken by specification {taken[key] + 1} of this list"
        yield Fault((*path, "key"), "duplicate_key", detail)
