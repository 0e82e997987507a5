"""A log has the keys of the format, and is written sample by sample."""

import json
import math
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from tests.result_logs.sample_logs import FACTS, FAILURE, completed, failed, figure, make_log

from evalwright.engine.results import FinalResult, TaskFailure
from evalwright.plan.finalization import TrialPlan
from evalwright.result_logs.export_run import ResultLogHeader, write_log
from evalwright.result_logs.log_outcomes import TaskFacts
from evalwright.types import Action, Outcome, Score, Usage

KEYS = {
    "$": ("format_version", "app_version", "status", "evidence", "specification", "execution",
          "errors"),
    "$.execution": ("run_id", "result_status", "is_cached", "progress"),
    "$.execution.progress": ("progress", "num_total_samples", "num_processed_samples",
                             "num_samples_with_errors"),
    "$.evidence": ("metrics", "samples", "runs", "errors", "failures", "model_token_usages"),
    "$.evidence.failures": ("num_errors", "num_total"),
    "$.evidence.metrics[0]": ("values", "metric_key", "metric_type", "scorer_key", "scorer_name",
                              "scorer_purpose", "reason"),
    "$.evidence.samples[0]": ("sample_id", "sample", "solver", "scores", "action_records",
                              "errors", "trials"),
    "$.evidence.samples[0].trials[0]": ("index", "sample_id", "sample", "solver", "scores",
                                        "errors"),
    "$.evidence.samples[0].trials[0].sample": ("data",),
    "$.evidence.samples[0].trials[0].solver": ("output",),
    "$.evidence.samples[0].trials[0].scores[0]": ("scorer_key", "scorer_purpose", "scorer_name",
                                                  "values", "metadata", "direct_ios"),
    "$.evidence.samples[1].errors[0]": ("error_type", "message", "hint", "stage"),
    "$.evidence.samples[1].trials[0].errors[0]": ("error_type", "message", "hint", "stage"),
}  # fmt: skip
"""Of the format; a log may have more under `evalwright`."""


def at(log: Any, path: str) -> Any:
    for step in path.removeprefix("$").replace("[", ".").replace("]", "").split("."):
        if step:
            log = log[int(step)] if step.isdigit() else log[step]
    return log


def parsed(*outcomes: Outcome, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(make_log(outcomes or [completed(0), failed(1)], **changes))
    return made


@pytest.mark.parametrize("path", KEYS)
def test_a_log_has_the_keys_of_the_format(path: str) -> None:
    found = at(parsed(), path)

    assert set(found) - {"evalwright"} == set(KEYS[path])


def test_samples_with_errors_are_counted() -> None:
    log = parsed(completed(0), failed(1), failed(2))

    assert log["evidence"]["failures"] == {"num_errors": 2, "num_total": 3}


def test_tokens_are_summed_by_model() -> None:
    judged = completed(1, others={"judge": Usage(requests=2, prompt_tokens=9)})

    usages = parsed(completed(0), judged)["evidence"]["model_token_usages"]

    assert usages == [
        {
            "model_key": "atlas",
            "num_requests": 2,
            "num_prompt_tokens": 14,
            "num_completion_tokens": 4,
        },
        {
            "model_key": "judge",
            "num_requests": 2,
            "num_prompt_tokens": 9,
            "num_completion_tokens": 0,
        },
    ]


def test_what_broke_for_the_task_is_its_failure() -> None:
    broken = TaskFailure(stage="metric", what="mean", failure=FAILURE)

    log = parsed(completed(0), finished=FinalResult(broken=[broken]))

    assert log["status"] == "failure"
    assert log["errors"] == log["evidence"]["errors"]
    assert [one["message"] for one in log["errors"]] == [FAILURE.message]


def test_failed_samples_are_no_failure_of_the_task() -> None:
    assert parsed(completed(0), failed(1))["status"] == "success"


def test_a_task_that_did_not_come_to_its_end_is_a_failure_that_says_so() -> None:
    log = parsed(completed(0), is_complete=False)

    assert log["status"] == "failure"
    assert [one["error_type"] for one in log["errors"]] == ["stopped"]
    assert log["evidence"]["errors"] == [], "no part of the task broke"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({}, "succeeded", id="whole"),
        pytest.param({"is_complete": False}, "failed", id="stopped"),
        pytest.param(
            {
                "finished": FinalResult(
                    broken=[TaskFailure(stage="metric", what="mean", failure=FAILURE)]
                )
            },
            "failed",
            id="broken",
        ),
    ],
)
def test_a_result_succeeded_or_failed(changes: dict[str, Any], word: str) -> None:
    assert parsed(completed(0), failed(1), **changes)["execution"]["result_status"] == word


