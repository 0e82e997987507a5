"""Rows are made by the command: killed, interrupted, on a full disk, and by two at once."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, Held, environment, evalwright, finished, start
from tests.living import PATIENCE_S, wait_until
from tests.servers.model_server import Asked, ModelServer, after, chat

ROWS = 60
GENERATOR = """\
key: quiz
display_name: Quiz
definition:
  dataset: {type: dataset_samples, key: topics}
  synthesizers:
    - type: llm
      model_key: openai/x
      user_prompt_template: "{{ source.topic }}"
      sample_properties: {said: {type: string}}
      use_structured_outputs: true
"""
QUIZ = f"""\
key: quiz
display_name: Q
generator_specification: {{dataset_generator_key: quiz, num_samples: {ROWS}}}
"""
TOPICS = "key: topics\ndisplay_name: T\nsource: {type: local, file_path: topics.jsonl}\n"
GENERATE = ("dataset", "generate", "quiz", "--concurrency", "4")
LIMITED = """
import os, resource, sys
size, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
os.execv(command[0], command)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "dataset_generators/quiz.yaml": GENERATOR,
        "datasets/quiz.yaml": QUIZ,
        "datasets/topics.yaml": TOPICS,
        "datasets/topics.jsonl": "".join(f'{{"topic": "t{n}"}}\n' for n in range(ROWS)),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(after(0.02, chat(said))) as running:
        yield running


def said(asked: Asked) -> str:
    return json.dumps({"samples": [{"said": f"about {asked.prompt}"}]})


def rows(folder: Path) -> list[Any]:
    (path,) = (folder / ".evalwright" / "generated").glob("quiz-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def landed(folder: Path) -> int:
    parts = list((folder / ".evalwright" / "generated").glob("*.part"))
    return len(parts[0].read_bytes().splitlines()) if parts else 0


WHOLE = [{"topic": f"t{n}", "said": f"about t{n}"} for n in range(ROWS)]


@pytest.mark.parametrize(
    "how",
    [signal.SIGKILL, signal.SIGINT, signal.SIGTERM],
    ids=["killed", "interrupted", "terminated"],
)
def test_what_was_made_when_it_ended_is_not_made_again(
    server: ModelServer, folder: Path, how: signal.Signals
) -> None:
    process = start(server, *GENERATE, cwd=folder)
    wait_until(lambda: landed(folder) > 10)
    process.send_signal(how)
    done = finished(process)
    before = landed(folder)

    again = evalwright(server, *GENERATE, cwd=folder)

    assert done.returncode == (-how if how == signal.SIGKILL else 130)
    assert again.returncode == 0, again.stderr
    assert rows(folder) == WHOLE
    assert f"resuming: {before} of {ROWS}" in again.stderr
    twice = [prompt for prompt, n in Counter(one.prompt for one in server.log).items() if n > 1]
    assert len(twice) <= 4, "only those that were under way"
    assert landed(folder) == 0


def test_a_full_disk_is_said_and_keeps_what_there_was_room_for(
    server: ModelServer, folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "2000", *COMMAND, *GENERATE],
        cwd=folder,
        env=environment(server),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    before = landed(folder)

    evalwright(server, *GENERATE, cwd=folder)

    assert done.returncode == 4, done.stderr
    assert "cannot be written" in done.stderr
    assert "free some disk space and run the command again" in done.stderr
    assert "Traceback" not in done.stderr
    assert before > 5
    assert rows(folder) == WHOLE
    assert len(server.log) <= ROWS + 8


def test_two_at_once_do_not_make_the_same_rows(server: ModelServer, folder: Path) -> None:
    held = Held(chat(said))
    server.behave(held)
    first = start(server, *GENERATE, cwd=folder)
    wait_until(lambda: server.log != [])

    second = evalwright(server, *GENERATE, cwd=folder)
    held.open()

    assert finished(first).returncode == 0
    assert second.returncode == 4
    assert "another process is generating these rows" in second.stderr
    assert len(server.log) == ROWS
    assert rows(folder) == WHOLE


def test_the_file_goes_to_stdout_and_the_talk_to_stderr(server: ModelServer, folder: Path) -> None:
    made = evalwright(server, *GENERATE, cwd=folder)
    again = evalwright(server, *GENERATE, "--json", cwd=folder)

    assert (folder / made.stdout.strip()).is_file()
    assert "dataset `quiz`: 60 rows generated in " in made.stderr
    (told,) = json.loads(again.stdout)
    assert (told["rows"], told["made"]) == (ROWS, False)


def test_a_row_that_fails_ends_with_1_and_says_how_many_there_are(
    server: ModelServer, folder: Path
) -> None:
    server.behave(chat(lambda asked: "" if asked.prompt == "t7" else said(asked)))

    done = evalwright(server, *GENERATE, cwd=folder)

    assert done.returncode == 1
    assert "59 of 60 rows were generated, 1 failed: row 7: the reply is empty" in done.stderr
    assert "hint: finished rows are kept" in done.stderr


def test_the_generators_of_a_project_are_listed_and_shown(
    server: ModelServer, folder: Path
) -> None:
    listed = evalwright(server, "generators", "--json", cwd=folder)
    shown = evalwright(server, "generator", "show", "quiz", "--json", cwd=folder)
    same = evalwright(server, "list", "generators", "--json", cwd=folder)

    (one,) = json.loads(listed.stdout)
    assert (one["key"], one["kind"], one["valid"]) == ("quiz", "generator", True)
    assert json.loads(same.stdout) == [one]
    (used,) = json.loads(shown.stdout)["used_by"]
    assert used["file"] == "datasets/quiz.yaml"


def test_a_generator_is_added_exported_and_deleted(server: ModelServer, folder: Path) -> None:
    other = folder / "other"
    other.mkdir()

    evalwright(server, "generator", "add", "../dataset_generators/quiz.yaml", cwd=other)
    exported = evalwright(server, "generator", "export", "quiz", cwd=other)
    evalwright(server, "generator", "delete", "quiz", "--yes", cwd=other)

    assert "synthesizers:" in exported.stdout
    assert list((other / "dataset_generators").iterdir()) == []


def test_the_schema_of_a_generator_is_printed(server: ModelServer, tmp_path: Path) -> None:
    printed = json.loads(evalwright(server, "schema", "generator", cwd=tmp_path).stdout)
    whole = json.loads(evalwright(server, "schema", "run", cwd=tmp_path).stdout)

    assert printed["title"] == "evalwright generator"
    assert "GeneratorDocument" in json.dumps(whole["properties"]["dataset_generators"])
