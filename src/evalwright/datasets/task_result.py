"""`task_result`: the results of another task.

    source:
      type: task_result
      key: first-pass            # a task specification key, from this run or an earlier one

A row has `sample`, `sample_id`, `solver_output`, `scores` and `errors`. The conversation is in
`solver_output.output.trace.items`, and the raw model outputs are in
`solver_output.output.raw_outputs`. The keys of the last raw output, such as `choices`, are also in
`solver_output.output` itself.
"""

from typing import Literal

from evalwright.datasets.reading import Reader
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import UnknownName
from evalwright.nearest import suggest

COLUMNS = ("sample", "sample_id", "solver_output", "scores", "errors")


class TaskResultSource(SourceSpec):
    """The samples, outputs and scores of another task."""

    type: Literal["task_result"]
    key: str
    """Key of the task specification."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of the result; `UnknownName` if no task has this key."""
        results = surroundings.task_results
        if callable(results):
            return results(self.key)
        known = dict(results or {})
        if self.key not in known:
            raise UnknownName(
                f"no task with a result has the key `{self.key}`",
                hint=suggest(self.key, list(known)),
            )
        return known[self.key]

    def label(self) -> str:
        """Return a description of the source, for messages."""
        return f"the result of `{self.key}`"
