import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, called, said, score

from evalwright.scorers.function_call_coverage import Call, in_order, is_same_json, match_calls
from evalwright.types import Score

ANY = {"type": "function_call_coverage", "function_calls": "{{ sample.wanted | tojson }}"}
ORDERED = {**ANY, "mode": "in_order"}


def wanting(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def found(wanted: Any, *calls: str | dict[str, Any], fields: dict[str, Any] | None = None) -> Score:
    items = [called(one) if isinstance(one, str) else one for one in calls]
    conversation = {"items": [said("user", "go"), *items, said("assistant", "done")]}
    return score(fields or ANY, {"wanted": wanted}, conversation)


@pytest.mark.parametrize(
    ("wanted", "calls", "made", "extra"),
    [
        pytest.param([], [], 0, 0, id="nothing wanted, nothing called"),
        pytest.param([], ["a"], 0, 1, id="nothing wanted, one called"),
        pytest.param(["a"], [], 0, 0, id="nothing called"),
        pytest.param(["a"], ["a"], 1, 0, id="the one"),
        pytest.param(["a"], ["b"], 0, 1, id="another"),
        pytest.param(["a"], ["A"], 0, 1, id="case counts"),
        pytest.param(["a", "b"], ["b", "a"], 2, 0, id="any order"),
        pytest.param(["a", "b"], ["a", "a"], 1, 1, id="a repeat is no other"),
        pytest.param(["a", "a"], ["a"], 1, 0, id="one call answers for one entry"),
        pytest.param(["a", "a"], ["a", "a", "a"], 2, 1, id="a third is not required"),
        pytest.param(["größe", "日本"], ["日本", "größe"], 2, 0, id="any script"),
        pytest.param([wanting("a", x=1)], [called("a", {"x": 1})], 1, 0, id="equal arguments"),
        pytest.param([wanting("a", x=1)], [called("a", {"x": 2})], 0, 1, id="other arguments"),
        pytest.param([wanting("a", x=1)], ["a"], 0, 1, id="no arguments"),
        pytest.param(
            [wanting("a", x=1)], [called("a", {"x": 1, "y": 2})], 0, 1, id="one argument too many"
        ),
        pytest.param(
            [wanting("a", x=1, y=2)], [called("a", '{"y": 2, "x": 1}')], 1, 0, id="order of keys"
        ),
        pytest.param([wanting("a", x=1)], [called("a", '{"x": 1.0}')], 1, 0, id="1 is 1.0"),
        pytest.param([wanting("a", x=1)], [called("a", '{"x": true}')], 0, 1, id="1 is not true"),
        pytest.param([wanting("a", x="1")], [called("a", '{"x": 1}')], 0, 1, id="1 is no text"),
        pytest.param([wanting("a")], ["a"], 1, 0, id="no arguments, and none wanted"),
        pytest.param([wanting("a")], [called("a", {"x": 1})], 0, 1, id="none wanted, but some"),
        pytest.param([wanting("a")], [called("a", "")], 1, 0, id="empty text is no arguments"),
        pytest.param([wanting("a", x=1)], [called("a", "{oops")], 0, 1, id="arguments not JSON"),
        pytest.param(["a"], [called("a", "{oops")], 1, 0, id="a name alone does not read them"),
        pytest.param([{"name": "a"}], [called("a", {"x": 1})], 1, 0, id="an object without them"),
        pytest.param(
            [{"name": "a", "arguments": None}], [called("a", {"x": 1})], 1, 0, id="null: any"
        ),
        pytest.param(
            [{"name": "a", "arguments": '{"x": 1}'}],
            [called("a", {"x": 1})],
            1,
            0,
            id="wanted as JSON in a string",
        ),
        pytest.param(
            ["a", wanting("a", x=1)],
            [called("a", {"x": 1}), called("a", {"x": 2})],
            2,
            0,
            id="entries with arguments choose first",
        ),
        pytest.param(
            ["a", wanting("a", x=1)], [called("a", {"x": 2})], 1, 0, id="what is left is for names"
        ),
        pytest.param(
            [wanting("a", x=1), wanting("a", x=1)],
            [called("a", {"x": 1})],
            1,
            0,
            id="the same arguments twice need two calls",
        ),
        pytest.param(
            [wanting("a", x={"y": [1, None, "ü"]})],
            [called("a", {"x": {"y": [1, None, "ü"]}})],
            1,
            0,
            id="deep arguments",
        ),
    ],
)
def test_required_calls_are_counted(
    wanted: list[Any], calls: list[Any], made: int, extra: int
) -> None:
    score_of = found(wanted, *calls)
    total = len(wanted)

    assert score_of.values == {
        "all_required_calls_made": made == total,
        "required_calls_coverage": made / total if total else 1.0,
        "num_required_calls_made": made,
        "num_required_calls_not_made": total - made,
        "num_unrequired_calls": extra,
        "num_required_calls_total": total,
    }
    assert score_of.correct is (made == total)
    assert bool(score_of.reason) is (made < total)


@pytest.mark.parametrize(
    ("wanted", "calls", "ordered"),
    [
        pytest.param([], [], True, id="nothing"),
        pytest.param([], ["x"], True, id="nothing wanted"),
        pytest.param(["a", "b"], ["a", "b"], True, id="as listed"),
        pytest.param(["a", "b"], ["x", "a", "y", "b", "z"], True, id="others between"),
        pytest.param(["a", "b"], ["b", "a"], False, id="the other way round"),
        pytest.param(["a", "b"], ["b", "a", "b"], True, id="found later"),
        pytest.param(["a", "b", "a"], ["a", "a", "b"], False, id="all there, the last too early"),
        pytest.param(["a", "b"], ["a"], False, id="one is missing"),
        pytest.param(
            ["a", wanting("a", x=1)],
            [called("a", {"x": 1}), called("a", {"x": 2})],
            False,
            id="the one with arguments came first",
        ),
        pytest.param(
            ["a", wanting("a", x=1)],
            [called("a", {"x": 2}), called("a", {"x": 1})],
            True,
            id="the one with arguments came second",
        ),
    ],
)
def test_in_order_the_list_is_a_subsequence(
    wanted: list[Any], calls: list[Any], *, ordered: bool
) -> None:
    any_order, in_its_order = found(wanted, *calls), found(wanted, *calls, fields=ORDERED)
    counts = any_order.values.keys() - {"all_required_calls_made"}

    assert in_its_order.values["all_required_calls_made"] is ordered
    assert in_its_order.correct is ordered
    assert {key: in_its_order.values[key] for key in counts} == {
        key: any_order.values[key] for key in counts
    }


def test_the_metadata_has_the_calls() -> None:
    score_of = found(["a", wanting("b", x=1)], called("c", {"y": 2}), called("a", {}))

    assert score_of.metadata == {
        "required": ["a", {"name": "b", "arguments": {"x": 1}}],
        "called": [{"name": "c", "arguments": {"y": 2}}, {"name": "a", "arguments": {}}],
        "matched": ["a"],
        "unmatched": [{"name": "b", "arguments": {"x": 1}}],
    }


def test_the_reason_names_what_is_missing_or_says_that_the_order_is_wrong() -> None:
    assert found(["a", "b"], "b").reason == "not called: 'a'"
    assert found(["a", "b"], "b", "a", fields=ORDERED).reason == (
        "the required calls were not made in order"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('["a", {"name": "b", "arguments": {"x": true}}]', id="JSON"),
        pytest.param("['a', {'name': 'b', 'arguments': {'x': True}}]", id="Python"),
        pytest.param("{{ sample.wanted }}", id="a list, printed"),
        pytest.param("{{ sample.wanted | tojson }}", id="a list, as JSON"),
    ],
)
def test_the_list_is_json_or_python(text: str) -> None:
    row = {"wanted": ["a", {"name": "b", "arguments": {"x": True}}]}
    conversation = {"items": [said("user", "go"), called("a"), called("b", {"x": True})]}

    assert score({**ANY, "function_calls": text}, row, conversation).correct


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        pytest.param("a", "must render to a JSON or Python list", id="one name"),
        pytest.param({"name": "a"}, "must render to a JSON or Python list", id="one object"),
        pytest.param(None, "must render to a JSON or Python list, got 'null'", id="null"),
        pytest.param([3], "entry 0 .* must be a name or an object .* got '3'", id="a number"),
        pytest.param(["a", ""], "entry 1 .* must be a name", id="an empty name"),
        pytest.param([{"arguments": {}}], "entry 0 .* must be a name", id="no name"),
        pytest.param([{"name": None}], "entry 0 .* must be a name", id="a name that is null"),
        pytest.param([{"name": "a", "args": {}}], "not `args`", id="an unknown key"),
        pytest.param(
            [{"name": "a", "arguments": [1]}], "`arguments` in entry 0 .* object", id="a list"
        ),
        pytest.param(
            [{"name": "a", "arguments": "x"}], "`arguments` in entry 0 .* object", id="a text"
        ),
    ],
)
def test_what_is_no_list_of_calls_is_an_error(wanted: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        found(wanted, "a")


def test_calls_before_the_first_user_message_do_not_count() -> None:
    items = [said("system", "s"), called("a"), said("user", "go"), called("b")]

    score_of = score(ANY, {"wanted": ["a"]}, {"items": items})

    assert score_of.values["num_required_calls_made"] == 0
    assert score_of.values["num_unrequired_calls"] == 1


def test_calls_of_a_chat_completion_count() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}

    score_of = score(ANY, {"wanted": [wanting("a", x=1)]}, {"items": [said("user", "go"), message]})

    assert score_of.correct


