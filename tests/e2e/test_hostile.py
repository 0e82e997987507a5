"""A server that does its worst: the run ends, and every sample is an answer or says what broke."""

import gzip
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from aiohttp import web
from tests.e2e.commands import (
    COMMAND,
    environment,
    evalwright,
    outcomes_in,
    record,
    report_of,
    write_tasks,
)
from tests.servers import model_server as serve
from tests.servers.model_server import Asked, Behaviour, ModelServer

IMPATIENT = ("-p", "first_byte_timeout_s=1.5", "-p", "total_timeout_s=2.5")
ONCE_MORE = ("--retries", "1")
MOST_MEGABYTES = 250
FIFTY_MEGABYTES = 50 * 2**20
PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A process between, because a child inherits the peak of a large parent, such as the tests."""


class Trick(NamedTuple):
    """What the server does, and what is to come of it."""

    behaviour: Behaviour
    failure: str
    attempts: int = 1


def page(text: str, *, status: int = 200) -> Behaviour:
    return serve.body(text.encode(), content_type="text/html", status=status)


def bomb(size: int) -> Behaviour:
    """Zeros: small on the wire, and a thousand times as large when it is unpacked."""

    async def behave(asked: Asked) -> web.StreamResponse:
        packed = serve.body(pack_zeros(size), headers={"Content-Encoding": "gzip"})
        return await packed(asked)

    return behave


@cache
def pack_zeros(size: int) -> bytes:
    return gzip.compress(bytes(size))


AGAIN = 2
"""Attempts, where it was worth trying again."""

TRICKS = {
    "429": Trick(serve.status(429), "rate_limited", AGAIN),
    "429, retry at once": Trick(serve.status(429, retry_after="0"), "rate_limited", AGAIN),
    "429, retry in a second": Trick(serve.status(429, retry_after="1"), "rate_limited", AGAIN),
    "429, retry tomorrow": Trick(serve.status(429, retry_after="86400"), "rate_limited"),
    "429, retry soon": Trick(serve.status(429, retry_after="soon"), "rate_limited", AGAIN),
    "429, retry in the past": Trick(
        serve.status(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), "rate_limited", AGAIN
    ),
    "500": Trick(serve.status(500), "server", AGAIN),
    "502 in HTML": Trick(page("<html>Bad Gateway</html>", status=502), "server", AGAIN),
    "503": Trick(serve.status(503, "overloaded"), "server", AGAIN),
    "401": Trick(serve.status(401, "who are you?"), "auth"),
    "a redirect": Trick(serve.json({}, status=307, headers={"Location": "/"}), "not_found"),
    "a reset": Trick(serve.reset, "connection", AGAIN),
    "a reset in mid-body": Trick(serve.reset_in_mid_body, "connection", AGAIN),
    "a slow drip": Trick(serve.slow_drip, "timeout", AGAIN),
    "no answer": Trick(serve.never, "timeout", AGAIN),
    "HTML": Trick(serve.html(), "not_json"),
    "half of a JSON": Trick(serve.body(b'{"choices": [{"message": {"con'), "not_json"),
    "not UTF-8": Trick(serve.body(b'{"choices": "\xff\xfe"}'), "not_json"),
    "a deep JSON": Trick(serve.body(b"[" * 100_000), "not_json"),
    "other JSON": Trick(serve.json({"answer": 4}), "wrong_shape"),
    "a JSON list": Trick(serve.json([4]), "wrong_shape"),
    "a choice that is a number": Trick(serve.json({"choices": [4]}), "wrong_shape"),
    "an error under 200": Trick(serve.json({"error": {"message": "no"}}), "error_object"),
    "no choices": Trick(serve.json({"choices": []}), "empty"),
    "no text": Trick(serve.chat(""), "empty"),
    "no body": Trick(serve.body(b""), "empty"),
    "a refusal": Trick(serve.chat(None, refusal="I would rather not"), "refused"),
    "a filter": Trick(serve.chat("4", finish="content_filter"), "filtered"),
    "50 MB": Trick(serve.huge(FIFTY_MEGABYTES), "too_large"),
}


async def by_prompt(asked: Asked) -> web.StreamResponse:
    """Every sample meets a trick of its own; the rest is answered."""
    trick = TRICKS.get(asked.prompt)
    return await (trick.behaviour if trick else serve.chat("4"))(asked)


def measured(server: ModelServer, *arguments: str, cwd: Path) -> tuple[int, float]:
    """Exit code, and the most memory that the process ever had, in megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *COMMAND, *arguments],
        cwd=cwd,
        env=environment(server),
        capture_output=True,
        text=True,
        check=True,
    )
    code, kilobytes = map(int, done.stdout.split())
    return code, kilobytes / 1024


