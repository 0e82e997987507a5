"""The first ten minutes at the command line: help, names of runs, lists, what is wrong, `lf`."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.e2e.commands import Held, finished, record, start, write_tasks
from tests.e2e.commands import evalwright as run_against
from tests.e2e.in_process import evalwright
from tests.living import wait_until
from tests.servers.model_server import ModelServer, chat, in_turn, status

from evalwright import cli
from evalwright.spec.records.fixtures import TASKS

STRANGE = ("gone on with", "is no ", "beside the answers", "whom", "mend", "anew")


def _command_paths(group: click.Group, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every command, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*words, name)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _command_paths(command, *words, name)


def _output(*arguments: str, cwd: Path | None = None, exit_code: int = 0) -> str:
    done = evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the ten example tasks, and a store of its own."""
    monkeypatch.delenv("EVALWRIGHT_STORE", raising=False)
    (tmp_path / "tasks.jsonl").write_bytes(TASKS.read_bytes())
    return tmp_path


# Help.


@pytest.mark.parametrize("words", [(), *_command_paths(cli.app)], ids=" ".join)
def test_h_shows_the_help_of_every_command_in_plain_english(words: tuple[str, ...]) -> None:
    help_text = _output(*words, "-h")

    assert help_text.startswith(f"Usage: {' '.join(('evalwright', *words))} ")
    assert help_text == _output(*words, "--help")
    assert [phrase for phrase in STRANGE if phrase in help_text] == []


@pytest.mark.parametrize("words", [("run",), ("eval", "run")], ids=" ".join)
def test_the_options_of_run_are_grouped(words: tuple[str, ...]) -> None:
    headings = re.findall(r"^(\S.*):$", _output(*words, "--help"), re.MULTILINE)

    assert headings == ["What to run", "Models", "Limits and cost", "Code", "Output"]


def test_every_option_of_run_has_its_section() -> None:
    command: Any = cli.app.get_command(click.Context(cli.app), "run")
    placed = {name for names in command.sections.values() for name in names}
    shown = {param.name for param in command.params if not getattr(param, "hidden", False)}

    assert shown - placed == {"paths"}


def test_the_help_of_run_ends_with_three_examples_that_parse() -> None:
    _, _, examples = _output("run", "--help").partition("Examples:\n")
    lines = examples.strip().splitlines()

    assert len(lines) == 3
    command: Any = cli.app.get_command(click.Context(cli.app), "run")
    for line in lines:
        program, verb, *arguments = line.split()
        assert (program, verb) == ("evalwright", "run")
        command.make_context("run", arguments)


# What a stopped run says.


def test_after_ctrl_c_the_summary_counts_all_samples(folder: Path) -> None:
    write_tasks(folder, (record(f"t{number}") for number in range(56)))
    held = Held(chat("4"))
    with ModelServer(held) as server:
        command = ("run", "tasks.jsonl", "-m", "openai/x", "--concurrency", "8")
        process = start(server, *command, cwd=folder)
        wait_until(lambda: len(server.log) == 8)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        process.stderr.readline()
        held.open()
        stopped = finished(process)

    assert stopped.returncode == 130
    assert re.search(r": 8 of 56 samples completed, [\d.]+ s$", stopped.stdout.strip())
    summary = json.loads(_output("report", "--json", cwd=folder))["summary"]
    assert (summary["completed"], summary["samples"], summary["planned"]) == (8, 8, 56)


def test_a_changed_plan_says_only_what_changed(folder: Path) -> None:
    command = ("run", "tasks.jsonl", "-m", "scripted/oracle")
    evalwright(*command, cwd=folder)  # two records run code: this opens a sandbox

    limited = evalwright(*command, "--limit", "3", cwd=folder)  # none of these does

    assert re.fullmatch(
        r"new run: since [\w-]+, the limit is 3 \(was none\); unchanged results are reused\n",
        limited.stderr,
    )


# Names, tags and the list.


