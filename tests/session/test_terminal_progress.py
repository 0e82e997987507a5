"""Progress that Python code asks for; `tests/e2e/test_progress.py` has that of the command."""

import io
import sys
from types import ModuleType
from typing import Any

import pytest

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

ROWS = [{"n": n} for n in range(3)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(**options: Any) -> ew.Report:
    task = ew.Task("t", ROWS, prompt="{n}", scorers=["latency"])
    return ew.run(task, "scripted/echo", store="memory:", **options)


@pytest.mark.parametrize(
    ("stream", "options", "shown"),
    [
        pytest.param(Terminal, {}, True, id="a terminal"),
        pytest.param(Terminal, {"progress": False}, False, id="a terminal, not asked for"),
        pytest.param(io.StringIO, {}, False, id="a pipe"),
        pytest.param(io.StringIO, {"progress": True}, False, id="a pipe, for a short time"),
    ],
)
def test_progress_is_shown_on_a_terminal(
    stream: type[io.StringIO], options: Any, *, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = stream()
    monkeypatch.setattr(sys, "stderr", stderr)

    run(**options)

    assert ("0/3" in stderr.getvalue()) is shown
    assert shown or not stderr.getvalue()


def test_a_notebook_shows_one_line_that_is_replaced_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))

    run()
    assert not stderr.getvalue()
    run(progress=True)

    text = stderr.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.rpartition("\r")[2].startswith("3/3  0 failed")
    assert "\033" not in text


def test_a_process_without_stderr_has_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    assert run().status == "finished"


def test_scoring_again_shows_progress_too(monkeypatch: pytest.MonkeyPatch) -> None:
    report = ew.run(TASKS, "scripted/oracle", limit=2)
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)

    ew.score(report)

    assert "0/2" in stderr.getvalue()
