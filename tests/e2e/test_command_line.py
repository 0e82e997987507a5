"""The first ten minutes at the command line: help, names of runs, lists, what is wrong, `lf`."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.e2e.commands import Held, finished, record, start, write_tasks
from tests.e2e.in_process import evalwright
from tests.living import wait_until
from tests.servers.model_server import ModelServer, chat

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
        r"new run: since [\w-]+, the limit is 3, it was none; unchanged results are reused\n",
        limited.stderr,
    )
