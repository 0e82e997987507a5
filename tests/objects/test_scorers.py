import re
from typing import Any

import pytest

from evalwright.objects import SolverTrace
from evalwright.objects.scorers import ContainsScorer, ExactMatchScorer, RegexScorer, ScorerBase

SOLVED = SolverTrace(items=[{"role": "assistant", "content": " It is Paris "}])


class Limited(ScorerBase):
    limit: int
    name: str = "is_short"

    def compute_scores(self, sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
        return {self.name: len(str(solver_output)) <= self.limit, **sample}


def test_annotated_fields_are_arguments_of_the_constructor() -> None:
    assert Limited(limit=3).compute_scores({}, SOLVED) == {"is_short": False}
    assert Limited(limit=99, name="ok")({}, SOLVED) == {"ok": True}
    with pytest.raises(ValueError, match="Limited: missing required field `limit`: expected `int`"):
        Limited()
    with pytest.raises(NotImplementedError, match="ScorerBase does not define `compute_scores`"):
        ScorerBase()({}, SOLVED)


@pytest.mark.parametrize(
    ("scorer", "target", "expected"),
    [
        pytest.param(ExactMatchScorer(), "It is Paris", True, id="exact"),
        pytest.param(ExactMatchScorer(), "it is paris", False, id="another case"),
        pytest.param(ExactMatchScorer(case_sensitive=False), "it is paris", True, id="any case"),
        pytest.param(ContainsScorer(), "Paris", True, id="contains"),
        pytest.param(ContainsScorer(), "Rome", False, id="does not contain"),
        pytest.param(RegexScorer(pattern=r"P\w+s"), "", True, id="matches"),
        pytest.param(RegexScorer(pattern="paris", case_sensitive=False), "", True, id="any case 2"),
        pytest.param(RegexScorer(pattern="^Paris"), "", False, id="does not match"),
    ],
)
def test_a_ready_scorer_scores_the_answer(scorer: Any, target: str, *, expected: bool) -> None:
    assert scorer.compute_scores({"target": target}, SOLVED) == {"is_correct": expected}


def test_the_column_may_have_another_name_and_must_be_there() -> None:
    scorer = ContainsScorer(target_field="answer")

    assert scorer({"answer": "Paris"}, SOLVED) == {"is_correct": True}
    with pytest.raises(KeyError, match="answer"):
        scorer({"target": "Paris"}, SOLVED)
    with pytest.raises(re.error):
        RegexScorer(pattern="(")({}, SOLVED)
