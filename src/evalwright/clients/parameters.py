"""What is sent with a request: generation parameters, and the keys of the request itself.

Parameters are checked once, before the first request. An unknown one is sent unchanged, because
servers differ. A known one of the wrong type, one that the API does not have, and one that
is not the author's to set are refused.

Three are for this side of the wire. They are not sent, and do not change what is asked:

    connect_timeout_s      10    until there is a connection
    first_byte_timeout_s   300   until the reply begins, and for every later silence
    total_timeout_s        600   until the reply is complete
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from evalwright.clients.providers import Address, locate
from evalwright.errors import ModelError, UsageError
from evalwright.types import ModelOptions, Request

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds."""

    connect_timeout_s: Seconds = 10
    first_byte_timeout_s: Seconds = 300
    total_timeout_s: Seconds = 600


class SamplingParameters(Struct, frozen=True, kw_only=True):
    """The parameters that all APIs share."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: list[dict[str, Any]] | None = None
    stream: bool | None = None


def check_parameters(
    parameters: Mapping[str, Any],
    known: type[SamplingParameters],
    *,
    model: str,
    never: Mapping[str, str],
) -> tuple[dict[str, Any], Timeouts]:
    """Return what is to be sent, and the timeouts. `never` says why a name is refused."""
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
    unsent = {"stream", *Timeouts.__struct_fields__}
    return {name: value for name, value in parameters.items() if name not in unsent}, timeouts


def locate_model(
    model: str,
    path: str,
    options: ModelOptions,
    *,
    known: type[SamplingParameters],
    never: Mapping[str, str],
) -> tuple[Address, dict[str, Any], Timeouts]:
    """Return the address of `provider/name`, what is to be sent, and the timeouts."""
    usual, name = model.split("/", 1)
    provider = options.provider or usual
    if not name:
        raise UsageError(f"`{provider}/` needs a model", hint=f"write {provider}/MODEL")
    address, model = locate(provider, path, options.environment), f"{provider}/{name}"
    return address, *check_parameters(options.parameters, known, model=model, never=never)


def chat_keys(request: Request, *, never: Mapping[str, str]) -> dict[str, Any]:
    """Return the keys that a chat request brings itself; `ModelError` for an unknown task."""
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


def parse_embedding_input(request: Request) -> tuple[list[str], dict[str, Any]]:
    """Return the texts (one, a list, or either under `input`), and the request's other keys."""
    keys: dict[str, Any] = {}
    texts = request.input
    if isinstance(texts, dict):
        if "model" in texts:
            raise ModelError("bad_request", "the input has a key `model`: it is the model's name")
        keys = {name: value for name, value in texts.items() if name != "input"}
        texts = texts.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise ModelError("bad_request", "expected a text, or a list of texts, to embed")
    return texts, keys
