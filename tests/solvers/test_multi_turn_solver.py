from typing import Any

import pytest
from pydantic import ValidationError
from tests.solvers.made import Replies, solve, solve_with, solver, spoken

from evalwright.objects import SolverTrace, make_message
from evalwright.types import Completion, Sample, Trace

GENERATE = {"type": "generate"}


def user(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "chat_message", "role": "user", "content": content, **more}


def loop(*builders: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "loop", "message_builders": list(builders), **more}


def played(**more: Any) -> dict[str, Any]:
    extra = [{"type": "chat_message", "role": "user", "content": "Ask about {{ sample.topic }}."}]
    return {
        "type": "generate_message",
        "model_key": "other",
        "extra_input_messages": extra,
        "output_role": "user",
        **more,
    }


def turns(*builders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi_turn_solver", "message_builders": list(builders)}


def talk(
    builders: list[dict[str, Any]],
    *answers: str,
    row: dict[str, Any] | None = None,
    other: Replies | None = None,
) -> Trace:
    models = {"other": other} if other else {}
    return solve(turns(*builders), row, *answers, models=models)


def test_builders_add_messages_in_their_order() -> None:
    model = Replies("one", "two")

    trace = solve_with(
        model, turns(user("{{ sample.q }}"), GENERATE, user("more"), GENERATE), {"q": "first"}
    )

    assert spoken(trace) == ["user: first", "assistant: one", "user: more", "assistant: two"]
    assert model.asked()[1] == [("user", "first"), ("assistant", "one"), ("user", "more")]
    assert trace.input == "user: first\n\nassistant: one\n\nuser: more"
    assert trace.output == "two"
    assert (trace.usage.requests, trace.usage.cost) == (2, 1.0)
    assert len(trace.conversation["raw_outputs"]) == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("{{ messages[0].content }}", "first", id="by attribute"),
        pytest.param("{{ messages[0]['content'] }}", "first", id="by key"),
        pytest.param("{{ messages | length }}", "2", id="so far"),
        pytest.param("{{ messages[-1].role }}", "assistant", id="the last"),
    ],
)
def test_messages_are_the_conversation_so_far(content: str, expected: str) -> None:
    trace = talk([user("first"), GENERATE, user(content)], "one")

    assert spoken(trace)[-1] == f"user: {expected}"


def test_a_loop_repeats_and_counts_from_zero() -> None:
    trace = talk([loop(user("{{ loop_index }}"), GENERATE, max_iterations=2)], "a", "b")

    assert spoken(trace) == ["user: 0", "assistant: a", "user: 1", "assistant: b"]


def test_a_loop_in_a_loop_has_its_own_count() -> None:
    inner = loop(user("in {{ loop_index }}"), max_iterations=2)

    trace = talk([loop(user("out {{ loop_index }}"), inner, max_iterations=2)])

    assert spoken(trace) == [
        *("user: out 0", "user: in 0", "user: in 1"),
        *("user: out 1", "user: in 0", "user: in 1"),
    ]


def test_outside_a_loop_there_is_no_count() -> None:
    with pytest.raises(ValueError, match="loop_index"):
        talk([user("{{ loop_index }}")])


def test_ten_iterations_are_the_default() -> None:
    assert len(spoken(talk([loop(user("x"))]))) == 10


def test_no_iteration_leaves_the_loop_out() -> None:
    builders = [user("a"), loop(user("b", terminate_if={"includes": "z"}), max_iterations=0)]

    assert spoken(talk(builders)) == ["user: a"]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        pytest.param(
            True,
            ["user: go", "user: 0", "assistant: a", "user: 1", "assistant: <done>", "user: end"],
            id="kept",
        ),
        pytest.param(
            "no", ["user: go", "user: 0", "assistant: a", "user: end"], id="the iteration is gone"
        ),
    ],
)
def test_in_a_loop_the_loop_ends(keep: object, expected: list[str]) -> None:
    end = {"includes": "<done>", "keep_iteration": keep}
    body = loop(user("{{ loop_index }}"), {**GENERATE, "terminate_if": end})

    trace = talk([user("go"), body, user("end")], "a", "<done>")

    assert spoken(trace) == expected
    assert trace.usage.requests == 2, "what was taken back was still paid for"


