"""`python`: call a Python function with each row.

    synthesizers:
      - type: python
        synthesize_snippet: |
          def synthesize(source):
              words = source["text"].split()
              return [{"word": word} for word in words if len(word) > 3]

The function is `synthesize(source)` or `synthesize(source, index)`. It may be an `async def`
function, and it runs in a separate process. It returns one dict, or a list with one dict per row.
The new row has only the columns in its dict. To keep the other columns, return `{**source, …}`. An
empty list removes the row.

`<< secrets.NAME >>` in a string in the snippet is replaced by a secret of the generator or the
project. The value is inserted in the process that runs the snippet, and is redacted from everything
that is stored or printed.

The old syntax still works: if the first parameter is named `sample`, the returned columns are
merged into the row.
"""

import ast
from functools import cached_property
from typing import Any, Literal

from evalwright.components import Snippet
from evalwright.datasets.synthesizers.synthesizer import Columns, Row, SynthesizerSpec
from evalwright.ports import Case

_NAME = "synthesize"


class PythonSynthesizer(SynthesizerSpec):
    """Uses the return value of `synthesize` as the new rows."""

    type: Literal["python"]
    """The kind of synthesizer."""
    synthesize_snippet: Snippet
    """Python code that defines `synthesize(source)` or `synthesize(source, index)`. The function
    returns one dict, or a list with one dict per row."""

    @cached_property
    def merges_columns(self) -> bool:
        """Whether the first parameter of the function is named `sample`."""
        for node in ast.walk(ast.parse(self.synthesize_snippet.text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == _NAME:
                parameters = [*node.args.posonlyargs, *node.args.args]
                return bool(parameters) and parameters[0].arg == "sample"
        return False

    @property
    def uses_earlier_spelling(self) -> bool:
        """Whether the returned columns are merged into the row."""
        return self.merges_columns

    async def synthesize(self, case: Case) -> list[Row]:
        """Call the function and return its rows."""
        if case.snippets is None:
            raise ValueError("a `python` synthesizer needs snippets, but they are not available")
        snippet, row = self.synthesize_snippet, case.sample.data
        arguments = [row, int(case.sample.id)]
        returned = await case.snippets.call(snippet.function(_NAME), arguments)
        with snippet.locate_errors(_NAME):
            rows = _check_rows(returned)
        return [{**row, **columns} for columns in rows] if self.merges_columns else rows

    def columns_after(self, columns: Columns) -> Columns:
        """Return None, because the columns are known only from the returned rows."""
        del columns
        return None


def _check_rows(returned: Any) -> list[Row]:
    rows = returned if isinstance(returned, list) else [returned]
    for row in rows:
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise ValueError(f"`{_NAME}` must return a dict or a list of dicts, got a `{kind}`")  # noqa: TRY004 - data of the wrong shape
    return rows
