"""Trials and repeatability, from run.yaml to the report, against a server that changes its mind."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright, finished, outcomes_in, report_of, start
from tests.e2e.projects import (
    ASKED,
    SOLVER,
    of_rows,
    run_file,
    scorer,
    task,
    write_project,
    write_rows,
)
from tests.living import wait_until
from tests.servers.model_server import Asked, Behaviour, ModelServer, after, chat, status

RIGHT, WRONG = "4", "5"
TRIALS = """\
  trials:
    num_trials: 5
    score_aggregators:
      - {score_name: is_correct, aggregator: {function: pass@k, k: 5}}
      - {score_name: is_correct, aggregator: {function: pass^k, k: 5}}
      - {score_name: is_correct, aggregator: {function: min, score_name: always}}
"""
SCORERS = """\
  scorers:
    - type: string_equals
      key: exact
      ground_truth: "4"
      metrics:
        - {type: mean, field: is_correct}
        - {type: mean, field: pass@5}
        - {type: mean, field: is_correct.pass^5}
        - {type: mean, field: always}
"""
PLAIN = '  scorers:\n    - {type: string_equals, key: exact, ground_truth: "4"}\n'
RUN = ("run", "run.yaml", "--json", "--concurrency", "1")
ANSWERS = {"q0": "44444", "q1": "45445", "q2": "55555"}
"""What the server says to each question, time after time: right in 5, 3 and none of 5."""


def varying(answers: Mapping[str, str]) -> Behaviour:
    """To each question the next of its answers; `!` is a server that fails."""
    asked_before: Counter[str] = Counter()

    async def behave(asked: Asked) -> web.StreamResponse:
        said = answers[asked.prompt]
        turn = asked_before[asked.prompt]
        asked_before[asked.prompt] += 1
        answer = said[turn % len(said)]
        return await (status(400, "no") if answer == "!" else chat(answer))(asked)

    return behave


def written(folder: Path, definition: str, *specifications: str, **more: str) -> Path:
    write_rows(folder, [{"question": name} for name in ANSWERS])
    run = run_file(*(specifications or (ASKED,)), more=more.pop("run", ""))
    return write_project(folder, run=run, tasks__ask=task(definition), **more)


def figures(report: Any, name: str = "ask") -> dict[str, float]:
    return {row["metric"]: row["value"] for row in report["metrics"] if row["task"] == name}


def test_trials_become_one_score_a_sample_and_are_paid_for_once(tmp_path: Path) -> None:
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS)
    with ModelServer(varying(ANSWERS)) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))
        asked = len(server.log)
        second = evalwright(server, *RUN, cwd=folder)
        again = report_of(second)

    assert second.stderr == "resuming: 15 of 15 trials are done\n"
    # By hand, with the rates 1, 0.6 and 0: 0.98976 and 0.07776 are the format's own examples.
    assert figures(report) == {
        "is_correct_mean": pytest.approx(1.6 / 3),
        "pass@5_mean": pytest.approx((1 + 0.98976 + 0) / 3),
        "is_correct.pass^5_mean": pytest.approx((1 + 0.07776 + 0) / 3),
        "always_mean": pytest.approx(1 / 3),
    }
    assert all(row["n"] == 3 and row["ci_low"] is not None for row in report["metrics"])
    counts = {name: report["summary"][name] for name in ("samples", "completed", "trials")}
    assert counts == {"samples": 3, "completed": 3, "trials": 15}
    assert asked == len(server.log) == 15
    assert figures(again) == figures(report)
    stored = outcomes_in(folder)
    assert [(one.sample_id, one.trial) for one in stored[:6]] == [
        *(("0", trial) for trial in range(5)),
        ("1", 0),
    ]


def test_what_trials_are_aggregated_to_is_shown_without_a_metric_for_it(tmp_path: Path) -> None:
    folder = written(tmp_path, SOLVER + TRIALS + PLAIN)
    with ModelServer(varying(ANSWERS)) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))

    assert figures(report) == {
        "is_correct_mean": pytest.approx(1.6 / 3),
        "pass@5_mean": pytest.approx((1 + 0.98976 + 0) / 3),
        "pass^5_mean": pytest.approx((1 + 0.07776 + 0) / 3),
        "always_mean": pytest.approx(1 / 3),
    }


def test_the_command_line_says_last_how_often_a_sample_is_tried(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        SOLVER + PLAIN,
        "{key: ask, task_key: ask, model_key: openai$x, trials: {num_trials: 3}}",
        "{key: other, task_key: ask, model_key: openai$x}",
        run="run_config: {trials_config: {num_trials: 2}}\n",
    )
    with ModelServer(varying(dict.fromkeys(ANSWERS, RIGHT))) as server:
        asked = []
        for more in ((), ("--trials", "4"), ("--trials", "1")):
            before = len(server.log)
            report_of(evalwright(server, *RUN, *more, cwd=folder))
            asked.append(len(server.log) - before)

    assert asked[0] == 3 * 3 + 3 * 2, "the specification over the run"
    # Both specifications ask the same: what the first has drawn, the second need not draw again.
    assert asked[1] <= 3 * 1 + 3 * 2
    assert asked[2] == 0, "the first trial is known"


def test_trials_and_samples_are_one_option_for_both_formats(tmp_path: Path) -> None:
    folder = written(tmp_path, SOLVER + PLAIN)
    record = {"task_id": "a", "category": "arithmetic", "prompt": "2 + 2", "targets": ["4"]}
    rules = {"metric_name": "exact_match", "post_process": "none"}
    (folder / "tasks.jsonl").write_text(json.dumps({**record, **rules}))
    commands = [("run", "tasks.jsonl", "-m", "openai/x"), ("run", "run.yaml")]
    with ModelServer(chat("4")) as server:
        for command in commands:
            first = report_of(evalwright(server, *command, "--trials", "2", "--json", cwd=folder))
            same = report_of(evalwright(server, *command, "--samples", "2", "--json", cwd=folder))

            assert same["run_id"] == first["run_id"]
            assert same["summary"]["reused"] > 0


def test_a_sample_with_a_failed_trial_has_failed_and_is_tried_again_in_that_trial_only(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS)
    with ModelServer(varying({**ANSWERS, "q1": "44!44"})) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder), exit_code=3)
        server.behave(chat(RIGHT))
        before = len(server.log)
        mended = report_of(evalwright(server, *RUN, "--retry-failed", cwd=folder))
        again = len(server.log) - before

    assert figures(report)["is_correct_mean"] == pytest.approx(1 / 2)
    row = report["metrics"][0]
    assert (row["n"], row["failed"]) == (2, 1)
    summary = report["summary"]
    assert (summary["samples"], summary["completed"], summary["failed"]) == (3, 2, 1)
    assert report["failures"][0]["count"] == 1
    assert again == 1
    assert figures(mended)["is_correct_mean"] == pytest.approx(2 / 3)


def test_an_evaluation_with_trials_that_is_killed_asks_nothing_twice(tmp_path: Path) -> None:
    rule = """\
  actions:
    - {key: sure, action: exclude_from_metrics, filter:
        {op: equals, expression: "{{ scores.exact.always }}", value: 1}}
