"""`claim_extraction`: ask a model to extract the claims in an answer.

    synthesizers:
      - type: claim_extraction
        model_key: openai/gpt-4.1-mini
        columns: { question: question, answer: expected_answer }

A claim is one fact that the answer states. The new column contains a list of claims, each in the
form `{claim: {subject: …, predicate: …, object: …}}`. The list is empty if the answer states
nothing. If the answer is empty, the model is not called. If the reply does not contain a list of
claims, the row fails, and the error message quotes the reply.
"""

from typing import Any, Literal

from evalwright.components import Title
from evalwright.datasets.synthesizers.claim_columns import (
    AnswerColumns,
    ClaimSynthesizer,
    dump_claim,
    read_text,
)
from evalwright.datasets.synthesizers.synthesizer import Row
from evalwright.ports import Case
from evalwright.scorers.rag.judge import extraction_prompt, read_claims


class ClaimExtraction(ClaimSynthesizer):
    """Sets a column to the claims in an answer."""

    type: Literal["claim_extraction"]
    """The kind of synthesizer."""
    output_field: Title = "claims"
    """Column to create or overwrite."""
    columns: AnswerColumns = AnswerColumns()
    """Columns to read."""

    async def _make_value(self, case: Case, row: Row) -> Any:
        answer = read_text(row, self.columns.answer)
        question = read_text(row, self.columns.question)
        if not answer.strip():
            return []
        prompt = extraction_prompt(answer, query=question, instructions=self.instructions)
        claims = read_claims(await self._ask(case, prompt), shown=prompt.material)
        return [dump_claim(claim) for claim in claims]
