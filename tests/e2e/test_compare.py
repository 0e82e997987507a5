"""`evalwright compare`: two runs, models or variants, sample by sample."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import run_file, task, write_project, write_rows

import evalwright as ew

ROWS = [{"question": f"question {n}", "answer": "yes", "document": f"d{n // 4}"} for n in range(40)]
SCORERS = """\
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.answer }}"}
    - {type: levenshtein, ground_truth: "{{ sample.answer }}"}
"""
SOLVER = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "%s {{ sample.question }}"}]
"""


def record(name: str, prompt: str = "", **more: Any) -> dict[str, Any]:
    fields = {"task_id": name, "category": "arithmetic", "prompt": prompt or f"Question {name}"}
    return {
        **fields,
        "targets": ["yes"],
        "metric_name": "exact_match",
        "post_process": "none",
        **more,
    }


def write_records(folder: Path, records: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(each) + "\n" for each in records)
    (folder / "tasks.jsonl").write_text("".join(lines))


def write_answers(folder: Path, answers: Iterable[tuple[str, str]], file: str = "o.jsonl") -> None:
    lines = (json.dumps({"id": name, "output": text}) + "\n" for name, text in answers)
    (folder / file).write_text("".join(lines))


def succeed(folder: Path, *arguments: str) -> str:
    done = evalwright(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_records(folder: Path, name: str, right: set[int], count: int = 40) -> None:
    write_records(folder, (record(f"t{n}") for n in range(count)))
    write_answers(
        folder, ((f"t{n}", "yes" if n in right else f"no, {n}") for n in range(count)), "o.jsonl"
    )
    succeed(folder, "run", "tasks.jsonl", "-m", "replay/o.jsonl", "--name", name)


def run_project(folder: Path, name: str, *, prompt: str, answers: Iterable[str]) -> None:
    write_project(
        folder,
        tasks__ask=task(SOLVER % prompt + SCORERS),
        run=run_file("{key: ask, task_key: ask, model_key: replay$o-jsonl}").replace(
            "openai/x", "replay/o.jsonl"
        ),
    )
    write_rows(folder, ROWS)
    write_answers(folder, ((str(n), text) for n, text in enumerate(answers)))
    succeed(folder, "run", "run.yaml", "--name", name, "--fresh")


def compare(folder: Path, *arguments: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(succeed(folder, "compare", *arguments, "--json"))
    jsonschema.validate(report, ew.schema("comparison"))
    return report


def test_a_regression_of_records_is_worse_and_its_flips_come_with_both_outputs(
    tmp_path: Path,
) -> None:
    run_records(tmp_path, "before", set(range(36)))
    run_records(tmp_path, "after", set(range(20)))

    report = compare(tmp_path, "before", "after", "--flips", "3")
    (row,) = report["comparisons"]

    assert (row["verdict"], row["test"], row["n"]) == ("worse", "mcnemar", 40)
    assert (row["wins"], row["losses"], row["ties"]) == (0, 16, 24)
    assert row["difference"] == pytest.approx(-0.4)
    assert row["ci_low"] < -0.4 < row["ci_high"] < 0
    assert row["p_value"] == pytest.approx(2 / 2**16)
    assert len(report["flips"]) == 3
    assert report["flipped"] == 16
    flip = report["flips"][0]
    assert (flip["kind"], flip["a"], flip["b"]) == ("worse", 1.0, 0.0)
    assert (flip["output_a"], flip["output_b"]) == ("yes", "no, 20")
    assert flip["share"] == pytest.approx(1 / 16)


def test_the_published_keys_are_there(tmp_path: Path) -> None:
    run_records(tmp_path, "before", {1, 2, 3})
    run_records(tmp_path, "after", {2, 3, 4})

    report = compare(tmp_path, "before", "after")

    published = (
        "task model_a model_b scorer metric difference ci_low ci_high p_value p_adjusted test n "
        "clusters wins losses ties verdict mde n_needed"
    )
    assert set(published.split()) <= report["comparisons"][0].keys()
    assert {"task", "sample_id", "a", "b"} <= report["flips"][0].keys()
    assert {"a", "b", "comparisons", "flips", "warnings"} <= report.keys()


def test_two_models_of_one_run_are_compared_without_a_second_run(tmp_path: Path) -> None:
    write_records(tmp_path, (record(f"t{n}") for n in range(12)))
    arguments = ("-m", "scripted/oracle", "-m", "scripted/noisy", "--name", "both")
    succeed(tmp_path, "run", "tasks.jsonl", *arguments)

    (row,) = compare(tmp_path, "both")["comparisons"]
    (mirror,) = compare(tmp_path, "both", "-m", "scripted/noisy", "-m", "scripted/oracle")[
        "comparisons"
    ]

    assert (row["model_a"], row["model_b"]) == ("scripted/oracle", "scripted/noisy")
    assert (mirror["model_a"], mirror["model_b"]) == ("scripted/noisy", "scripted/oracle")
    assert row["difference"] == -mirror["difference"]


def test_rows_are_paired_by_content_wherever_they_are(tmp_path: Path) -> None:
    rows = list(ROWS)
    run_project(tmp_path, "before", prompt="Say", answers=["yes"] * 40)
    rows.reverse()
    write_rows(tmp_path, [*rows[:30], {"question": "new", "answer": "yes", "document": "new"}])
    write_answers(tmp_path, ((str(n), "yes" if n % 2 else "no") for n in range(31)))
    succeed(tmp_path, "run", "run.yaml", "--name", "after", "--fresh")

    report = compare(tmp_path, "before", "after")
    row = next(row for row in report["comparisons"] if row["scorer"] == "string_equals")

    assert (row["n"], row["only_a"], row["only_b"]) == (30, 10, 1)
    assert row["losses"] == 15
    assert any("30 shared samples" in warning for warning in report["warnings"])
    assert any("the dataset has changed" in warning for warning in report["warnings"])


def test_a_changed_prompt_is_named_before_the_numbers(tmp_path: Path) -> None:
    run_project(tmp_path, "before", prompt="Say", answers=["yes"] * 30 + ["no"] * 10)
    run_project(tmp_path, "after", prompt="Answer", answers=["yes"] * 40)

    shown = succeed(tmp_path, "compare", "before", "after")

    assert "warning: ask: the solver (with its prompt) has changed" in shown
    assert shown.index("warning:") < shown.index("verdict")
    assert "better" in shown
    assert "[-no-]{+yes+}" in shown


def test_p_values_are_adjusted_for_the_number_of_comparisons(tmp_path: Path) -> None:
    run_project(tmp_path, "before", prompt="Say", answers=["yes"] * 30 + ["no"] * 10)
    run_project(tmp_path, "after", prompt="Say", answers=["yes"] * 36 + ["no"] * 4)

    rows = compare(tmp_path, "before", "after")["comparisons"]

    smallest = min(rows, key=lambda row: row["p_value"])
    assert len(rows) == 2
    assert smallest["p_adjusted"] == pytest.approx(min(1, 2 * smallest["p_value"]))


def test_samples_of_one_document_count_as_one_cluster(tmp_path: Path) -> None:
    run_project(tmp_path, "before", prompt="Say", answers=["yes"] * 40)
    run_project(tmp_path, "after", prompt="Say", answers=["no"] * 8 + ["yes"] * 32)

    (row, _) = compare(tmp_path, "before", "after", "--cluster", "document")["comparisons"]
    wrong = evalwright("compare", "before", "after", "--cluster", "documnt", cwd=tmp_path)

    assert (row["clusters"], row["test"]) == (10, "sign-flip")
    assert row["verdict"] == "undecided"
    assert wrong.returncode == 2
    assert "no sample has a value at `documnt`" in wrong.stderr


def test_groups_are_compared_beside_the_whole(tmp_path: Path) -> None:
    run_project(tmp_path, "before", prompt="Say", answers=["yes"] * 40)
    run_project(tmp_path, "after", prompt="Say", answers=["no"] * 8 + ["yes"] * 32)

    rows = compare(tmp_path, "before", "after", "--by", "document")["comparisons"]
    groups = {row["group"]: row for row in rows if row["scorer"] == "string_equals"}

    assert groups[None]["n"] == 40
    assert (groups["d0"]["n"], groups["d0"]["difference"]) == (4, -1.0)
    assert groups["d9"]["difference"] == 0.0


def test_a_difference_within_the_margin_is_equivalent(tmp_path: Path) -> None:
    run_records(tmp_path, "before", set(range(395)), count=400)
    run_records(tmp_path, "after", set(range(1, 396)), count=400)

    (row,) = compare(tmp_path, "before", "after", "--margin", "0.05")["comparisons"]

    assert row["verdict"] == "equivalent"
    assert compare(tmp_path, "before", "after")["comparisons"][0]["verdict"] == "undecided"


def test_an_undecided_comparison_says_how_many_samples_are_missing(tmp_path: Path) -> None:
    run_records(tmp_path, "before", set(range(20)))
    run_records(tmp_path, "after", set(range(4, 27)))

    (row,) = compare(tmp_path, "before", "after")["comparisons"]
    shown = succeed(tmp_path, "compare", "before", "after")

    assert row["verdict"] == "undecided"
    assert row["n_needed"] > row["n"] == 40
    assert "more samples are needed to decide" in shown
    assert "40 samples can show a difference of" in shown


def test_trials_are_averaged_and_their_disagreement_is_marked(tmp_path: Path) -> None:
    write_records(tmp_path, (record(f"t{n}", metadata={"samples": 4}) for n in range(10)))
    arguments = ("-m", "scripted/noisy", "-m", "scripted/oracle", "--name", "both")
    succeed(tmp_path, "run", "tasks.jsonl", *arguments)

    report = compare(tmp_path, "both")
    (row,) = report["comparisons"]

    assert (row["test"], row["n"]) == ("sign-flip", 10)
    assert row["wins"] == len(report["flips"])


def test_samples_that_one_side_did_not_complete_are_counted(tmp_path: Path) -> None:
    run_records(tmp_path, "before", set(range(40)))
    write_answers(tmp_path, ((f"t{n}", "yes") for n in range(35)))
    done = evalwright("run", "tasks.jsonl", "-m", "replay/o.jsonl", "--name", "after", cwd=tmp_path)
    assert done.returncode == 3

    (row,) = compare(tmp_path, "before", "after")["comparisons"]

    assert (row["n"], row["incomplete_a"], row["incomplete_b"]) == (35, 0, 5)
    assert row["difference"] == 0.0


def test_three_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    for name, count in (("a", 20), ("b", 30), ("c", 40)):
        run_records(tmp_path, name, set(range(count)))

    report = compare(tmp_path, "a", "b", "c")

    assert [row["difference"] for row in report["comparisons"]] == pytest.approx([0.25, 0.5])
    assert [run["name"] for run in report["runs"]] == ["a", "b", "c"]


def test_markdown_has_the_verdict_first(tmp_path: Path) -> None:
    run_records(tmp_path, "before", set(range(36)))
    run_records(tmp_path, "after", set(range(20)))

    succeed(tmp_path, "compare", "before", "after", "--markdown", "c.md")
    text = (tmp_path / "c.md").read_text()

    assert text.startswith("# B is worse than A\n")
    assert "| mean |" in text.replace("\\", "")
    assert "[-yes-]{+no, 20+}" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("before", "nobody"), "there is no run `nobody`", id="an unknown run"),
        pytest.param(("before",), "has nothing to compare", id="one model, one run"),
        pytest.param(("before", "other"), "no task in common", id="different tasks"),
        pytest.param(
            ("before", "before", "-m", "replay/p"), "has a model `replay/p`", id="no such model"
        ),
        pytest.param(("before", "before", "--task", "x"), "share no task `x`", id="no such task"),
        pytest.param(("before", "apart"), "share no samples", id="no shared sample"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    run_records(tmp_path, "before", {1}, count=3)
    write_records(tmp_path, (record(f"x{n}") for n in range(3)))
    write_answers(tmp_path, ((f"x{n}", "yes") for n in range(3)))
    succeed(tmp_path, "run", "tasks.jsonl", "-m", "replay/o.jsonl", "--name", "apart")
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text((tmp_path / "tasks.jsonl").read_text())
    succeed(tmp_path, "run", "one.jsonl", "two.jsonl", "-m", "replay/o.jsonl", "--name", "other")

    done = evalwright("compare", *arguments, cwd=tmp_path)

    assert done.returncode == 2, done.stdout
    assert message in done.stderr
