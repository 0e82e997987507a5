"""Between our words and an endpoint's: what makes the body, and what reads the reply.

    input  →  process_input  →  body  →  the endpoint  →  body  →  process_output  →  output

An author's adapter is two Jinja templates. `process_input` sees `input` (`model_input` is the
same), `model_info` and `kwargs`, and renders the body. `process_output` sees `body` (a text),
`status_code` and `model_info`, and renders the JSON of an output; `outputs` has the shapes that are
understood.

    input        {"messages": […], …} for chat, {"input": […]} for embeddings, anything for custom
    kwargs       the keys of a chat's input beside its messages
    model_info   key, model_key (the name at the endpoint), task

Built in:

    latticeflow$identity                 the input as it is, with `model` if there is a `model_key`
    latticeflow$openai_chat_completion   the same: both shapes of tokens are understood
    latticeflow$openai_responses         messages become the responses API's `input`
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from evalwright.clients.answers import one_line
from evalwright.clients.openai_responses import translated
from evalwright.clients.parameters import more
from evalwright.clients.texts import asked_for
from evalwright.errors import ModelError
from evalwright.templates import Template
from evalwright.types import MLTask, Request

_MOST_SHOWN = 80
_NEVER = {"messages": "they are the task's"}


class Info(Struct, frozen=True, kw_only=True):
    """What an adapter knows of its model."""

    key: str
    """What the project calls it."""
    task: MLTask = "chat_completion"
    model_key: str = ""
    """What the endpoint calls it."""


class Asked(Struct, frozen=True, kw_only=True):
    """What is asked, in our words."""

    input: Any
    kwargs: dict[str, Any] = {}
    texts: int | None = None
    """How many texts are to be embedded."""


class Adapter(Protocol):
    """Anything that stands between a model and its endpoint."""

    source: str
    """All that decides what it does: part of a model's fingerprint."""

    def outgoing(self, asked: Asked, info: Info) -> str:
        """The body that the endpoint gets."""
        ...

    def incoming(self, body: str, status: int, info: Info) -> Any:
        """The JSON that the reply amounts to."""
        ...


class Identity:
    """Changes nothing, and says which model is meant if the document does."""

    source = "identity 1"

    def outgoing(self, asked: Asked, info: Info) -> str:
        """The input, as JSON."""
        body = asked.input
        if info.model_key and info.task != "custom" and isinstance(body, dict):
            body = {"model": info.model_key, **body}
        return msgspec.json.encode(body).decode()

    def incoming(self, body: str, status: int, info: Info) -> Any:  # noqa: ARG002 - an Adapter's signature
        """The reply, as JSON."""
        return parsed(body, "the reply")


class OpenAIResponses(Identity):
    """Speaks the responses API of OpenAI."""

    source = "openai_responses 1"

    def outgoing(self, asked: Asked, info: Info) -> str:
        """A chat as this API has it; anything else as it is."""
        if info.task != "chat_completion":
            return super().outgoing(asked, info)
        rest = {name: value for name, value in asked.input.items() if name != "messages"}
        body = {"store": False, **translated(rest), "input": asked.input["messages"]}
        return super().outgoing(Asked(input=body), info)

    def incoming(self, body: str, status: int, info: Info) -> Any:
        """Open responses; what is none is left as it is."""
        found = super().incoming(body, status, info)
        if isinstance(found, dict) and isinstance(found.get("output"), list):
            kept = ("usage", "error", "incomplete_details")
            told = {name: found[name] for name in kept if found.get(name)}
            return {"items": found["output"], **told}
        return found


class Jinja:
    """An author's own; a way that is not given changes nothing."""

    def __init__(
        self, key: str, *, process_input: Template | None, process_output: Template | None
    ) -> None:
        self._key = key
        self._in, self._out = process_input, process_output
        ways = [one.source if one else None for one in (process_input, process_output)]
        self.source = msgspec.json.encode(ways).decode()

    def outgoing(self, asked: Asked, info: Info) -> str:
        """What `process_input` renders."""
        template = self._in
        if template is None:
            return Identity().outgoing(asked, info)
        return self._rendered(
            "process_input",
            lambda: template.render(
                input=asked.input,
                model_input=asked.input,
                model_info=msgspec.to_builtins(info),
                kwargs=asked.kwargs,
            ),
        )

    def incoming(self, body: str, status: int, info: Info) -> Any:
        """What `process_output` renders, as JSON."""
        template = self._out
        if template is None:
            return Identity().incoming(body, status, info)
        text = self._rendered(
            "process_output",
            lambda: template.render(
                body=body, status_code=status, model_info=msgspec.to_builtins(info)
            ),
        )
        return parsed(text, f"what `process_output` of `{self._key}` renders")

    def _rendered(self, way: str, render: Callable[[], str]) -> str:
        try:
            return render().strip()
        except ValueError as error:
            raise ModelError(
                "adapter", f"`{way}` of `{self._key}`: {one_line(str(error))}"
            ) from error


BUILT_IN: dict[str, Callable[[], Adapter]] = {
    "latticeflow$identity": Identity,
    "latticeflow$openai_chat_completion": Identity,
    "latticeflow$openai_responses": OpenAIResponses,
}


def asked_by(request: Request, parameters: dict[str, Any]) -> Asked:
    """A request in our words. Generation parameters belong to a chat; the request's own win."""
    if request.task == "custom":
        return Asked(input=request.input)
    if request.task == "embeddings":
        texts, keys = asked_for(request)
        return Asked(input={**keys, "input": texts}, texts=len(texts))
    keys = {**parameters, **more(request, never=_NEVER)}
    if request.trial and isinstance(seed := keys.get("seed"), int):
        keys["seed"] = seed + request.trial  # so that trials differ
    said = [msgspec.to_builtins(one) for one in request.messages]
    return Asked(input={**keys, "messages": said}, kwargs=keys)


def parsed(text: str, what: str) -> Any:
    """The JSON in a text; `what` names it where there is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        shown = one_line(text, most=_MOST_SHOWN)
    raise ModelError("not_json", f"{what} is not JSON: {shown or 'it is empty'}")
