from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, project, told

from evalwright.types import Issue

START = """key: t
display_name: T
description: D
definition:
  dataset: {key: countries}
  solver: {type: pass_through_solver, trace_column: trace}
"""


def problems(folder: Path, text: str, **files: str) -> list[Issue]:
    extra = {f"tasks/{name}.py": content for name, content in files.items()}
    files = {"tasks/t.yaml": text, "datasets/d.yaml": DATASET, **extra}
    return project(folder, files, "tasks/t.yaml").problems


def only(folder: Path, text: str, **files: str) -> Issue:
    found = problems(folder, text, **files)

    assert len(found) == 1, told(found)
    return found[0]


@pytest.mark.parametrize(
    ("part", "place", "rule", "detail", "hint"),
    [
        pytest.param(
            "  scorer: []",
            (7, 3),
            "unknown_key",
            "unknown key `scorer`; expected `actions`, `dataset`, `evaluated_entity_type`, "
            "`scorers`, `solver`, `trials`, `type`",
            "did you mean `scorers`?",
            id="an unknown key, at the key",
        ),
        pytest.param(
            "  scorers:\n    - type: bleu",
            (8, 7),
            "missing_key",
            "`ground_truth` is missing",
            "",
            id="a missing key, at what it is missing in",
        ),
        pytest.param(
            "  scorers: bleu",
            (7, 12),
            "wrong_type",
            "expected `list`, got `str`",
            "write list items in brackets, or on lines that start with `- `",
            id="a text for a list",
        ),
        pytest.param(
            "  scorers:",
            (7, 11),
            "wrong_type",
            "expected `list`, got `null`",
            "remove the key, or write a value after it",
            id="nothing for a list",
        ),
        pytest.param(
            "  scorers: [{type: bleu, ground_truth: a, display_name: 3}]",
            (7, 57),
            "wrong_type",
            "expected `str`, got `int`",
            'put it in quotes: "3"',
            id="a number for a text",
        ),
        pytest.param(
            "  scorers: [bleu]",
            (7, 13),
            "wrong_type",
            "expected `dict`, got `str`",
            "write `{type: bleu, …}`",
            id="a name for a mapping",
        ),
        pytest.param(
            "  scorers: [{type: bleu, ground_truth: a, purpose: scores}]",
            (7, 52),
            "bad_value",
            "expected one of `score`, `qa`, got `scores`",
            "did you mean `score`?",
            id="a word that is not one of the few",
        ),
        pytest.param(
            "  scorers: [{type: bleu, ground_truth: a, key: my key}]",
            (7, 48),
            "bad_key",
            "expected a key of 1 to 250 ASCII letters, digits, `_` and `-`, got `my key`",
            "write `my_key`",
            id="a key that is none",
        ),
        pytest.param(
            "  scorers: [{type: blue, ground_truth: a}]",
            (7, 20),
            "unknown_type",
            None,
            "did you mean `bleu`?",
            id="a type that nothing answers to",
        ),
        pytest.param(
            "  scorers: [{ground_truth: a}]",
            (7, 13),
            "missing_key",
            "`type` is missing",
            None,
            id="no type",
        ),
        pytest.param(
            "  actions:\n"
            "    - {key: r, action: exclude_from_metrics, "
            "filter: {op: exist, expression: '{{ 1 }}'}}",
            (8, 59),
            "bad_value",
            "expected one of `exists`, `not_exists`, `is_true`, `is_false`, got `exist`",
            "did you mean `exists`?",
            id="one problem for a filter of three forms",
        ),
        pytest.param(
            "  actions:\n"
            "    - {key: r, action: exclude_from_metrics, "
            "filter: {op: equals, expression: '{{ 1 }}', value: [1]}}",
            (8, 97),
            "wrong_type",
            "expected `bool` or `int` or `float` or `str`, got `list`",
            "",
            id="one problem for a value of four types",
        ),
        pytest.param(
            "tags: [1]",
            (7, 8),
            "wrong_type",
            "expected `str`, got `int`",
            'put it in quotes: "1"',
            id="an item of a list",
        ),
    ],
)
def test_a_mistake_is_told_once_in_our_words(
    tmp_path: Path,
    part: str,
    place: tuple[int, int],
    rule: str,
    detail: str | None,
    hint: str | None,
) -> None:
    problem = only(tmp_path, START + part)

    assert (problem.line, problem.column) == place
    assert problem.rule == rule
    assert detail in {None, problem.detail}
    assert hint in {None, problem.hint}


def test_jinja_that_does_not_compile_is_told_at_its_line(tmp_path: Path) -> None:
    text = START + (
        "  scorers:\n    - type: bleu\n      ground_truth: |\n        fine\n        {{ sample.a }\n"
    )
    problem = only(tmp_path, text)

    assert (problem.rule, problem.line) == ("bad_template", 11)
    assert problem.field == "definition.scorers[0].ground_truth"


