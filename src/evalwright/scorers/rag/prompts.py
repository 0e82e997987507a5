"""What the judge is told: three prompts, and the shape of each reply.

    extraction    a text, and the question behind it      → its claims
    labelling     claims, and the question                → REQUIRED or OPTIONAL, one a claim
    checking      claims, and one text                    → a verdict a claim

Whatever a model, a dataset or a retriever has written stands between marks that it cannot know. A
change of any of these words changes what is found: the `version` of `rag_checker` grows with it.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from evalwright.scorers.judging.asking import Schema
from evalwright.scorers.judging.fences import DATA_NOTE, fenced, mark_for
from evalwright.scorers.rag.claims import LABELS, PARTS, Claim
from evalwright.types import Message

VERDICTS = ("entailed", "neutral", "contradicted")

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


class Prompt(Struct, frozen=True):
    """What the judge is told, and what its reply must look like."""

    messages: tuple[Message, ...]
    schema: Schema

    @property
    def shown(self) -> str:
        """The material in it, with its marks."""
        return self.messages[-1].content


def extraction(text: str, *, query: str, instructions: str | None) -> Prompt:
    """Ask for the claims of a text."""
    form = '{"claims": [{"subject": "…", "predicate": "…", "object": "…"}]}'
    claim = _object({part: {"type": "string"} for part in PARTS})
    return _prompt(
        (_EXTRACT, _further(instructions), DATA_NOTE, f"{_JSON} {form}"),
        {"The question": query, "The text": text},
        Schema("claims", {"claims": {"type": "array", "items": claim}}),
    )


def labelling(claims: Sequence[Claim], *, query: str, instructions: str | None) -> Prompt:
    """Ask which claims an answer must have."""
    form = '{"labels": [{"claim": 1, "label": "REQUIRED"}, …]}'
    return _prompt(
        (_LABEL, _further(instructions), DATA_NOTE, f"{_JSON} {form}", _each(claims)),
        {"The question": query, "The claims": numbered(claims)},
        Schema("labels", {"labels": _entries("label", LABELS)}),
    )


def checking(claims: Sequence[Claim], text: str) -> Prompt:
    """Ask which claims a text entails."""
    form = '{"verdicts": [{"claim": 1, "verdict": "entailed"}, …]}'
    return _prompt(
        (_CHECK, "", DATA_NOTE, f"{_JSON} {form}", _each(claims)),
        {"The text": text, "The claims": numbered(claims)},
        Schema("verdicts", {"verdicts": _entries("verdict", VERDICTS)}),
    )


def numbered(claims: Sequence[Claim]) -> str:
    """The claims, a line each."""
    return "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, start=1))


def _prompt(told: Sequence[str], material: dict[str, str], schema: Schema) -> Prompt:
    mark = mark_for(*material.values())
    shown = (f"{title}:\n{fenced(text, mark)}" for title, text in material.items())
    return Prompt(
        (
            Message("system", "\n".join(one for one in told if one)),
            Message("user", "\n\n".join(shown)),
        ),
        schema,
    )


def _further(instructions: str | None) -> str:
    return f"{instructions.strip()}\n" if instructions and instructions.strip() else ""


def _each(claims: Sequence[Claim]) -> str:
    entries = "1 entry" if len(claims) == 1 else f"{len(claims)} entries"
    return f"The list has {entries}: one a claim, in the order of the claims, with its number."


def _entries(name: str, words: Sequence[str]) -> dict[str, Any]:
    entry = _object({"claim": {"type": "integer"}, name: {"type": "string", "enum": [*words]}})
    return {"type": "array", "items": entry}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
