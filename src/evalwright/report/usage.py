"""What models were asked for, model by model: for their answers, and beside them.

`usage` of a report is of the answers that are evaluated. `asked_beside` is what scorers and solvers
asked of any model, the evaluated one too: judges, embeddings, the other voice of a conversation.
A score that an earlier run has paid for is not counted again: nothing was asked for it now.
"""

import math
from array import array
from collections.abc import Mapping

from msgspec import Struct, field

from evalwright.engine.results import FinalResult
from evalwright.engine.usage import split_usage
from evalwright.report.report import UsageRow
from evalwright.types import Outcome, Row, Usage


class UsageTotal(Struct):
    """What one model was asked for."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: "array[float]" = field(default_factory=lambda: array("d"))
    is_cost_known: bool = True

    def add(self, usage: Row | Usage) -> None:
        """Add one answer, or several."""
        self.requests += usage.requests
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        asked = usage.requests or usage.prompt_tokens or usage.completion_tokens
        if asked and usage.cost is None:
            self.is_cost_known = False
        elif usage.cost:
            self.costs.append(usage.cost)

    def row(self) -> UsageRow:
        """Return the sums; a cost that is unknown in part is unknown."""
        return UsageRow(
            requests=self.requests,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            total_tokens=self.prompt_tokens + self.completion_tokens,
            cost=math.fsum(self.costs) if self.is_cost_known else None,
        )


class Account(Struct):
    """What all models of a run were asked for."""

    answers: dict[str, UsageTotal] = field(default_factory=dict)
    beside: dict[str, UsageTotal] = field(default_factory=dict)

    def add_answer(self, model: str, usage: Row | Usage) -> None:
        """Add an answer that arrived."""
        if model not in self.answers:
            self.answers[model] = UsageTotal()
        self.answers[model].add(usage)

    def add_result(self, result: FinalResult) -> None:
        """Add what the samples of a task took that their rows do not say."""
        _add_all(self.answers, result.unanswered)
        _add_all(self.beside, result.others)

    def add_outcome(self, outcome: Outcome) -> None:
        """Add the same of a sample that no final result covers."""
        unanswered, others = split_usage(outcome)
        _add_all(self.answers, unanswered)
        _add_all(self.beside, others)


def _add_all(accounts: dict[str, UsageTotal], usages: Mapping[str, Usage]) -> None:
    for model, usage in usages.items():
        accounts.setdefault(model, UsageTotal()).add(usage)


def usage_rows(accounts: Mapping[str, UsageTotal]) -> dict[str, UsageRow]:
    """Return a row per model that has a name."""
    return {model: spent.row() for model, spent in accounts.items() if model}
