import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.spec.documents.made import DATASET, TASK, project, written

from evalwright.cli import app
from evalwright.scorers.judging.ready_judge import MODEL_OUTPUTS
from evalwright.spec.documents.lint import find_unfenced_outputs, lint_project

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

    done = CliRunner().invoke(app, ["lint", folder])
    assert done.exit_code == 0
    assert "t.yaml:17:9: unfenced_output: `{{ solver_output.output }}` mixes" in done.stdout
    assert "3 documents, 1 finding: unfenced_output 1" in done.stderr
    assert CliRunner().invoke(app, ["lint", folder, "--strict"]).exit_code == 1


def test_the_command_has_the_findings_as_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["lint", str(written(tmp_path, FILES)), "--json"])

    told = json.loads(done.stdout)
    assert (told["valid"], told["errors"]) == (3, 1)
    ((issue,),) = [one["errors"] for one in told["files"] if one["errors"]]
    assert (issue["line"], issue["rule"]) == (17, "unfenced_output")


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["lint", str(tmp_path / "nothing.yaml")])

    assert done.exit_code == 2
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: {{ solver_output.output }}", id="behind a word"),
        pytest.param("{{ solver_output.output }}", id="alone"),
        pytest.param('Answer: "{{ model_output }}"', id="in plain quotes"),
        pytest.param("```\n{{ sample.a }}\n```\n{{ model_output }}", id="behind a closed fence"),
        pytest.param("<a>\n{{ model_output }}", id="a tag that is never closed"),
        pytest.param("</a>{{ model_output }}</a>", id="a tag that is never opened"),
        pytest.param("{{ model_output }}\n---\n", id="a line behind it alone"),
        pytest.param("{% for m in messages %}{{ m.content }}{% endfor %}", id="in a loop"),
        pytest.param("{% set a = model_output %}\nA: {{ a }}", id="by another name"),
        pytest.param("{{ sample.a }} {{ messages[-1].content }}", id="the last message"),
        pytest.param("{{ sample.a }}{{ solver_output['output'] }}", id="by an item"),
        pytest.param("### Answer\n{{ model_output }}\n### Verdict\n", id="below a heading"),
        pytest.param(
            "Let's start.\nAnswer: {{ model_output }}\nIn the end say yes.", id="`start` in prose"
        ),
        pytest.param("<<<{{ sample.a }}>>> {{ model_output }} >>>", id="behind closed angles"),
        pytest.param("{{ 'yes' if model_output else 'no' }} {{ model_output }}", id="as a test"),
    ],
)
def test_an_output_with_no_fence_is_found(source: str) -> None:
    assert [*find_unfenced_outputs(source)]


@pytest.mark.parametrize("name", sorted(MODEL_OUTPUTS))
def test_every_variable_that_holds_a_models_words_is_known(name: str) -> None:
    (found,) = find_unfenced_outputs(f"Judge this.\nIt is {{{{ {name} }}}}.")

    assert found == (1, f"{{{{ {name} }}}}")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: <answer>{{ solver_output.output }}</answer>", id="tags on a line"),
        pytest.param("<answer>\n{{ model_output }}\n</answer>\nWhich?", id="tags around lines"),
        pytest.param('<text kind="a">\n{{ model_output }}\n</text>', id="a tag with attributes"),
        pytest.param("[ANSWER]\n{{ model_output }}\n[/ANSWER]", id="tags in brackets"),
        pytest.param("```\n{{ model_output }}\n```", id="backticks"),
        pytest.param("~~~text\n{{ model_output }}\n~~~", id="tildes"),
        pytest.param('"""\n{{ model_output }}\n"""', id="triple quotes"),
        pytest.param("---\n{{ model_output }}\n---\n", id="rules"),
        pytest.param("=== answer ===\n{{ model_output }}\n=== end ===", id="titled rules"),
        pytest.param("BEGIN ANSWER\n{{ model_output }}\nEND ANSWER", id="begin and end"),
        pytest.param("{{ model_output | string | tojson }}", id="as JSON"),
        pytest.param(
            "<log>{% for m in messages %}{{ m.content }}{% endfor %}</log>", id="a loop in tags"
        ),
        pytest.param("{{ sample.answer }}", id="a row is the author's own"),
        pytest.param("{{ sample.messages }}", id="a column by the name of a variable"),
        pytest.param("{{ sample\n . model_output }}", id="an attribute with spaces"),
        pytest.param("<<<\n{{ model_output }}\n>>>", id="angles"),
        pytest.param("### Answer ###\n{{ model_output }}\n######", id="rules of hashes"),
        pytest.param("- - -\n{{ model_output }}\n- - -", id="spaced rules"),
        pytest.param("[The Start of A]\n{{ model_output }}\n[The End of A]", id="start and end"),
        pytest.param("<answer>{{ model_output }}</ANSWER>", id="tags in another case"),
        pytest.param("{{ model_output | length }}", id="how long it is"),
        pytest.param("Say yes or no.", id="no expression"),
        pytest.param("{# {{ model_output }} #}", id="a comment"),
        pytest.param("{% raw %}{{ model_output }}{% endraw %}", id="raw text"),
        pytest.param("{{ model_output", id="no template: `validate` says so"),
    ],
)
def test_nothing_is_said_of(source: str) -> None:
    assert [*find_unfenced_outputs(source)] == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Answer: {{ sample.solver_output.output }}", id="by an attribute"),
        pytest.param("{{ sample['solver_output']['output'] }}", id="by an item"),
        pytest.param("{{ sample . get('solver_output', {}) }}", id="by `get`"),
        pytest.param("{{ sample.solver_output.messages[-1].content }}", id="its last message"),
        pytest.param("{{ sample.sample.solver_output.output }}", id="of the task before that"),
        pytest.param("{{ sample.left.solver_output }}", id="of one of several datasets"),
        pytest.param("{{ sample }}", id="the whole row"),
        pytest.param("{% set a = sample.solver_output %}{{ a.output }}", id="by another name"),
        pytest.param("{% set row = sample %}{{ row.solver_output }}", id="the row by another name"),
        pytest.param(
            "{% for m in sample.solver_output.messages %}{{ m.content }}{% endfor %}",
            id="in a loop",
        ),
    ],
)
def test_an_output_in_the_result_of_another_task_is_found_there_alone(source: str) -> None:
    assert [*find_unfenced_outputs(source, chained=True)]
    assert [*find_unfenced_outputs(source)] == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("<a>{{ sample.solver_output.output }}</a>", id="a fenced output"),
        pytest.param("{{ sample.solver_output | tojson }}", id="an output as JSON"),
        pytest.param("{{ sample.sample.question }} {{ sample.scores.right }}", id="other columns"),
        pytest.param("{% set row = sample %}{{ row.sample.question }}", id="a row's other columns"),
        pytest.param("{{ example.solver_output }}", id="a name that ends alike"),
    ],
)
def test_of_a_result_of_another_task_nothing_is_said_of(source: str) -> None:
    assert [*find_unfenced_outputs(source, chained=True)] == []


def test_each_is_told_with_its_line() -> None:
    found = find_unfenced_outputs("{{ model_output }}\n\nand {{ input_prompt\n | trim }}\n")

    assert [*found] == [(0, "{{ model_output }}"), (2, "{{ input_prompt | trim }}")]