"""
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS + rule)
    write_rows(folder, [{"question": f"q{number}"} for number in range(30)])
    connections = 4
    command = ("run", "run.yaml", "--json", "--concurrency", str(connections))
    with ModelServer(after(0.005, chat(WRONG))) as server:
        for part in (1, 2):
            process = start(server, *command, cwd=folder)
            wait_until(
                lambda part=part: len(server.log) > 50 * part or process.poll() is not None  # type: ignore[misc]  # noqa: B023 - called at once
            )
            process.kill()
            finished(process)
        report = report_of(evalwright(server, *command, cwd=folder))

    assert report["summary"]["samples"] == 30
    assert report["summary"]["trials"] == 150 == len(outcomes_in(folder))
    assert 150 <= len(server.log) <= 150 + 2 * connections, "only what was in flight"
    assert figures(report)["is_correct_mean"] == 0.0


def test_runs_of_the_same_task_are_compared(tmp_path: Path) -> None:
    specification = "{key: ask, task_key: ask, model_key: openai$x, repeatability: {num_runs: 5}}"
    folder = written(tmp_path, SOLVER + PLAIN, specification)
    with ModelServer(varying(ANSWERS)) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))
        shown = evalwright(server, "report", "latest", cwd=folder)
        asked = len(server.log)
        report_of(evalwright(server, *RUN, "--fresh", cwd=folder))

    # q0 is always right, q2 never, q1 in the runs 1, 3 and 4: 2/3 three times, 1/3 twice.
    (row,) = report["repeatability"]
    assert row["values"] == pytest.approx([2 / 3, 1 / 3, 2 / 3, 2 / 3, 1 / 3])
    assert row["mean"] == pytest.approx(8 / 15)
    assert row["std"] == pytest.approx(0.18257418583505536), "ddof = 1"
    assert (row["min"], row["max"], row["runs"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3), 5)
    half = 2.7764451051977987 * row["std"] / 5**0.5
    assert row["ci_low"] == pytest.approx(row["mean"] - half, rel=2e-3)
    assert row["interval"] == "student"
    (agreement,) = report["agreement"]
    assert agreement["agreement"] == pytest.approx((1 + 0.6 + 1) / 3)
    assert (agreement["n"], agreement["flaky"], agreement["runs"]) == (3, 1, 5)
    assert report["flaky"] == [
        {
            "task": "ask",
            "model": "openai/x",
            "sample_id": "1",
            "scorer": "exact",
            "score": "is_correct",
            "agreement": 0.6,
            "values": [["true", 3], ["false", 2]],
        }
    ]
    (metric,) = report["metrics"]
    assert metric["value"] == pytest.approx(8 / 15)
    assert metric["n"] == 3
    assert metric["ci_high"] - metric["ci_low"] > 0.5, "three samples, however many runs"
    for title in ("Repeatability", "Agreement between runs", "Flaky samples"):
        assert title in shown.stdout
    assert (asked, len(server.log)) == (15, 30)


def test_nothing_of_an_earlier_run_is_used_for_a_comparison_of_runs(tmp_path: Path) -> None:
    folder = written(tmp_path, SOLVER + PLAIN)
    with ModelServer(varying(ANSWERS)) as server:
        report_of(evalwright(server, *RUN, cwd=folder))
        repeated = ASKED.replace("}", ", repeatability: {num_runs: 2}}")
        written(tmp_path, SOLVER + PLAIN, repeated)
        report_of(evalwright(server, *RUN, cwd=folder))
        rescored = report_of(evalwright(server, "score", "latest", "--json", cwd=folder))

    assert len(server.log) == 3 + 6
    assert rescored["repeatability"][0]["runs"] == 2, "its answers are stored all the same"


def test_a_repeatability_of_an_evaluation_runs_what_it_names(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        SOLVER + PLAIN,
        ASKED,
        "{key: stable, type: repeatability, repeatability_config: {num_runs: 2}, num_samples: 2, "
        "inputs: [{evaluation_key: whole, task_specification_key: ask}]}",
    )
    with ModelServer(chat(RIGHT)) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))

    assert [row["task"] for row in report["repeatability"]] == ["stable"]
    assert report["repeatability"][0]["std"] == 0.0
    assert report["flaky"] == []
    assert len(server.log) == 3 + 2 * 2


def test_results_of_trials_are_rows_of_their_own_for_the_next_task(tmp_path: Path) -> None:
    snippet = "def compute_scores(sample):\n    return {'ok': '#2' in sample['sample_id']}"
    later = of_rows(snippet).replace("key: ask", "key: later")
    folder = written(
        tmp_path,
        SOLVER + PLAIN + "  trials: {num_trials: 2}\n",
        "{key: again, task_key: later}",
        ASKED,
        tasks__later=later.replace("{key: rows}", "{key: ask, source: task_result}"),
    )
    with ModelServer(chat(RIGHT)) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))

    (row,) = [one for one in report["metrics"] if one["task"] == "again"]
    assert (row["value"], row["n"], row["ci_low"]) == (0.5, 6, None)
    assert "trials on the same samples" in row["reason"]


LATER = (
    of_rows("def compute_scores(sample):\n    return {'ok': '4' in str(sample['solver_output'])}")
    .replace("key: ask", "key: later")
    .replace("{key: rows}", "{key: ask, source: task_result}")
)


def evaluation(key: str, *specifications: str) -> str:
    listed = "".join(f"  - {one}\n" for one in specifications)
    return f"key: {key}\ndisplay_name: E\ntask_specifications:\n{listed}"


def test_rows_of_trials_of_an_earlier_run_have_no_interval_either(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        SOLVER + PLAIN + "  trials: {num_trials: 2}\n",
        tasks__later=LATER,
        evaluations__next=evaluation(
            "next", "{key: again, task_key: later, repeatability: {num_runs: 2}}"
        ),
        evaluations__last=evaluation("last", "{key: lastly, task_key: last}"),
        tasks__last=LATER.replace("key: later", "key: last").replace("{key: ask,", "{key: again,"),
    )
    with ModelServer(chat(RIGHT)) as server:
        report_of(evalwright(server, *RUN, cwd=folder))
        later = report_of(evalwright(server, *RUN, "--evaluation", "next", cwd=folder))
        last = report_of(evalwright(server, *RUN, "--evaluation", "last", cwd=folder))

    (row,) = later["metrics"]
    assert (row["n"], row["ci_low"]) == (6, None)
    assert "trials on the same samples" in row["reason"]
    assert [one["ci_low"] for one in later["agreement"]] == [None]
    assert [one["ci_low"] for one in last["metrics"]] == [None], "rows of rows that go together"


def test_a_repetition_of_a_chain_reads_its_own_answers_and_not_those_of_before(
    tmp_path: Path,
) -> None:
    again = "{key: st, type: repeatability, repeatability_config: {num_runs: 2}, inputs: %s}"
    folder = written(
        tmp_path,
        SOLVER + PLAIN,
        ASKED,
        "{key: rv, task_key: later}",
        tasks__later=LATER.replace("['solver_output']", "['solver_output']['items']"),
        evaluations__all=evaluation("all", again % "[{evaluation_key: whole}]"),
        evaluations__half=evaluation(
            "half", again % "[{evaluation_key: whole, task_specification_key: rv}]"
        ),
    )
    with ModelServer(chat(WRONG)) as server:
        before = report_of(evalwright(server, *RUN, cwd=folder))
        server.behave(chat(RIGHT))
        report = report_of(evalwright(server, *RUN, "--evaluation", "all", cwd=folder))
        refused = evalwright(server, *RUN, "--evaluation", "half", cwd=folder)

    assert figures(before, "rv") == {"ok_mean": 0.0}
    assert figures(report, "st-rv") == {"ok_mean": 1.0}
    assert refused.returncode == 1, refused.stderr
    assert "earlier run would be read" in refused.stderr


RULED = """\
  actions:
    - key: wrong
      action: exclude_from_metrics
      filter: {op: is_false, expression: "{{ scores.exact.is_correct }}"}
