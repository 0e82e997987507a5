"""Scorers without a judge, in a whole run: what is measured, what is refused, what fails."""

import json
from pathlib import Path

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows

ECHO = "{key: ask, task_key: ask, model_key: scripted$echo}"
ON_ROWS = "  evaluated_entity_type: dataset\n  dataset: {key: rows}\n"


def write(folder: Path, scorers: str, *, solver: str = SOLVER, questions: tuple[str, ...]) -> Path:
    write_rows(folder, [{"question": question} for question in questions])
    run = run_file(ECHO if solver == SOLVER else "{key: ask, task_key: ask}")
    run = run.replace("openai/x", "scripted/echo")
    return write_project(folder, run=run, tasks__ask=task(f"{solver}  scorers:\n{scorers}"))


def test_time_and_cost_of_every_answer_are_metrics(tmp_path: Path) -> None:
    folder = write(tmp_path, "    - type: latency\n    - type: cost\n", questions=("a", "b"))

    report = json.loads(evalwright("run", "run.yaml", "--json", cwd=folder).stdout)

    latency, cost = report["metrics"]
    assert (latency["metric"], latency["n"]) == ("latency_s_mean", 2)
    assert latency["value"] > 0
    assert (cost["metric"], cost["n"], cost["value"]) == ("cost_mean", 2, 0)


def test_a_pattern_that_takes_too_long_is_a_failure_and_no_wrong_answer(tmp_path: Path) -> None:
    scorer = "    - {type: regex_match, pattern: ^(a|aa)+$, timeout_s: 0.01}\n"
    folder = write(tmp_path, scorer, questions=("aaa", "a" * 200 + "b"))

    done = evalwright("run", "run.yaml", "--json", cwd=folder)

    assert done.returncode == 3
    report = json.loads(done.stdout)
    (metric,) = report["metrics"]
    assert (metric["value"], metric["n"], metric["failed"]) == (1, 1, 1)
    (failure,) = report["failures"]
    assert "`pattern` took longer than 0.01 s" in json.dumps(failure)


@pytest.mark.parametrize(
    ("solver", "scorer", "message"),
    [
        pytest.param(
            SOLVER, "{type: regex_match, pattern: (a}", "missing ) at character 3", id="pattern"
        ),
        pytest.param(
            SOLVER,
            "{type: json_schema, json_schema: {type: objekt}}",
            "not a JSON Schema: 'objekt' is not valid",
            id="schema",
        ),
        pytest.param(
            SOLVER, "{type: contains, ground_truht: a}", "did you mean `ground_truth`?", id="key"
        ),
        pytest.param(SOLVER, "{type: contain, ground_truth: a}", "`contains`?", id="type"),
        pytest.param(
            ON_ROWS,
            "{type: contains_any, targets: [a]}",
            "`value` is missing; a task without a solver has no answer to compare",
            id="no value",
        ),
        pytest.param(
            ON_ROWS,
            "{type: latency}",
            "`latency` scores an answer, but a task without a solver has none",
            id="no answer",
        ),
    ],
)
def test_a_mistake_is_found_before_the_run(
    tmp_path: Path, solver: str, scorer: str, message: str
) -> None:
    folder = write(tmp_path, f"    - {scorer}\n", solver=solver, questions=("a",))

    done = evalwright("validate", ".", cwd=folder)

    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert message in said
    assert "tasks/ask.yaml:" in said