def test_a_run_goes_by_its_name_and_its_tag_wherever_an_id_is_taken(folder: Path) -> None:
    labels = ("--name", "base", "--tag", "branch=main", "--tag", "by=ann")
    command = ("run", "tasks.jsonl", "-m", "scripted/oracle", "--limit", "2")
    report = json.loads(_output(*command, *labels, "--json", cwd=folder))

    assert (report["name"], report["tags"]) == ("base", {"branch": "main", "by": "ann"})
    assert _output(*command, cwd=folder).endswith(" s\n"), "a resumed run keeps its name"
    for name in ("base", "branch=main"):
        assert f"{report['run_id']} (base): 2 of 2" in _output("report", name, cwd=folder)
        shown = _output("show", name, cwd=folder)
        assert re.search(r"^name +base\ntags +branch=main, by=ann$", shown, re.MULTILINE)
        assert _output("show", name, "arith_001", cwd=folder).startswith("arith_001")
        assert len(_output("export", name, cwd=folder).splitlines()) == 2
    rescored = json.loads(_output("score", "base", "--name", "again", "--json", cwd=folder))
    assert rescored["name"] == "again"
    (again, base) = json.loads(_output("list", "--json", cwd=folder))
    assert (again["name"], base["name"], base["tags"]["by"]) == ("again", "base", "ann")
    _output("delete", "again", "--yes", cwd=folder)
    assert [run["name"] for run in json.loads(_output("list", "--json", cwd=folder))] == ["base"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        pytest.param(("--name", "latest"), "not a valid run name", id="a word that is taken"),
        pytest.param(("--name", "2026"), "not a valid run name", id="like an id"),
        pytest.param(("--name", "base"), "already has this name", id="of another run"),
        pytest.param(("--tag", "main"), "expected KEY=VALUE", id="a tag without a key"),
        pytest.param(("--tag", "branch="), "not a valid tag", id="a tag without a value"),
    ],
)
def test_a_name_that_means_something_else_is_refused(
    folder: Path, option: tuple[str, str], said: str
) -> None:
    command = ("run", "tasks.jsonl", "-m", "scripted/oracle")
    _output(*command, "--limit", "1", "--name", "base", cwd=folder)

    refused = evalwright(*command, *option, cwd=folder)

    assert refused.returncode == 2
    assert said in refused.stderr
    assert len(json.loads(_output("list", "--json", cwd=folder))) == 1


def test_the_list_shows_results_cost_and_what_differs(folder: Path) -> None:
    command = ("run", "tasks.jsonl", "-p", "seed=7", "-p")
    _output(*command, "temperature=0", "-m", "scripted/oracle", cwd=folder)
    _output(*command, "temperature=1", "-m", "scripted/oracle", "-m", "scripted/noisy", cwd=folder)
    evalwright("init", "atlas", cwd=folder)
    store = str(folder / ".evalwright" / "runs.db")
    _output("run", "run.yaml", "--store", store, cwd=folder / "atlas")

    header, project, two, one = _output("list", cwd=folder).splitlines()
    listed = json.loads(_output("list", "--json", cwd=folder))

    assert re.split(r"  +", header)[3:] == [
        *("tasks", "models", "metric, 95 % interval", "done", "failed", "parameters")
    ]
    assert "capitals is_correct_mean 0.80 [0.38, 0.96], " in project
    assert "scripted/oracle mean 1.00 [0.72, 1.00], scripted/noisy mean 0.29 [0.10, 0.60]" in two
    assert re.search(r"  mean 1\.00 \[0\.72, 1\.00\] +10/10 +0  temperature=0", one)
    assert listed[2]["parameters"] == {"seed": 7, "temperature": 0}
    assert len(listed[0]["metrics"]) >= 8
    assert listed[0]["parameters"] == {}


