"""Check and resolve the generation parameters and request keys that are sent to an API.

Parameters are checked once, before the first request. Unknown parameters are sent unchanged,
because servers differ, unless they look misspelled. Parameters are rejected if they have the wrong
type, if the API does not support them, or if users cannot set them. `extra.NAME` sends NAME
unchecked.

Three parameters apply to the client. They are not sent and do not change the request:

    connect_timeout_s      10    until the connection is established
    first_byte_timeout_s   300   until the reply starts, and for every later pause
    total_timeout_s        600   until the reply is complete
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from evalwright.clients.providers import PROVIDERS, Address, locate
from evalwright.errors import ModelError, UsageError
from evalwright.generation_parameters import EXTRA, correct_parameter
from evalwright.types import ModelOptions, Request

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Timeouts(Struct, frozen=True, kw_only=True):
    """Time limits in seconds."""

    connect_timeout_s: Seconds = 10
    first_byte_timeout_s: Seconds = 300
    total_timeout_s: Seconds = 600


class SamplingParameters(Struct, frozen=True, kw_only=True):
    """Parameters that all APIs share."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: list[dict[str, Any]] | None = None
    stream: bool | None = None


_ADDRESSES = ("base_url", "api_base")
_NEVER_EXTRA = {"input", "messages", "model", "stream"}


def reject_misspelled_parameters(
    parameters: Mapping[str, Any], *, model: str, in_name: Collection[str] = ()
) -> None:
    """Reject addresses, and unknown parameters whose names are similar to common ones.

    `in_name` lists the parameters that the model's name sets; `-p` sets the others.
    """
    for name in parameters:
        if name in _ADDRESSES:
            server = PROVIDERS.get(model.partition("/")[0])
            raise UsageError(
                f"`{name}` is not a parameter of {model}: the address is set per model",
                hint=f"write `-m {model}@http://…`, or set {server.base_url_variable}"
                if server
                else "only provider models have an address, such as openai/MODEL@http://…",
            )
        if meant := correct_parameter(name):
            raise UsageError(
                f"`{name}` is not a parameter of {model}; did you mean `{meant}`?",
                hint=f"`{'?' if name in in_name else '-p '}{EXTRA}{name}=…` sends it unchanged",
            )


def resolve_extra(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without the prefix `extra.`."""
    return {name.removeprefix(EXTRA): value for name, value in parameters.items()}


def check_parameters(
    parameters: Mapping[str, Any],
    known: type[SamplingParameters],
    *,
    model: str,
    never: Mapping[str, str],
) -> tuple[dict[str, Any], Timeouts]:
    """Return the parameters to send and the timeouts; `never` maps rejected names to reasons."""
    extra = {name: value for name, value in parameters.items() if name.startswith(EXTRA)}
    parameters = {name: value for name, value in parameters.items() if name not in extra}
    extra = resolve_extra(extra)
    for name in (*parameters, *(name for name in extra if name in _NEVER_EXTRA)):
        if name in never:
            raise UsageError(f"{model} does not accept the parameter `{name}`: {never[name]}")
    try:
        msgspec.convert(parameters, known)
        timeouts = msgspec.convert(parameters, Timeouts)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"parameters for {model}: {error}", hint="a parameter must be a JSON value"
        ) from error
    if parameters.get("stream") or extra.get("stream"):
        raise UsageError(f"{model}: streaming is not supported", hint="remove `stream`")
    unsent = {"stream", *Timeouts.__struct_fields__}
    sent = {name: value for name, value in parameters.items() if name not in unsent}
    return {**sent, **extra}, timeouts


def locate_model(
    model: str,
    path: str,
    options: ModelOptions,
    *,
    known: type[SamplingParameters],
    never: Mapping[str, str],
) -> tuple[Address, dict[str, Any], Timeouts]:
    """Return the address of `provider/name`, the parameters to send, and the timeouts."""
    usual, name = model.split("/", 1)
    provider = options.provider or usual
    if not name:
        raise UsageError(f"`{provider}/` needs a model name", hint=f"write {provider}/MODEL")
    address = locate(provider, path, options.environment, base_url=options.base_url)
    model = f"{provider}/{name}"
    return address, *check_parameters(options.parameters, known, model=model, never=never)


def chat_keys(request: Request, *, never: Mapping[str, str]) -> dict[str, Any]:
    """Return the additional keys of a chat request; `ModelError` for a different task."""
    if request.task != "chat_completion":
        raise ModelError("unsupported", f"this API does not support `{request.task}`, only chat")
    keys = request.input
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        raise ModelError(
            "bad_request",
            f"expected an object with additional request keys, got `{type(keys).__name__}`",
        )
    for name in keys:
        if name in never:
            raise ModelError("bad_request", f"the input cannot set `{name}`: {never[name]}")
    if keys.get("stream"):
        raise ModelError("bad_request", "the input cannot set `stream`: streaming is not supported")
    return {name: value for name, value in keys.items() if name != "stream"}


def parse_embedding_input(request: Request) -> tuple[list[str], dict[str, Any]]:
    """Return the strings to embed (one or a list, possibly under `input`), and the other keys."""
    keys: dict[str, Any] = {}
    texts = request.input
    if isinstance(texts, dict):
        if "model" in texts:
            raise ModelError(
                "bad_request", "the input cannot set `model`: it is taken from the model name"
            )
        keys = {name: value for name, value in texts.items() if name != "input"}
        texts = texts.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise ModelError("bad_request", "expected a string or a list of strings to embed")
    return texts, keys