"""


def test_a_rule_on_a_truth_value_goes_with_one_trial_and_is_refused_for_several(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS + RULED)
    with ModelServer(varying(ANSWERS)) as server:
        refused = evalwright(server, *RUN, cwd=folder)
        once = evalwright(server, *RUN, "--trials", "1", cwd=folder)

    assert refused.returncode == 1
    assert "`is_correct` is a mean" in refused.stderr
    report = report_of(once)
    assert figures(report)["is_correct_mean"] == 1.0
    assert report["summary"]["excluded"] == 1, "q2, which is wrong"
    assert "k = 5, but there is one trial of `ask`: `pass@5` is 0 or 1 per sample" in once.stderr
    assert len(server.log) == len(ANSWERS)


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
def test_a_task_that_is_tried_shows_every_trial(tmp_path: Path, as_json: bool) -> None:  # noqa: FBT001 - a column of the table
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS)
    arguments = ("task", "test", "ask", "--id", "1", *(("--json",) if as_json else ()))
    with ModelServer(varying(ANSWERS)) as server:
        done = evalwright(server, *arguments, cwd=folder)

    assert done.returncode == 0, done.stderr
    if as_json:
        tried = json.loads(done.stdout)
        assert [one["trial"] for one in tried["samples"]] == [0, 1, 2, 3, 4]
        assert tried["metrics"][0]["value"] == pytest.approx(0.6)
    else:
        assert "Sample `1`, trial 5 of 5" in done.stdout
        assert "Metrics over 1 sample, with 5 trials each" in done.stdout
        assert "1 sample tried" in done.stderr


def test_a_scorer_of_all_samples_judges_each_trial_by_itself(tmp_path: Path) -> None:
    snippet = """
