from typing import Any

import pytest

from evalwright.scorers.base import parse_score


@pytest.mark.parametrize(
    ("returned", "values", "metadata"),
    [
        pytest.param({"a": 0.5, "b": True}, {"a": 0.5, "b": True}, {}, id="scores only"),
        pytest.param({"scores": {"a": 1}, "metadata": {"t": 2}}, {"a": 1}, {"t": 2}, id="both"),
        pytest.param({"scores": {"a": 1}}, {"a": 1}, {}, id="structured without metadata"),
        pytest.param({"scores": {"a": 1}, "metadata": None}, {"a": 1}, {}, id="metadata None"),
        pytest.param({"scores": {"a": 1}, "metadata": {}}, {"a": 1}, {}, id="metadata empty"),
        pytest.param({"scores": {}, "metadata": {"t": 2}}, {}, {"t": 2}, id="no score"),
        pytest.param({"scores": 3}, {"scores": 3}, {}, id="a score called scores"),
        pytest.param({"scores": [1]}, {"scores": [1]}, {}, id="a list called scores"),
        pytest.param(
            {"scores": 3, "metadata": {"t": 2}},
            {"scores": 3, "metadata": {"t": 2}},
            {},
            id="two scores with unlucky names",
        ),
        pytest.param(
            {"scores": {"a": 1}, "other": 2},
            {"scores": {"a": 1}, "other": 2},
            {},
            id="something else beside it",
        ),
        pytest.param({"metadata": {"t": 2}}, {"metadata": {"t": 2}}, {}, id="metadata alone"),
        pytest.param(
            {"values": {"a": 1}, "metadata": {"t": 2}, "direct_ios": []},
            {"a": 1},
            {"t": 2},
            id="a SampleScore",
        ),
        pytest.param({"values": {"a": 1}, "metadata": None}, {"a": 1}, {}, id="a part of one"),
        pytest.param({"values": {"a": 1}}, {"values": {"a": 1}}, {}, id="a score called values"),
        pytest.param(
            {"values": {"a": 1}, "metadata": 2, "b": 3},
            {"values": {"a": 1}, "metadata": 2, "b": 3},
            {},
            id="a score next to values",
        ),
        pytest.param({}, {}, {}, id="nothing"),
        pytest.param({"größe": "日本"}, {"größe": "日本"}, {}, id="any script"),
        pytest.param({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}, {}, id="any JSON"),
    ],
)
def test_all_forms_are_read(
    returned: Any, values: dict[str, Any], metadata: dict[str, Any]
) -> None:
    found = parse_score(returned)

    assert found.values == values
    assert found.metadata == metadata


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        pytest.param(
            None, "must return a dict of scores, got `None`: is a `return` missing", id="None"
        ),
        pytest.param(0.5, "must return a dict of scores, got `float`: '0.5'", id="a number"),
        pytest.param([{"a": 1}], "must return a dict of scores, got `list`", id="a list"),
        pytest.param("x" * 100, f"got `str`: '{'x' * 80}…'", id="a long text"),
        pytest.param({1: 2}, "names that are strings, got 1", id="a name that is none"),
        pytest.param(
            {"scores": {1: 2}}, "`scores` of compute_scores must be a dict", id="the same inside"
        ),
        pytest.param(
            {"scores": {"a": 1}, "metadata": [2]},
            "`metadata` of compute_scores must be a dict, got `list`",
            id="metadata that is a list",
        ),
    ],
)
def test_what_is_no_score_is_an_error_that_says_what_came(returned: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_score(returned)


@pytest.mark.parametrize(
    ("values", "correct"),
    [
        pytest.param({"is_correct": True}, True, id="right"),
        pytest.param({"is_correct": False}, False, id="wrong"),
        pytest.param({"is_correct": 1}, None, id="a number is no verdict"),
        pytest.param({"accuracy": True}, None, id="another name is none"),
    ],
)
def test_is_correct_says_whether_it_is(values: dict[str, Any], *, correct: bool | None) -> None:
    assert parse_score(values).correct is correct
