"""The settings of a local model (`-p NAME=VALUE`), checked before it is loaded.

`LlamaSettings` controls how the model runs. Other parameters are sent unchanged, including
parameters that only llama.cpp's server supports. `json_schema` and `grammar` (GBNF) constrain the
output.

At temperature 0, the most likely token is always chosen, so answers are identical. Otherwise, the
first trial uses `seed`, the second `seed + 1` and so on, so that trials differ and runs are
reproducible. A prompt is computed from its first token. With `cache_prompt=true`, the part that it
shares with the previous prompt is reused. This is much faster if the same examples precede every
question, but probabilities, and occasionally a word, then depend on earlier requests.
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
    """Controls how the model runs. Only `context` can change an answer, by limiting its length."""

    slots: Annotated[int, Meta(ge=1, le=256)] = 4
    """Number of concurrent answers."""
    context: Annotated[int, Meta(ge=64)] = 4096
    """Number of tokens for prompt and answer, per slot; a multiple of 256."""
    threads: Annotated[int, Meta(ge=1, le=512)] | None = None
    """Number of threads. Default: the number of idle cores."""
    total_timeout_s: Seconds = 3600


class LlamaParameters(SamplingParameters, frozen=True, kw_only=True):
    """Known generation parameters."""

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
    # llama.cpp also rounds up; the rounded size determines the prompts that fit.
    settings = structs.replace(settings, context=-(-settings.context // _STEP) * _STEP)
    own = LlamaSettings.__struct_fields__
    return settings, {**_DEFAULTS, **{name: sent[name] for name in sent if name not in own}}
