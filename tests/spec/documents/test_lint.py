import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.spec.documents.made import DATASET, TASK, project, written

from evalwright.cli.lint import command
from evalwright.spec.documents.lint import lint_project

JUDGED = TASK.replace(
    "  scorers:\n",
    """  scorers:
    - type: model_as_a_judge_classifier
      model_key: openai/gpt-4.1-nano
      user_prompt: |
        Truth: {{ sample.capital }}
        Answer: {{ solver_output.output }}
      correct_labels: [correct]
      incorrect_labels: [incorrect]
""",
)
FENCED = JUDGED.replace("{{ solver_output.output }}", "<a>{{ solver_output.output }}</a>")
RUN = """
models: [{$provider: openai/gpt-4.1-nano}]
evaluation:
  key: e
  display_name: E
  task_specifications: [{key: a, task_key: capitals, model_key: openai$gpt-4-1-nano}]
"""
FILES = {"tasks/t.yaml": JUDGED, "datasets/d.yaml": DATASET, "run.yaml": RUN}


def found(folder: Path, files: dict[str, str], path: str = "") -> list[tuple[str, int, str]]:
    return [
        (Path(one.file).name, issue.line, f"{issue.rule} {issue.field}")
        for one in lint_project(project(folder, files, path))
        for issue in one
    ]


@pytest.mark.parametrize("path", ["", "run.yaml", "tasks/t.yaml"], ids=["folder", "run", "task"])
def test_an_unfenced_answer_is_found_where_it_stands(tmp_path: Path, path: str) -> None:
    assert found(tmp_path, FILES, path) == [
        ("t.yaml", 17, "unfenced_output definition.scorers[0].user_prompt")
    ]


@pytest.mark.parametrize("path", ["run.yaml", "datasets/d.yaml"])
def test_a_task_that_was_not_named_and_is_not_used_is_left_alone(tmp_path: Path, path: str) -> None:
    other = JUDGED.replace("key: capitals", "key: others")
    files = {"tasks/t.yaml": FENCED, "tasks/o.yaml": other, "datasets/d.yaml": DATASET}

    assert found(tmp_path, {**files, "run.yaml": RUN}, path) == []


def test_a_prompt_in_a_file_of_its_own_is_found_there(tmp_path: Path) -> None:
    head, _, tail = JUDGED.partition("      user_prompt: |\n")
    rest = tail.partition("      correct_labels")[2]
    task = f"{head}      user_prompt: !include prompt.txt\n      correct_labels{rest}"
    files = {**FILES, "tasks/t.yaml": task, "tasks/prompt.txt": "Judge:\n{{ model_output }}\n"}

    assert found(tmp_path, files) == [
        ("prompt.txt", 2, "unfenced_output definition.scorers[0].user_prompt")
    ]


def test_nothing_is_said_of_a_fenced_answer_and_of_other_scorers(tmp_path: Path) -> None:
    assert found(tmp_path, {**FILES, "tasks/t.yaml": FENCED}) == []
    assert found(tmp_path / "other", {**FILES, "tasks/t.yaml": TASK}) == []


@pytest.mark.parametrize(
    ("dataset", "spec", "lines"),
    [
        pytest.param("source: task_result, key: first", "{}", [10], id="by its source"),
        pytest.param("key: results", "{}", [10], id="by its dataset"),
        pytest.param("key: '<< config.d >>'", "{d: results}", [10], id="by the value it is given"),
        pytest.param("key: countries", "{}", [], id="rows of its author"),
    ],
)
def test_an_output_that_another_task_left_is_found(
    tmp_path: Path, dataset: str, spec: str, lines: list[int]
) -> None:
    task = f"""key: review
display_name: Review
description: A look at answers.
config_spec: [{{type: dataset, key: d, display_name: D, default_value: countries}}]
definition:
  dataset: {{{dataset}}}
  scorers:
    - type: labeler_via_model
      model_key: openai/gpt-4.1-nano
      user_prompt: "How sure? {{{{ sample.solver_output.output }}}}"
"""
    results = "key: results\ndisplay_name: R\nsource: {type: task_result, key: a}\n"
    run = f"{RUN[:-2]}, {{key: b, task_key: review, task_config: {spec}}}]\n"
    files = {**FILES, "tasks/t.yaml": FENCED, "tasks/r.yaml": task, "datasets/r.yaml": results}

    said = found(tmp_path, {**files, "run.yaml": run})
    assert [(name, line) for name, line, _ in said] == [("r.yaml", line) for line in lines]


def test_a_document_with_errors_is_passed_over_and_counted(tmp_path: Path) -> None:
    broken = JUDGED.replace("correct_labels: [correct]", "correct_labels: []")

    lints = [*lint_project(project(tmp_path, {**FILES, "tasks/t.yaml": broken}))]
    assert sum(one.skipped for one in lints) == 1
    assert not any(list(one) for one in lints)


def test_the_command_lints_a_project_and_exits_0_unless_it_is_strict(tmp_path: Path) -> None:
    folder = str(written(tmp_path, FILES))

    done = CliRunner().invoke(command, [folder])
    assert done.exit_code == 0
    assert "t.yaml:17:9: unfenced_output: `{{ solver_output.output }}` puts" in done.stdout
    assert "3 documents, 1 finding: unfenced_output 1" in done.stderr
    assert CliRunner().invoke(command, [folder, "--strict"]).exit_code == 1


def test_the_command_has_the_findings_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(written(tmp_path, FILES)), "--json"])

    told = json.loads(done.stdout)
    assert (told["valid"], told["errors"]) == (3, 1)
    ((issue,),) = [one["errors"] for one in told["files"] if one["errors"]]
    assert (issue["line"], issue["rule"]) == (17, "unfenced_output")


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(tmp_path / "nothing.yaml")])

    assert done.exit_code == 2
    assert "no such file" in done.stderr