def test_the_list_shows_failures_and_cost(folder: Path) -> None:
    write_tasks(folder, (record(f"t{number}") for number in range(4)))
    (folder / "prices.toml").write_text('["openai/x"]\ninput = 10000\noutput = 10000\n')
    command = ("run", "tasks.jsonl", "-m", "openai/x", "--prices", "prices.toml", "--retries", "0")
    with ModelServer(in_turn(status(400), chat("4"))) as server:
        done = run_against(server, *command, "--json", cwd=folder)

    header, line = _output("list", cwd=folder).splitlines()

    report = json.loads(done.stdout)
    assert re.split(r"  +", header)[-3:] == ["done", "failed", "cost"]
    failed, cost = str(report["summary"]["failed"]), report["usage"]["openai/x"]["cost"]
    assert line.split()[-3:] == ["4/4", failed, f"${cost:.2f}"]


# Wrong answers.


def test_the_report_points_to_the_wrong_answers(folder: Path) -> None:
    models = ("-m", "scripted/oracle", "-m", "scripted/noisy")
    report = _output("run", "tasks.jsonl", *models, "--name", "base", cwd=folder)
    right = _output("run", "tasks.jsonl", "-m", "scripted/oracle", cwd=folder)

    assert "see wrong answers: `evalwright show base --wrong`" in report.splitlines()[-2]
    assert "--wrong" not in right


def test_wrong_answers_are_paged_and_filtered_by_category_and_task(folder: Path) -> None:
    for name in ("one", "two"):
        records = [record(f"{name}-{number}") for number in range(30)]
        if name == "two":
            records.append(record("sentiment", category="classification"))
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    _output("run", "one.jsonl", "two.jsonl", "-m", "scripted/echo", "--name", "wrong", cwd=folder)

    def shown(*options: str) -> tuple[list[str], str]:
        done = evalwright("show", "wrong", "--wrong", *options, cwd=folder)
        return re.findall(r"^(\S+)  scripted/echo", done.stdout, re.MULTILINE), done.stderr

    everything, _ = shown()
    assert len(everything) == 61, "a pipe gets all of them"
    first, more = shown("--page", "1")
    assert (first, more) == (everything[:20], "more outcomes: add --page 2\n")
    assert shown("--page", "4") == (everything[60:], "")
    assert shown("--page", "5") == ([], "no page 5\n")
    assert shown("--task", "two", "--category", "classification") == (["sentiment"], "")
    assert shown("--task", "one", "--page", "2")[0] == everything[20:30]
    refused = evalwright("show", "wrong", "--wrong", "--category", "classificaton", cwd=folder)
    assert refused.returncode == 2
    assert "did you mean `classification`?" in refused.stderr


# Coming from `lf`, and shell completion.


def test_a_project_is_run_with_the_options_of_lf(folder: Path) -> None:
    _output("init", "atlas", cwd=folder)
    atlas = folder / "atlas"

    checked = evalwright("run", "-f", "run.yaml", "-v", cwd=atlas)
    options = ("-w", "--no-update", "--json")
    long = json.loads(_output("run", "-f", "run.yaml", "--num-samples", "2", *options, cwd=atlas))
    short = json.loads(_output("run", "-f", "run.yaml", "-n", "2", *options, cwd=atlas))

    assert (checked.returncode, checked.stderr) == (0, "15 valid documents, 0 errors\n")
    assert {row["n"] for row in long["metrics"] if row["task"] == "capitals"} == {2}
    assert long["run_id"] == short["run_id"], "the same plan"


def test_parts_of_a_project_are_tried_with_the_options_of_lf(folder: Path) -> None:
    _output("init", "atlas", cwd=folder)
    atlas = folder / "atlas"
    (atlas / "question.txt").write_text("What is the capital of France?")

    keys = ("--model-key", "responder", "--dataset-key", "capitals")
    tried = evalwright("task", "test", "capitals", *keys, cwd=atlas)
    asked = evalwright("model", "test", "responder", "--model-input", "question.txt", cwd=atlas)

    assert tried.returncode == 0, tried.stderr
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param("evalwright va", "validate", id="a command"),
        pytest.param("evalwright run --num", "--num-samples", id="an option"),
    ],
)
def test_a_shell_completes_commands_and_options(words: str, completed: str) -> None:
    request = {
        "_EVALWRIGHT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }

    done = evalwright(env={**os.environ, **request})

    assert done.stdout == f"plain,{completed}\n"
