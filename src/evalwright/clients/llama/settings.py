"""The settings of a local model (`-p NAME=VALUE`), checked before it is loaded.

`LlamaSettings` determines how it runs. Other parameters are sent unchanged, including those that
only the server of llama.cpp knows; `json_schema` and `grammar` (GBNF) are for structured output.

At temperature 0 the likeliest token is taken, so an answer is the same every time. Otherwise `seed`
is the seed of the first trial, `seed + 1` of the second, so that trials differ and runs do not.
A prompt is computed from its first token. With `cache_prompt=true` what it shares with the last
one is not computed again, which is much faster if examples precede every question; then
digits, and occasionally a word, depend on earlier requests.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from evalwright.clients.parameters import Count, SamplingParameters, Seconds, check_parameters
from evalwright.errors import UsageError

_STEP = 256
_DEFAULTS: dict[str, Any] = {
    "temperature": 0,
    "seed": 0,
    "max_tokens": 256,
    "logprobs": True,
    "cache_prompt": False,
}
NEVER = {
    "model": "it is taken from the model name",
    "messages": "the task sets them",
    "id_slot": "slots are assigned automatically",
    "n": "every trial is a separate request",
}


class LlamaSettings(Struct, frozen=True, kw_only=True):
    """How the model runs. Only `context` can change an answer, by limiting its length."""

    slots: Annotated[int, Meta(ge=1, le=256)] = 4
    """Number of concurrent answers."""
    context: Annotated[int, Meta(ge=64)] = 4096
    """Tokens of prompt and answer together, per slot; a multiple of 256."""
    threads: Annotated[int, Meta(ge=1, le=512)] | None = None
    """Number of threads; None for the number of idle cores."""
    total_timeout_s: Seconds = 3600


class LlamaParameters(SamplingParameters, frozen=True, kw_only=True):
    """The known parameters of an answer."""

    max_tokens: Count | None = None
    seed: Annotated[int, Meta(ge=0)] | None = None
    min_p: float | None = None
    stop: str | list[str] | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    cache_prompt: bool | None = None


def parse_settings(
    model: str, parameters: Mapping[str, Any]
) -> tuple[LlamaSettings, dict[str, Any]]:
    """Return the settings of the model, and the parameters of every request."""
    sent, _ = check_parameters(parameters, LlamaParameters, model=model, never=NEVER)
    try:
        settings = msgspec.convert(dict(parameters), LlamaSettings)
    except msgspec.ValidationError as error:
        raise UsageError(f"parameters for {model}: {error}") from error
    # llama.cpp rounds up too, and what it rounds to decides what fits.
    settings = structs.replace(settings, context=-(-settings.context // _STEP) * _STEP)
    own = LlamaSettings.__struct_fields__
    return settings, {**_DEFAULTS, **{name: sent[name] for name in sent if name not in own}}
