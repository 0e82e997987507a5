"""`python_all_samples`: scores computed by a Python function for all samples at once.

    scorers:
      - type: python_all_samples
        compute_scores_snippet: !include uniqueness.py    # def compute_scores(samples): …
        metrics:
          - type: mean
            field: is_unique

The function returns a list with one entry per sample, in the same order. Use this scorer for scores
that depend on other samples, such as duplicates, ranks or shares. All samples are kept in memory,
so prefer `python` for large tasks. Without `metrics`, the report shows the mean of each numeric
score, marked as a default.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from evalwright.components import Snippet
from evalwright.ports import Snippets
from evalwright.scorers.base import ScorerSpec, parse_score, short
from evalwright.types import Score

Rows = Sequence[dict[str, Any]]


class PythonAllSamples(ScorerSpec):
    """Uses the return values of `compute_scores` as the scores, one per sample."""

    version: ClassVar[int] = 3

    type: Literal["python_all_samples"]
    compute_scores_snippet: Snippet
    """Python code that defines `compute_scores(samples)`. The function returns one entry per
    sample, in the same order: a dict of scores, or `{"scores": …, "metadata": …}`. With several
    datasets, `samples` is a dict of lists, and the result has one entry per row of the first
    dataset. In a task with a solver, a function with a second parameter receives the solver
    outputs."""

    async def score_all(
        self,
        samples: Rows | Mapping[str, Rows],
        solver_outputs: Rows | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        """Call the function once; return one score per sample, in order."""
        if snippets is None:
            raise ValueError(
                "a `python_all_samples` scorer needs snippets, but they are not available"
            )
        arguments: list[Any] = [samples]
        objects = [""]
        if solver_outputs is not None:
            arguments.append(solver_outputs)
            objects.append("SolverTraces")
        snippet = self.compute_scores_snippet
        function = snippet.function("compute_scores")
        returned = await snippets.call(function, arguments, objects=objects)
        with snippet.locate_errors("compute_scores"):
            rows = [*samples.values(), ()][0] if isinstance(samples, Mapping) else samples
            return _parse_scores(returned, expected=len(rows))


def _parse_scores(returned: Any, *, expected: int) -> list[Score]:
    if not isinstance(returned, list):
        raise ValueError(  # noqa: TRY004 - a wrong return value of the author's code
            "compute_scores must return a list with one entry per sample, "
            f"got `{type(returned).__name__}`: {short(returned)}"
        )
    if len(returned) != expected:
        raise ValueError(
            "compute_scores must return one entry per sample: "
            f"there are {expected} samples, but it returned {len(returned)}"
        )
    return [
        parse_score(entry, where=f"compute_scores, entry {index},")
        for index, entry in enumerate(returned)
    ]
