"""Query the judge for the claims, labels and entailments of one sample, with few calls.

    claims of the target, claims of the response     concurrently, unless a column provides them
    labels, and each side's claims against one text  concurrently, after the claims

One call checks all claims of a side against one text: the target, the response, or one distinct
chunk. All material is fenced. A change to a prompt must increase the `version` of `rag_checker`.

    {"verdicts": [{"claim": 1, "verdict": "entailed"}, {"claim": 2, "verdict": "neutral"}]}

Fences, thinking and prose around the JSON are ignored. A bare list is accepted, and so are words
without numbers if there is one per claim. Two different lists, a missing entry, a repeated number,
an unknown word or a quoted list raises `NoVerdict`, which quotes the judge.
"""

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar, get_args

from msgspec import Struct, structs

from evalwright.errors import Stopped
from evalwright.ports import Case
from evalwright.scorers.base import short
from evalwright.scorers.judging.ask import (
    DATA_NOTE,
    MORE_TOKENS_HINT,
    ReplySchema,
    ask,
    fence_text,
    make_mark,
    object_schema,
)
from evalwright.scorers.judging.verdicts import NoVerdict, final_text, find_json
from evalwright.scorers.rag.evidence import (
    CHECKED_SIDE,
    LABELS,
    PARTS,
    Claim,
    Entailment,
    EvidenceNeeds,
    Label,
    RagEvidence,
    Side,
    parse_claims,
)
from evalwright.scorers.rag.formulas import Check
from evalwright.types import Message

Result = TypeVar("Result")
Word = TypeVar("Word", bound=str)

_MOST_VALUES = 2_000
_DIGITS = re.compile(r"[0-9]{1,6}")
_VERDICTS: Mapping[str, Entailment] = {
    "entailed": "entailed",
    "entailment": "entailed",
    "neutral": "neutral",
    "contradicted": "contradicted",
    "contradiction": "contradicted",
}
_NEUTRAL: Entailment = "neutral"
_LABELS: Mapping[str, Label] = {label.casefold(): label for label in LABELS}
_EXTRACT = """\
You take a text apart into claims. A claim is one fact that the text states: subject, predicate \
and object, each a few words. It can be understood without the text: say the thing itself where it \
says `it` or `they`. Keep names, numbers, dates and negations. Claim what the text says, \
whether it is true or not, and add nothing. What is no statement of fact (a greeting, a question, \
an offer to help) is no claim; a text that states nothing has none. The question is there only to \
understand the text.
"""
_LABEL = """\
You say which claims matter for a question. `REQUIRED`: an answer without this claim would be \
incomplete or wrong. `OPTIONAL`: it is a detail, an example or a remark that the question does not \
ask for.
"""
_CHECK = """\
You check claims against one text, and against nothing else: what you know yourself does not count.
- `entailed`: who reads the text knows that the claim is true. Other words for the same are fine.
- `contradicted`: who reads the text knows that the claim is false.
- `neutral`: the text leaves it open, or says only a part of it.
"""
_JSON = "Answer with JSON and nothing else, in this form:"


class RagPrompt(Struct, frozen=True):
    """A prompt for the judge and the schema of the reply."""

    messages: tuple[Message, ...]
    schema: ReplySchema

    @property
    def material(self) -> str:
        """Return the material in the prompt, with its marks."""
        return self.messages[-1].content


class RagMaterial(Struct, frozen=True, kw_only=True):
    """The texts of a sample and the author's instructions. Texts that no score needs are empty."""

    query: str
    target: str
    response: str
    chunks: Sequence[str]
    extraction_instructions: str | None
    labeling_instructions: str | None


