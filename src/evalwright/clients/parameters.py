"""What a model is told with every request: checked once, before the first.

A parameter that is not known here is sent as it is, because servers differ. A known one of the
wrong type, one that the API does not have, and one that is not the author's to set are refused.

Three are for this side of the wire. They are not sent, and do not change what is asked:

    connect_timeout_s      10    until there is a connection
    first_byte_timeout_s   300   until the reply begins, and for every later silence
    total_timeout_s        600   until the reply is complete
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from yarl import URL

from evalwright.errors import ModelError, UsageError
from evalwright.types import Request

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long is waited, in seconds."""

    connect_timeout_s: Seconds = 10
    first_byte_timeout_s: Seconds = 300
    total_timeout_s: Seconds = 600


class Sampling(Struct, frozen=True, kw_only=True):
    """The parameters that all APIs share."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: list[dict[str, Any]] | None = None
    stream: bool | None = None


def check(
    parameters: Mapping[str, Any],
    known: type[Sampling],
    *,
    model: str,
    never: Mapping[str, str],
) -> tuple[dict[str, Any], Timeouts]:
    """What is to be sent, and how long to wait. `never` says why a name is refused."""
    for name in parameters:
        if name in never:
            raise UsageError(f"{model} takes no parameter `{name}`: {never[name]}")
    try:
        msgspec.convert(dict(parameters), known)
        timeouts = msgspec.convert(dict(parameters), Timeouts)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"parameters of {model}: {error}", hint="a parameter is a JSON value"
        ) from error
    if parameters.get("stream"):
        raise UsageError(f"{model} is not streamed: a reply is read whole", hint="drop `stream`")
    here = {"stream", *Timeouts.__struct_fields__}
    return {name: value for name, value in parameters.items() if name not in here}, timeouts


def more(request: Request, *, never: Mapping[str, str]) -> dict[str, Any]:
    """The keys that a chat request brings itself; `ModelError` for what this API cannot do."""
    if request.task != "chat_completion":
        raise ModelError("unsupported", f"this API has no `{request.task}`: it is for chat")
    keys = request.input
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        raise ModelError(
            "bad_request",
            f"expected an object with more keys of the request, got `{type(keys).__name__}`",
        )
    for name in keys:
        if name in never:
            raise ModelError("bad_request", f"the input has a key `{name}`: {never[name]}")
    if keys.get("stream"):
        raise ModelError("bad_request", "the input has `stream`: a reply is read whole")
    return {name: value for name, value in keys.items() if name != "stream"}


def fingerprint(api: str, url: URL, parameters: Mapping[str, Any]) -> str:
    """All that changes the answers beside the model's name, as JSON. No secret is part of it."""
    facts = {"api": api, "url": str(url), "parameters": dict(parameters)}
    try:
        return msgspec.json.encode(facts, order="sorted").decode()
    except TypeError as error:
        raise UsageError(f"a parameter is not a JSON value: {error}") from error
