"""What a well-formed reply amounts to: an answer, or the reason why there is none.

    refused     the model declined
    filtered    the provider withheld or cut the reply
    truncated   the tokens ran out before any text (with text: an answer, `finish` is `length`)
    empty       there is no text and no tool call

To a request that takes all, a refusal and an empty reply are answers.

A reply that calls tools and says nothing else is an answer too: its text is the calls, as JSON,
`[{"name": "add", "arguments": {"a": 1}}]`.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from evalwright.errors import ModelError
from evalwright.types import Completion, Usage

Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None
"""A count of tokens as a server may give it; a count beyond all sense is a wrong shape."""

_MOST_QUOTED = 200


class Call(msgspec.Struct, frozen=True):
    """One tool that the model wants called."""

    name: str
    arguments: Any


def usage(prompt: int | None, completion: int | None) -> Usage:
    """One request, and its tokens; 0 where the server does not count."""
    return Usage(requests=1, prompt_tokens=prompt or 0, completion_tokens=completion or 0)


def counted(usage: Usage) -> dict[str, int]:
    """Tokens, by the names that authors know."""
    return {
        "num_prompt_tokens": usage.prompt_tokens,
        "num_completion_tokens": usage.completion_tokens,
    }


def answer(found: Completion, *, calls: Iterable[Call] = (), takes_all: bool = False) -> Completion:
    """The completion, unless there is nothing in it; without a text, its calls are the text."""
    if found.text:
        return found
    if wanted := [*calls]:
        text = msgspec.json.encode(wanted).decode()
        return msgspec.structs.replace(found, text=text, finish="tool_calls")
    if found.finish == "length":
        raise ModelError(
            "truncated",
            "the tokens ran out before the reply had any text",
            hint="allow more: `max_tokens`, or what this API calls it",
        )
    if not takes_all:
        raise ModelError("empty", "the reply has no text")
    return found


def declined(words: str, *, said: str = "", usage: Usage, takes_all: bool) -> Completion:
    """A refusal, and what was said beside it, as an answer to a request that takes all."""
    if not takes_all:
        raise refused(words)
    message = {"role": "assistant", "content": said or None, "refusal": words}
    output = {"choices": [{"message": message}], "usage": counted(usage)}
    return Completion(text=said or words, usage=usage, output=output)


def refused(words: str = "") -> ModelError:
    """The model declined, in these words."""
    said = f": {one_line(words)}" if words.strip() else ""
    return ModelError("refused", f"the model refused to answer{said}")


def filtered(words: str = "") -> ModelError:
    """The provider's filter stepped in."""
    said = f": {one_line(words)}" if words.strip() else ""
    return ModelError("filtered", f"the provider's content filter withheld the reply{said}")


def parsed(arguments: Any) -> Any:
    """The arguments of a call as a value, if they are JSON in a string, as they mostly are."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments


def one_line(text: str, *, most: int = _MOST_QUOTED) -> str:
    """Somebody else's words, fit for one line of ours: no control characters, not too many."""
    seen = text[: 4 * most]  # what is cut off anyway need not be cleaned
    clean = " ".join("".join(c if c.isprintable() else " " for c in seen).split())
    return clean if len(clean) <= most else clean[: most - 1] + "…"
