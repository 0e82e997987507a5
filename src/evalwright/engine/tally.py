"""What one job took of models beside its answer.

Those are the models that a task names itself, and the evaluated one where a scorer asks it again.
The answer's own usage is in its trace.
"""

from collections.abc import Mapping

from evalwright.engine.models.around import Around
from evalwright.ports import Model
from evalwright.types import Completion, Outcome, Request, Usage


class Tally:
    """Counts for one job; `usage` is by the crew's names of the models."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}

    def around(self, model: Model, name: str) -> Model:
        """The same model, counted."""
        return _Counted(model, name, self.usage)


class _Counted(Around):
    def __init__(self, model: Model, name: str, usage: dict[str, Usage]) -> None:
        super().__init__(model)
        self._name, self._usage = name, usage

    async def complete(self, request: Request) -> Completion:
        """Answer, and count it."""
        completion = await self._ask(request)
        before = self._usage.get(self._name)
        self._usage[self._name] = total([before, completion.usage]) if before else completion.usage
        return completion


def told_apart(outcome: Outcome) -> tuple[dict[str, Usage], dict[str, Usage]]:
    """What an answer took that no trace tells of, and what was asked beside the answer.

    A solver that broke has left no trace; then what it took of the evaluated model is in `others`.
    """
    if outcome.trace is not None or outcome.model not in outcome.others:
        return {}, outcome.others
    others = dict(outcome.others)
    return {outcome.model: others.pop(outcome.model)}, others


def total(usages: "list[Usage]") -> Usage:
    """Their sum; a cost that is not known makes the sum unknown."""
    costs = [one.cost for one in usages]
    return Usage(
        requests=sum(one.requests for one in usages),
        prompt_tokens=sum(one.prompt_tokens for one in usages),
        completion_tokens=sum(one.completion_tokens for one in usages),
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def merge(into: dict[str, Usage], more: Mapping[str, Usage]) -> None:
    """Add what another job took."""
    for name, usage in more.items():
        into[name] = total([into[name], usage]) if name in into else usage
