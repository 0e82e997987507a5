"""A metric with `by`: its value for all samples and for each group, in a project and in Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import ASKED, SOLVER, run_file, task, write_project, write_rows

import evalwright as ew

SPEC = "{key: ask, task_key: ask}"
BY = "{{ sample.category }}"
SCORER = """\
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - type: exact_match
      value: "{{ sample.answer }}"
      ground_truth: "yes"
      metrics:
        - {type: mean, field: is_correct, by: "%s"}
"""
EXCLUDE = """\
  actions:
    - key: draft
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ sample.draft }}", value: true}
"""


def row(category: Any, answer: str | None = "yes", *, draft: bool = False) -> dict[str, Any]:
    return {"category": category, "answer": answer, "draft": draft}


ROWS = [
    *(row("علوم", "yes" if number % 4 else "no") for number in range(20)),
    row("history"),
    row("history", "no"),
    row("history", draft=True),
    row("only drafts", draft=True),
    row(None),
    row("  "),
    {"answer": "yes", "draft": False},
]


def write(folder: Path, rows: list[dict[str, Any]], by: str = BY, more: str = EXCLUDE) -> Path:
    write_rows(folder, rows)
    return write_project(folder, run=run_file(SPEC), tasks__ask=task(SCORER % by + more))


def run_json(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(evalwright("run", "run.yaml", "--json", cwd=folder).stdout)
    return report


def test_each_group_has_its_value_its_interval_and_its_counts(tmp_path: Path) -> None:
    whole, *groups = run_json(write(tmp_path, ROWS))["metrics"]

    assert (whole["group"], whole["small"], whole["n"]) == (None, False, 25)
    assert (whole["excluded"], whole["ungrouped"]) == (2, 3)
    assert {group["metric"] for group in groups} == {whole["metric"]} == {"is_correct_mean"}
    assert [(g["group"], g["value"], g["n"], g["excluded"], g["small"]) for g in groups] == [
        ("history", 0.5, 2, 1, True),
        ("only drafts", None, 0, 1, True),
        ("علوم", 0.75, 20, 0, False),
    ]
    assert (groups[2]["ci_low"], groups[2]["ci_high"]) == pytest.approx((0.5313, 0.8881), abs=1e-4)
    assert groups[1]["reason"] == "there are no scores"


def test_text_markdown_and_python_mark_small_groups(tmp_path: Path) -> None:
    folder = write(tmp_path, ROWS)

    text = evalwright("run", "run.yaml", cwd=folder).stdout
    report = ew.load("latest")
    markdown = report.to_markdown()

    for shown in (text, markdown):
        assert "Results by group" in shown
        assert "2 (small)" in shown
        assert "20 (small)" not in shown
        assert "علوم" in shown
        assert "small: fewer than 20 samples" in shown
        assert "3 samples in no group" in shown
        assert "only drafts: there are no scores" in shown
    assert [each.small for each in report] == [False, True, True, False]


def test_thousands_of_groups_are_cut_in_tables_and_whole_in_json(tmp_path: Path) -> None:
    rows = [row(f"g{number}") for number in range(2_000)] + [row("g7")]
    folder = write(tmp_path, rows, more="")

    report = run_json(folder)
    text = evalwright("run", "run.yaml", cwd=folder).stdout

    assert len(report["metrics"]) == 1 + 2_000
    assert "is_correct_mean: the 30 largest of 2,000 groups" in text
    assert sum(" g" in line and "(small)" in line for line in text.splitlines()) == 30
    assert "g7 " in text


def test_a_policy_and_the_list_of_runs_read_the_value_of_all_samples(tmp_path: Path) -> None:
    folder = write(tmp_path, ROWS)
    policy = "{key: p, display_name: P, rules: [{key: r, display_name: R, scope: {}, "
    definition = "definition: {type: threshold, metric: is_correct_mean, operator: '>', "
    policies = f"policies:\n  - {policy}{definition}threshold: 0.6}}}}]}}\n"
    write_project(folder, run=policies + run_file(SPEC))

    (verdict,) = run_json(folder)["policies"]
    listed = json.loads(evalwright("list", "--json", cwd=folder).stdout)

    assert verdict["holds"], verdict["reason"]
    assert [figure["n"] for figure in verdict["figures"]] == [25]
    assert json.dumps(listed).count("is_correct_mean") == 1


@pytest.mark.parametrize(
    ("by", "where", "what"),
    [
        ("{{ sample.categry }}", "tasks/ask.yaml:", "has no column `categry`; it has"),
        ("{{ category }}", "tasks/ask.yaml:", "unknown variable `category`; expected `sample`"),
        ("{{ solver_output.output }}", "tasks/ask.yaml:", "unknown variable `solver_output`"),
        ("{{ sample.category", "tasks/ask.yaml:", "{{"),
    ],
)
def test_a_wrong_template_is_reported_at_its_place(
    tmp_path: Path, by: str, where: str, what: str
) -> None:
    done = evalwright("validate", ".", cwd=write(tmp_path, ROWS, by=by))

    assert done.returncode == 1
    assert where in done.stdout + done.stderr
    assert what in done.stdout + done.stderr


def test_a_template_that_fails_for_a_sample_voids_its_groups_only(tmp_path: Path) -> None:
    report = run_json(write(tmp_path, ROWS, by="{{ 1 // (sample.draft | int) }}"))

    assert [(each["value"], each["group"]) for each in report["metrics"]] == [(0.76, None)]
    (failure,) = report["failures"]
    assert (failure["stage"], failure["metric"]) == ("metric", "mean")
    assert "`by`" in failure["message"]


def test_adding_groups_asks_no_model_again(tmp_path: Path) -> None:
    scorer = "  scorers:\n    - {type: exact_match, ground_truth: q1, metrics: [%s]}\n"
    mean = "{type: mean, field: is_correct%s}"
    write_rows(tmp_path, [{"question": f"q{n % 2}", "level": n % 3} for n in range(6)])
    reports = []
    for by in ("", ', by: "{{ sample.level }}"'):
        write_project(tmp_path, run=run_file(ASKED), tasks__ask=task(SOLVER + scorer % (mean % by)))
        done = evalwright("run", "run.yaml", "-m", "scripted/echo", "--json", cwd=tmp_path)
        reports.append(json.loads(done.stdout))

    first, second = reports
    assert [each["group"] for each in first["metrics"]] == [None]
    assert [each["group"] for each in second["metrics"]] == [None, "0", "1", "2"]
    assert first["run_id"] != second["run_id"]
    assert second["summary"]["reused"] == 6
    assert first["metrics"][0]["value"] == second["metrics"][0]["value"] == 0.5


def test_groups_over_trials_and_runs_and_of_python_metrics(tmp_path: Path) -> None:
    scorer = "  scorers:\n    - {type: exact_match, ground_truth: q1, metrics: [%s]}\n"
    by = 'by: "{{ sample.level }}"'
    metrics = f"{{type: mean, field: is_correct, {by}}}, {{type: python, {by}, %s}}"
    snippet = (
        "compute_metrics_snippet: 'def compute_metrics(scores): return {\"size\": len(scores)}'"
    )
    write_rows(tmp_path, [{"question": f"q{n % 2}", "level": n < 2} for n in range(6)])
    specification = ASKED.replace("}", ", repeatability: {num_runs: 2}}")
    write_project(
        tmp_path,
        run=run_file(specification),
        tasks__ask=task(SOLVER + scorer % (metrics % snippet)),
    )

    done = evalwright("run", "run.yaml", "-m", "scripted/echo", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)

    values = {(row["metric"], row["group"]): row["value"] for row in report["metrics"]}
    assert values == {
        ("is_correct_mean", None): 0.5,
        ("is_correct_mean", "False"): 0.5,
        ("is_correct_mean", "True"): 0.5,
        ("size", None): 6,
        ("size", "False"): 4,
        ("size", "True"): 2,
    }
    assert {(row["group"], row["runs"]) for row in report["repeatability"]} == {
        *((None, 2), ("False", 2), ("True", 2)),
    }
    text = evalwright("run", "run.yaml", "-m", "scripted/echo", cwd=tmp_path).stdout
    assert text.partition("Repeatability")[2].partition("\n\n")[0].count("is_correct_mean") == 1


def test_in_python_metrics_of_every_kind_have_groups() -> None:
    @ew.metric(by=BY)
    def longest(values: list[float]) -> float:
        return max(values)

    data = [{"q": str(n), "answer": "yes", "category": "ab"[n % 2]} for n in range(6)]
    report = ew.run(
        ew.Task(
            "t",
            data,
            prompt="{q}",
            scorers=[{"type": "exact_match", "ground_truth": "{{ sample.answer }}"}],
            metrics=[{"type": "mean", "by": BY}, longest],
        ),
        models=[lambda prompt: "yes" if prompt in "024" else "no"],
    )

    found = {(each.key, each.group): each.value for each in report.metrics}
    assert found == {
        ("mean", None): 0.5,
        ("mean", "a"): 1.0,
        ("mean", "b"): 0.0,
        ("longest", None): 1.0,
        ("longest", "a"): 1.0,
        ("longest", "b"): 0.0,
    }
    assert report["t"].mean == 0.5


def test_in_python_a_column_that_is_not_there_is_an_error_before_the_run() -> None:
    task = ew.Task(
        "t",
        [{"q": "1", "answer": "yes", "category": "a"}],
        prompt="{q}",
        scorers=["exact_match"],
        target="answer",
        metrics=[{"type": "mean", "by": "{{ sample.categry }}"}],
    )

    with pytest.raises(
        ew.EvalwrightError, match=r"has no column `categry`.*did you mean `category`"
    ):
        ew.run(task, models=[lambda _: "yes"])
