"""A judge that answers by rule: a sentence is a claim, and a text entails the sentences in it."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from evalwright.errors import ModelError
from evalwright.types import Completion, Request

MATERIAL = re.compile(r"^The (\w+):\n\[begin (\w+)\]\n(.*?)\n\[end \2\]$", re.DOTALL | re.MULTILINE)
KINDS = {"claims": "extract", "labels": "label", "verdicts": "check"}


class Asked(NamedTuple):
    """One question: what for, and about which text and claims."""

    kind: str
    text: str
    claims: tuple[str, ...]


def read(messages: Any) -> Asked:
    """What a judge was asked, from the messages alone."""
    told, shown = (one["content"] if isinstance(one, dict) else one.content for one in messages)
    material = {title: text for title, _, text in MATERIAL.findall(shown)}
    (form,) = re.findall(r'form: \{"(\w+)":', told)
    claims = re.findall(r"^\d+\. (.*)$", material.get("claims", ""), re.MULTILINE)
    return Asked(KINDS[form], material.get("text", material.get("question", "")), tuple(claims))


def answer(asked: Asked) -> dict[str, Any]:
    """Its reply: what is said of cats is required; `x is not y` contradicts `x is y`."""
    if asked.kind == "extract":
        sentences = re.findall(r"(\w+) (is not|is) (\w+)\.", asked.text)
        return {
            "claims": [
                dict(zip(("subject", "predicate", "object"), one, strict=True)) for one in sentences
            ]
        }
    key = "label" if asked.kind == "label" else "verdict"
    say = _label if asked.kind == "label" else _verdict
    return {
        f"{key}s": [
            {"claim": number, key: say(claim, asked.text)}
            for number, claim in enumerate(asked.claims, start=1)
        ]
    }


def _label(claim: str, _: str) -> str:
    return "REQUIRED" if "cat" in claim else "OPTIONAL"


def _verdict(claim: str, text: str) -> str:
    if f"{claim}." in text:
        return "entailed"
    return "contradicted" if f"{claim.replace(' is ', ' is not ')}." in text else "neutral"


class ByRule:
    """A model that judges by rule, or says what `reply` makes of a question."""

    caveat = ""
    fingerprint = "by rule"

    def __init__(
        self, reply: Callable[[Asked], str] | None = None, *, takes_schema: bool = True
    ) -> None:
        self._reply = reply or (lambda asked: json.dumps(answer(asked)))
        self._takes_schema = takes_schema
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[Asked]:
        """Every question that was answered."""
        return [read(one.messages) for one in self.requests]

    async def complete(self, request: Request) -> Completion:
        """Answer."""
        if request.input and not self._takes_schema:
            raise ModelError("bad_request", "400: `response_format` is not supported")
        self.requests.append(request)
        return Completion(text=self._reply(read(request.messages)))

    async def close(self) -> None:
        """Nothing to let go of."""
