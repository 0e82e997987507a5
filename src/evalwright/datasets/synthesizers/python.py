"""`python`: calls a Python function of the author with each row.

    synthesizers:
      - type: python
        synthesize_snippet: |
          def synthesize(sample, index):
              words = sample["text"].split()
              return [{"word": word} for word in words if len(word) > 3]

The function is `synthesize(sample)` or `synthesize(sample, index)`, may be `async def`, and runs in
another process. It returns a dict, or a list of dicts: one row per dict. Each is merged into the
row; other columns are kept (`drop_columns` removes them).
"""

from typing import Any, Literal

from evalwright.components import Snippet
from evalwright.datasets.synthesizers.synthesizer import Columns, Row, SynthesizerSpec
from evalwright.ports import Case

_NAME = "synthesize"


class PythonSynthesizer(SynthesizerSpec):
    """Generates the rows that `synthesize` returns."""

    type: Literal["python"]
    """The kind of synthesizer."""
    synthesize_snippet: Snippet
    """Python that defines `synthesize(sample, index)`, or `synthesize(sample)`. It returns a dict
    of columns, or a list of them: one row per dict."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Call the function and merge what it returns into the row."""
        if case.snippets is None:
            raise ValueError("a `python` synthesizer needs snippets, but they are not available")
        snippet, row = self.synthesize_snippet, case.sample.data
        arguments = [row, int(case.sample.id)]
        returned = await case.snippets.call(snippet.function(_NAME), arguments)
        with snippet.locate_errors(_NAME):
            return [{**row, **columns} for columns in _check_rows(returned)]

    def columns_after(self, columns: Columns) -> Columns:
        """Return None: they are known only from its rows."""
        del columns
        return None


def _check_rows(returned: Any) -> list[Row]:
    rows = returned if isinstance(returned, list) else [returned]
    for row in rows:
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise ValueError(f"`{_NAME}` must return a dict, or a list of them, got a `{kind}`")  # noqa: TRY004 - data of the wrong shape
    return rows
