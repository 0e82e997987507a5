"""An evaluation of an earlier run, as a repeatability reads it from the store.

    inputs: [{ evaluation_key: weekly }]       a file of the project has `weekly`, or else
    EarlierEvaluation(key="weekly", run_id="…", specifications=[{"key": "capitals", …}])

The store knows which tasks ran, with which values, models and number of samples. The documents of
these tasks, and of their datasets and models, come from the files of the project.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, quote_names

_SEVERAL_MODELS = "models"


class EarlierEvaluation(NamedTuple):
    """What the store has of an evaluation."""

    key: str
    store: str
    """The store that was searched."""
    run_id: str = ""
    """The newest finished run of the evaluation; empty if there is none."""
    specifications: tuple[dict[str, Any], ...] = ()
    """Task specifications as an evaluation has them; one that ran several models has `models`."""
    unfinished: str = ""
    """If there is none: the newest run of it that did not finish."""
    known: tuple[str, ...] = ()
    """The keys of all evaluations in the store."""

    @property
    def has_several_models(self) -> bool:
        """Whether a specification ran several models."""
        return any(_SEVERAL_MODELS in each for each in self.specifications)


FindEarlier = Callable[[str], EarlierEvaluation]
"""Finds an evaluation in the store by its key."""


def build_earlier_evaluation(earlier: EarlierEvaluation) -> dict[str, Any]:
    """Return the evaluation as the data of a document."""
    specifications = [
        {name: value for name, value in each.items() if name != _SEVERAL_MODELS}
        for each in earlier.specifications
    ]
    return {
        "key": earlier.key,
        "display_name": earlier.key,
        "description": f"As run {earlier.run_id} ran it.",
        "task_specifications": specifications,
    }


def check_earlier_models(
    earlier: EarlierEvaluation, wanted: str | None, path: FieldPath
) -> Iterator[Fault]:
    """Report specifications that ran several models, of which a repeatability can have one."""
    for each in earlier.specifications:
        models = each.get(_SEVERAL_MODELS)
        if models and wanted in {None, each["key"]}:
            detail = (
                f"run {earlier.run_id} of evaluation `{earlier.key}` ran `{each['key']}` with "
                f"several models: {quote_names(models)}"
            )
            yield Fault(path, "conflict", detail, "name the models to repeat with `-m`")


def explain_unknown(fault: Fault, earlier: EarlierEvaluation, in_files: list[str]) -> Fault:
    """Say where an evaluation was looked for; `fault` says that no file has it."""
    key = earlier.key
    if earlier.unfinished:
        detail = (
            f"no file of the project has the evaluation `{key}`, and in {earlier.store} only "
            f"{earlier.unfinished} has it, which is not finished"
        )
        return fault._replace(detail=detail, hint="resume that run, then repeat it")
    detail = (
        f"no file of the project has the evaluation `{key}`, nor does any finished run in "
        f"{earlier.store}"
    )
    hint = (
        did_you_mean(key, [*in_files, *earlier.known])
        or "run that evaluation first, or add its file to the project"
    )
    return fault._replace(detail=detail, hint=hint)
