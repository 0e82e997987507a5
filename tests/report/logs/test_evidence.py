"""What stands in a log of a sample."""

from typing import Any

import pytest
from tests.report.logs.made import FACTS, FAILURE, RIGHT, completed, failed

from evalwright.engine.finishing import Aggregate, Trials
from evalwright.report.logs.evidence import ScorerFacts, TaskFacts, sample_evidence
from evalwright.types import Action, Score


def evidence(*outcomes: Any, facts: TaskFacts = FACTS) -> dict[str, Any]:
    return sample_evidence(outcomes or (completed(),), facts)


def test_solver_outputs_stand_once_and_with_the_trial() -> None:
    made = evidence()

    assert made["solver"] is None
    assert set(made["trials"][0]["solver"]["output"]) == {"trace", "raw_outputs", "direct_ios"}


def test_a_score_is_told_with_its_scorers_name_and_purpose() -> None:
    facts = TaskFacts(scorers={"equals": ScorerFacts(name="Exact answer", purpose="qa")})

    (score,) = evidence(facts=facts)["scores"]

    assert score["scorer_name"] == "Exact answer"
    assert score["scorer_purpose"] == "qa"
    assert score["values"] == {"is_correct": True}


def test_a_scorer_without_a_name_is_called_by_its_key() -> None:
    (score,) = evidence(facts=TaskFacts())["scores"]

    assert (score["scorer_name"], score["scorer_purpose"]) == ("equals", "score")


def test_bodies_on_the_wire_are_no_metadata() -> None:
    score = Score(values={}, metadata={"note": "n", "direct_ios": [{"input": "", "output": ""}]})

    (made,) = evidence(completed(scores={"judge": score}))["scores"]

    assert made["metadata"] == {"note": "n"}
    assert made["direct_ios"] == [{"input": "", "output": ""}]


def test_an_error_says_its_kind_stage_message_and_hint() -> None:
    (error,) = evidence(failed())["errors"]

    assert error == {
        "error_type": FAILURE.type,
        "message": FAILURE.message,
        "hint": FAILURE.hint,
        "stage": FAILURE.stage,
    }


def test_rules_that_took_a_sample_out_are_recorded() -> None:
    away = (Action(action="exclude_from_metrics", rule_key="short"),)

    made = evidence(completed(actions=away))

    assert made["action_records"] == [{"action": "exclude_from_metrics", "rule_key": "short"}]


def test_what_the_format_has_no_place_for_stands_apart() -> None:
    trial = evidence()["trials"][0]["evalwright"]

    assert trial["latency_s"] == 0.5
    assert trial["usage"]["cost"] == 0.25
    assert trial["scores"] == {"equals": {"correct": True}}
    assert "input" not in trial, "it can be told from the conversation"


def tried(right: str) -> list[Any]:
    """Trials that are right or wrong, as `10`."""
    return [
        completed(
            trial=number, scores={"equals": Score(values={"is_correct": one == "1", "said": "x"})}
        )
        for number, one in enumerate(right)
    ]


def test_of_several_trials_a_sample_has_what_its_aggregators_make_of_them() -> None:
    passed = Aggregate(score="is_correct", function="pass^k", k=2, names=("is_correct.pass^2",))
    facts = TaskFacts(trials=Trials(trials=3, aggregates=(passed,)))

    made = evidence(*tried("101"), facts=facts)

    (score,) = made["scores"]
    assert score["values"] == {
        "is_correct": pytest.approx(2 / 3),
        "is_correct.mean": pytest.approx(2 / 3),
        "is_correct.pass^2": pytest.approx(4 / 9),
    }
    assert [one["index"] for one in made["trials"]] == [0, 1, 2]


def test_of_several_runs_it_has_their_average() -> None:
    facts = TaskFacts(trials=Trials(trials=2, repeats=2))

    made = evidence(*tried("1110"), facts=facts)

    assert made["scores"][0]["values"] == {"is_correct": 0.75, "is_correct.mean": 0.75}


def test_a_sample_that_lacks_a_trial_has_no_score() -> None:
    made = evidence(*tried("1"), facts=TaskFacts(trials=Trials(trials=2)))

    assert made["scores"] == []
    assert made["trials"][0]["scores"], "the trial has its own"


def test_a_scorer_that_one_trial_lacks_has_no_score() -> None:
    outcomes = [completed(), completed(trial=1, scores={})]

    assert evidence(*outcomes, facts=TaskFacts(trials=Trials(trials=2)))["scores"] == []
    assert outcomes[0].scores == {"equals": RIGHT}
