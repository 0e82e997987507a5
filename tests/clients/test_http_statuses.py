from collections.abc import Mapping

import msgspec
import pytest
from multidict import CIMultiDict

from evalwright.clients.http import retry_after, status_error
from evalwright.clients.providers import PROVIDERS
from evalwright.errors import ModelError


def error_of(status: int, body: object = "", headers: Mapping[str, str] = {}) -> ModelError:
    text = body if isinstance(body, str) else msgspec.json.encode(body).decode()
    return status_error(status, CIMultiDict(headers), text, provider=PROVIDERS["groq"], clean=str)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (402, "bad_request", False),
        (403, "auth", False),
        (404, "not_found", False),
        (405, "not_found", False),
        (408, "timeout", True),
        (409, "conflict", True),
        (413, "bad_request", False),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server", True),
        (502, "server", True),
        (503, "server", True),
        (504, "server", True),
        (529, "server", True),
        (301, "not_found", False),
    ],
)
def test_a_status_has_a_kind(status: int, kind: str, *, retryable: bool) -> None:
    error = error_of(status)

    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.message.startswith(f"HTTP {status}")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"error": {"message": "too long"}}, "too long", id="OpenAI"),
        pytest.param(
            {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}},
            "too long",
            id="Anthropic",
        ),
        pytest.param({"error": "too long"}, "too long", id="Ollama"),
        pytest.param({"object": "error", "message": "too long"}, "too long", id="vLLM"),
        pytest.param({"detail": "too long"}, "too long", id="FastAPI"),
        pytest.param(
            {"detail": [{"loc": ["body", "seed"], "msg": "not a number"}, {"msg": "too long"}]},
            "not a number; too long",
            id="FastAPI, several",
        ),
        pytest.param([{"error": {"code": 400, "message": "too long"}}], "too long", id="Gemini"),
        pytest.param({"error": {"code": "context_length"}}, "context_length", id="a code alone"),
        pytest.param("<h1>too\r\n long</h1>", "<h1>too long</h1>", id="a page"),
        pytest.param("x" * 500, "x" * 199 + "…", id="no more than fits"),
        pytest.param("", "Bad Request", id="nothing"),
    ],
)
def test_the_servers_own_words_are_in_the_message(body: object, message: str) -> None:
    error = error_of(400, body).message

    assert error.removeprefix("HTTP 400").lstrip(": ") == message


def test_a_hint_names_the_variables_of_the_provider() -> None:
    assert error_of(401).hint == "check GROQ_API_KEY"
    assert "GROQ_BASE_URL" in error_of(404).hint
    assert error_of(500).hint == ""


def test_a_status_that_nobody_knows_is_still_told() -> None:
    assert error_of(599).message == "HTTP 599"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "flagged", "code": "content_filter"}},
        {"error": {"message": "flagged", "type": "content_policy_violation"}},
        {"error": {"message": "Output blocked by content filtering policy"}},
    ],
)
def test_a_request_that_the_filter_stopped_is_filtered(body: object) -> None:
    error = error_of(400, body)

    assert (error.kind, error.retryable) == ("filtered", False)


def test_a_spent_quota_is_not_tried_again() -> None:
    error = error_of(429, {"error": {"message": "pay first", "code": "insufficient_quota"}})

    assert (error.kind, error.retryable) == ("rate_limited", False)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({"Retry-After": "2"}, 2, id="seconds"),
        pytest.param({"retry-after": "0.5"}, 0.5, id="part of a second"),
        pytest.param({"Retry-After": "2", "retry-after-ms": "1500"}, 1.5, id="milliseconds win"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, id="a date gone by"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2015 07:28:00"}, 0, id="a date without a zone"),
        pytest.param({}, None, id="unsaid"),
        pytest.param({"Retry-After": "soon"}, None, id="no number and no date"),
        pytest.param({"Retry-After": "-1"}, None, id="before now"),
        pytest.param({"Retry-After": "nan"}, None, id="not a number"),
        pytest.param({"Retry-After": "inf"}, None, id="never"),
        pytest.param({"retry-after-ms": "x", "Retry-After": "3"}, 3, id="the one that is good"),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert retry_after(CIMultiDict(headers)) == seconds


def test_a_date_to_come_is_so_many_seconds_away() -> None:
    far = retry_after({"Retry-After": "Fri, 01 Jan 2999 00:00:00 GMT"})

    assert far is not None
    assert far > 365 * 24 * 3600


@pytest.mark.parametrize(("status", "seconds"), [(429, 9), (503, 9), (529, 9), (400, None)])
def test_retry_after_counts_where_trying_again_does(status: int, seconds: float | None) -> None:
    assert error_of(status, headers={"Retry-After": "9"}).retry_after_s == seconds
