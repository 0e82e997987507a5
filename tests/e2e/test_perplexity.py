"""`evalwright perplexity` as a person runs it, with a model that a plugin brings."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.e2e import in_process
from tests.e2e.commands import COMMAND, SECRET_NAMES, finished, report_of

MODEL = '''
"""Weighs a word by its length; holds a text with `hold` until there is a file `go`."""

import asyncio
from pathlib import Path

from evalwright.errors import ModelError
from evalwright.types import Completion, Usage


class Model:
    caveat = ""
    fingerprint = "1"
    weighs = True

    async def complete(self, request):
        text = request.given[0]
        with Path("asked.log").open("a") as log:
            log.write(text + "\\n")
        while "hold" in text and not Path("go").exists():
            await asyncio.sleep(0.01)
        if "fail" in text:
            raise ModelError("broken", "this text cannot be weighed", hint="leave it out")
        given = tuple(-len(word) / 2 for word in text.split())
        usage = Usage(requests=1, prompt_tokens=len(given))
        return Completion(text="", given=(given,), usage=usage)

    async def close(self):
        pass


def connect(name, options):
    return Model()
'''
DOCUMENTS = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a plugin that Python finds there."""
    (tmp_path / "weigher.py").write_text(MODEL)
    plugin = tmp_path / "weigher-1.0.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: weigher\nVersion: 1.0\n")
    (plugin / "entry_points.txt").write_text("[evalwright.models]\nweigher = weigher:connect\n")
    return tmp_path


def write(folder: Path, *texts: str) -> None:
    lines = (json.dumps({"text": one}) + "\n" for one in texts)
    (folder / "corpus.jsonl").write_text("".join(lines))