def test_a_task_without_a_solver_has_no_calls() -> None:
    with pytest.raises(ValueError, match="needs the calls of a solver"):
        score(ANY, {"wanted": []})


def test_another_mode_is_refused() -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({**ANY, "mode": "strict"})


CALLS = st.builds(Call, st.sampled_from("ab"), st.sampled_from([{"x": 1}, {"x": 2}]))
WANTED = st.builds(Call, st.sampled_from("ab"), st.sampled_from([None, {"x": 1}, {"x": 2}]))


@given(st.lists(WANTED, max_size=4), st.lists(CALLS, max_size=4))
def test_no_other_matching_meets_more(wanted: list[Call], calls: list[Call]) -> None:
    padded: list[Call | None] = [*calls, *[None] * len(wanted)]
    best = max(
        sum(call is not None and call.meets(one) for call, one in zip(way, wanted, strict=True))
        for way in permutations(padded, len(wanted))
    )

    assert sum(match_calls(wanted, calls)) == best


@given(st.lists(WANTED, max_size=4), st.lists(CALLS, max_size=4))
def test_what_is_in_order_is_there(wanted: list[Call], calls: list[Call]) -> None:
    if in_order(wanted, calls):
        assert all(match_calls(wanted, calls))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("a", max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(JSON, JSON)
def test_values_are_the_same_when_their_json_is(one: Any, other: Any) -> None:
    assert is_same_json(one, other) is (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )
