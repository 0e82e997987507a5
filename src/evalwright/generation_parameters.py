"""Generation parameters, such as `temperature`: their names, and how a model's name contains them.

    openai/gpt-4.1-mini?temperature=0&top_p=0.5        the model with these parameters
    support-bot?temperature=0                          a model of a project
    openai/my-model?seed=1@http://localhost:8000/v1    parameters stand before an address

In a name, a value is JSON or, if it does not parse as JSON, text. `%26`, `%40` and `%25` are `&`,
`@` and `%`. Names are compared as text, so `with_parameters` always writes a name in the same way.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from evalwright.errors import UsageError
from evalwright.nearest import nearest

EXTRA = "extra."
"""Prefix of a parameter that is sent unchecked."""

COMMON_PARAMETERS = (
    *("temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "n", "logprobs"),
    *("top_logprobs", "frequency_penalty", "presence_penalty", "logit_bias", "response_format"),
    *("tools", "tool_choice", "reasoning_effort", "max_completion_tokens", "max_output_tokens"),
    *("stream", "include", "instructions", "text", "reasoning", "store", "stop_sequences"),
    *("system", "thinking", "min_p", "grammar", "json_schema", "cache_prompt", "dimensions"),
    *("user", "slots", "context", "threads"),
    *("connect_timeout_s", "first_byte_timeout_s", "total_timeout_s"),
)
"""Names that a misspelled name is compared with, most likely first."""
_ALIKE = ("min_keep", "min_tokens", "n_probs", "safe_prompt", "speed", "think", "top_a", "top_h")
"""Parameter names of some servers that are similar to common names."""
_MOST_ADDED = 2
"""Longest extra suffix of a misspelled name; `stop_token_ids` is a different parameter."""

_AT_ADDRESS = re.compile(r"@(?=https?://)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ESCAPES = (("%", "%25"), ("&", "%26"), ("@", "%40"))


def correct_parameter(name: str) -> str:
    """Return the parameter that a misspelled name means; `""` if it is not misspelled.

    Servers differ, so an unknown name is misspelled only if it is similar to a common one.
    """
    if name in COMMON_PARAMETERS or name in _ALIKE or name.startswith(EXTRA):
        return ""
    meant = nearest(name, COMMON_PARAMETERS)
    if meant is None or (name.startswith(meant) and len(name) > len(meant) + _MOST_ADDED):
        return ""
    return meant


def parse_parameter_value(text: str) -> Any:
    """Return the value of a parameter on the command line: JSON if it parses as JSON, else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def split_address(model: str) -> tuple[str, str]:
    """Split `name@URL` into the name and the address; the address may be empty."""
    name, *address = _AT_ADDRESS.split(model, maxsplit=1)
    return name, "".join(address)


def split_parameters(model: str) -> tuple[str, dict[str, Any]]:
    """Return a model's name without its parameters, and the parameters.

    `UsageError` for a parameter without a value.
    """
    name, address = split_address(model)
    base, mark, text = name.partition("?")
    if not mark or not _NAME.match(text) or ("=" not in text and not text.isidentifier()):
        return model, {}  # the `?` is a part of the name, for example of a file
    parameters: dict[str, Any] = {}
    for pair in text.split("&"):
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(
                f"`{model}`: expected NAME=VALUE after `?` and `&`, got `{pair}`",
                hint=f"for example `{base}?temperature=0`",
            )
        parameters[unquote(key)] = parse_parameter_value(unquote(value))
    return _join_address(base, address), parameters


def with_parameters(model: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a model with these parameters, sorted; `model` has none itself."""
    if not parameters:
        return model
    name, address = split_address(model)
    pairs = (f"{_escape(key)}={_escape(_to_text(parameters[key]))}" for key in sorted(parameters))
    return _join_address(f"{name}?{'&'.join(pairs)}", address)


def _join_address(name: str, address: str) -> str:
    return f"{name}@{address}" if address else name


def _to_text(value: Any) -> str:
    """Return the text that `parse_parameter_value` turns into the value."""
    if isinstance(value, str) and value.isprintable() and parse_parameter_value(value) == value:
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escape(text: str) -> str:
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return text