class RagJudge:
    """A judge model, queried about one sample."""

    def __init__(self, case: Case, model_key: str, material: RagMaterial) -> None:
        self._case, self._model_key, self._material = case, model_key, material
        self.structured = True
        """Whether a schema constrained every reply."""
        self.note = ""
        """Notes on how the judge was queried."""

    async def gather_evidence(self, needs: EvidenceNeeds, known: RagEvidence) -> RagEvidence:
        """Return all needed evidence; query the judge only for missing parts."""
        sides = needs.sides
        extracted = await gather_or_cancel(*(self._extract(side, known) for side in sides))
        claims = dict(zip(sides, extracted, strict=True))
        calls: dict[str, Coroutine[Any, Any, Any]] = {}
        for side in sides if needs.labels else ():
            calls[f"{side}_labels"] = self._label(claims[side], known.labels(side))
        for check in sorted(needs.checks):
            calls[check] = self._check(check, claims[CHECKED_SIDE[check]], known.verdicts(check))
        results: dict[str, Any] = {f"{side}_claims": claims[side] for side in sides}
        results |= zip(calls, await gather_or_cancel(*calls.values()), strict=True)
        return structs.replace(known, **results)

    async def _extract(self, side: Side, known: RagEvidence) -> tuple[Claim, ...]:
        """Return the claims of one side. For blank text, return none without querying the judge."""
        material, claims = self._material, known.claims(side)
        text = material.target if side == "target" else material.response
        if claims is not None or not text.strip():
            return claims or ()
        instructions = material.extraction_instructions
        prompt = extraction_prompt(text, query=material.query, instructions=instructions)
        return read_claims(await self._ask(prompt), shown=prompt.material)

    async def _label(
        self, claims: Sequence[Claim], known: tuple[Label, ...] | None
    ) -> tuple[Label, ...]:
        if known is not None or not claims:
            return known or ()
        prompt = labeling_prompt(
            claims, query=self._material.query, instructions=self._material.labeling_instructions
        )
        reply = await self._ask(prompt)
        return read_labels(reply, len(claims), shown=prompt.material)

    async def _check(
        self, check: Check, claims: Sequence[Claim], known: Sequence[Any] | None
    ) -> Sequence[Any]:
        """Return one entailment per claim, or one row per claim for the checks against chunks."""
        if known is not None:
            return known
        if check == "in_target":
            return await self._entail(claims, self._material.target)
        if check == "in_response":
            return await self._entail(claims, self._material.response)
        chunks = self._material.chunks
        distinct = list(dict.fromkeys(chunks))
        columns = await gather_or_cancel(*(self._entail(claims, chunk) for chunk in distinct))
        by_chunk = dict(zip(distinct, columns, strict=True))
        return tuple(
            tuple(by_chunk[chunk][place] for chunk in chunks) for place in range(len(claims))
        )

    async def _entail(self, claims: Sequence[Claim], text: str) -> tuple[Entailment, ...]:
        """Check which claims a text entails. For blank text, the judge is not queried."""
        if not claims or not text.strip():
            return tuple(_NEUTRAL for _ in claims)
        prompt = checking_prompt(claims, text)
        reply = await self._ask(prompt)
        return read_words(reply, len(claims), key="verdict", words=_VERDICTS, shown=prompt.material)

    async def _ask(self, prompt: RagPrompt) -> str:
        reply = await ask(self._case, self._model_key, prompt.messages, schema=prompt.schema)
        self.structured &= reply.structured
        self.note = reply.note or self.note
        if reply.refused:
            raise NoVerdict("it refused", reply.text, rule="refusal")
        if reply.cut:
            why, hint = "its reply was cut off", MORE_TOKENS_HINT
            raise NoVerdict(why, reply.text, rule="cut_off", hint=hint)
        return reply.text


async def gather_or_cancel(*coroutines: Coroutine[Any, Any, Result]) -> list[Result]:
    """Run coroutines concurrently and return all results; the first failure cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except ExceptionGroup as broken:
        causes = broken.exceptions
        raise next((cause for cause in causes if isinstance(cause, Stopped)), causes[0]) from None
    return [task.result() for task in tasks]


def read_claims(reply: str, *, shown: str = "") -> tuple[Claim, ...]:
    """Parse the claims in a reply; an empty list is valid."""
    entries = find_list(reply, "claims", shown)
    try:
        return parse_claims(entries, "the list")
    except ValueError as error:
        raise NoVerdict(str(error), reply) from None


def read_labels(reply: str, count: int, *, shown: str = "") -> tuple[Label, ...]:
    """Parse one label per claim."""
    return read_words(reply, count, key="label", words=_LABELS, shown=shown)


def read_words(
    reply: str, count: int, *, key: str, words: Mapping[str, Word], shown: str = ""
) -> tuple[Word, ...]:
    """Parse one word per claim from the list `{key}s`; `words` maps spellings to words."""
    entries = find_list(reply, f"{key}s", shown)
    if len(entries) != count:
        raise NoVerdict(f"expected {count} {key}s, one per claim, got {len(entries)}", reply)
    by_number: dict[int, Word] = {}
    for place, entry in enumerate(entries, start=1):
        number, spelling = _parse_entry(entry, place, key)
        word = words.get(spelling.strip().casefold()) if isinstance(spelling, str) else None
        if word is None:
            expected = ", ".join(f"`{name}`" for name in dict.fromkeys(words.values()))
            raise NoVerdict(f"{key} {place} must be one of {expected}, got {short(entry)}", reply)
        by_number[number] = word
    if by_number.keys() != set(range(1, count + 1)):
        raise NoVerdict(f"the {key}s must be numbered 1 to {count}, each number once", reply)
    return tuple(by_number[number] for number in range(1, count + 1))


def _parse_entry(entry: Any, place: int, key: str) -> tuple[int, Any]:
    """Return the claim's number and word; a bare word belongs to the claim at the same position."""
    if not isinstance(entry, dict):
        return place, entry
    number = entry.get("claim", place)
    if isinstance(number, str) and _DIGITS.fullmatch(number.strip()):
        number = int(number)
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    return (number if is_whole else 0), entry.get(key)


