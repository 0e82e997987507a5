"""Outcomes become samples of a log, and samples of a log become outcomes, whoever wrote it."""

import json
from typing import Any

import pytest
from tests.result_logs.sample_logs import (
    ANSWER,
    FACTS,
    FAILURE,
    RIGHT,
    completed,
    failed,
    fanned_out,
    old_sample,
)

from evalwright.plan.finalization import TrialAggregate, TrialPlan
from evalwright.result_logs.log_outcomes import (
    MalformedLog,
    ScorerFacts,
    TaskFacts,
    outcomes_from_json,
    read_task_facts,
    sample_to_json,
)
from evalwright.types import Action, Outcome, Score


def evidence(*outcomes: Any, facts: TaskFacts = FACTS) -> dict[str, Any]:
    return sample_to_json(outcomes or (completed(),), facts)


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
    """TrialPlan that are right or wrong, as `10`."""
    return [
        completed(
            trial=number, scores={"equals": Score(values={"is_correct": one == "1", "said": "x"})}
        )
        for number, one in enumerate(right)
    ]


def test_of_several_trials_a_sample_has_what_its_aggregators_make_of_them() -> None:
    passed = TrialAggregate(
        score="is_correct", function="pass^k", k=2, names=("is_correct.pass^2",)
    )
    facts = TaskFacts(trials=TrialPlan(trials=3, aggregates=(passed,)))

    made = evidence(*tried("101"), facts=facts)

    (score,) = made["scores"]
    assert score["values"] == {
        "is_correct": pytest.approx(2 / 3),
        "is_correct.mean": pytest.approx(2 / 3),
        "is_correct.pass^2": pytest.approx(4 / 9),
    }
    assert [one["index"] for one in made["trials"]] == [0, 1, 2]


def test_of_several_runs_it_has_their_average() -> None:
    facts = TaskFacts(trials=TrialPlan(trials=2, repeats=2))

    made = evidence(*tried("1110"), facts=facts)

    assert made["scores"][0]["values"] == {"is_correct": 0.75, "is_correct.mean": 0.75}


def test_a_sample_that_lacks_a_trial_has_no_score() -> None:
    made = evidence(*tried("1"), facts=TaskFacts(trials=TrialPlan(trials=2)))

    assert made["scores"] == []
    assert made["trials"][0]["scores"], "the trial has its own"


def test_a_scorer_that_one_trial_lacks_has_no_score() -> None:
    outcomes = [completed(), completed(trial=1, scores={})]

    assert evidence(*outcomes, facts=TaskFacts(trials=TrialPlan(trials=2)))["scores"] == []
    assert outcomes[0].scores == {"equals": RIGHT}


def test_a_specification_has_the_names_and_purposes_of_its_scorers_and_the_aggregates() -> None:
    aggregate = {
        "score": "is_correct",
        "function": "pass^k",
        "k": 2,
        "names": ["is_correct.pass^2"],
    }
    specification = {
        "scorers": [
            {"key": "string_equals", "display_name": "Exact", "purpose": "score"},
            {"key": "polite", "display_name": None, "purpose": "qa"},
        ],
        "evalwright": {"aggregates": [aggregate]},
    }

    facts = read_task_facts(specification, trials=2)

    assert facts.scorers == {
        "string_equals": ScorerFacts(name="Exact"),
        "polite": ScorerFacts(purpose="qa"),
    }
    assert facts.trials.trials == 2
    (read,) = facts.trials.aggregates
    assert (read.score, read.function, read.k) == ("is_correct", "pass^k", 2)


def test_a_specification_of_another_program_may_say_nothing() -> None:
    facts = read_task_facts({"scorers": "x", "evalwright": 3})

    assert facts.scorers == {}
    assert facts.trials == TrialPlan()


def taken(sample: Any, **changes: Any) -> Outcome:
    (one,) = outcomes_from_json({**sample, **changes}, 3, task="capitals", model="atlas")
    return one


LEFT_OUT = (Action(action="exclude_from_metrics", rule_key="short"),)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(completed(3), id="completed"),
        pytest.param(failed(3), id="failed"),
        pytest.param(fanned_out(3), id="in parts"),
        pytest.param(completed(3, actions=LEFT_OUT), id="left out"),
        pytest.param(completed(3, trace=None), id="without a solver"),
        pytest.param(completed(3, sample={"نص": "مرحبا"}, sample_id="معرّف"), id="arabic"),
        pytest.param(
            completed(
                3, scores={"j": Score(values={"label": "a"}, reason="why", metadata={"n": 1})}
            ),
            id="with a reason",
        ),
        pytest.param(
            completed(3, scores={"j": Score(values={"x": None, "y": [1]})}), id="any JSON"
        ),
    ],
)
def test_what_was_written_is_taken_back_as_it_was(outcome: Outcome) -> None:
    sample = json.loads(json.dumps(sample_to_json([outcome], FACTS)))

    assert taken(sample) == outcome