def environment(folder: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.endswith(SECRET_NAMES)}
    return {**ours, "PYTHONPATH": str(folder)}


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "perplexity", *arguments],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def perplexity(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return in_process.evalwright("perplexity", *arguments, cwd=folder, env=environment(folder))


def until_asked(folder: Path, process: subprocess.Popen[str], word: str, times: int) -> None:
    while process.poll() is None and sum(word in one for one in asked(folder)) < times:
        sleep(0.01)


def asked(folder: Path) -> list[str]:
    path = folder / "asked.log"
    return path.read_text().splitlines() if path.exists() else []


def figures(report: Any) -> Any:
    """All that must be the same whatever happened on the way."""
    told = ("perplexity", "bits_per_byte", "bits_per_character", "nll", "tokens", "documents")
    models = [{name: one[name] for name in told} for one in report["models"]]
    return models, report["documents"], report["status"]


def held_in_the_middle() -> list[str]:
    """Two of them wait, after those before them are weighed."""
    half = DOCUMENTS // 2
    before = [f"document {'x' * number}" for number in range(half)]
    return [*before, "one to hold", "two to hold", *(f"later {'y' * n}" for n in range(half))]


RUN = ("corpus.jsonl", "-m", "weigher/m", "--json", "--concurrency", "2")


def test_killed_and_given_again_it_weighs_only_what_was_in_flight(folder: Path) -> None:
    write(folder, *held_in_the_middle())
    process = start(folder, *RUN)
    until_asked(folder, process, "hold", 2)
    process.kill()
    finished(process)
    (folder / "go").touch()

    again = report_of(perplexity(folder, *RUN))
    log = Counter(asked(folder))
    alone = report_of(perplexity(folder, *RUN, "--no-cache"))

    assert {text: times for text, times in log.items() if times > 1} == {
        "one to hold": 2,
        "two to hold": 2,
    }
    assert again["summary"]["reused"] == DOCUMENTS // 2
    assert figures(again) == figures(alone), "as if nothing had happened"


@pytest.mark.parametrize(
    ("how", "waiting"),
    [
        pytest.param(signal.SIGINT, "waiting for 2 samples in flight", id="Ctrl-C"),
        pytest.param(signal.SIGTERM, "waiting at most 8 s for 2 samples in flight", id="SIGTERM"),
    ],
)
def test_a_signal_reports_what_is_done_and_the_same_command_resumes(
    folder: Path, how: signal.Signals, waiting: str
) -> None:
    write(folder, *held_in_the_middle())
    process = start(folder, *RUN)
    until_asked(folder, process, "hold", 2)
    process.send_signal(how)
    assert process.stderr
    assert waiting in process.stderr.readline()
    (folder / "go").touch()

    stopped = report_of(finished(process), exit_code=130)
    resumed = report_of(perplexity(folder, *RUN))

    assert stopped["status"] == "stopped"
    assert stopped["models"][0]["documents"] == len(stopped["documents"]) == DOCUMENTS // 2 + 2
    assert "repeat the command to resume" in stopped["notes"][0]
    assert resumed["status"] == "finished"
    assert max(Counter(asked(folder)).values()) == 1, "nothing is weighed twice"


def test_a_document_that_fails_is_listed_and_in_no_figure(folder: Path) -> None:
    write(folder, "one two", "to fail", "three", "", "another to fail")
    shown = perplexity(folder, "corpus.jsonl", "-m", "weigher/m")
    report = report_of(perplexity(folder, *RUN), exit_code=3)

    assert shown.returncode == 3
    assert (
        "weigher/m: 2 documents failed (corpus.jsonl:2, corpus.jsonl:5): "
        "this text cannot be weighed\n  hint: leave it out\n"
    ) in shown.stdout
    assert "4 documents: 2 measured, 2 failed, 1 without text skipped" in shown.stdout
    (model,) = report["models"]
    assert model["nll"] == pytest.approx((3 + 3 + 5) / 2)
    assert (model["documents"], model["failed"]) == (2, 2)
    assert report["status"] == "finished_with_failures"
    assert [row["failure"] and row["failure"]["type"] for row in report["documents"]] == [
        None,
        "broken",
        None,
        "broken",
    ]
    assert Counter(asked(folder))["to fail"] == 2, "a failure is not kept"


def test_an_api_that_cannot_weigh_says_so(folder: Path) -> None:
    done = perplexity(folder, "corpus.jsonl", "-m", "openai/gpt-4.1-mini")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "evalwright: `openai/gpt-4.1-mini`: perplexity needs the log-probabilities of given "
        "text, and this API returns them only for text that it generates\n"
        "  hint: use a local model: -m local/smollm2, or -m local/PATH.gguf\n"
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        pytest.param((), 2, "missing argument 'FILE...'", id="no file"),
        pytest.param(("a.txt",), 2, "no model was specified", id="no model"),
        pytest.param(("a.txt", "-m", "weigher/m", "-p", "x"), 2, "NAME=VALUE", id="parameter"),
        pytest.param(("none.txt", "-m", "weigher/m"), 2, "none.txt: no such file", id="missing"),
        pytest.param(("bad.jsonl", "-m", "weigher/m"), 1, "bad.jsonl:1", id="bad"),
    ],
)
def test_used_wrongly(folder: Path, arguments: tuple[str, ...], exit_code: int, said: str) -> None:
    (folder / "a.txt").write_text("text")
    (folder / "bad.jsonl").write_text("{}\n")

    done = perplexity(folder, *arguments)

    assert done.returncode == exit_code
    assert said in done.stderr.lower() or said in done.stderr
    assert "Traceback" not in done.stderr
    assert asked(folder) == []


def test_documents_are_not_held(folder: Path) -> None:
    """What is kept of each is a few numbers, however long its text."""
    line = json.dumps({"text": "word " * 200}) + "\n"
    with (folder / "corpus.jsonl").open("w") as file:
        for _ in range(30_000):
            file.write(line)
    code = (
        "import resource, sys, evalwright as ew\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "ew.perplexity('corpus.jsonl', 'scripted/echo', cache=False, limit=int(sys.argv[1]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )

    grown = [
        int(
            subprocess.run(
                [sys.executable, "-c", code, limit],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for limit in ("100", "30000")
    ]

    assert grown[1] - grown[0] < 15_000, "kB, of 30 MB of text"
