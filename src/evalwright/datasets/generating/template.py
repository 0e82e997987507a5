"""`template`: writes columns from templates.

    synthesizers:
      - type: template
        columns:
          question: "What is the capital of {{ sample.country }}?"
          sample_id: "capital-{{ index }}"

A template sees `sample`, the row so far, and `index`, the place of its row in the data source, from
0. All templates see the row as it was before this synthesizer.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.datasets.generating.base import Columns, Row, SynthesizerSpec, merged, seen_by
from evalwright.ports import Case
from evalwright.templates import Template


class TemplateSynthesizer(SynthesizerSpec):
    """Sets each column to the text of its template."""

    type: Literal["template"]
    """The kind of synthesizer."""
    columns: Annotated[dict[Title, Template], Field(min_length=1)]
    """What each column is set to. Other columns stay."""

    async def synthesize(self, case: Case) -> list[Row]:
        """The row with its new columns."""
        seen = seen_by(case)
        made = {name: one.render(**seen) for name, one in self.columns.items()}
        return [merged(case.sample.data, made)]

    def after(self, columns: Columns) -> Columns:
        """Those of before, and its own."""
        known = super().after(columns)
        return None if known is None else known | self.columns.keys()
