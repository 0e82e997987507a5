"""What an HTTP status means to somebody who asked a model.

    301 302 303 307 308   not_found      a POST is not sent on: it carries the key
    400 422, other 4xx    bad_request    with the server's own message; `filtered` if that says so
    401 403               auth
    404 405               not_found      no such model, or no such address
    408                   timeout        try again
    409                   conflict       try again
    429                   rate_limited   try again, after `Retry-After` if the server says when
    5xx                   server         try again, likewise

A 429 that says the quota is spent is not tried again.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import msgspec

from evalwright.clients.answers import filtered, one_line
from evalwright.clients.providers import Provider
from evalwright.errors import ModelError

KINDS = {
    401: "auth",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "conflict",
    429: "rate_limited",
}
"""What is not here is `server` in the five hundreds, `not_found` below 400, else `bad_request`."""

_SERVER = range(500, 600)
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}
_FILTERED = {"content_filter", "content_policy_violation"}
_FILTERED_WORDS = "content filtering policy"


def is_retryable(status: int) -> bool:
    """Whether the same request may fare better later."""
    return status in {408, 409, 429} or status in _SERVER


def status_error(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    provider: Provider,
    clean: Callable[[str], str],
) -> ModelError:
    """The error that a reply with this status is; `clean` takes the secrets out of its words."""
    error = _parsed(body)
    said = one_line(clean(words(error) or body))
    codes = {error.get("code"), error.get("type")} if isinstance(error, dict) else set()
    if codes & _FILTERED or _FILTERED_WORDS in said:
        return filtered(said)
    message = f"HTTP {status}{f': {said}' if said else _reason(status)}"
    if status < HTTPStatus.BAD_REQUEST:
        message = f"HTTP {status}: the server wants to be asked elsewhere"
        if location := headers.get("Location"):
            message += f", at {one_line(clean(location))}"
    return ModelError(
        _kind(status),
        message,
        retryable=is_retryable(status) and not codes & _SPENT,
        retry_after_s=retry_after(headers) if is_retryable(status) else None,
        hint=_hint(status, provider),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, by `retry-after-ms` or `Retry-After`: a number or a date; None if unsaid."""
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    given = headers.get("Retry-After", "")
    if (seconds := _seconds(given)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(given)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def words(error: Any) -> str:
    """What an error object says, in whatever shape this server gives it. As it came: not clean."""
    if isinstance(error, dict):
        for name in ("message", "detail", "error", "msg", "code", "type"):
            if said := words(error.get(name)):
                return said
        return ""
    if isinstance(error, list):
        return "; ".join(filter(None, map(words, error[:3])))
    return str(error) if isinstance(error, str | int) else ""


def _parsed(body: str) -> Any:
    """The error object inside a body; None if there is none."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    inner = found.get("error") if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else found


def _kind(status: int) -> str:
    if status in _SERVER:
        return "server"
    return KINDS.get(status, "not_found" if status < HTTPStatus.BAD_REQUEST else "bad_request")


def _hint(status: int, provider: Provider) -> str:
    kind = _kind(status)
    if kind == "auth":
        return f"check {provider.key_variable}"
    if kind == "not_found":
        return f"check the model's name and {provider.base_url_variable}"
    return ""


def _reason(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
