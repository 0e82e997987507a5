"""Usage of models in one job besides the answer.

These are the models that a task names itself, and the evaluated one if a scorer queries it again.
The answer's own usage is in its trace.
"""

from collections.abc import Mapping

from evalwright.engine.models.base import ModelWrapper
from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.types import Completion, Outcome, Request, Usage


class UsageCounter:
    """Counts usage for one job; `usage` is by the plan's names of the models."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}

    def wrap(self, model: Model, name: str) -> Model:
        """Return the model with its usage counted."""
        return _UsageCountingModel(model, name, self.usage)


class _UsageCountingModel(ModelWrapper):
    def __init__(self, model: Model, name: str, usage: dict[str, Usage]) -> None:
        super().__init__(model)
        self._name, self._usage = name, usage

    async def complete(self, request: Request) -> Completion:
        """Answer, and count the usage; a failed call counts its attempts, at no cost."""
        try:
            completion = await self._ask(request)
        except ModelError as error:
            add_usage(self._usage, {self._name: Usage(requests=error.attempts, cost=0.0)})
            raise
        add_usage(self._usage, {self._name: completion.usage})
        return completion


def split_usage(outcome: Outcome) -> tuple[dict[str, Usage], dict[str, Usage]]:
    """Return usage for answers without a trace, and usage besides the answer.

    A failed solver leaves no trace; then its usage of the evaluated model is in `others`.
    """
    if outcome.trace is not None or outcome.model not in outcome.others:
        return {}, outcome.others
    others = dict(outcome.others)
    return {outcome.model: others.pop(outcome.model)}, others


def add_usage(into: dict[str, Usage], more: Mapping[str, Usage]) -> None:
    """Add the usage of another job."""
    for name, usage in more.items():
        into[name] = into[name] + usage if name in into else usage
