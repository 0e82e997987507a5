import json
from typing import Any

import pytest
from tests.solvers.made import Replies, solve, solve_with, solver, spoken

from evalwright.objects import SolverTrace, make_message
from evalwright.types import Sample, Usage

FIELDS = {"type": "pass_through_solver", "trace_column": "past"}
ITEMS = [make_message("user", "q"), make_message("assistant", "a")]


@pytest.mark.parametrize(
    "past",
    [
        pytest.param({"items": ITEMS}, id="a trace"),
        pytest.param(json.dumps({"items": ITEMS}), id="JSON text"),
        pytest.param(ITEMS, id="items"),
        pytest.param([{"role": "user", "content": "q"}, ITEMS[1]], id="messages"),
    ],
)
def test_the_column_is_the_conversation(past: Any) -> None:
    model = Replies()

    trace = solve_with(model, FIELDS, {"past": past})

    assert spoken(trace) == ["user: q", "assistant: a"]
    assert (trace.input, trace.output) == ("q", "a")
    assert trace.usage == Usage(cost=0.0)
    assert model.requests == []


def test_the_last_assistant_message_is_the_output() -> None:
    trace = solve(FIELDS, {"past": ITEMS})

    made = SolverTrace.from_json(trace.conversation)
    assert made.output.choices[0].message.content == "a"
    assert made.raw_outputs == []


def test_raw_outputs_metadata_and_calls_are_kept() -> None:
    past = {
        "items": [
            make_message("user", "q"),
            {"type": "function_call", "name": "f", "call_id": "c"},
        ],
        "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": "raw"}}]}],
        "metadata": {"agent": "x"},
    }

    trace = solve(FIELDS, {"past": past})

    assert trace.conversation == {**past, "direct_ios": []}
    assert trace.output == "raw"


def test_a_conversation_without_an_answer_has_no_output() -> None:
    trace = solve(FIELDS, {"past": [make_message("user", "q")]})

    assert (trace.input, trace.output) == ("q", "")


@pytest.mark.parametrize(
    ("row", "said_so"),
    [
        pytest.param({"other": 1}, "no column `past`; its columns are: `other`", id="no column"),
        pytest.param({"past": None}, "column `past` contains no trace$", id="empty"),
        pytest.param(
            {"past": None, "error": "too slow"},
            "column `past` contains no trace: too slow",
            id="empty, and the row says why",
        ),
        pytest.param(
            {"past": "hello"}, "column `past`: expected .* got the text `hello`", id="no JSON"
        ),
    ],
)
def test_a_column_without_a_trace_is_said(row: dict[str, Any], said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        solve(FIELDS, row)


def test_only_the_column_is_read() -> None:
    made = solver(FIELDS)

    assert made.describe_inputs(Sample("a", {"past": [], "x": 1})) == made.describe_inputs(
        Sample("a", {"past": []})
    )
    assert '"x":1' in made.describe_inputs(Sample("a", {"x": 1}))
    assert not made.calls_model


def test_a_recorded_refusal_is_the_answer() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "nope"}

    trace = solve(FIELDS, {"past": [{"role": "user", "content": "q"}, refusal]})

    assert trace.output == "nope"
