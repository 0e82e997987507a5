"""`--mcq` and `--confidence`: which models can do what is asked."""

from collections.abc import Mapping

from evalwright.errors import UsageError
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Plan, TaskPlan
from evalwright.ports import Model, weighs
from evalwright.scorers.self_report import SelfReport
from evalwright.session.models import LOCAL_PROVIDERS, SAMPLE_READERS


def check_modes(plan: Plan, clients: Mapping[str, Model], options: RunOptions) -> None:
    """Refuse what a model cannot do, before any model is called."""
    if options.mcq == "loglikelihood":
        asked = {
            name for task in plan.tasks if _weighs_options(task) for name in task.outline.models
        }
        for name, client in clients.items():
            if name in asked and not weighs(client):
                raise UsageError(
                    f"{name} cannot compute the likelihood of given answers: {_reason(name)}",
                    hint="`--mcq letter`, or -m local/smollm2",
                )
    if options.confidence == "self":
        asked = {
            name for task in plan.tasks if _asks_confidence(task) for name in task.outline.models
        }
        for name in clients:
            if name in asked and name.partition("/")[0] == "replay":
                raise UsageError(
                    f"{name} cannot be asked for its confidence: {_reason(name)}",
                    hint="`--confidence logprobs` uses the log-probabilities in the file",
                )


def _weighs_options(task: TaskPlan) -> bool:
    """Whether the solver computes the likelihood of options instead of generating an answer."""
    weighs_options = getattr(task.runtime.solver, "weighs_options", None)
    if weighs_options is None or task.recorded:
        return False
    if task.outline.after:  # its samples are results of this run, which are not there yet
        return task.outline.records > 0
    return any(weighs_options(planned.sample) for planned in task.samples.planned_samples())


def _asks_confidence(task: TaskPlan) -> bool:
    return any(isinstance(scorer, SelfReport) for scorer in task.runtime.scorers.values())


def _reason(name: str) -> str:
    if name.partition("/")[0] in SAMPLE_READERS:
        return "it replays recorded outputs and generates none"
    if name.partition("/")[0] in LOCAL_PROVIDERS:
        return "it does not return likelihoods"
    return "its API returns log-probabilities only for text that it generates"
