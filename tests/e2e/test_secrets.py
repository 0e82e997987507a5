"""The key goes into one header of a request, and nowhere else, whatever the server does with it."""

import json
import sqlite3
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright, finished, record, start, write_tasks
from tests.servers import model_server as serve
from tests.servers.model_server import Asked, Behaviour, ModelServer

if sys.version_info >= (3, 14):
    from compression.zstd import decompress
else:
    from backports.zstd import decompress

PLAIN = "sk-proj-Zq7Lw2Tn9Xc4Vb6Mm1"
NASTY = 'sk-4f1c+9A/z="7Qe\\2&b%c~Kd8'
ZSTD = b"\x28\xb5\x2f\xfd"
"""How compressed bytes begin."""
QUICK = ("-p", "first_byte_timeout_s=0.3", "--retries", "1")


def spellings(key: str) -> Iterator[str]:
    """The ways in which a server may write it."""
    yield key
    yield from (quote(key), quote(key, safe=""), quote_plus(key))
    yield json.dumps(key)[1:-1]
    yield json.dumps(key)[1:-1].replace("/", r"\/")
    yield key.encode().hex()
    for before in ("", ":", "u:"):
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(f"{before}{key}".encode()).decode()


def traces(key: str) -> Iterator[str]:
    """What gives it away. In base64, first and last characters depend on what stands beside it."""
    for spelling in dict.fromkeys(spellings(key)):
        trace = spelling if key[3:9] in spelling or "%" in spelling else spelling[4:-4]
        yield trace
        yield trace[: len(trace) // 2]
        yield trace[len(trace) // 2 :]


def leaks(key: str, text: bytes) -> list[str]:
    """What gives it away in there; half of it would be too much."""
    return [trace for trace in traces(key) if trace.encode() in text]


def said_back(key: str) -> dict[str, Behaviour]:
    """Every way to say the key back that has a name."""
    every = " ".join(spellings(key))
    login = b64encode(f"user:{key}".encode()).decode()
    error = {"message": f"Incorrect API key provided: {every}", "type": "invalid", "code": None}
    at_the_cut = {
        f"cut at {width}": serve.status(400, "x" * (width - 10) + f" {spelling}")
        for width in (80, 200, 500)
        for spelling in (key, login)
    }
    return {
        **{f"HTTP {code}": serve.json({"error": error}, status=code) for code in STATUSES},
        **at_the_cut,
        "plain text": serve.body(every.encode(), content_type="text/plain", status=500),
        "a page": serve.body(f"<html>{every}</html>".encode(), content_type="text/html"),
        "a page of errors": serve.body(
            f"<html>{every}</html>".encode(), content_type="text/html", status=502
        ),
        "a login": serve.body(f"Basic {login}".encode(), content_type="text/plain", status=403),
        "a redirect": serve.json({}, status=302, headers={"Location": f"/?key={quote(key)}"}),
        "headers": serve.json(
            {"error": error}, status=429, headers={"X-Key": key, "Retry-After": key}
        ),
        "an error under 200": serve.json({"error": error}),
        "an error that is text": serve.json({"error": every}),
        "the wrong shape": serve.json({"choices": {key: every}}),
        "a wrong choice": serve.json({"choices": [{"message": {"content": {key: key}}}]}),
        "half of a reply": serve.body(json.dumps({"choices": [key]})[:-2].encode()),
        "a reset": serve.reset_in_mid_body,
        "silence": serve.never,
        "a refusal": serve.chat(None, refusal=f"I will not say {every}"),
        "an answer": serve.chat(every),
        "a long answer": serve.chat(f"{'word ' * 2000}{every}{' word' * 2000}"),
        "an answer in parts": serve.chat([{"type": "text", "text": every}]),  # type: ignore[arg-type]
        "a call of a tool": serve.chat(
            None, tool_calls=[{"function": {"name": key, "arguments": json.dumps({"k": key})}}]
        ),
    }


STATUSES = (400, 401, 403, 404, 408, 409, 413, 418, 422, 429, 500, 503)


def tasks_with(key: str, prompts: list[str]) -> Iterator[dict[str, object]]:
    """The author knows the key too, and has put it wherever there was room."""
    for number, prompt in enumerate(prompts):
        yield record(f"t{number}", prompt=prompt, targets=[f"{'x' * 70}{key}", key])
    example = {"prompt": f"Q {key}", "completion": f"A {key}"}
    yield record("asked", prompt=f"Is {key} a key?", few_shot_examples=[example])
    yield record("long", prompt=f"Is {'this ' * 1000} {key} a key?")
    yield record("known", prompt=f"Say {key}", metadata={"note": key})
    yield record("bad", metric_name=key)
    yield record("worse", **{key: key})


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file but the tasks; of a database also what is in its values, unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "tasks.jsonl":
            yield path.name, path.read_bytes()
    for path in folder.rglob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            yield f"{path.name}, unpacked", b"\n".join(unpacked(database))


def unpacked(database: sqlite3.Connection) -> Iterator[bytes]:
    """Every value of every table; of one that is compressed, what it was before."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for row in database.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - its own name
            for value in row:
                raw = value if isinstance(value, bytes) else str(value).encode()
                at = raw.find(ZSTD)
                yield raw if at < 0 else decompress(raw[at:])


@pytest.mark.parametrize("key", [PLAIN, NASTY], ids=["plain", "nasty"])
def test_the_key_is_nowhere_but_in_the_header_of_a_request(tmp_path: Path, key: str) -> None:
    behaviours = said_back(key)
    write_tasks(tmp_path, tasks_with(key, [*behaviours]))
    env = {"OPENAI_API_KEY": key}

    async def by_prompt(asked: Asked) -> web.StreamResponse:
        return await behaviours.get(asked.prompt, serve.chat(key))(asked)

    run = ("run", "tasks.jsonl", "-m", "openai/x", "--allow-bad-tasks", "--cache", *QUICK)
    commands = [
        (*run, "--concurrency", "60", "--markdown", "report.md"),
        (*run, "--json"),
        ("list", "--json"),
        ("show", "latest"),
        ("show", "latest", "--json"),
        ("show", "latest", "--model", "openai/x"),
        ("show", "latest", "--failed", "--json"),
        ("report", "latest"),
        ("report", "latest", "--json", "--markdown", "again.md"),
        ("export", "latest"),
        ("export", "latest", "--format", "csv", "-o", "export.csv"),
        ("score", "latest", "--allow-bad-tasks", "--json"),
    ]
    with ModelServer(by_prompt) as server:
        said = [evalwright(server, *command, cwd=tmp_path, env=env) for command in commands]
        sent = [one.headers["Authorization"] for one in server.log]

    assert [done.returncode for done in said[:2]] == [3, 3], said[0].stderr
    assert all(done.returncode in {0, 3} for done in said), [done.stderr for done in said]
    assert set(sent) == {f"Bearer {key}"}
    for command, done in zip(commands, said, strict=True):
        assert leaks(key, done.stdout.encode()) == [], f"stdout of {command}"
        assert leaks(key, done.stderr.encode()) == [], f"stderr of {command}"
    files = dict(written(tmp_path))
    assert {"runs.db", "cache.db", "report.md", "again.md", "export.csv"} <= files.keys()
    for name, content in files.items():
        assert leaks(key, content) == [], name
    for name in ("runs.db, unpacked", "cache.db, unpacked"):
        assert b"word word [redacted]" in files[name], (
            "the answers were looked at, the long one too"
        )


def test_the_key_is_nowhere_while_a_run_is_under_way(tmp_path: Path) -> None:
    """What a killed process leaves behind: the WAL has not been folded into the file."""
    echo = serve.chat(f"{'word ' * 500}{PLAIN}")

    async def all_but_the_last(asked: Asked) -> web.StreamResponse:
        return await (serve.never if asked.prompt == "last" else echo)(asked)

    prompts = [f"{PLAIN} {number}" for number in range(20)]
    records = (record(f"t{n}", prompt=prompt) for n, prompt in enumerate([*prompts, "last"]))
    write_tasks(tmp_path, records)
    command = ("run", "tasks.jsonl", "-m", "openai/x", "--cache", "--concurrency", "1")
    with ModelServer(all_but_the_last) as server:
        process = start(server, *command, cwd=tmp_path, env={"OPENAI_API_KEY": PLAIN})
        while len(server.log) <= len(prompts) and process.poll() is None:
            sleep(0.01)
        process.kill()
        said = finished(process)

    files = {path.name: path.read_bytes() for path in (tmp_path / ".evalwright").iterdir()}
    assert files["runs.db-wal"]
    assert [name for name, content in files.items() if leaks(PLAIN, content)] == []
    assert leaks(PLAIN, f"{said.stdout}{said.stderr}".encode()) == []
    for name, content in written(tmp_path):
        assert leaks(PLAIN, content) == [], name


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("-m", "openai/x", "-p", f"user={PLAIN}"), id="in a parameter"),
        pytest.param(("-m", "openai/x", "-p", f'metadata={{"key": "{PLAIN}"}}'), id="deep in one"),
        pytest.param(("-m", f"openai/{PLAIN}"), id="as a model"),
    ],
)
def test_a_key_that_was_typed_where_it_would_be_kept_is_refused(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    write_tasks(tmp_path, [record("a")])

    with ModelServer() as server:
        done = evalwright(
            server, "run", "tasks.jsonl", *arguments, cwd=tmp_path, env={"OPENAI_API_KEY": PLAIN}
        )

    assert done.returncode == 2
    assert "contains a secret from the environment" in done.stderr
    assert leaks(PLAIN, f"{done.stdout}{done.stderr}".encode()) == []
    assert not (tmp_path / ".evalwright").exists()
    assert server.log == []
