from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, chat, score

NAMES = {"type": "contains_any", "targets": "{{ sample.names }}"}


@pytest.mark.parametrize(
    ("answer", "names", "is_correct"),
    [
        pytest.param("It is NYC.", ["New York", "NYC"], True, id="the second"),
        pytest.param("New York, NYC", ["New York", "NYC"], True, id="both"),
        pytest.param("Boston", ["New York", "NYC"], False, id="none"),
        pytest.param("nyc", ["New York", "NYC"], False, id="case counts"),
        pytest.param("", ["NYC"], False, id="an empty answer"),
        pytest.param("عاصمة مصر هي القاهرة", ["Cairo", "القاهرة"], True, id="Arabic"),
        pytest.param("Zu\u0308rich", ["Z\u00fcrich", "Zurich"], True, id="another form"),
        pytest.param("in 1989", [1989, 1990], True, id="numbers, as they print"),
        pytest.param("it's", ["it's"], True, id="a quote in the list"),
    ],
)
def test_one_target_is_enough(answer: str, names: list[Any], *, is_correct: bool) -> None:
    found = score(NAMES, {"names": names}, chat(answer))

    assert found.values == {"is_correct": is_correct}
    assert found.metadata == {"answer_gt": [str(name) for name in names], "answer_pred": answer}
    assert bool(found.reason) is not is_correct


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param("{{ sample.names }}", id="Python"),
        pytest.param("{{ sample.names | tojson }}", id="JSON"),
        pytest.param(["{{ sample.names[0] }}", "{{ sample.names[1] }}"], id="one template each"),
        pytest.param('["Rome", "NYC"]', id="literal"),
    ],
)
def test_targets_are_written_in_several_ways(targets: Any) -> None:
    row = {"names": ["Rome", "NYC"]}

    assert score({**NAMES, "targets": targets}, row, chat("to NYC")).correct
    assert not score({**NAMES, "targets": targets}, row, chat("to LA")).correct


def test_case_can_be_ignored() -> None:
    fields = {**NAMES, "ignore_case": True}

    assert score(fields, {"names": ["Rome", "NYC"]}, chat("rome")).correct


def test_a_wrong_answer_says_what_was_looked_for() -> None:
    found = score(NAMES, {"names": ["Rome", "NYC"]}, chat("LA"))

    assert found.reason == "'LA' contains none of 'Rome', 'NYC'"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param([], "rendered to an empty list", id="no target"),
        pytest.param(["a", ""], "rendered to an empty string", id="an empty target"),
        pytest.param(["a", None], "must render to a list of strings", id="null"),
        pytest.param([["a"]], "must render to a list of strings", id="a list"),
        pytest.param("a, b", "must render to a JSON or Python list", id="no list"),
    ],
)
def test_what_cannot_be_looked_for_is_an_error(names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"`targets` {message}"):
        score(NAMES, {"names": names}, chat("a"))


@pytest.mark.parametrize("targets", [[], 5, [5]])
def test_what_is_no_list_of_templates_is_refused(targets: Any) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({**NAMES, "targets": targets})
