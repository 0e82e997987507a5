"""Cases for scorers: a row, and a conversation that a solver might have left."""

import asyncio
import json
from typing import Any

from pydantic import TypeAdapter

from evalwright.clients.scripted import SCRIPTS, Scripted
from evalwright.ports import Case, Snippets
from evalwright.scorers.base import AnyScorer
from evalwright.types import Sample, Score, Trace

SCORERS: TypeAdapter[Any] = TypeAdapter(AnyScorer)


def said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def called(name: str, arguments: Any = "{}") -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "call_id": name, "name": name, "arguments": written}


def chat(answer: str | None) -> dict[str, Any]:
    """A question and an answer, with what a model gave back."""
    return {
        "items": [said("user", "go"), said("assistant", answer or "")],
        "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": answer}}]}],
        "direct_ios": [],
    }


def case(row: dict[str, Any], conversation: dict[str, Any] | None = None, **more: Any) -> Case:
    answer = None
    if conversation is not None:
        # The texts of a trace are for people: scorers go by the conversation.
        answer = Trace(input="?", output="?", post_processed="?", conversation=conversation)
    model = more.pop("model", Scripted("echo", SCRIPTS["echo"]))
    return Case(sample=Sample("a", row), model=model, answer=answer, **more)


def score(
    fields: dict[str, Any],
    row: dict[str, Any],
    conversation: dict[str, Any] | None = None,
    *,
    snippets: Snippets | None = None,
) -> Score:
    scorer = SCORERS.validate_python(fields)
    found: Score = asyncio.run(scorer.score(case(row, conversation, snippets=snippets)))
    return found
