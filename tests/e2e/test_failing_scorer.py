"""One scorer that fails for a sample takes no other scorer's score with it."""

from pathlib import Path
from typing import Any

from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import ASKED, SOLVER, run_file, scorer, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

FRAGILE = """
def compute_scores(sample, solver_output):
    if sample["question"] == "q1":
        raise ValueError("cannot tell")
    return {"ok": True}
"""
EXACT = '    - {type: string_equals, key: exact, ground_truth: "{{ sample.answer }}"}\n'
TASK = task(SOLVER + "  scorers:\n" + EXACT + scorer(FRAGILE, key="fragile"))
SPLIT = """\
    postprocessor:
      type: python
      postprocess_snippet: |
        def postprocess(sample, solver_output):
            return [(sample, solver_output), ({**sample, "question": "q9"}, solver_output)]
"""


def run(folder: Path, *options: str, definition: str = TASK) -> Any:
    write_rows(folder, [{"question": f"q{n}", "answer": "4" if n else "5"} for n in range(4)])
    write_project(folder, run=run_file(ASKED), tasks__ask=definition)
    with ModelServer(chat("4")) as server:
        command = ("run", "run.yaml", "--json", *options)
        return report_of(evalwright(server, *command, cwd=folder), exit_code=3)


def counts(report: Any) -> dict[str, tuple[float, int, int]]:
    return {row["scorer"]: (row["value"], row["n"], row["failed"]) for row in report["metrics"]}


def test_each_metric_counts_its_own_failures(tmp_path: Path) -> None:
    report = run(tmp_path)

    assert counts(report) == {"exact": (0.75, 4, 0), "fragile": (1.0, 3, 1)}
    (broken,) = [outcome for outcome in outcomes_in(tmp_path) if outcome.failure]
    assert broken.scores["exact"].values == {"is_correct": True}
    assert broken.failure is not None
    assert broken.failure.message.startswith("`fragile`")


def test_a_leaderboard_ranks_by_every_score_that_is_there(tmp_path: Path) -> None:
    report = run(tmp_path, "-m", "openai/x", "-m", "openai/y")

    assert [(row["mean"], row["completed"], row["total"]) for row in report["leaderboard"]] == [
        (0.75, 4, 4)
    ] * 2
    assert [row["n"] for row in report["pairwise"]] == [4]


def test_the_trials_of_a_sample_keep_the_scores_of_the_others(tmp_path: Path) -> None:
    report = run(tmp_path, "--trials", "2")

    assert counts(report) == {"exact": (0.75, 4, 0), "fragile": (1.0, 3, 1)}


def test_the_parts_of_a_sample_keep_the_scores_of_the_others(tmp_path: Path) -> None:
    scorers = "  scorers:\n" + EXACT + scorer(FRAGILE, key="fragile")

    report = run(tmp_path, definition=task(SOLVER + SPLIT + scorers))

    assert counts(report) == {"exact": (0.75, 8, 0), "fragile": (1.0, 7, 1)}
