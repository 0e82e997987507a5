"""Evaluations of earlier runs, which a repeatability specification reads from the store.

    inputs: [{ evaluation_key: weekly }]       if no file of the project has `weekly`:
    EarlierEvaluation(key="weekly", run_id="…", specifications=[{"key": "capitals", …}])

The store contains the tasks of a run with their values, models and numbers of samples. The
documents of these tasks, their datasets and models come from the files of the project.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from evalwright.spec.documents.yaml.problems import Fault, did_you_mean


class EarlierEvaluation(NamedTuple):
    """An evaluation in the store."""

    key: str
    store: str
    """Store that was searched."""
    run_id: str = ""
    """Newest finished run of the evaluation; empty if there is none."""
    specifications: tuple[dict[str, Any], ...] = ()
    """Task specifications as in an evaluation."""
    unfinished: str = ""
    """Newest unfinished run, if there is no finished run."""
    known: tuple[str, ...] = ()
    """Keys of all evaluations in the store."""


FindEarlier = Callable[[str], EarlierEvaluation]
"""Finds an evaluation in the store by its key."""


def build_earlier_evaluation(earlier: EarlierEvaluation) -> dict[str, Any]:
    """Return the evaluation as the data of a document."""
    return {
        "key": earlier.key,
        "display_name": earlier.key,
        "description": f"The evaluation of run {earlier.run_id}.",
        "task_specifications": list(earlier.specifications),
    }


def explain_unknown(fault: Fault, earlier: EarlierEvaluation, in_files: list[str]) -> Fault:
    """Add the store that was searched to a `fault` about an unknown evaluation."""
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
