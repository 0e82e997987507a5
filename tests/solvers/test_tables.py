"""The tables of solvers and of their builders: what each row does, once."""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tests.solvers.made import Replies, solve_with, solver, spoken

from evalwright.objects import SolverTrace
from evalwright.types import Completion

ROW = {
    "q": 'say "hi"\nplease',
    "who": "system",
    "past": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}],
}


def chat(*messages: tuple[str, str]) -> dict[str, Any]:
    made = [{"role": role, "content": content} for role, content in messages]
    return {"type": "chat_completion", "input_messages": made}


def generic(template: str) -> dict[str, Any]:
    return {"type": "generic", "template": template}


@pytest.mark.parametrize(
    ("builder", "sent"),
    [
        pytest.param(
            chat(("system", "s"), ("user", "{{ sample.q }}"), ("assistant", "a"), ("user", "u")),
            [("system", "s"), ("user", ROW["q"]), ("assistant", "a"), ("user", "u")],
            id="chat_completion",
        ),
        pytest.param(chat(("{{ sample.who }}", "s")), [("system", "s")], id="a role of a column"),
        pytest.param(
            generic('{"messages": [{"role": "user", "content": {{ sample.q | tojson }}}]}'),
            [("user", ROW["q"])],
            id="generic, with tojson",
        ),
        pytest.param(
            generic('{"messages": [{"role": "user", "content": "{{ sample.q | json_escape }}"}]}'),
            [("user", ROW["q"])],
            id="generic, with json_escape",
        ),
    ],
)
def test_an_input_builder_makes_the_messages_of_one_call(
    builder: dict[str, Any], sent: list[tuple[str, str]]
) -> None:
    model = Replies("reply")

    trace = solve_with(model, {"type": "single_turn_solver", "input_builder": builder}, ROW)

    assert model.asked() == [sent]
    seen = SolverTrace.from_json(trace.conversation)
    assert [(one.role, one.content) for one in seen.messages] == [*sent, ("assistant", "reply")]
    assert seen.output.choices[0].message.content == "reply"


@pytest.mark.parametrize(
    "rendered", ['{"text": "x", "n": [1, 2]}', "[1, 2]", '"a text"', "3", "null", "true"]
)
def test_any_other_json_is_the_input_of_a_custom_task(rendered: str) -> None:
    model = Replies(Completion(text="", output={"label": "y"}))
    fields = {"type": "single_turn_solver", "input_builder": generic(rendered)}

    solve_with(model, fields, ROW, task="custom")

    assert [one.task for one in model.requests] == ["custom"]
    assert model.requests[0].input == json.loads(rendered)


def test_text_put_into_json_as_it_is_costs_its_sample() -> None:
    raw = generic('{"messages": [{"role": "user", "content": "{{ sample.q }}"}]}')

    with pytest.raises(ValueError, match="the template must render to JSON"):
        solve_with(Replies("a"), {"type": "single_turn_solver", "input_builder": raw}, ROW)


SAY = {"type": "chat_message", "role": "user", "content": "go"}
ASK = {"type": "generate"}
OTHER = {"type": "generate_message", "model_key": "other", "extra_input_messages": [SAY]}
DONE = {"includes": "done"}


def turns(*builders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi_turn_solver", "message_builders": list(builders)}


@pytest.mark.parametrize(
    ("builders", "expected"),
    [
        pytest.param([SAY], ["user: go"], id="chat_message"),
        pytest.param([SAY, ASK], ["user: go", "assistant: one"], id="generate"),
        pytest.param([OTHER], ["assistant: other one"], id="generate_message"),
        pytest.param(
            [{**OTHER, "output_role": "user"}], ["user: other one"], id="generate_message as user"
        ),
        pytest.param(
            [{"type": "loop", "message_builders": [SAY, ASK], "max_iterations": 2}],
            ["user: go", "assistant: one", "user: go", "assistant: done"],
            id="loop",
        ),
        pytest.param(
            [{"type": "load_trace", "trace_column": "past"}, ASK],
            ["user: p", "assistant: r", "assistant: one"],
            id="load_trace",
        ),
    ],
)
def test_a_builder_adds_what_its_row_says(
    builders: list[dict[str, Any]], expected: list[str]
) -> None:
    models = {"other": Replies("other one", "other done")}

    trace = solve_with(Replies("one", "done"), turns(*builders), ROW, models=models)

    assert spoken(trace) == expected


def loop(*builders: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "loop", "message_builders": list(builders), **more}


ENDING = [
    pytest.param({**SAY, "content": "done", "terminate_if": DONE}, id="chat_message"),
    pytest.param({**ASK, "terminate_if": DONE}, id="generate"),
    pytest.param({**OTHER, "terminate_if": DONE}, id="generate_message"),
]


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "taken back"])
@pytest.mark.parametrize("inside", [True, False], ids=["in a loop", "outside"])
@pytest.mark.parametrize("builder", ENDING)
def test_every_builder_may_end_the_sequence_that_it_stands_in(
    builder: dict[str, Any], *, inside: bool, keep: bool
) -> None:
    end = {**builder, "terminate_if": {**DONE, "keep_iteration": keep}}
    after = {**SAY, "content": "after"}
    sequence = [loop(SAY, end, ASK)] if inside else [SAY, end, ASK]

    trace = solve_with(
        Replies("done", "never"),
        turns(*sequence, after),
        ROW,
        models={"other": Replies("done")},
    )

    found = spoken(trace)
    ended = [line for line in found if line.endswith("done")]
    assert len(ended) == int(keep), "the message that ended it"
    assert ("user: go" in found) is (keep or not inside), "in a loop the whole iteration"
    assert ("user: after" in found) is inside, "outside of a loop nothing follows"
    assert not any(line.endswith("never") for line in found)


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        pytest.param({"max_iterations": 0}, [], id="none"),
        pytest.param({"max_iterations": 3}, ["user: go"] * 3, id="three"),
        pytest.param({}, ["user: go"] * 10, id="ten, when nothing is said"),
    ],
)
def test_a_loop_without_an_end_runs_to_its_maximum(fields: dict[str, Any], ends: list[str]) -> None:
    assert spoken(solve_with(Replies(), turns(SAY, loop(SAY, **fields)), ROW))[1:] == ends


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", None])
def test_a_maximum_is_a_whole_number_from_zero(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="max_iterations"):
        solver(turns(loop(SAY, max_iterations=wrong)))


@pytest.mark.parametrize(
    ("role", "legal"),
    [
        ("system", True),
        ("user", True),
        ("assistant", True),
        ("{{ sample.who }}", True),
        ("robot", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("where", ["chat_completion", "chat_message", "generate_message"])
def test_a_role_is_one_of_three_or_a_template(where: str, role: str, *, legal: bool) -> None:
    message = {"role": role, "content": "x"}
    fields = {
        "chat_completion": {
            "type": "single_turn_solver",
            "input_builder": {"type": "chat_completion", "input_messages": [message]},
        },
        "chat_message": turns({"type": "chat_message", **message}),
        "generate_message": turns({**OTHER, "extra_input_messages": [message]}),
    }[where]

    if legal:
        assert solver(fields).type == fields["type"]
    else:
        with pytest.raises(ValidationError, match="role"):
            solver(fields)
