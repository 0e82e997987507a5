import json
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.api.demo import demo, files_in
from tests.e2e import in_process
from tests.e2e.commands import environment
from tests.living import PATIENCE_S
from tests.servers.model_server import ModelServer, chat, never, status

COMMAND = [sys.executable, "-m", "evalwright", "task", "test"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return demo(tmp_path)


def tried(
    *arguments: str, cwd: Path, exit_code: int = 0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = in_process.evalwright("task", "test", *arguments, cwd=cwd, env=env)
    assert done.returncode == exit_code, done.stderr
    return done


def test_each_sample_has_its_sections_then_come_the_metrics_and_a_line(project: Path) -> None:
    before = files_in(project)

    done = tried("-f", "run.yaml", "-sk", "capitals", "-id", "au", cwd=project)

    assert (
        done.stdout
        == """\
Task `capitals`
  file: tasks/capitals.yaml
  specification: run.yaml:28

Sample `au`, model responder: completed
  Dataset sample:
    sample_id: au
    country: Australia
    capital: Canberra
    disputed: false
  Solver:
    messages:
      - role: system
        content: Answer with the name of the city and nothing else.
      - role: user
        content: What is the capital of Australia?
      - role: assistant
        content: Sydney
    output: Sydney
    usage:
      requests: 1
      prompt_tokens: 16
      completion_tokens: 1
    latency_s: …
    finish: stop
  Scores:
    exact:
      values:
        is_correct: false
      reason: "'Sydney' against 'Canberra'"
      metadata:
        answer_gt: Canberra
        answer_pred: Sydney
  Rules:
    disputed: does not apply

Metrics over 1 sample
  exact.is_correct_mean: 0  (n 1, 95 % interval [0, 0.793])
""".replace("…", _latency(done.stdout))
    )
    assert done.stderr == "1 sample tried: no errors\n"
    assert files_in(project).keys() == before.keys(), "nothing is kept"


def _latency(page: str) -> str:
    return page.split("latency_s: ")[1].split("\n", maxsplit=1)[0]


def test_a_real_server_is_asked_as_in_a_run(project: Path) -> None:
    with ModelServer(chat("Paris")) as server:
        done = tried(
            *("tasks/capitals.yaml", "-m", "openai/gpt-test", "--json"),
            cwd=project,
            env=environment(server),
        )
        (asked,) = server.log

    trial: Any = json.loads(done.stdout)
    assert asked.body["messages"][-1]["content"] == "What is the capital of France?"
    (sample,) = trial["samples"]
    assert sample["solver"]["output"] == "Paris"
    assert sample["scores"]["exact"]["values"] == {"is_correct": True}
    assert trial["ok"] is True


def test_a_sample_that_fails_makes_exit_1(project: Path) -> None:
    with ModelServer(status(401, "who are you?")) as server:
        done = tried(
            *("tasks/capitals.yaml", "-m", "openai/gpt-test"),
            cwd=project,
            exit_code=1,
            env=environment(server),
        )

    assert "Sample `fr`, model openai/gpt-test: failed" in done.stdout
    assert "    stage: solver\n" in done.stdout
    assert "who are you?" in done.stdout
    assert "errors occurred; see above" in done.stderr


def test_what_a_snippet_prints_is_shown(project: Path) -> None:
    code = project / "tasks" / "uniqueness.py"
    code.write_text(code.read_text() + "\nprint('loaded')\n")

    done = tried("uniqueness", "--set", "field=name", cwd=project)

    assert "Printed by snippets\n  tasks/uniqueness.py: loaded\n" in done.stdout
    assert "    field: name\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no task was specified"),
        (("nothing",), "the project has no task `nothing`"),
        (("-f", "run.yaml"), "8 task specifications"),
        (("capitals", "--id", "xx"), "no sample has the id `xx`"),
        (("capitals", "--dataset", "nothing"), "the project has no dataset `nothing`"),
    ],
    ids=["nothing", "key", "specification", "id", "dataset"],
)
def test_what_is_not_there_is_said(arguments: tuple[str, ...], said: str, project: Path) -> None:
    done = tried(*arguments, cwd=project, exit_code=2)

    assert said in done.stderr
    assert done.stdout == ""


def test_ctrl_c_ends_it_as_it_ends_a_run(project: Path) -> None:
    with ModelServer(never) as server:
        trying = subprocess.Popen(
            [*COMMAND, "tasks/capitals.yaml", "-m", "openai/gpt-test"],
            cwd=project,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        with trying:
            while not server.log and trying.poll() is None:
                sleep(0.01)
            trying.send_signal(signal.SIGINT)
            assert trying.stderr
            line = trying.stderr.readline()
            trying.send_signal(signal.SIGINT)
            said, _ = trying.communicate(timeout=PATIENCE_S)

    assert line.startswith("stopping: waiting for 1 sample in flight")
    assert (trying.returncode, said) == (130, "")