def compute_scores(samples, solver_outputs):
    said = [one.output.choices[0].message.content for one in solver_outputs]
    return [{"ok": said.count(one) > 1} for one in said]
"""
    whole = "  scorers:\n" + scorer(snippet, kind="python_all_samples")
    folder = written(tmp_path, SOLVER + whole + "  trials: {num_trials: 2}\n")
    with ModelServer(varying({"q0": "44", "q1": "45", "q2": "55"})) as server:
        report = report_of(evalwright(server, *RUN, cwd=folder))

    # The first trials say 4, 4, 5, the second 4, 5, 5: what two say is ok.
    (row,) = report["metrics"]
    assert (row["value"], row["n"]) == (pytest.approx((0.5 + 1 + 0.5) / 3), 3)


def test_a_run_says_which_task_cannot_be_tried_several_times(tmp_path: Path) -> None:
    fans = """\
    postprocessor:
      type: python
      postprocess_snippet: |
        def postprocess(sample, solver_output):
            return [(sample, solver_output)]
"""
    folder = written(tmp_path, SOLVER + fans + PLAIN)
    with ModelServer(chat(RIGHT)) as server:
        done = evalwright(server, *RUN, "--trials", "3", cwd=folder)

    said = "ask: one trial per sample: the task has a postprocessor"
    assert said in done.stderr
    assert any(one.startswith(said) for one in report_of(done)["notes"])
    assert len(server.log) == len(ANSWERS)


def test_samples_of_another_number_of_trials_are_another_plan(tmp_path: Path) -> None:
    folder = written(tmp_path, SOLVER + TRIALS + SCORERS)
    with ModelServer(varying(ANSWERS)) as server:
        report_of(evalwright(server, *RUN, "--trials", "2", cwd=folder))
        report_of(evalwright(server, *RUN, cwd=folder))
        shown = evalwright(server, "show", "latest", cwd=folder)

    assert len(server.log) == 15, "two trials of each were there"
    assert "ask: 3 samples, 5 trials of each, with openai/x" in shown.stdout, shown.stdout
