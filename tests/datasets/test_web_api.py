import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.servers.model_server import (
    Asked,
    Behaviour,
    ModelServer,
    body,
    html,
    in_turn,
    json,
    never,
    reset,
    reset_in_mid_body,
    status,
)

from evalwright.datasets import web_api
from evalwright.datasets.web_api import JsonApi, read_pages, store_rows
from evalwright.errors import BadDataset, Unreadable

KEY = "sk-0123456789abcdef"
FINE = json({"a": 1})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(web_api, "_PAUSE_S", 0.0)
    with ModelServer(FINE) as running:
        yield running


def api(server: ModelServer, key: str = KEY) -> JsonApi:
    return JsonApi(server.origin, headers={"x-key": key}, key=key, hint="see the manual")


def redirect(target: str) -> Behaviour:
    async def behave(_: Asked) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": target})

    return behave


def test_a_key_and_parameters_are_sent(server: ModelServer) -> None:
    assert api(server).get("/x", {"a": "ü &", "b": [1, 2]}) == {"a": 1}
    assert api(server).post("/y", {"q": "é"}) == {"a": 1}

    got, posted = server.log
    assert (got.method, got.path) == ("GET", "/x?a=%C3%BC+%26&b=1&b=2")
    assert (posted.method, posted.body) == ("POST", {"q": "é"})
    assert got.headers["x-key"] == KEY


def test_without_a_key_no_header_is_sent(server: ModelServer) -> None:
    api(server, key="").get("/x")

    assert "x-key" not in server.log[0].headers


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(status(429, retry_after="0"), id="429"),
        pytest.param(status(503), id="503 without a time"),
        pytest.param(status(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), id="a date"),
        pytest.param(status(502, retry_after="soon"), id="no time at all"),
        pytest.param(reset, id="a connection that breaks"),
        pytest.param(reset_in_mid_body, id="a reply that breaks"),
    ],
)
def test_what_may_pass_is_tried_again(server: ModelServer, trouble: Behaviour) -> None:
    server.behave(in_turn(trouble, trouble, FINE))

    assert api(server).get("/x") == {"a": 1}
    assert len(server.log) == 3


@pytest.mark.parametrize(
    ("behaviour", "said", "hint", "asked"),
    [
        pytest.param(
            status(401, f"bad {KEY}"), "answered 401: .*bad .redacted", "key", 1, id="401"
        ),
        pytest.param(
            status(400, "no such filter"), "answered 400: .*no such filter", "", 1, id="400"
        ),
        pytest.param(status(429, "busy"), "answered 429: .*busy", "", 5, id="429 for ever"),
        pytest.param(
            status(429, retry_after="3600"), "asks clients to wait 3600 s", "later", 1, id="an hour"
        ),
        pytest.param(html(), "expected JSON, got `<!DOCTYPE html>", "", 1, id="a page"),
        pytest.param(body(b""), "expected JSON, got nothing", "", 1, id="nothing"),
        pytest.param(body(b'{"a": '), "expected JSON, got", "", 1, id="half of it"),
        pytest.param(body(b"[" * 100_000), "expected JSON, got", "", 1, id="depth"),
        pytest.param(
            redirect("http://127.0.0.1:1/elsewhere?token=abc"),
            "redirects to http://127.0.0.1:1/elsewhere",
            "the key is not sent there",
            1,
            id="a redirect",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_without_the_key(
    server: ModelServer, behaviour: Behaviour, said: str, hint: str, asked: int
) -> None:
    server.behave(behaviour)

    with pytest.raises(Unreadable, match=said) as caught:
        api(server).get("/x", {"token": "hidden"})

    shown = f"{caught.value.message} {caught.value.hint}"
    assert hint in caught.value.hint
    assert KEY not in shown
    assert "hidden" not in shown
    assert "\n" not in shown
    assert len(server.log) == asked


def test_a_server_that_is_silent_or_gone_is_an_error(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_api, "SILENCE_S", 0.05)
    server.behave(never)
    with pytest.raises(Unreadable, match=r"could not be read: .*timed out"):
        api(server).get("/x")

    gone = JsonApi("http://127.0.0.1:1", headers={}, key="", hint="is it running?")
    with pytest.raises(Unreadable, match=r"could not be read: .*refused") as caught:
        gone.get("/x")
    assert caught.value.hint == "is it running?"


def test_a_reply_that_is_too_large_is_an_error(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_api, "MOST_BYTES", 10)
    server.behave(json(["x" * 100]))

    with pytest.raises(Unreadable, match="more than"):
        api(server).get("/x")


def test_numbers_that_json_does_not_have_are_null(server: ModelServer) -> None:
    server.behave(body(b'{"score": NaN}'))

    assert api(server).get("/x") == {"score": None}


@pytest.mark.parametrize(
    ("address", "key", "said"),
    [
        pytest.param("localhost:6006", "", "expected an address with http://", id="no scheme"),
        pytest.param("file:///etc/passwd", "", "expected an address with http://", id="a file"),
        pytest.param("http://x", "a\nb: c", "not allowed in a header", id="a newline"),
        pytest.param("http://x", "schlüssel", "not allowed in a header", id="a letter"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_used_is_refused(
    address: str, key: str, said: str
) -> None:
    with pytest.raises(Unreadable, match=said) as caught:
        JsonApi(address, headers={}, key=key, hint="")

    assert not key or key not in caught.value.message


def test_pages_end_with_the_first_that_is_empty_or_has_no_cursor() -> None:
    pages: dict[Any, tuple[list[Any], Any]] = {None: ([{"n": 1}], "b"), "b": ([], "c")}
    assert list(read_pages(pages.__getitem__, name="x")) == [{"n": 1}]

    def circle(cursor: Any) -> tuple[list[Any], Any]:
        return [{"n": 1}], {"a": "b", "b": "a"}.get(cursor, "a")

    with pytest.raises(BadDataset, match=r"x: the pages do not end: .*`a` twice"):
        list(read_pages(circle, name="x"))


def test_a_row_that_no_file_can_hold_and_a_full_disk_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch() -> Iterator[dict[str, Any]]:
        yield {"sample_id": "a"}
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Unreadable, match="No space left on device"):
        list(store_rows("kind", {}, fetch, cache_dir=tmp_path, name="x").rows())
    monkeypatch.setattr(web_api, "MAX_LINE_BYTES", 10)
    rows = store_rows("kind", {}, lambda: [{"sample_id": "abc"}], cache_dir=tmp_path, name="x")
    with pytest.raises(BadDataset, match="x: `abc` is larger than"):
        list(rows.rows())
    assert not list((tmp_path / "downloads").iterdir())