def test_what_is_taken_back_is_no_output_either() -> None:
    end = {"includes": "<done>", "keep_iteration": False}

    trace = talk([loop(user("x"), {**GENERATE, "terminate_if": end})], "a", "<done>")

    assert trace.output == "a"
    assert str(SolverTrace.from_json(trace.conversation).output) == "a"


def test_the_rest_of_the_iteration_is_not_run() -> None:
    trace = talk([loop(user("stop", terminate_if={"includes": "stop"}), GENERATE)])

    assert spoken(trace) == ["user: stop"]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        pytest.param(True, ["user: go", "assistant: <done>"], id="kept"),
        pytest.param(False, ["user: go"], id="only this message is gone"),
    ],
)
def test_outside_a_loop_the_conversation_stops(*, keep: bool, expected: list[str]) -> None:
    end = {"includes": "<done>", "keep_iteration": keep}

    trace = talk([user("go"), {**GENERATE, "terminate_if": end}, user("never"), GENERATE], "<done>")

    assert spoken(trace) == expected


def test_the_test_is_for_the_new_message_alone_and_case_counts() -> None:
    end = {"includes": "done"}
    builders = [user("done"), {**GENERATE, "terminate_if": end}, user("more")]

    assert spoken(talk(builders, "DONE"))[-1] == "user: more"


def test_an_inner_loop_ends_itself_alone() -> None:
    inner = loop(user("i{{ loop_index }}", terminate_if={"includes": "i1"}), max_iterations=5)

    trace = talk([loop(user("o"), inner, max_iterations=2)])

    assert spoken(trace) == ["user: o", "user: i0", "user: i1"] * 2


@pytest.mark.parametrize(
    ("more", "fails"),
    [
        pytest.param({}, True, id="an error by default"),
        pytest.param({"on_max_iterations": "error"}, True, id="an error"),
        pytest.param({"on_max_iterations": "continue"}, False, id="or the conversation goes on"),
    ],
)
def test_a_loop_that_nothing_ended(more: dict[str, Any], *, fails: bool) -> None:
    body = loop(user("x", terminate_if={"includes": "z"}), max_iterations=2, **more)

    if fails:
        with pytest.raises(ValueError, match="reached 2 iterations, but no `terminate_if`"):
            talk([body, user("end")])
    else:
        assert spoken(talk([body, user("end")])) == ["user: x", "user: x", "user: end"]


def test_an_end_of_an_inner_loop_is_none_of_the_outer_one() -> None:
    inner = loop(user("x", terminate_if={"includes": "x"}))

    assert spoken(talk([loop(inner, max_iterations=2)])) == ["user: x", "user: x"]


def test_another_model_is_shown_the_conversation_and_extra_messages_that_are_not_kept() -> None:
    other = Replies("and why?")

    trace = talk([user("q"), GENERATE, played()], "a", row={"topic": "x"}, other=other)

    assert other.asked() == [[("user", "q"), ("assistant", "a"), ("user", "Ask about x.")]]
    assert spoken(trace) == ["user: q", "assistant: a", "user: and why?"]
    assert trace.usage.requests == 1  # the other model's are counted apart
    assert (trace.input, trace.output) == ("q", "a"), "the answer is the evaluated model's"
    assert len(trace.conversation["raw_outputs"]) == 1


def test_another_model_may_be_kept_from_the_conversation() -> None:
    other = Replies("b")

    talk([user("q"), played(include_conversation="off")], row={"topic": "x"}, other=other)

    assert other.asked() == [[("user", "Ask about x.")]]


def test_without_a_role_another_model_speaks_as_the_assistant() -> None:
    trace = talk([played(output_role=None)], row={"topic": "x"}, other=Replies("b"))

    assert spoken(trace) == ["assistant: b"]
    assert trace.output == "b"


