"""Answer multiple choice by likelihood: `--mcq loglikelihood` for a task document.

The model is sent what the task's `single_turn_solver` sends. In place of generating, it says how
likely it finds each label that the sample offers, and the likeliest is the assistant's message.

Does not:   weigh the text of a choice, or anything else than its label.
"""

from collections.abc import Callable

from evalwright.ports import Case
from evalwright.solvers.single_turn_solver import SingleTurnSolver
from evalwright.types import Sample, Trace


class ChoiceSolver:
    """A `single_turn_solver` whose answers are chosen."""

    model_keys: tuple[str, ...] = ()

    def __init__(
        self, solver: SingleTurnSolver, labels: Callable[[Sample], tuple[str, ...]]
    ) -> None:
        """`labels` raises ValueError where no choice could be right."""
        self._solver, self._labels = solver, labels
        self.name, self.version = solver.name, solver.version

    def weighs_options(self, sample: Sample) -> bool:
        """Every sample is answered by the likeliest of its options."""
        del sample
        return True

    def describe_inputs(self, sample: Sample) -> str:
        """The labels, and what is sent."""
        return "\n".join(
            ("loglikelihood", " ".join(self._labels(sample)), self._solver.describe_inputs(sample))
        )

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """The stored choice, if it can be right."""
        self._labels(sample)
        return trace

    async def solve(self, case: Case) -> Trace:
        """One call of the model."""
        return await self._solver.ask_once(case, self._labels(case.sample))
