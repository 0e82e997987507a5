"""`template`: sets columns to rendered templates.

    synthesizers:
      - type: template
        columns:
          question: "What is the capital of {{ sample.country }}?"
          sample_id: "capital-{{ index }}"

A template may refer to `sample`, the current row, and to `index`, the position of its row in the
data source, from 0. All templates get the row as it was before this synthesizer.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.datasets.synthesizers.synthesizer import (
    Columns,
    Row,
    SynthesizerSpec,
    template_variables,
)
from evalwright.ports import Case
from evalwright.templates import Template


class TemplateSynthesizer(SynthesizerSpec):
    """Sets each column to its rendered template."""

    type: Literal["template"]
    """The kind of synthesizer."""
    columns: Annotated[dict[Title, Template], Field(min_length=1)]
    """Template of each column. Other columns are kept."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the row with the new columns."""
        variables = template_variables(case)
        values = {name: template.render(**variables) for name, template in self.columns.items()}
        return [{**case.sample.data, **values}]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing columns and its own."""
        known = super().columns_after(columns)
        return None if known is None else known | self.columns.keys()
