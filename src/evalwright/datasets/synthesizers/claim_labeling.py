"""`claim_labeling`: ask a model which claims in an answer are required.

    synthesizers:
      - type: claim_labeling
        model_key: openai/gpt-4.1-mini
        columns: { question: question, answer: response, claims: response_claims }
        output_field: response_claims_labels

The new column contains one label per claim, in the order of the claims. The label is `REQUIRED` if
an answer to the question would be incomplete or wrong without the claim, otherwise `OPTIONAL`. In
`rag_checker`, `target_labels_column` and `response_labels_column` name such columns. If there are
no claims, the model is not called. If the reply does not contain exactly one label per claim, the
row fails, and the error message quotes the reply.
"""

from typing import Any, Literal

from evalwright.components import Title
from evalwright.datasets.synthesizers.claim_columns import (
    ClaimColumns,
    ClaimSynthesizer,
    read_column_claims,
    read_text,
)
from evalwright.datasets.synthesizers.synthesizer import Row
from evalwright.ports import Case
from evalwright.scorers.rag.judge import labeling_prompt, read_labels


class ClaimLabeling(ClaimSynthesizer):
    """Sets a column to the labels of the claims."""

    type: Literal["claim_labeling"]
    """The kind of synthesizer."""
    output_field: Title = "claims_labels"
    """Column to create or overwrite."""
    columns: ClaimColumns = ClaimColumns()
    """Columns to read."""

    async def _make_value(self, case: Case, row: Row) -> Any:
        question, answer = (
            read_text(row, name) for name in (self.columns.question, self.columns.answer)
        )
        claims = read_column_claims(row, self.columns.claims)
        if not claims:
            return []
        prompt = labeling_prompt(
            claims, query=question, instructions=self.instructions, answer=answer
        )
        reply = await self._ask(case, prompt)
        return list(read_labels(reply, len(claims), shown=prompt.material))
