import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.similarity import exact_match


@pytest.mark.parametrize(
    ("prediction", "targets", "expected"),
    [
        pytest.param("41", ["41"], 1.0, id="equal"),
        pytest.param("42", ["41"], 0.0, id="not equal"),
        pytest.param(" 41\n", ["41"], 1.0, id="the prediction is stripped"),
        pytest.param("41", ["\t41 "], 1.0, id="targets are stripped"),
        pytest.param("forty-one", ["41", "forty-one"], 1.0, id="any target counts"),
        pytest.param("paris", ["Paris"], 0.0, id="case matters"),
        pytest.param("Paris, France", ["Paris"], 0.0, id="a longer answer is not equal"),
        pytest.param("a  b", ["a b"], 0.0, id="space inside matters"),
        pytest.param("", [""], 1.0, id="both empty"),
        pytest.param(" \n", [""], 1.0, id="blank is empty"),
        pytest.param("", ["x"], 0.0, id="empty prediction"),
        pytest.param("نعم", ["نعم"], 1.0, id="Arabic"),
        pytest.param("是", ["是"], 1.0, id="CJK"),
        pytest.param("👍🏽", ["👍"], 0.0, id="another skin tone is another emoji"),
        pytest.param("caf\u00e9", ["cafe\u0301"], 0.0, id="Unicode forms are not normalised"),
    ],
)
def test_comparison(prediction: str, targets: list[str], expected: float) -> None:
    assert exact_match(prediction, targets) == expected


def test_without_targets_there_is_no_score() -> None:
    with pytest.raises(ValueError, match="empty"):
        exact_match("x", [])


@given(st.text())
def test_a_text_equals_itself(text: str) -> None:
    assert exact_match(text, [text]) == 1.0


@given(st.text("ab "), st.lists(st.text("ab "), min_size=1), st.text("ab "))
def test_another_target_never_lowers_the_score(text: str, targets: list[str], extra: str) -> None:
    assert exact_match(text, [*targets, extra]) >= exact_match(text, targets)
