"""A repeatability of an evaluation that no file has: it is read from the store of earlier runs."""

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, report_of
from tests.e2e.projects import SOLVER, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

SCORERS = '  scorers: [{type: string_equals, ground_truth: "{{ sample.answer }}"}]\n'
PARAMETERS = """\
config_spec:
  - {type: string, key: word, display_name: Word, default_value: Hello}
  - type: categorical
    key: level
    display_name: Level
    default_value: low
    allowed_values: [low, high]
    values_mapping: {low: 1, high: 2}
"""
WEEKLY = """\
evaluation:
  key: weekly
  display_name: Weekly
  task_specifications:
    - {key: polite, task_key: ask, MODELnum_samples: 2, task_config: {level: high}}
    - {key: other, task_key: ask, MODELnum_samples: 1}
"""
REPEAT = """\
evaluation:
  key: stability
  display_name: Stability
  task_specifications:
    - key: again
      type: repeatability
      repeatability_config: {num_runs: 3}
      inputs:
        - {evaluation_key: weekly, task_specification_key: polite}
"""
NAMED = "model_key: openai/x, "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A task with parameters, an evaluation of it, and a repeatability of that evaluation."""
    solver = SOLVER.replace("{{ sample", "<< config.word >> << config.level >> {{ sample")
    ask = task(solver + SCORERS).replace("definition:", f"{PARAMETERS}definition:")
    write_rows(tmp_path, [{"question": f"q{number}", "answer": "4"} for number in range(5)])
    weekly = WEEKLY.replace("MODEL", NAMED)
    return write_project(tmp_path, tasks__ask=ask, weekly=weekly, repeat=REPEAT)


def run(server: ModelServer, folder: Path, *arguments: str) -> Any:
    """The report of a run."""
    return report_of(evalwright(server, "run", *arguments, "--json", cwd=folder))


def test_an_evaluation_whose_file_is_gone_is_repeated_as_it_ran(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        first = run(server, project, "weekly.yaml", "--set", "word=Please")
        (project / "weekly.yaml").unlink()
        checked = evalwright(server, "validate", "repeat.yaml", cwd=project)
        done = run(server, project, "repeat.yaml")
        shown = evalwright(server, "show", "latest", cwd=project)

    note = f"again: repeats task `ask` as run {first['run_id']} ran it"
    assert (checked.returncode, checked.stderr) == (0, "1 valid document, 0 errors\n"), (
        checked.stdout
    )
    assert [metric["n"] for metric in done["metrics"]] == [2]
    assert done["repeatability"][0]["runs"] == 3
    assert note in done["notes"]
    assert note in " ".join(shown.stdout.split())
    prompts = [asked.prompt for asked in server.log]
    assert sorted(prompts[3:]) == sorted(["Please 2 q0", "Please 2 q1"] * 3)


def test_the_newest_finished_run_is_repeated(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        run(server, project, "weekly.yaml")
        newest = run(server, project, "weekly.yaml", "--set", "word=Now")
        (project / "weekly.yaml").unlink()
        done = run(server, project, "repeat.yaml")

    assert newest["run_id"] in done["notes"][0]
    assert server.log[-1].prompt.startswith("Now 2 ")


def test_a_file_with_the_evaluation_wins_over_the_store(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        run(server, project, "weekly.yaml", "--set", "word=Please")
        done = run(server, project, "repeat.yaml")

    assert done["notes"] == []
    assert server.log[-1].prompt.startswith("Hello 2 ")


@pytest.mark.parametrize("command", ["validate", "run"])
def test_an_evaluation_that_neither_has_is_an_error_at_its_place(
    project: Path, command: str
) -> None:
    (project / "weekly.yaml").write_text(
        (project / "weekly.yaml").read_text().replace("key: weekly", "key: weekli"),
        encoding="utf-8",
    )
    with ModelServer(chat("4")) as server:
        before = evalwright(server, command, "repeat.yaml", cwd=project)
        run(server, project, "weekly.yaml")
        (project / "weekly.yaml").unlink()
        after = evalwright(server, command, "repeat.yaml", cwd=project)

    where = "no file of the project has the evaluation `weekly`, nor does any finished run in"
    for done in (before, after):
        assert done.returncode == 1
        assert "repeat.yaml:9" in done.stdout + done.stderr
        assert f"{where} .evalwright/runs.db" in done.stdout + done.stderr
    assert "run that evaluation first" in before.stdout + before.stderr
    assert "did you mean `weekli`?" in after.stdout + after.stderr
    assert len(server.log) == 3


def test_what_the_files_lack_of_an_earlier_evaluation_is_named(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        first = run(server, project, "weekly.yaml")
        (project / "weekly.yaml").unlink()
        (project / "tasks" / "ask.yaml").unlink()
        done = evalwright(server, "validate", "repeat.yaml", cwd=project)

    assert done.returncode == 1
    whose = f"evaluation `weekly` of run {first['run_id']}"
    assert f"{whose}: the project has no task `ask`" in done.stdout
    assert "repeat.yaml:9:28" in done.stdout


def test_several_models_of_an_earlier_run_are_repeated(project: Path) -> None:
    (project / "weekly.yaml").write_text(WEEKLY.replace("MODEL", ""), encoding="utf-8")
    several = ("-m", "openai/x", "-m", "openai/y")
    with ModelServer(chat("4")) as server:
        run(server, project, "weekly.yaml", *several)
        (project / "weekly.yaml").unlink()
        done = run(server, project, "repeat.yaml")

    assert {metric["model"] for metric in done["metrics"]} == {"openai/x", "openai/y"}


def test_a_run_that_did_not_finish_is_not_repeated(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        evalwright(
            *(server, "run", "weekly.yaml", "--max-tokens-total", "1", "--concurrency", "1"),
            cwd=project,
        )
        (project / "weekly.yaml").unlink()
        done = evalwright(server, "validate", "repeat.yaml", cwd=project)

    assert "which is not finished" in done.stdout
    assert "resume that run" in done.stdout
