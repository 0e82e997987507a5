"""The judge of one sample: asked for claims, labels and verdicts, a call each.

What it says is read strictly. How it was asked (with a schema, or without because the server takes
none) is remembered in `structured` and `note`.
"""

from collections.abc import Mapping, Sequence

from evalwright.ports import Case
from evalwright.scorers.judging.asking import ask
from evalwright.scorers.judging.replies import NoVerdict
from evalwright.scorers.rag.claims import LABELS, Claim, Label
from evalwright.scorers.rag.evidence import Verdict
from evalwright.scorers.rag.prompts import Prompt, checking, extraction, labelling
from evalwright.scorers.rag.replies import claims_in, words_in

_VERDICTS: Mapping[str, Verdict] = {
    "entailed": "entailed",
    "entailment": "entailed",
    "neutral": "neutral",
    "contradicted": "contradicted",
    "contradiction": "contradicted",
}
_NEUTRAL: Verdict = "neutral"
_LABELS: Mapping[str, Label] = {label.casefold(): label for label in LABELS}
_MORE_TOKENS = "allow the judge more tokens: `max_tokens`, or what its API calls it"


class Judge:
    """A model that is asked about one sample."""

    def __init__(self, case: Case, model_key: str) -> None:
        self._case, self._model_key = case, model_key
        self.structured = True
        """Whether every reply was held to a schema."""
        self.note = ""
        """What a reader must know of how it was asked."""

    async def claims(self, text: str, *, query: str, instructions: str | None) -> tuple[Claim, ...]:
        """What a text states; a blank one states nothing, and nobody is asked."""
        if not text.strip():
            return ()
        prompt = extraction(text, query=query, instructions=instructions)
        return claims_in(await self._reply(prompt), shown=prompt.shown)

    async def labels(
        self, claims: Sequence[Claim], *, query: str, instructions: str | None
    ) -> tuple[Label, ...]:
        """Which claims an answer must have."""
        if not claims:
            return ()
        prompt = labelling(claims, query=query, instructions=instructions)
        reply = await self._reply(prompt)
        return words_in(reply, len(claims), key="label", words=_LABELS, shown=prompt.shown)

    async def verdicts(self, claims: Sequence[Claim], text: str) -> tuple[Verdict, ...]:
        """Which claims a text entails; a blank one entails none, and nobody is asked."""
        if not claims or not text.strip():
            return tuple(_NEUTRAL for _ in claims)
        prompt = checking(claims, text)
        reply = await self._reply(prompt)
        return words_in(reply, len(claims), key="verdict", words=_VERDICTS, shown=prompt.shown)

    async def _reply(self, prompt: Prompt) -> str:
        answer = await ask(self._case, self._model_key, prompt.messages, schema=prompt.schema)
        self.structured &= answer.structured
        self.note = answer.note or self.note
        if answer.refused:
            raise NoVerdict("it refused", answer.text)
        if answer.cut:
            raise NoVerdict("its reply is cut short", answer.text, hint=_MORE_TOKENS)
        return answer.text