def test_another_model_may_end_the_loop() -> None:
    end = {"includes": "<done>", "keep_iteration": False}

    trace = talk(
        [user("q"), GENERATE, loop(played(terminate_if=end), GENERATE)],
        "a",
        "b",
        row={"topic": "x"},
        other=Replies("more", "<done>"),
    )

    assert spoken(trace) == ["user: q", "assistant: a", "user: more", "assistant: b"]


def test_a_model_that_is_not_there_is_said() -> None:
    with pytest.raises(ValueError, match="unknown model `other`"):
        talk([played()], row={"topic": "x"})


def test_a_recorded_conversation_is_gone_on_with() -> None:
    model = Replies("b")
    recorded = [make_message("user", "q"), {"role": "assistant", "content": "a"}]
    builders = [{"type": "load_trace", "trace_column": "past"}, user("more"), GENERATE]

    trace = solve_with(model, turns(*builders), {"past": recorded})

    assert spoken(trace) == ["user: q", "assistant: a", "user: more", "assistant: b"]
    assert model.asked() == [[("user", "q"), ("assistant", "a"), ("user", "more")]]


def test_calls_of_functions_are_sent_with_the_words_before_them() -> None:
    calls = [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]
    output = {"choices": [{"message": {"role": "assistant", "content": "w", "tool_calls": calls}}]}
    model = Replies(Completion(text="w", output=output), "b")

    solve_with(model, turns(user("q"), GENERATE, user("r"), GENERATE))

    assistant = model.requests[1].messages[1]
    assert (assistant.content, assistant.tool_calls[0].id) == ("w", "c")


def test_to_ask_before_anything_is_said_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one message"):
        talk([GENERATE])


@pytest.mark.parametrize(
    ("builders", "said_so"),
    [
        pytest.param([], "at least 1 item", id="no builder"),
        pytest.param([loop()], "at least 1 item", id="an empty loop"),
        pytest.param(
            [loop({"type": "load_trace", "trace_column": "x"})], "load_trace", id="load in a loop"
        ),
        pytest.param([loop(GENERATE, max_iterations=-1)], "greater than or equal", id="negative"),
        pytest.param([played(extra_input_messages=[])], "at least 1 item", id="no extra message"),
        pytest.param([played(output_role="tool")], "output_role", id="a role"),
        pytest.param([{"type": "say"}], "say", id="a type"),
    ],
)
def test_builders_are_checked_when_they_are_read(
    builders: list[dict[str, Any]], said_so: str
) -> None:
    with pytest.raises(ValidationError, match=said_so):
        solver(turns(*builders))


def test_what_is_read_is_the_solver_and_the_row() -> None:
    first, second = solver(turns(user("a"), GENERATE)), solver(turns(user("b"), GENERATE))
    row = Sample("a", {"x": 1})

    assert first.describe_inputs(row) == solver(turns(user("a"), GENERATE)).describe_inputs(row)
    assert first.describe_inputs(row) != second.describe_inputs(row)
    assert first.describe_inputs(row) != first.describe_inputs(Sample("a", {"x": 2}))


def test_the_models_that_it_needs_are_known() -> None:
    made = solver(turns(played(), loop(played(model_key="deep"), played())))

    assert made.model_keys == ("other", "deep")
    assert not made.calls_model
    assert solver(turns(user("a"), loop(GENERATE))).calls_model


def test_after_an_empty_answer_and_a_refusal_the_talk_goes_on() -> None:
    message = {"role": "assistant", "content": None, "refusal": "nope"}
    refused = Completion(text="nope", output={"choices": [{"message": message}]})
    model = Replies("", refused, "yes")

    builders = turns(user("a"), GENERATE, user("b"), GENERATE, user("c"), GENERATE)
    trace = solve_with(model, builders, {})

    assert trace.output == "yes"
    assert [text for _, text in model.asked()[-1]] == ["a", "", "b", "nope", "c"]