def test_python_that_does_not_compile_is_told_in_its_own_file(tmp_path: Path) -> None:
    text = (
        START + "  scorers: [{type: python, metrics: [], compute_scores_snippet: !include s.py}]\n"
    )
    problem = only(tmp_path, text, s="\n\ndef compute_scores(sample):\n    return {\n")

    assert (Path(problem.file).name, problem.line) == ("s.py", 4)
    assert (problem.rule, problem.detail) == (
        "bad_snippet",
        "not valid Python: '{' was never closed",
    )


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    text = """
key: my task
display_name: 3
descripton: D
config_spec:
  - {type: int, key: n, display_name: N, min: 2, default_value: 1}
  - {type: strng, key: q, display_name: Q}
tasks: [chat]
definition:
  dataset: {key: countries, keys: [a]}
  solver:
    type: single_turn_solver
    input_builder: {type: generic, templat: x}
  scorers:
    - {type: string_equal, ground_truth: a}
    - {type: rag_checker, judge_model_key: x, mode: none}
    - {type: bleu, ground_truth: "{{ a }"}
    - {type: bleu, ground_truth: << config.m >>, metrics: [{type: mean, field: a, nam: x}]}
"""
    found = problems(tmp_path, text)

    assert told(found) == [
        ("t.yaml", 2, "bad_key", "key"),
        ("t.yaml", 3, "wrong_type", "display_name"),
        ("t.yaml", 4, "unknown_key", "descripton"),
        ("t.yaml", 6, "bad_default", "config_spec[0].default_value"),
        ("t.yaml", 7, "unknown_type", "config_spec[1].type"),
        ("t.yaml", 8, "bad_value", "tasks[0]"),
        ("t.yaml", 10, "conflict", "definition.dataset.keys"),
        ("t.yaml", 10, "unknown_dataset", "definition.dataset.keys"),
        ("t.yaml", 13, "unknown_key", "definition.solver.input_builder.templat"),
        ("t.yaml", 15, "unknown_type", "definition.scorers[0].type"),
        ("t.yaml", 16, "bad_value", "definition.scorers[1].mode"),
        ("t.yaml", 17, "bad_template", "definition.scorers[2].ground_truth"),
        ("t.yaml", 18, "undeclared_parameter", "definition.scorers[3].ground_truth"),
        ("t.yaml", 18, "unknown_key", "definition.scorers[3].metrics[0].nam"),
    ]


@pytest.mark.parametrize("text", ["", "3", "[1]", "a: 1", "key: x", "{}", "definition: 3"])
def test_any_file_gives_problems_and_nothing_else(tmp_path: Path, text: str) -> None:
    found = problems(tmp_path, text)

    assert any(one.level == "error" for one in found)
    assert not any("pydantic" in one.detail or "Input should" in one.detail for one in found)


def test_what_is_still_to_be_written_is_one_problem(tmp_path: Path) -> None:
    problem = only(tmp_path, START.replace("key: t\n", 'key: "((TODO))"\n', 1))

    assert problem.rule == "todo"


def test_a_value_out_of_the_environment_is_not_quoted(tmp_path: Path) -> None:
    from evalwright.spec.documents.project import read_project

    path = tmp_path / "t.yaml"
    path.write_text(START.replace("key: t\n", "key: $NAME\n", 1), encoding="utf-8")
    found = read_project(path, environment={"NAME": "my secret"}).problems

    assert [one.rule for one in found if one.level == "error"] == ["bad_key"]
    assert not any("my secret" in f"{one.detail}{one.hint}" for one in found)


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        pytest.param("{type: int, min: 3}", "max_iterations: << config.p >>", id="int"),
        pytest.param(
            "{type: categorical, allowed_values: [error, continue]}",
            "on_max_iterations: << config.p >>",
            id="categorical",
        ),
        pytest.param("{type: string}", "on_max_iterations: << config.p >>", id="a word"),
    ],
)
def test_a_value_that_only_a_run_will_know_is_no_problem(
    tmp_path: Path, declared: str, used: str
) -> None:
    spec = declared.replace("{", "{key: p, display_name: P, ")
    text = f"""
key: t
display_name: T
description: D
config_spec: [{spec}]
definition:
  dataset: {{key: countries}}
  solver:
    type: multi_turn_solver
    message_builders:
      - type: loop
        {used}
        message_builders: [{{type: generate}}]
"""
    assert problems(tmp_path, text) == []


def test_a_parameter_of_the_wrong_type_is_a_problem_without_its_value(tmp_path: Path) -> None:
    text = START.replace(
        "definition:",
        "config_spec: [{type: string, key: p, display_name: P}]\ndefinition:",
    ) + ("  scorers: [{type: bleu, ground_truth: a, metrics: << config.p >>}]\n")
    problem = only(tmp_path, text)

    assert problem.detail == "expected `list`, got `str`"
    assert problem.field == "definition.scorers[0].metrics"