def test_every_sample_is_an_answer_or_a_failure_that_tells_which(tmp_path: Path) -> None:
    good = [f"good {number}" for number in range(10)]
    prompts = [*good[:5], *TRICKS, *good[5:]]
    write_tasks(tmp_path, (record(f"t{n}", prompt=prompt) for n, prompt in enumerate(prompts)))

    with ModelServer(by_prompt) as server:
        done = evalwright(
            server,
            *("run", "tasks.jsonl", "-m", "openai/x", "--json"),
            *(*IMPATIENT, *ONCE_MORE, "--concurrency", "50"),
            cwd=tmp_path,
        )

    report = report_of(done, exit_code=3)
    assert report["status"] == "finished_with_failures"
    assert (report["summary"]["completed"], report["summary"]["failed"]) == (10, len(TRICKS))
    outcomes = dict(zip(prompts, outcomes_in(tmp_path), strict=True))
    assert not any(outcomes[name].failure for name in good)
    failures = {name: one.failure for name, one in outcomes.items() if one.failure}
    assert {name: (failure.type, failure.attempts) for name, failure in failures.items()} == {
        name: (trick.failure, trick.attempts) for name, trick in TRICKS.items()
    }
    for failure in failures.values():
        assert failure.stage == "solver"
        assert 0 < len(failure.message) < 500
        assert failure.message.isprintable(), "one line, and nothing that a terminal obeys"
    assert not any(outcomes[name].scores for name in TRICKS), "a failure is never a score"
    assert "Traceback" not in done.stderr
    asked = Counter(one.prompt for one in server.log)
    assert {name: asked[name] for name in TRICKS} == {
        name: trick.attempts for name, trick in TRICKS.items()
    }


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(serve.huge(FIFTY_MEGABYTES), id="announced"),
        pytest.param(serve.huge(FIFTY_MEGABYTES, declared=False), id="unannounced"),
        pytest.param(bomb(2 * FIFTY_MEGABYTES), id="small until it is unpacked"),
    ],
)
def test_replies_of_50_megabytes_do_not_fill_the_memory(
    tmp_path: Path, behaviour: Behaviour
) -> None:
    write_tasks(tmp_path, (record(f"t{number}") for number in range(12)))

    with ModelServer(behaviour) as server:
        code, megabytes = measured(
            server, *("run", "tasks.jsonl", "-m", "openai/x", "--concurrency", "12"), cwd=tmp_path
        )

    assert code == 3
    failures = [one.failure and one.failure.type for one in outcomes_in(tmp_path)]
    assert failures == ["too_large"] * 12
    assert megabytes < MOST_MEGABYTES


def burst(errors: Iterable[Behaviour]) -> Behaviour:
    """These, in the order of arrival, whoever asks; then only answers."""
    return serve.in_turn(*errors, serve.chat("4"))


@pytest.mark.parametrize(
    "errors",
    [
        pytest.param([serve.status(429)] * 6, id="429"),
        pytest.param([serve.status(429, retry_after="0")] * 6, id="429 with Retry-After"),
        pytest.param([serve.status(500), serve.status(503)] * 5, id="a burst of 5xx"),
        pytest.param([serve.reset, serve.reset_in_mid_body] * 3, id="resets"),
        pytest.param([serve.never] * 3, id="no answer"),
    ],
)
def test_what_goes_away_costs_requests_and_no_sample(
    tmp_path: Path, errors: list[Behaviour]
) -> None:
    names = [f"t{number}" for number in range(20)]
    write_tasks(tmp_path, map(record, names))

    with ModelServer(burst(errors)) as server:
        done = evalwright(
            server,
            *("run", "tasks.jsonl", "-m", "openai/x", "--json", "--concurrency", "10"),
            *("-p", "first_byte_timeout_s=3"),
            cwd=tmp_path,
        )

    report = report_of(done)
    assert report["summary"]["completed"] == len(names)
    assert report["leaderboard"][0]["mean"] == 1.0
    assert [one.sample_id for one in outcomes_in(tmp_path)] == names
    assert report["usage"]["openai/x"]["requests"] == len(server.log) == len(names) + len(errors)
    assert report["usage"]["openai/x"]["completion_tokens"] == 3 * len(names)
