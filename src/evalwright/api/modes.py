"""How records are answered and where confidences are from: what a run keeps, what is refused.

The usual way leaves no trace in a manifest, so that runs from before there was a choice are the
same runs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import HERE, LOCAL
from evalwright.api.options import RunOptions
from evalwright.errors import UsageError
from evalwright.ports import weighs

if TYPE_CHECKING:
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model
    from evalwright.types import Run

MODES = {"mcq": "letter", "confidence": "logprobs"}
"""The options, and the usual way of each. Another way makes another plan of it."""
_MCQ = "mcq"


def modes_of(options: RunOptions) -> dict[str, str]:
    """For the manifest: only what is not as usual."""
    told = {name: getattr(options, name) for name in MODES}
    return {name: mode for name, mode in told.items() if mode != MODES[name]}


def with_modes_of(options: RunOptions, run: "Run") -> RunOptions:
    """The same options, with the modes of a run: its outputs are scored as they were asked for."""
    from msgspec import structs

    kept: dict[str, Any] = {name: run.manifest.get(name, usual) for name, usual in MODES.items()}
    return structs.replace(options, **kept)


def refuse_modes(options: RunOptions) -> None:
    """Of a project: its documents say how it is asked."""
    for name in modes_of(options):
        raise UsageError(
            f"`--{name}` is for task records", hint="the solver and scorers of a task say the same"
        )


def check_modes(plan: "Plan", clients: "Mapping[str, Model]", options: RunOptions) -> None:
    """Refuse what a model cannot do, before anything is asked of any."""
    if options.mcq == "loglikelihood" and any(job.group == _MCQ for job in plan.jobs()):
        for name, client in clients.items():
            if not weighs(client):
                raise UsageError(
                    f"{name} cannot weigh given answers: {_why(name)}",
                    hint="`--mcq letter`, or -m local/smollm2",
                )
    if options.confidence == "self":
        for name in clients:
            if name.partition("/")[0] == "replay":
                raise UsageError(
                    f"{name} cannot be asked about its answers: {_why(name)}",
                    hint="`--confidence logprobs` takes the log-probabilities in the file",
                )


def _why(name: str) -> str:
    if name.partition("/")[0] in LOCAL:
        return "it has recorded outputs, and makes none"
    if name.partition("/")[0] in HERE:
        return "it does not say how likely a text is"
    return "its API returns log-probabilities only of what it generates itself"
