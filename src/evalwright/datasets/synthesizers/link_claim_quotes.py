"""`link_claim_quotes`: ask a model which passages in an answer state its claims.

    synthesizers:
      - type: link_claim_quotes
        model_key: openai/gpt-4.1-mini
        columns: { question: question, answer: expected_answer, claims: claims }

The new column contains one entry per claim, in the order of the claims. Each entry has the claim
and the `quotes` that state it. If the answer does not state the claim, `quotes` is an empty list.
Every quote must occur in the answer, ignoring differences in whitespace. Otherwise, the row fails,
and the error message quotes the reply. If there are no claims, the model is not called.
"""

from collections.abc import Sequence
from typing import Any, Literal

from evalwright.components import Title
from evalwright.datasets.synthesizers.claim_columns import (
    ClaimColumns,
    ClaimSynthesizer,
    dump_claim,
    read_column_claims,
    read_text,
)
from evalwright.datasets.synthesizers.synthesizer import Row
from evalwright.ports import Case
from evalwright.scorers.base import short
from evalwright.scorers.judging.ask import DATA_NOTE, ReplySchema, object_schema
from evalwright.scorers.judging.verdicts import NoVerdict
from evalwright.scorers.rag.evidence import Claim
from evalwright.scorers.rag.judge import RagPrompt, find_list, format_instructions, make_prompt

_QUOTE = """\
You find where an answer states its claims. For each claim, copy the passages of the answer that \
state it: exactly as they are written, as short as possible, nothing added and nothing left out in \
between. A claim that the answer does not state has no passage. The question is there only to \
understand the answer.
"""
_FORM = (
    'Answer with JSON and nothing else, in this form: {"links": [{"claim": 1, "quotes": ["…"]}, …]}'
    "\nThe list has one entry per claim, in the order of the claims, with its number."
)


class LinkClaimQuotes(ClaimSynthesizer):
    """Sets a column to the quotes that state each claim."""

    type: Literal["link_claim_quotes"]
    """The kind of synthesizer."""
    output_field: Title = "claim_source_quotes"
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
        prompt = self._build_prompt(question, answer, claims)
        reply = await self._ask(case, prompt)
        quotes = _read_quotes(reply, len(claims), answer, shown=prompt.material)
        return [
            {**dump_claim(claim), "quotes": claim_quotes}
            for claim, claim_quotes in zip(claims, quotes, strict=True)
        ]

    def _build_prompt(self, question: str, answer: str, claims: Sequence[Claim]) -> RagPrompt:
        numbered = "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, start=1))
        quotes = {"type": "array", "items": {"type": "string"}}
        entry = object_schema({"claim": {"type": "integer"}, "quotes": quotes})
        return make_prompt(
            (_QUOTE, format_instructions(self.instructions), DATA_NOTE, _FORM),
            {"The question": question, "The answer": answer, "The claims": numbered},
            ReplySchema("links", {"links": {"type": "array", "items": entry}}),
        )


def _read_quotes(reply: str, count: int, answer: str, *, shown: str) -> list[list[str]]:
    """Return the quotes for each claim; `NoVerdict` if one is not in the answer."""
    entries = find_list(reply, "links", shown)
    numbers = [entry.get("claim") if isinstance(entry, dict) else None for entry in entries]
    if sorted(map(str, numbers)) != sorted(map(str, range(1, count + 1))):
        raise NoVerdict(f"`links` must contain the claims 1 to {count}, each once", reply)
    by_number = {str(entry["claim"]): entry.get("quotes") for entry in entries}
    words = " ".join(answer.split())
    for number, quotes in by_number.items():
        if not isinstance(quotes, list) or not all(isinstance(quote, str) for quote in quotes):
            raise NoVerdict(f"the `quotes` of claim {number} must be a list of strings", reply)
        for quote in quotes:
            if not quote.strip() or " ".join(quote.split()) not in words:
                raise NoVerdict(
                    f"a quote of claim {number} is not in the answer: {short(quote)}", reply
                )
    return [by_number[str(number)] for number in range(1, count + 1)]
