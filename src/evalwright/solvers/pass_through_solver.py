"""`pass_through_solver`: score conversations from the dataset.

    solver:
      type: pass_through_solver
      trace_column: conversation

No model is called. The column contains a trace: an object with the key `items`, or a list of items
or chat messages. Both may also be JSON strings. Scorers without a `value` judge the last assistant
message. If the trace is null, the sample fails with the text in the `error` column.
"""

from typing import Any, Literal

from evalwright.objects import SolverTrace, read_trace
from evalwright.ports import Case
from evalwright.solvers.base import MessageFormat, SolverSpec, canonical_json
from evalwright.solvers.conversation import Conversation
from evalwright.types import Sample, Trace


class PassThroughSolver(SolverSpec):
    """Reads the conversation from a column of the sample."""

    type: Literal["pass_through_solver"]
    trace_column: str
    """Column with the trace."""
    message_format: MessageFormat = "open_responses"
    """Has no effect: every solver output can be read in both formats."""

    @property
    def calls_model(self) -> bool:
        """Always false."""
        return False

    def describe_inputs(self, sample: Sample) -> str:
        """Return only the column, or the whole row if the column is missing."""
        data = sample.data
        if isinstance(data, dict) and self.trace_column in data:
            return canonical_json(data[self.trace_column])
        return super().describe_inputs(sample)

    async def solve(self, case: Case) -> Trace:
        """Read the column."""
        return Conversation(case).trace(
            read_trace_column(case.sample.data, self.trace_column).to_json()
        )


def read_trace_column(row: Any, column: str) -> SolverTrace:
    """Parse the trace in a column of a row."""
    if column not in row:
        columns = ", ".join(f"`{name}`" for name in row) or "none"
        raise ValueError(f"the sample has no column `{column}`; its columns are: {columns}")
    if row[column] is None:
        why = row.get("error")
        raise ValueError(f"column `{column}` contains no trace" + (f": {why}" if why else ""))
    try:
        return read_trace(row[column])
    except ValueError as error:
        raise ValueError(f"column `{column}`: {error}") from error
