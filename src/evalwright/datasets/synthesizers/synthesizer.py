"""The base class of synthesizers.

    synthesizers:
      - type: template
        columns: { question: "What is the capital of {{ sample.country }}?" }
      - type: drop_columns
        columns: [country]

Each synthesizer gets a row from the previous one, and returns one row, several, or none. If
it cannot generate a row it raises an exception, and that row fails.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from evalwright.components import Component, ComponentUnion, parts_in
from evalwright.ports import Case
from evalwright.templates import Template

Row = dict[str, Any]
Columns = frozenset[str] | None
"""The names of the columns; None if they are known only from the rows."""
VENDOR_TYPES = ("claim_extraction", "claim_labeling", "link_claim_quotes", "question_answering")
"""Types of the format whose prompts are not published."""


class SynthesizerSpec(Component):
    """A synthesizer in a document."""

    type: str
    """The kind of synthesizer."""

    version: ClassVar[int] = 1
    """Increases with every change that could change rows."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that it queries."""
        return ()

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the rows made from `case.sample`."""
        raise NotImplementedError

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns of its rows; ValueError if it needs a column that no row has."""
        needed = {
            str(path[1])
            for template in parts_in(self, Template)
            for path in template.variables()
            if path[0] == "sample" and len(path) > 1
        }
        self._require_columns(needed, columns)
        return columns

    def _require_columns(self, needed: Iterable[str], columns: Columns) -> None:
        if columns is None:
            return
        for name in sorted(needed):
            if name not in columns:
                known = ", ".join(f"`{column}`" for column in sorted(columns)) or "none"
                raise ValueError(
                    f"`{self.type}`: no row has a column `{name}`; the columns are {known}"
                )


def _refuse_vendor_type(value: Any) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in VENDOR_TYPES:
        raise PydanticCustomError(
            "unsupported",
            "synthesizer `{kind}` is not supported: its prompts are not published; "
            "use `llm` with your own prompt",
            {"kind": str(kind)},
        )
    return value


AnySynthesizer = Annotated[
    SynthesizerSpec, ComponentUnion("synthesizers"), BeforeValidator(_refuse_vendor_type)
]
"""One synthesizer of a generator."""


def template_variables(case: Case) -> dict[str, Any]:
    """Return the current row, and the position of its source row, from 0."""
    return {"sample": case.sample.data, "index": int(case.sample.id)}
