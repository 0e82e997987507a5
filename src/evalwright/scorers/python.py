"""`python`: scores computed by a Python function, one sample at a time.

    scorers:
      - type: python
        compute_scores_snippet: |
          def compute_scores(sample, solver_output):
              return {"is_short": len(solver_output.output) < 100}
        metrics:
          - type: mean
            field: is_short

In a task without a solver, the function is `compute_scores(sample)`. It may be an `async def`
function, and it runs in a separate process. If it raises an exception, the sample fails and gets no
score from this scorer. Without `metrics`, the report shows the mean of each numeric score, marked
as a default.
"""

from typing import ClassVar, Literal

from evalwright.components import Snippet
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, parse_score
from evalwright.types import Score


class PythonScorer(ScorerSpec):
    """Uses the return value of `compute_scores` as the scores."""

    version: ClassVar[int] = 3

    type: Literal["python"]
    compute_scores_snippet: Snippet
    """Python code that defines `compute_scores(sample, solver_output)`, or `compute_scores(sample)`
    in a task without a solver. The function returns a dict of scores, `{"scores": …, "metadata":
    …}` or a `SampleScore`. Metadata is stored with the scores but not used by metrics."""

    async def score(self, case: Case) -> Score:
        """Call the function."""
        if case.snippets is None:
            raise ValueError(
                "a `python` scorer needs snippets, but they are not available in this run"
            )
        arguments, objects = [case.sample.data], [""]
        if case.answer is not None:
            arguments.append(case.answer.conversation)
            objects.append("SolverTrace")
        snippet = self.compute_scores_snippet
        function = snippet.function("compute_scores")
        returned = await case.snippets.call(function, arguments, objects=objects)
        with snippet.locate_errors("compute_scores"):
            return parse_score(returned)
