"""Nothing that a program, a model or an author wrote acts on the terminal of the reader."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import of_rows, write_project, write_rows

CLEAR = "\x1b[2J\x1b]0;title\x07\x9b31m"
PROGRAM = f"""
print({CLEAR!r})
class Odd(Exception): pass
Odd.__name__ = {CLEAR!r}
def f(): raise Odd({CLEAR!r})
"""


@pytest.mark.parametrize("target", ["f()", f"'{CLEAR}' == 1", "f"])
def test_a_program_shows_its_escapes_written_out(tmp_path: Path, target: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")

    done = evalwright("exec", str(program), "--target", target)

    assert "\\x1b[2J" in done.stdout
    assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr)


def test_an_error_shows_the_escapes_of_a_name_written_out(tmp_path: Path) -> None:
    done = evalwright("exec", str(tmp_path / f"{CLEAR}.py"), "--target", "1")

    assert done.returncode != 0
    assert "\\x1b[2J" in done.stderr
    assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr)


ODD = "\x1b[2J\x9b31m\x1b]0;t\x07\r\x7f\u202eX\u2066\u200f"
ACTING = frozenset("\x1b\x07\r\x7f\x9b\u202e\u2066\u200f")


def shown(folder: Path, *arguments: str) -> str:
    """Return what the command prints, none of which acts on a terminal."""
    done = evalwright(*arguments, cwd=folder)
    printed = done.stdout + done.stderr
    assert "Traceback" not in printed
    assert not ACTING & set(printed), (arguments, sorted(ACTING & set(printed)))
    return printed


def write_records(path: Path, **changes: Any) -> Path:
    odd = {
        "task_id": "a",
        "category": "arithmetic",
        "prompt": f"Say {ODD}",
        "targets": [f"said {ODD}"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }
    path.write_text(json.dumps(odd) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose texts, names and tags act on a terminal."""
    folder = tmp_path_factory.mktemp("run")
    write_records(folder / f"tasks{ODD}.jsonl")
    (folder / "answers.jsonl").write_text(
        json.dumps({"id": "a", "output": f"no {ODD}"}) + "\n", encoding="utf-8"
    )
    run = ("run", f"tasks{ODD}.jsonl", "-m", "scripted/echo", "-m", "replay/answers.jsonl")
    assert "2 of 2 samples completed" in shown(folder, *run)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        *(("report",), ("report", "--json"), ("show",), ("show", "--json")),
        *(("show", "--page", "1"), ("show", "--page", "1", "--json"), ("show", "--wrong")),
        *(("list", "runs"), ("list", "runs", "--json"), ("show", "latest", "a")),
        *(("show", ODD), ("gate", ODD), ("delete", ODD), ("export", ODD), ("score", ODD)),
        *(("list", "tasks"), ("doctor", "--store", f"x{ODD}.db"), ("report", "--store", ODD)),
        *(("run", ODD), ("run", "-m", ODD, "x"), ("list", ODD), (ODD,), ("schema", ODD)),
    ],
    ids=lambda arguments: " ".join(arguments).replace(ODD, "ODD"),
)
def test_no_command_about_runs_prints_what_acts_on_a_terminal(
    run: Path, arguments: tuple[str, ...]
) -> None:
    assert shown(run, *arguments)


@pytest.mark.parametrize("form", ["text", "json", "github", "junit"])
@pytest.mark.parametrize("command", ["validate", "lint"])
def test_no_error_in_a_task_file_acts_on_a_terminal(
    tmp_path: Path, command: str, form: str
) -> None:
    write_records(tmp_path / f"a{ODD}.jsonl", metric_name=f"metric{ODD}", **{f"field{ODD}": ODD})
    (tmp_path / "b.jsonl").write_text(f'{{"task_id": {ODD}\n', encoding="utf-8")
    (tmp_path / "c.yaml").write_text(f"key: 'c{ODD}'\nunknown{ODD}: 1\n", encoding="utf-8")

    for name in (f"a{ODD}.jsonl", "b.jsonl", "c.yaml", f"none{ODD}.jsonl"):
        shown(tmp_path, command, name, "--format", form)


def test_nothing_that_a_gate_prints_acts_on_a_terminal(run: Path) -> None:
    policy = f'policies:\n  - {{key: odd, display_name: "{json.dumps(ODD)[1:-1]}", unknown: 1}}\n'
    (run / "policy.yaml").write_text(policy, encoding="utf-8")

    assert shown(run, "gate", "latest", "--policy", "policy.yaml")


SCORER = f"""
def compute_scores(sample):
    print({ODD!r})
    if sample["n"]:
        raise ValueError({ODD!r})
    return {{"ok": 1, "said": {ODD!r}}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder, tasks__ask=of_rows(SCORER).replace("A task", json.dumps(f"A {ODD}")))
    write_rows(folder, [{"n": n, "text": ODD, f"column{ODD}": ODD} for n in range(2)])
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        *(("task", "test", "ask"), ("task", "test", "ask", "--json"), ("task", "list")),
        *(("task", "show", "ask"), ("task", "show", "ask", "--json"), ("task", "list", "--json")),
        *(("dataset", "show", "rows"), ("dataset", "show", "rows", "--json"), ("dataset", "list")),
        *(("dataset", "test", "rows"), ("dataset", "test", "rows", "--json")),
        *(("task", "show", ODD), ("dataset", "test", ODD), ("model", "show", ODD)),
        *(
            ("run", "tasks/ask.yaml"),
            ("show", "--page", "1"),
            ("report", "--json"),
            ("validate", "."),
        ),
    ],
    ids=lambda arguments: " ".join(arguments).replace(ODD, "ODD"),
)
def test_no_command_about_a_project_prints_what_acts_on_a_terminal(
    project: Path, arguments: tuple[str, ...]
) -> None:
    assert shown(project, *arguments)
