"""The page for those who come from `lf` names every command that they know, and none of ours that
is not there."""

import re
from pathlib import Path

import click
import pytest

from evalwright import api, cli

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "from-lf.md"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `lf ")
]
OURS = sorted({command for row in ROWS for command in re.findall(r"`evalwright ([^`]+)`", row[1])})
NOUNS = ("model", "model-adapter", "dataset", "dataset-generator", "task", "eval")
THEIRS = {
    *("configure", "switch", "status", "init", "init eval", "run", "run eval"),
    *("run assessment-plan", "add app", "add assessment-plan"),
    *(f"{verb} {noun}" for verb in ("add", "list", "export", "delete") for noun in NOUNS),
    *("set policies", "set system-model", "test model", "test dataset", "test task"),
    *("list app", "list eval-run", "list assessment"),
    *("overview eval-run", "overview policies", "overview risk-scorers", "overview eval"),
    *("export eval-run", "export eval-run --id ID -o DIR --link-logs"),
    *("cancel eval-run", "rerun eval-run", "rerun assessment", "regenerate dataset"),
    *("integration", "dump", "restore", "tasks", "models", "datasets", "evals", "eval-runs"),
    *("delete eval-run", "task test", "model test", "dataset test"),
    *(
        f"{noun} {verb}"
        for noun in ("task", "model", "dataset")
        for verb in ("add", "list", "export", "delete")
    ),
}


@pytest.mark.parametrize("command", OURS)
def test_a_command_that_the_page_names_is_there(command: str) -> None:
    found: click.Command | None = cli.app
    context = click.Context(cli.app)
    for word in command.split():
        if word.startswith("-"):
            names = {name for one in found.params for name in one.opts} if found else set()
            assert word in names | {"--version"}, f"{command}: no option {word}"
        elif isinstance(found, click.Group):
            found = found.get_command(context, word)
            assert found is not None, f"{command}: no command {word}"


@pytest.mark.parametrize("command", sorted(THEIRS))
def test_every_command_of_theirs_has_a_row(command: str) -> None:
    named = [row[0] for row in ROWS]

    assert [cell for cell in named if re.search(rf"`lf {re.escape(command)}\b", cell)]


def test_every_row_names_ours_or_says_why_there_is_none() -> None:
    assert [row for row in ROWS if not re.match(r"`|none: ", row[1])] == []


NOT_RUN = PAGE.read_text(encoding="utf-8").split("## What is not supported")[1].split("\n## ")[0]
UNSUPPORTED = {
    **{
        kind: f"key: a\ndisplay_name: A\nconfig: {{connection_type: {kind}}}\n"
        for kind in ("langsmith", "azure_foundry", "aws_bedrock", "dify")
    },
    **{
        field: f"key: a\ndisplay_name: A\n{field}: x\n"
        for field in (
            *("model_under_test_key", "judge_model_key", "risk_profile", "risk_scorers"),
            "key_info",
        )
    },
    **dict.fromkeys(
        ("function", "metric_key"),
        "key: a\ndisplay_name: A\nfunction: 1 - x\nmetric_key: x\nconfig_spec: []\n",
    ),
    "risk_scorer_key": "policies: [{key: a, display_name: A, risk_scorer_key: b, metric: x}]\n",
}
"""A document with each part that the page says is not run here."""


def read_first_cells(number: int) -> list[str]:
    """The first cells of a table of the section, without its head."""
    tables = [part.splitlines() for part in NOT_RUN.split("\n\n") if part.startswith("|")]
    return [line.split("|")[1] for line in tables[number][2:]]


def test_the_page_lists_exactly_what_is_not_run() -> None:
    cells = read_first_cells(0)

    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == {*UNSUPPORTED}


@pytest.mark.parametrize("part", sorted(UNSUPPORTED))
def test_validate_names_each_part_that_is_not_run(tmp_path: Path, part: str) -> None:
    (tmp_path / "document.yaml").write_text(UNSUPPORTED[part], encoding="utf-8")

    (checking,) = api.checks([str(tmp_path / "document.yaml")])

    problems = [*checking, *checking.warnings]
    assert [problem.rule for problem in problems] == ["unsupported"]
    assert problems[0].line


def test_validate_names_them_in_a_folder_too(tmp_path: Path) -> None:
    for name in ("risk_profile", "function", "risk_scorer_key"):
        (tmp_path / f"{name}.yaml").write_text(UNSUPPORTED[name], encoding="utf-8")
    (tmp_path / "app.yaml").write_text("key: a\ndisplay_name: A\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_text("models: [{$provider: openai/x}]\n", encoding="utf-8")

    checked = api.checks([str(tmp_path)])

    warnings = [warning.rule for checking in checked for warning in checking.warnings]
    assert warnings == ["unsupported"] * 4
    assert [problem for checking in checked for problem in checking] == []


TASK = """\
key: t
display_name: T
description: D
definition:
  dataset: {key: d}
  solver:
    type: pass_through_solver
    trace_column: trace
    postprocessor:
      type: python
      postprocess_snippet: "def postprocess(sample, solver_output): return []"
"""
DATASET = "key: d\ndisplay_name: D\nsource: {type: local, file_path: d.jsonl}\n"
EVALUATION = "evaluation: {key: e, display_name: E, task_specifications: [SPECIFICATION]}\n"
GENERATOR = """\
key: g
display_name: G
definition:
  dataset: {type: dataset_sample_combinations, keys: KEYS}
  synthesizers: [{type: empty}]
"""
COMBINED: dict[str, tuple[str, str]] = {
    "postprocessor": (
        "conflict",
        EVALUATION.replace("SPECIFICATION", "{key: s, task_key: t, repeatability: {num_runs: 2}}"),
    ),
    "keys": ("bad_value", "dataset_generators: [{$ref: combined.yaml}]\n"),
    "policies": (
        "no_effect",
        (
            "key: p\ndisplay_name: P\nevaluations:\n  - {policies: [], evaluation: {key: e, "
            "display_name: E, task_specifications: [{key: s, task_key: t}]}}\n"
        ),
    ),
    "trials": (
        "no_effect",
        EVALUATION.replace(
            "SPECIFICATION",
            "{key: s, task_key: t, trials: {num_trials: 2}, task_result_log_path: log.json}",
        ),
    ),
    "evaluation_key": (
        "unknown_evaluation",
        "key: p\ndisplay_name: P\nevaluation_specifications: [{key: a, evaluation_key: e}]\n",
    ),
    "debug": (
        "without_effect",
        (
            "datasets: [{key: made, display_name: M, generator_specification: "
            "{dataset_generator_key: g, debug: true}}]\n"
        ),
    ),
}
"""A document with each combination of the second table, and the rule that reports it."""


def test_the_page_lists_exactly_the_combinations_that_are_checked() -> None:
    rules = [line.split("|")[2].strip(" `") for line in NOT_RUN.splitlines() if "|" in line]

    assert [re.findall(r"`(\w+)`", cell)[0] for cell in read_first_cells(1)] == [*COMBINED]
    assert rules[-len(COMBINED) :] == [rule for rule, _ in COMBINED.values()]


@pytest.mark.parametrize("part", sorted(COMBINED))
def test_validate_names_each_combination(tmp_path: Path, part: str) -> None:
    rule, document = COMBINED[part]
    files = {
        "tasks/t.yaml": TASK,
        "datasets/d.yaml": DATASET,
        "datasets/d.jsonl": "{}\n",
        "dataset_generators/g.yaml": GENERATOR.replace("KEYS", "[d]"),
        "package/run.yaml": EVALUATION.replace("SPECIFICATION", "{key: s, task_key: t}"),
        "combined.yaml": GENERATOR.replace("KEYS", "[d, d]").replace("key: g", "key: h"),
        "document.yaml": document,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    checked = list(api.checks([str(tmp_path / "document.yaml")]))

    problems = [p for checking in checked for p in (*checking, *checking.warnings)]
    named = [problem for problem in problems if problem.rule == rule]
    assert named, problems
    assert all(problem.line for problem in named)