@pytest.mark.parametrize("taken", [True, False])
def test_a_result_that_was_there_already_says_so(*, taken: bool) -> None:
    assert parsed(is_recorded=taken)["execution"]["is_cached"] is taken


def progress(*outcomes: Outcome, **changes: Any) -> list[Any]:
    return list(json.loads(make_log(outcomes, **changes))["execution"]["progress"].values())


TWICE = TaskFacts(trials=TrialPlan(trials=2))


@pytest.mark.parametrize(
    ("outcomes", "changes", "figures"),
    [
        pytest.param([completed(0), failed(1)], {}, [1.0, 2, 2, 1], id="whole"),
        pytest.param([], {}, [1.0, 0, 0, 0], id="no samples"),
        pytest.param(
            [completed(0), failed(1)],
            {"is_complete": False, "samples": 8},
            [0.25, 8, 2, 1],
            id="stopped",
        ),
        pytest.param(
            [completed(0), completed(0, trial=1), completed(1)],
            {"is_complete": False, "samples": 4, "facts": TWICE},
            [0.25, 4, 1, 0],
            id="stopped between the trials of a sample",
        ),
        pytest.param(
            [completed(0)],
            {"is_complete": False},
            [None, None, 1, 0],
            id="stopped, nobody knows when",
        ),
    ],
)
def test_how_far_it_came(
    outcomes: list[Outcome], changes: dict[str, Any], figures: list[Any]
) -> None:
    assert progress(*outcomes, **changes) == figures


def test_trials_of_a_sample_stand_together() -> None:
    outcomes = [completed(ordinal, trial=trial) for ordinal in range(2) for trial in range(2)]

    log = parsed(*outcomes, facts=TaskFacts(trials=TrialPlan(trials=2)))

    assert [len(one["trials"]) for one in log["evidence"]["samples"]] == [2, 2]
    assert log["evidence"]["runs"] is None


def test_runs_say_which_trials_are_theirs() -> None:
    outcomes = [completed(0, trial=number) for number in range(4)]

    log = parsed(*outcomes, facts=TaskFacts(trials=TrialPlan(trials=2, repeats=2)))

    assert log["evidence"]["runs"] == [
        {"index": 0, "trials": [0, 1]},
        {"index": 1, "trials": [2, 3]},
    ]


def test_nan_and_infinity_are_the_constants_of_the_format() -> None:
    score = Score(values={"a": math.nan, "b": math.inf, "c": -math.inf})
    made = make_log([completed(0, scores={"s": score})], FinalResult(figures=[figure(None)]))

    assert b'"values": {"a": NaN, "b": Infinity, "c": -Infinity}' in made
    assert b'"values": {"is_correct_mean": NaN}' in made


def test_text_of_any_script_is_written_as_it_is() -> None:
    made = make_log([completed(0, sample={"نص": "مرحبا بالعالم"})])

    assert "مرحبا بالعالم".encode() in made


def test_half_a_surrogate_pair_is_escaped() -> None:
    made = make_log([completed(0, sample={"text": "\ud83d"})])

    assert rb"\ud83d" in made
    assert json.loads(made)["evidence"]["samples"][0]["sample"]["data"]["text"] == "\ud83d"


def test_rules_are_recorded_with_the_sample() -> None:
    away = (Action(action="exclude_from_metrics", rule_key="odd"),)

    (sample,) = parsed(completed(0, actions=away))["evidence"]["samples"]

    assert sample["action_records"] == [{"action": "exclude_from_metrics", "rule_key": "odd"}]


def test_samples_are_written_as_they_come() -> None:
    out = BytesIO()
    sizes = []

    def coming() -> Iterator[Outcome]:
        for number in range(10):
            sizes.append(out.tell())
            yield completed(number)

    log = ResultLogHeader(specification={}, execution={}, finished=FinalResult(), facts=FACTS)

    assert write_log(log, coming(), out) == 10
    assert sizes[-1] > 5 * sizes[2] / 2, "what came before is written already"


def test_a_task_without_samples_is_a_log() -> None:
    log = json.loads(make_log([]))

    assert log["evidence"]["samples"] == []
    assert log["evidence"]["failures"] == {"num_errors": 0, "num_total": 0}