def find_list(reply: str, name: str, shown: str) -> list[Any]:
    """Return the only list with this name; a bare list needs no name."""
    text = final_text(reply)
    parts = islice(find_json(text), _MOST_VALUES + 1)
    values = [(value, text[start:end]) for value, start, end in parts]
    if len(values) > _MOST_VALUES:
        raise NoVerdict(f"its reply has more than {_MOST_VALUES:,} brackets and braces", reply)
    lists: list[tuple[list[Any], str]] = [
        (value[name], written)
        for value, written in values
        if isinstance(value, dict) and name in value
    ] or [(value, written) for value, written in values if isinstance(value, list)]
    if not lists or not isinstance(lists[0][0], list):
        raise NoVerdict(f"its reply contains no list `{name}`", reply)
    entries, written = lists[0]
    if any(other != entries for other, _ in lists):
        raise NoVerdict(f"its reply contains two different lists `{name}`", reply)
    if _has_words(text.replace(written, "")) and _remove_spaces(written) in _remove_spaces(shown):
        raise NoVerdict(f"its list `{name}` may be quoted from the text it was shown", reply)
    return entries


def _has_words(text: str) -> bool:
    """Whether the text contains prose; fences and their language names do not count."""
    return any(map(str.isalnum, text.replace("```json", "")))


def _remove_spaces(text: str) -> str:
    return "".join(text.split())


def extraction_prompt(text: str, *, query: str, instructions: str | None) -> RagPrompt:
    """Build the prompt that extracts the claims of a text."""
    form = '{"claims": [{"subject": "…", "predicate": "…", "object": "…"}]}'
    claim = object_schema({part: {"type": "string"} for part in PARTS})
    return make_prompt(
        (_EXTRACT, format_instructions(instructions), DATA_NOTE, f"{_JSON} {form}"),
        {"The question": query, "The text": text},
        ReplySchema("claims", {"claims": {"type": "array", "items": claim}}),
    )


def labeling_prompt(
    claims: Sequence[Claim], *, query: str, instructions: str | None, answer: str = ""
) -> RagPrompt:
    """Build the prompt that labels claims; `answer` is the text that they were extracted from."""
    task = (_LABEL, format_instructions(instructions))
    material = {"The question": query, **({"The answer": answer} if answer else {})}
    return _list_prompt(task, claims, material, key="label", words=LABELS)


def checking_prompt(claims: Sequence[Claim], text: str) -> RagPrompt:
    """Build the prompt that asks which claims a text entails."""
    words = get_args(Entailment)
    return _list_prompt((_CHECK,), claims, {"The text": text}, key="verdict", words=words)


def _list_prompt(
    task: Sequence[str],
    claims: Sequence[Claim],
    material: dict[str, str],
    *,
    key: str,
    words: Sequence[str],
) -> RagPrompt:
    form = f'{{"{key}s": [{{"claim": 1, "{key}": "{words[0]}"}}, …]}}'
    entries = "1 entry" if len(claims) == 1 else f"{len(claims)} entries"
    order = f"The list has {entries}: one a claim, in the order of the claims, with its number."
    numbered = "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, start=1))
    word = {"type": "string", "enum": [*words]}
    entry = object_schema({"claim": {"type": "integer"}, key: word})
    return make_prompt(
        (*task, DATA_NOTE, f"{_JSON} {form}", order),
        {**material, "The claims": numbered},
        ReplySchema(f"{key}s", {f"{key}s": {"type": "array", "items": entry}}),
    )


def make_prompt(
    instructions: Sequence[str], material: dict[str, str], schema: ReplySchema
) -> RagPrompt:
    """Join the instructions and fence the material."""
    mark = make_mark(*material.values())
    shown = (f"{title}:\n{fence_text(text, mark)}" for title, text in material.items())
    system = Message("system", "\n".join(filter(None, instructions)))
    return RagPrompt((system, Message("user", "\n\n".join(shown))), schema)


def format_instructions(instructions: str | None) -> str:
    """Format an author's instructions as a paragraph of a prompt."""
    return f"{instructions.strip()}\n" if instructions and instructions.strip() else ""
