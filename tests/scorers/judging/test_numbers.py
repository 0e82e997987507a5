import pytest
from tests.scorers.judging.judges import SCORER, read

from evalwright.scorers.judging.replies import NoVerdict

FIVE = {**SCORER, "score_min": 1, "score_max": 5}


@pytest.mark.parametrize(
    "reply",
    [
        "4 stars",
        "4/5 stars",
        "4 (out of 5)",
        "Score: 4 points",
        "4/5 - fine",
        "**4**/5",
        "Rating: 4 out of 5.",
        "Clear. 4/5.",
        "1. Clear\n2. Polite\n\n4",
        "Score: 4. Clear and polite.",
    ],
)
def test_a_number_is_read_with_its_scale_its_unit_and_a_reason(reply: str) -> None:
    assert read(FIVE, reply) == 4


@pytest.mark.parametrize(
    "reply",
    [
        "4 (out of 10)",
        "2 of 5 facts are right",
        "Score: 2 of 3 facts",
        "Score: 4, maybe 5",
        "Score: 4%",
        "Score: 4,5",
        "4 - 5",
        "Step 1. 4",
        "Evaluation: 1. Clear 2. Polite",
    ],
)
def test_a_number_of_something_else_is_none(reply: str) -> None:
    with pytest.raises(NoVerdict):
        read(FIVE, reply)
