"""How often the samples of a project are tried, when the command line has spoken too."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

if TYPE_CHECKING:
    from evalwright.spec.documents.specs import ResolvedSpec


def with_trials(specs: "Sequence[ResolvedSpec]", trials: int | None) -> "list[ResolvedSpec]":
    """As the command line says it, if it does, whatever the documents say."""
    if trials is None:
        return list(specs)
    return [structs.replace(one, trials=one.trials and trials, run_trials=trials) for one in specs]


def tried_once(specs: "Sequence[ResolvedSpec]", trials: int | None) -> Iterator[str]:
    """A sentence for each task whose samples are tried once, though the run says otherwise.

    `trials` is what the command line says. What a run file says is for tasks that ask a model:
    that it is not for others, is no news.
    """
    from evalwright.spec.documents.asked import cannot_repeat

    for spec in specs:
        if spec.recording is not None or spec.num_trials > 1 or (spec.run_trials or 1) == 1:
            continue
        why = cannot_repeat(spec.task)
        if trials is None and (not why or spec.task.evaluates != "model"):
            continue
        yield f"{spec.key}: tried once: the task {why or 'asks no model'}"
