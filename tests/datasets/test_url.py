import gzip
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError
from tests.servers.model_server import (
    Asked,
    Behaviour,
    ModelServer,
    body,
    html,
    huge,
    never,
    reset,
    reset_in_mid_body,
    slow_drip,
    status,
)

from evalwright.datasets import url
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.datasets.url import Url, fetch_file
from evalwright.errors import Unreadable

JSONL = b'{"a": 1}\n{"a": 2}\n'
TWO = [{"a": 1}, {"a": 2}]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(body(JSONL)) as running:
        yield running


def remote(address: str, cache: Path, **more: Any) -> Rows:
    source = Url.model_validate({"type": "url", "url": address, **more})
    return source.rows(Surroundings(cache_dir=cache))


def redirect(target: str) -> Behaviour:
    async def behave(asked: Asked) -> web.StreamResponse:
        if asked.path.startswith("/first"):
            return web.Response(status=302, headers={"Location": target})
        return web.Response(body=JSONL)

    return behave


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.jsonl", JSONL, id="jsonl"),
        pytest.param("a.csv", b"a\n1\n2\n", id="csv"),
        pytest.param("a.jsonl.gz", gzip.compress(JSONL, mtime=0), id="jsonl.gz"),
        pytest.param("a.jsonl?token=s3cret&x=.csv", JSONL, id="a query says nothing"),
        pytest.param("a%20b.jsonl", JSONL, id="a name in percents"),
        pytest.param("ü b.jsonl?x=ß y", JSONL, id="letters and spaces as people write them"),
    ],
)
def test_a_file_is_fetched_and_read(
    tmp_path: Path, server: ModelServer, name: str, content: bytes
) -> None:
    server.behave(body(content))

    assert list(remote(f"{server.origin}/{name}", tmp_path).rows()) == TWO


def test_nothing_is_fetched_before_a_row_is_asked_for(tmp_path: Path, server: ModelServer) -> None:
    rows = remote(f"{server.origin}/a.jsonl", tmp_path)
    assert server.log == []

    assert rows.check() == 2
    assert rows.digest
    assert len(server.log) == 1


def test_the_second_time_no_network_is_needed(tmp_path: Path) -> None:
    with ModelServer(body(JSONL)) as server:
        address = f"{server.origin}/a.jsonl"
        first = remote(address, tmp_path).digest

    again = remote(address, tmp_path)

    assert list(again.rows()) == TWO
    assert again.digest == first
    (kept,) = (tmp_path / "downloads").iterdir()
    assert kept.name.endswith("-a.jsonl")


def test_addresses_that_differ_in_the_query_are_kept_apart(
    tmp_path: Path, server: ModelServer
) -> None:
    remote(f"{server.origin}/a.jsonl?v=1", tmp_path).check()
    remote(f"{server.origin}/a.jsonl?v=2", tmp_path).check()

    assert len(server.log) == 2


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        pytest.param(status(404), "the server answered 404", id="not there"),
        pytest.param(status(503), "the server answered 503", id="overloaded"),
        pytest.param(html(), "got a web page", id="a login page"),
        pytest.param(reset, "the download failed", id="the connection breaks"),
        pytest.param(reset_in_mid_body, "the download failed", id="in the middle"),
        pytest.param(huge(5000), "larger than", id="too large, and says so"),
        pytest.param(huge(5000, declared=False), "larger than", id="too large"),
        pytest.param(never, "timed out", id="silence"),
        pytest.param(slow_drip, "not finished after", id="never done"),
    ],
)
def test_what_cannot_be_fetched_leaves_nothing_behind(
    tmp_path: Path,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    behaviour: Behaviour,
    said: str,
) -> None:
    monkeypatch.setattr(url, "SILENCE_S", 0.3)
    monkeypatch.setattr(url, "LONGEST_S", 0.3)
    server.behave(behaviour)

    with pytest.raises(Unreadable) as caught:
        fetch_file(f"{server.origin}/a.jsonl?token=s3cret", tmp_path / "d" / "a", most_bytes=4000)

    assert said in caught.value.message
    assert "s3cret" not in caught.value.message
    assert "\n" not in caught.value.message
    assert list((tmp_path / "d").glob("*")) == [] if (tmp_path / "d").exists() else True


def test_a_redirect_is_followed(tmp_path: Path, server: ModelServer) -> None:
    server.behave(redirect("/second.jsonl"))

    assert remote(f"{server.origin}/first.jsonl", tmp_path).check() == 2


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,x"])
def test_a_redirect_to_something_else_is_not(
    tmp_path: Path, server: ModelServer, target: str
) -> None:
    server.behave(redirect(target))

    with pytest.raises(Unreadable, match=r"answered 302|neither http nor https"):
        remote(f"{server.origin}/first.jsonl", tmp_path).check()


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, but it does not listen
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/a.csv"

        with pytest.raises(Unreadable, match=r"the download failed: .*refused") as caught:
            remote(address, tmp_path).check()

    assert "type: local" in caught.value.hint


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("file:///etc/a.csv", "expected a URL with http", id="a file"),
        pytest.param("ftp://example.org/a.csv", "expected a URL with http", id="ftp"),
        pytest.param("a.csv", "expected a URL with http", id="a path"),
        pytest.param("https:///a.csv", "expected a URL with http", id="no host"),
        pytest.param("https://u:p@example.org/a.csv", "without a user name", id="a password"),
        pytest.param("https://example.org/a.txt", "got `a.txt`", id="another kind of file"),
        pytest.param("https://example.org/a?f=.csv", "got `a`", id="an ending in the query"),
        pytest.param("https://[::1/a.csv", "Invalid IPv6", id="no address"),
    ],
)
def test_refuses_before_anything_is_asked(address: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Url.model_validate({"type": "url", "url": address})

    assert said in str(caught.value)


def test_a_file_of_the_network_is_not_put_where_a_file_cannot_be(
    tmp_path: Path, server: ModelServer
) -> None:
    (tmp_path / "downloads").write_text("in the way")

    with pytest.raises(Unreadable, match="the download failed"):
        remote(f"{server.origin}/a.jsonl", tmp_path).check()
