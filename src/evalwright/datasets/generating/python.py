"""`python`: whatever the author's own function makes of a row.

    synthesizers:
      - type: python
        synthesize_snippet: |
          def synthesize(sample, index):
              words = sample["text"].split()
              return [{"word": word} for word in words if len(word) > 3]

The function is `synthesize(sample)` or `synthesize(sample, index)`, may be `async def`, and runs
apart from the engine. It returns a dict, or a list of them: several rows of one, or none. What it
returns is laid over the row: columns that it does not name stay (`drop_columns` takes them away).
"""

from typing import Any, Literal

from evalwright.components import Snippet
from evalwright.datasets.generating.base import Columns, Row, SynthesizerSpec, merged
from evalwright.ports import Case

_NAME = "synthesize"


class PythonSynthesizer(SynthesizerSpec):
    """Makes of a row whatever `synthesize` returns."""

    type: Literal["python"]
    """The kind of synthesizer."""
    synthesize_snippet: Snippet
    """Python that defines `synthesize(sample, index)`, or `synthesize(sample)`. It returns a dict
    of columns, or a list of such: a row for each."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Call the function."""
        if case.snippets is None:
            raise ValueError("a `python` synthesizer needs snippets, and there are none here")
        snippet, row = self.synthesize_snippet, case.sample.data
        arguments = [row, int(case.sample.id)]
        returned = await case.snippets.call(snippet.function(_NAME), arguments)
        with snippet.blamed(_NAME):
            return [merged(row, one) for one in _rows(returned)]

    def after(self, columns: Columns) -> Columns:
        """Only its rows will show."""
        del columns
        return None


def _rows(returned: Any) -> list[Row]:
    rows = returned if isinstance(returned, list) else [returned]
    for one in rows:
        if not isinstance(one, dict):
            kind = type(one).__name__
            raise ValueError(f"`{_NAME}` must return a dict, or a list of them, got a `{kind}`")  # noqa: TRY004 - data of the wrong shape
    return rows
