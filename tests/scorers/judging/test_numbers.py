import pytest
from tests.scorers.judging.judges import SCORER, read

from evalwright.scorers.judging.verdict_values import NumberReader
from evalwright.scorers.judging.verdicts import NoVerdict

SHARE = {**SCORER, "score_min": 0, "score_max": 1}
SIGNED = {**SCORER, "score_min": -5, "score_max": 5}


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        pytest.param("0.5/1", 0.5, id="a denominator"),
        pytest.param("0.5 / 1.0", 0.5, id="a denominator with spaces"),
        pytest.param(".5", 0.5, id="no digit before the point"),
        pytest.param("1.", 1, id="a final period"),
        pytest.param("Score: 0.5/1", 0.5, id="a named line"),
        pytest.param('{"score": "0.5/1"}', 0.5, id="in an object"),
    ],
)
def test_a_number_is_read_with_its_scale(reply: str, number: float) -> None:
    assert read(SHARE, reply) == number


@pytest.mark.parametrize("reply", ["-4", "-4 out of 5", "Rating: -4"])
def test_a_sign_is_part_of_a_number(reply: str) -> None:
    assert read(SIGNED, reply) == -4


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("0.5/2", id="another scale"),
        pytest.param("1 (out of 1)", id="words in brackets"),
        pytest.param("1 of 1 facts is right", id="a number of something else"),
        pytest.param("Score: 1, maybe 0", id="a doubt"),
        pytest.param("Score: 1%", id="a percentage"),
        pytest.param("Score: 0,5", id="a decimal comma"),
        pytest.param("0 - 1", id="a range"),
        pytest.param("1 point", id="a unit"),
    ],
)
def test_a_number_of_another_form_is_a_failure(reply: str) -> None:
    with pytest.raises(NoVerdict):
        read(SHARE, reply)


def test_a_number_is_never_final() -> None:
    assert not NumberReader(0, 10).is_final(1)
