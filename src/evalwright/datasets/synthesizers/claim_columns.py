"""Shared code of the synthesizers for claims: their columns and queries.

    {"claim": {"subject": "Paris", "predicate": "is the capital of", "object": "France"}}

Claims are written and read in this format; `rag_checker` reads the same columns.
"""

import json
from typing import Any

from evalwright.components import Component, ModelKey, Title
from evalwright.datasets.synthesizers.model_replies import query_model
from evalwright.datasets.synthesizers.synthesizer import Columns, Row, SynthesizerSpec
from evalwright.ports import Case
from evalwright.scorers.base import short
from evalwright.scorers.judging.verdicts import NoVerdict
from evalwright.scorers.rag.evidence import PARTS, Claim, parse_claims
from evalwright.scorers.rag.judge import RagPrompt


class AnswerColumns(Component):
    """Columns with a question and its answer."""

    question: Title = "question"
    """Column with the question."""
    answer: Title = "expected_answer"
    """Column with the answer."""


class ClaimColumns(AnswerColumns):
    """Columns with a question, its answer and the claims in the answer."""

    claims: Title = "claims"
    """Column with the claims."""


class ClaimSynthesizer(SynthesizerSpec):
    """Base class of the synthesizers for claims."""

    model_key: ModelKey
    """Model to call: the key of a model in the project, or `provider/model`."""
    output_field: Title
    """Column to create or overwrite."""
    instructions: str | None = None
    """Additional instructions for the model."""
    columns: AnswerColumns

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the queried model."""
        return (self.model_key,)

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the row with the new column; ValueError quotes an unusable reply."""
        row: Row = case.sample.data
        try:
            value = await self._make_value(case, row)
        except NoVerdict as error:
            raise ValueError(f"the reply cannot be used: {error.why}") from error
        return [{**row, self.output_field: value}]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing columns and the new column."""
        self._require_columns(self.columns.model_dump().values(), columns)
        return None if columns is None else columns | {self.output_field}

    async def _make_value(self, case: Case, row: Row) -> Any:
        raise NotImplementedError

    async def _ask(self, case: Case, prompt: RagPrompt) -> str:
        return await query_model(case, self.model_key, prompt.messages, schema=prompt.schema)


def read_text(row: Row, column: str) -> str:
    """Return the text of a column; ValueError if there is none."""
    value = row.get(column)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"column `{column}` must contain text, got {short(value)}")  # noqa: TRY004 - data of the wrong shape
    return value


def read_column_claims(row: Row, column: str) -> tuple[Claim, ...]:
    """Return the claims in a column, which may contain JSON; ValueError if there are none."""
    value = row.get(column)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"column `{column}` must contain a list of claims: {error}") from error
    return parse_claims(value, f"column `{column}`")


def dump_claim(claim: Claim) -> dict[str, Any]:
    """Return a claim in the format of rows."""
    return {"claim": {part: getattr(claim, part) for part in PARTS}}
