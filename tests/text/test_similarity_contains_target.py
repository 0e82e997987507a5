"""`contains_target`: whether a wrong answer has the target in it."""

import pytest

from evalwright.text.similarity import contains_target


@pytest.mark.parametrize(
    ("answer", "target", "contained"),
    [
        pytest.param("The capital of France is Paris.", "Paris", True, id="in a sentence"),
        pytest.param("PARIS", "Paris", True, id="in another case"),
        pytest.param("**Paris**", " Paris ", True, id="in markup"),
        pytest.param("Parisian", "Paris", False, id="whole words only"),
        pytest.param("15", "5", False, id="whole numbers only"),
        pytest.param("5.0", "5", False, id="no part of a decimal"),
        pytest.param("-5", "5", False, id="with its sign"),
        pytest.param("anything", " ", False, id="an empty target is in nothing"),
    ],
)
def test_a_target_is_found_as_whole_words(answer: str, target: str, *, contained: bool) -> None:
    assert contains_target(answer, [target]) is contained
