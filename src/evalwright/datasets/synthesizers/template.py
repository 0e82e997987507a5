"""`template`: create text from templates, one row per combination of field values.

    synthesizers:
      - type: template
        template: "I am in {{ source.city }} and go {distance} to the {direction}. Where am I?"
        fields:
          distance: [100 km, 200 km]
          direction: [north, south]

Each source row becomes one row per template and combination of values, which is 4 rows in this
example. A new row has the columns of the source row, the text in the column `text`, and one column
per field with its value.

`{field}` is replaced by the value of a field. `{{ … }}` is a Jinja expression, in which `source` is
the current row and `index` is its position in the data source, from 0. Braces in values are not
replaced.

The old syntax still works: `columns` has one template per column, and each source row becomes one
row.
"""

import re
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from evalwright.components import Title
from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.synthesizers.synthesizer import (
    Columns,
    Row,
    SynthesizerSpec,
    template_variables,
)
from evalwright.ports import Case
from evalwright.templates import Template

TEXT_COLUMN = "text"
MAX_ROWS = 10_000
"""Maximum number of rows generated from one row."""
_PLACEHOLDER = re.compile(r"(?<!\{)\{\s*([^\W\d]\w*)\s*\}(?!\})")
_VALUES = "template_field_values"


class TemplateSynthesizer(SynthesizerSpec):
    """Creates text from each template and combination of field values."""

    type: Literal["template"]
    """The kind of synthesizer."""
    template: Template | Annotated[list[Template], Field(min_length=1)] | None = None
    """Template or list of templates. May refer to `source` (the row), `index`, and fields as
    `{field}`."""
    fields: Annotated[
        dict[Title, Annotated[list[Any], Field(min_length=1)]], AfterValidator(to_json_row)
    ] = Field(default_factory=dict)
    """Values of each field. Every combination becomes a row."""
    columns: Annotated[
        Annotated[dict[Title, Template], Field(min_length=1)] | None,
        Field(json_schema_extra={"deprecated": True}),
    ] = None
    """Deprecated: use `template` and `fields`. Template of each column."""

    @model_validator(mode="after")
    def _check_templates(self) -> Self:
        if (self.template is None) == (self.columns is None):
            got = "none" if self.template is None else "`columns` as well"
            raise ValueError(f"expected `template`, got {got}")
        if self.columns is not None and self.fields:
            raise ValueError("`fields` needs a `template`")
        rows = len(self.templates) * prod(map(len, self.fields.values()))
        if rows > MAX_ROWS:
            raise ValueError(f"expected at most {MAX_ROWS:,} rows per source row, got {rows:,}")
        return self

    @property
    def templates(self) -> list[Template]:
        """The templates as a list."""
        written = self.template or []
        return written if isinstance(written, list) else [written]

    @property
    def uses_earlier_spelling(self) -> bool:
        """Whether it uses `columns`, or `sample` in a template."""
        return self.columns is not None or super().uses_earlier_spelling

    def find_placeholders(self) -> set[str]:
        """Return all names in single braces, even if they are not fields."""
        return {
            name for template in self.templates for name in _PLACEHOLDER.findall(template.source)
        }

    @cached_property
    def _filled_templates(self) -> list[Template]:
        """The templates with fields replaced by expressions."""

        def to_expression(match: re.Match[str]) -> str:
            known = match[1] in self.fields
            return f"{{{{ {_VALUES}['{match[1]}'] }}}}" if known else match[0]

        return [Template(_PLACEHOLDER.sub(to_expression, item.source)) for item in self.templates]

    async def synthesize(self, case: Case) -> list[Row]:
        """Return one row per template and combination."""
        row, variables = case.sample.data, template_variables(case)
        if self.columns is not None:
            texts = {name: template.render(**variables) for name, template in self.columns.items()}
            return [{**row, **texts}]
        rows: list[Row] = []
        for template in self._filled_templates:
            for combination in product(*self.fields.values()):
                values = dict(zip(self.fields, combination, strict=True))
                text = template.render(**variables, **{_VALUES: values})
                rows.append({**row, **values, TEXT_COLUMN: text})
        return rows

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing and the new columns."""
        known = super().columns_after(columns)
        own = {*self.fields, TEXT_COLUMN} if self.columns is None else {*self.columns}
        return None if known is None else known | own