def test_a_sample_of_before_trials_is_one_trial() -> None:
    outcome = taken(old_sample())

    assert outcome.trace is not None
    assert outcome.trace.output == "Paris"
    assert outcome.trace.usage.prompt_tokens == 7
    assert outcome.trace.usage.cost is None, "what it cost is not known"
    assert outcome.scores["equals"] == Score(values={"is_correct": True}, correct=True)
    assert outcome.sample == {"country": "France"}
    assert outcome.sample_id == "s0"


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(ANSWER, id="the last output alone"),
        pytest.param(
            {
                "trace": {
                    "items": [
                        {
                            "type": "message",
                            "role": "assistant",
                            "content": [{"type": "output_text", "text": "Paris"}],
                        }
                    ]
                },
                "raw_outputs": [],
                "direct_ios": [],
            },
            id="a trace",
        ),
        pytest.param(
            {
                "messages": [
                    {"role": "user", "content": "Capital?"},
                    {"role": "assistant", "content": "Paris"},
                ],
                "output": ANSWER,
            },
            id="messages",
        ),
        pytest.param({"items": [{"role": "assistant", "content": "Paris"}]}, id="items"),
    ],
)
def test_a_solvers_output_is_read_in_each_of_its_shapes(output: Any) -> None:
    outcome = taken(old_sample(solver={"output": output}))

    assert outcome.trace is not None
    assert outcome.trace.output == "Paris"


def test_the_output_of_a_custom_task_is_any_json() -> None:
    outcome = taken(old_sample(solver={"output": {"label": "cat"}}))

    assert outcome.trace is not None
    assert json.loads(outcome.trace.output) == {"label": "cat"}


def test_a_sample_without_an_id_is_called_by_its_place() -> None:
    assert taken(old_sample(sample_id=None)).sample_id == "3"
    assert taken(old_sample(sample_id=17)).sample_id == "17"


def test_an_error_of_no_stage_is_of_the_stage_that_left_nothing() -> None:
    error = [{"error_type": "Timeout", "message": "too late"}]

    unsolved = taken(old_sample(solver=None, scores=[], errors=error)).failure
    unscored = taken(old_sample(scores=[], errors=error)).failure

    assert unsolved is not None
    assert unsolved.stage == "solver"
    assert unscored is not None
    assert unscored.stage == "score"


def test_of_several_errors_the_first_says_how_many_more_there_are() -> None:
    errors = [{"stage": "score", "error_type": "A", "message": "first"}, {"message": "second"}]

    failure = taken(old_sample(errors=errors)).failure

    assert failure is not None
    assert failure.message == "first (and 1 more in this sample)"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param([1, 2], [1, 2], id="from one"),
        pytest.param([1, 0], [0, 1], id="turned round"),
        pytest.param([4, 9], [4, 9], id="some are missing"),
        pytest.param([1, 1], [0, 1], id="one twice"),
        pytest.param([None, 1], [0, 1], id="one without"),
        pytest.param([-1, 10**9], [0, 1], id="no numbers of trials"),
        pytest.param([True, 0], [0, 1], id="a boolean"),
    ],
)
def test_trials_are_called_as_the_log_calls_them_if_that_tells_them_apart(
    given: list[Any], kept: list[int]
) -> None:
    sample = {
        "sample_id": "a",
        "sample": {"data": {"x": 1}},
        "trials": [{"index": index, "scores": [], "errors": []} for index in given],
    }

    outcomes = outcomes_from_json(sample, 0)

    assert [one.trial for one in outcomes] == kept
    assert {(one.sample_id, one.sample["x"]) for one in outcomes} == {("a", 1)}


def test_the_scores_of_a_sample_with_trials_stand_with_the_first() -> None:
    trial = {"scores": [{"scorer_key": "equals", "values": {"n": 1}}]}
    whole = [{"scorer_key": "equals", "values": {"n": 5}}]

    first, second = outcomes_from_json(
        {"sample_id": "a", "scores": whole, "trials": [trial, trial]}, 0
    )

    assert first.whole["equals"].values == {"n": 5}
    assert second.whole == {}
    assert first.scores["equals"].values == {"n": 1}


@pytest.mark.parametrize(
    ("sample", "path", "said"),
    [
        pytest.param([], "", "expected an object, got list", id="no object"),
        pytest.param(old_sample(scores={"a": 1}), ".scores", "expected a list", id="scores"),
        pytest.param(
            old_sample(scores=[{"values": {}}]), ".scores[0].scorer_key", "missing", id="key"
        ),
        pytest.param(
            old_sample(scores=[{"scorer_key": "a"}]),
            ".scores[0].values",
            "expected an object, got null",
            id="no values",
        ),
        pytest.param(
            old_sample(scores=[{"scorer_key": "a", "values": {}}] * 2),
            ".scores[1].scorer_key",
            "duplicate key `a`",
            id="twice",
        ),
        pytest.param(old_sample(sample="x"), ".sample", "expected an object, got str", id="sample"),
        pytest.param(old_sample(solver="x"), ".solver", "expected an object, got str", id="solver"),
        pytest.param(
            old_sample(solver={"output": {"items": "x"}}),
            ".solver.output",
            "not a solver output",
            id="items",
        ),
        pytest.param(
            old_sample(errors=[{"stage": "nowhere"}]),
            ".errors[0].stage",
            "expected one of",
            id="stage",
        ),
        pytest.param(old_sample(errors="x"), ".errors", "expected a list", id="errors"),
        pytest.param(
            old_sample(action_records=[1]), ".action_records[0]", "expected", id="actions"
        ),
        pytest.param(old_sample(trials=[1]), ".trials[0]", "expected an object", id="trial"),
        pytest.param(
            old_sample(trials=[{"evalwright": {"latency_s": "x"}}]),
            ".trials[0].evalwright.latency_s",
            "Expected `float`",
            id="ours",
        ),
    ],
)
def test_what_is_not_as_it_should_be_has_its_path(sample: Any, path: str, said: str) -> None:
    with pytest.raises(MalformedLog) as refused:
        outcomes_from_json(sample, 0)

    assert refused.value.path == path
    assert said in str(refused.value)
