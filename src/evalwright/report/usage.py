"""What models were asked for, model by model: for their answers, and beside them.

`usage` of a report is of the answers that are evaluated. `asked_beside` is what scorers and solvers
asked of any model, the evaluated one too: judges, embeddings, the other voice of a conversation.
A score that an earlier run has paid for is not counted again: nothing was asked for it now.
"""

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from evalwright.engine.finish import Finished
from evalwright.engine.tally import told_apart
from evalwright.report.report import UsageRow
from evalwright.types import Outcome, Row, Usage


class Spent(Struct):
    """What one model was asked for."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: list[float] = field(default_factory=list)
    is_cost_known: bool = True

    def add(self, more: Row | Usage) -> None:
        """One answer, or several."""
        self.requests += more.requests
        self.prompt_tokens += more.prompt_tokens
        self.completion_tokens += more.completion_tokens
        asked = more.requests or more.prompt_tokens or more.completion_tokens
        if asked and more.cost is None:
            self.is_cost_known = False
        elif more.cost:
            self.costs.append(more.cost)

    def row(self) -> UsageRow:
        """As a report has it; a cost of which a part is not known is not known."""
        return UsageRow(
            requests=self.requests,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            total_tokens=self.prompt_tokens + self.completion_tokens,
            cost=math.fsum(self.costs) if self.is_cost_known else None,
        )


class Account(Struct):
    """Of all models of a run."""

    answers: dict[str, Spent] = field(default_factory=dict)
    beside: dict[str, Spent] = field(default_factory=dict)

    def answered(self, row: Row) -> None:
        """An answer that came."""
        self.answers.setdefault(row.model, Spent()).add(row)

    def ended(self, finished: Finished) -> None:
        """What the samples of a task have taken beside what their rows say."""
        _add(self.answers, finished.unanswered)
        _add(self.beside, finished.others)

    def landed(self, outcomes: Iterable[Outcome]) -> None:
        """The same, of samples of tasks that have not come to their end."""
        for one in outcomes:
            unanswered, others = told_apart(one)
            _add(self.answers, unanswered)
            _add(self.beside, others)


def _add(to: dict[str, Spent], usages: Mapping[str, Usage]) -> None:
    for model, usage in usages.items():
        to.setdefault(model, Spent()).add(usage)


def usage_rows(spent: Mapping[str, Spent]) -> dict[str, UsageRow]:
    """By the names of the models."""
    return {model: one.row() for model, one in spent.items() if model}
