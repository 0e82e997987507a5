from typing import Any

import pytest
from tests.scorers.cases import SCORERS
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER
from tests.scorers.judging.judges import Judge as Asked

from evalwright.plan.plan import TaskRuntime
from evalwright.session.judges import describe_judges, judge_model_key

RAG = {"type": "rag_checker", "judge_model_key": "judge"}


def judges(*, fingerprint: str = "1", name: str = "openai/judge", **scorers: Any) -> Any:
    made = {key: SCORERS.validate_python(fields) for key, fields in scorers.items()}
    runtime = TaskRuntime(scorers=made, other_models={"judge": name})
    return describe_judges({"task": runtime}, {name: Asked("", fingerprint=fingerprint)})


def test_a_judge_is_kept_with_what_it_may_say() -> None:
    right, grade, kind = judges(
        right=CLASSIFIER, grade=SCORER, kind={**LABELER, "valid_labels": ["a", "b"]}
    )

    assert (right["task"], right["scorer"], right["judge"]) == ("task", "right", "judge")
    assert right["model"] == "openai/judge"
    assert (right["correct_labels"], right["incorrect_labels"]) == (["correct"], ["incorrect"])
    assert (grade["score_min"], grade["score_max"]) == (0, 10)
    assert kind["correct_labels"] == ["a", "b"]


def test_a_rag_checker_asks_a_judge_too_and_other_scorers_do_not() -> None:
    (rag,) = judges(rag=RAG, exact={"type": "string_equals", "ground_truth": "x"})

    assert rag["type"] == "rag_checker"


def test_a_scorer_that_embeds_does_not_judge() -> None:
    fields = {"type": "semantic_similarity", "ground_truth": "x", "model_key": "judge"}

    assert judge_model_key(SCORERS.validate_python(fields)) == ""


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"right": {**CLASSIFIER, "user_prompt": "{{ sample.target }}"}}, id="prompt"),
        pytest.param({"right": {**CLASSIFIER, "correct_labels": ["right"]}}, id="labels"),
        pytest.param({"right": CLASSIFIER, "fingerprint": "2"}, id="parameters"),
        pytest.param({"right": CLASSIFIER, "name": "openai/other"}, id="model"),
    ],
)
def test_whatever_could_move_a_verdict_makes_another_judge(change: dict[str, Any]) -> None:
    assert judges(right=CLASSIFIER)[0]["identity"] != judges(**change)[0]["identity"]


def test_what_people_read_does_not() -> None:
    named = {**CLASSIFIER, "display_name": "Right or wrong", "metrics": []}

    assert judges(right=CLASSIFIER)[0]["identity"] == judges(other=named)[0]["identity"]
