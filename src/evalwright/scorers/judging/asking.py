"""Ask a judge, with a schema for its reply where one is wanted and the server takes it.

    answer = await ask(case, "openai/gpt-4.1-mini", messages, schema=Schema("verdict", {…}))

The judge is one of the case's models, so cache, limits, retries, cost and usage are the engine's.
A server that refuses the schema is asked again without it, and `Answer.note` says so. The refusal
is remembered for the rest of the run: it costs up to as many requests as are under way when the
first is refused, and not one a sample.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from evalwright.errors import ModelError
from evalwright.ports import Case, Model
from evalwright.types import Completion, Message, Request

_NOT_ABOUT_IT = {"auth", "rate_limited", "timeout", "connection", "filtered", "refused"}
_ABOUT_IT = re.compile(
    r"response.?format|json.?schema|schema|structured.?output|output_config|text\.format|grammar",
    re.IGNORECASE,
)
_MOST_QUOTED = 200

_refused: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], str]]
_refused = WeakKeyDictionary()
"""What each run (a loop of its own) has learnt: who takes no schema, and in which words."""


class Schema(Struct, frozen=True):
    """What the reply must look like: an object that has all of these properties, in this order."""

    name: str
    properties: dict[str, Any]

    @property
    def response_format(self) -> dict[str, Any]:
        """As the chat completions API is told."""
        schema = {
            "type": "object",
            "properties": self.properties,
            "required": [*self.properties],
            "additionalProperties": False,
        }
        return {
            "type": "json_schema",
            "json_schema": {"name": self.name, "strict": True, "schema": schema},
        }


class Answer(Struct, frozen=True):
    """What a judge said, as it came."""

    text: str
    structured: bool
    """Whether the server took the schema; whether the reply keeps to it, who reads it sees."""
    note: str = ""
    """What a reader must know of how it was asked; empty if it was asked as it should be."""
    cut: bool = False
    """Whether its tokens ran out."""
    refused: bool = False
    """Whether the server calls it a refusal."""


async def ask(
    case: Case, model_key: str, messages: Sequence[Message], *, schema: Schema | None
) -> Answer:
    """What the judge says; ModelError, with the name of the judge, if it cannot be asked."""
    model = judge_of(case, model_key)
    refused = _refused.setdefault(asyncio.get_running_loop(), {})
    who = (model_key, model.fingerprint)
    if schema is not None and who not in refused:
        try:
            found = await _complete(case, model, messages, schema)
        except ModelError as error:
            if not _refuses_the_schema(error):
                raise _of_judge(error, model_key) from error
            refused[who] = _words(error)
        else:
            return _answer(found, structured=True)
    try:
        found = await _complete(case, model, messages, None)
    except ModelError as error:
        raise _of_judge(error, model_key) from error
    return _answer(found, note="" if schema is None else _note(model_key, refused[who]))


def judge_of(case: Case, model_key: str) -> Model:
    """The model of that name; ValueError says which there are."""
    try:
        return case.models[model_key]
    except KeyError:
        known = ", ".join(f"`{key}`" for key in sorted(case.models)) or "none"
        raise ValueError(f"`{model_key}` is none of the models here: {known}") from None


async def _complete(
    case: Case, model: Model, messages: Sequence[Message], schema: Schema | None
) -> Completion:
    request = Request(
        messages=tuple(messages),
        sample=case.sample,
        trial=case.trial,
        input=None if schema is None else {"response_format": schema.response_format},
        takes_all=True,  # a refusal and an empty reply are read here, and quoted
    )
    return await model.complete(request)


def _answer(found: Completion, *, structured: bool = False, note: str = "") -> Answer:
    return Answer(
        found.text,
        structured=structured,
        note=note,
        cut=found.finish == "length",
        refused=_is_refusal(found.output),
    )


def _is_refusal(output: Any) -> bool:
    match output:
        case {"choices": [{"message": {"refusal": str(words)}}, *_]}:
            return bool(words)
    return False


def _refuses_the_schema(error: ModelError) -> bool:
    return error.kind not in _NOT_ABOUT_IT and _ABOUT_IT.search(str(error)) is not None


def _of_judge(error: ModelError, model_key: str) -> ModelError:
    """The same error, and who it is: beside the evaluated model there are several."""
    made = ModelError(
        error.kind,
        f"the judge `{model_key}`: {error}",
        retryable=error.retryable,
        retry_after_s=error.retry_after_s,
        hint=error.hint,
    )
    made.attempts = error.attempts
    return made


def _words(error: ModelError) -> str:
    said = str(error)
    return said if len(said) <= _MOST_QUOTED else f"{said[:_MOST_QUOTED]}…"


def _note(model_key: str, words: str) -> str:
    return (
        f"`{model_key}` takes no schema for its reply ({words}): "
        "it was asked without structured outputs"
    )
