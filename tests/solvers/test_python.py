import asyncio
from typing import Any

import pytest
from tests.solvers.made import Replies, solve, solve_with, solver, spoken

from evalwright.errors import BudgetSpent, ModelError, SnippetFailed
from evalwright.ports import Case
from evalwright.types import Completion, Sample, Usage


def python(body: str) -> dict[str, Any]:
    return {
        "type": "python",
        "run_solver_snippet": f"async def run_solver(sample, model, trace):\n{body}",
    }


TWO_TURNS = python(
    """
    trace.append_system_message("s")
    trace.append_user_message(sample["q"])
    trace.add_model_response(await model.predict(trace.items))
    trace.append_user_message("more")
    trace.add_model_response(await model.predict(trace.items, temperature=0))
    return trace
"""
)


def test_the_author_has_the_conversation_and_every_call_is_counted() -> None:
    model = Replies("a", "b")

    trace = solve_with(model, TWO_TURNS, {"q": "first"})

    assert spoken(trace) == [
        *("system: s", "user: first", "assistant: a"),
        *("user: more", "assistant: b"),
    ]
    assert model.asked()[1][-1] == ("user", "more")
    assert [each.input for each in model.requests] == [None, {"temperature": 0}]
    assert trace.usage == Usage(requests=2, prompt_tokens=6, completion_tokens=2, cost=1.0)
    assert trace.output == "b"
    assert len(trace.conversation["raw_outputs"]) == 2


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        pytest.param('"why?"', [("user", "why?")], id="a text"),
        pytest.param(
            '[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]',
            [("system", "s"), ("user", "q")],
            id="messages",
        ),
        pytest.param(
            '{"messages": [{"role": "user", "content": "q"}]}', [("user", "q")], id="a request"
        ),
        pytest.param(
            '[{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},'
            ' {"type": "function_call_output", "call_id": "c", "output": "1"}]',
            [("assistant", ""), ("tool", "1")],
            id="items with calls",
        ),
        pytest.param(
            '{"items": [{"role": "user", "content": "q"}]}', [("user", "q")], id="a trace"
        ),
    ],
)
def test_a_model_is_asked_in_any_shape(asked: str, sent: list[tuple[str, str]]) -> None:
    model = Replies("x")
    body = (
        f"    trace.append_assistant_message((await model.predict({asked})).text)\n    return trace"
    )

    trace = solve_with(model, python(body))

    assert model.asked() == [sent]
    assert trace.output == "x"


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(ValueError, match=r"`model.predict` takes .* got `int`"):
        solve(python("    await model.predict(3)\n    return trace"), {}, "x")


def test_a_plain_function_will_do() -> None:
    snippet = (
        "def run_solver(sample, model, trace):\n"
        "    trace.append_user_message('q')\n"
        "    trace.add_model_response(model.predict(trace.items))\n"
        "    return trace"
    )

    assert solve({"type": "python", "run_solver_snippet": snippet}, {}, "a").output == "a"


def test_a_custom_task_is_asked_with_any_json() -> None:
    model = Replies(Completion(text="", output={"y": 2}), Completion(text="", output={"y": 3}))
    body = """
    trace.append_custom_task_input_message({"x": 1})
    trace.add_model_response(await model.predict(trace.items))
    trace.add_model_response(await model.predict({"x": 2}))
    return trace
"""

    trace = solve_with(model, python(body), task="custom")

    assert [each.input for each in model.requests] == [{"x": 1}, {"x": 2}]
    assert {each.task for each in model.requests} == {"custom"}
    assert trace.output == '{"y": 3}'


def test_a_sample_of_the_authors_replaces_the_row_for_the_model() -> None:
    model = Replies("a")

    solve_with(
        model, python("    await model.predict('q', sample={'z': 1})\n    return trace"), {"x": 1}
    )

    assert model.requests[0].sample == Sample("a", {"z": 1})
    assert model.requests[0].input is None


def test_bodies_are_kept_though_the_author_never_saw_them() -> None:
    body = "    trace.add_model_response(await model.predict('q'))\n    return trace"

    trace = solve(python(body), {}, Completion(text="a", bodies=("out", "in")))

    assert trace.conversation["direct_ios"] == [
        {"direct_input": {"body": "out"}, "direct_output": {"body": "in", "status_code": 200}}
    ]


def test_an_answer_that_is_not_kept_is_no_output() -> None:
    trace = solve(python("    await model.predict('q')\n    return trace"), {}, "a")

    assert trace.output == ""
    assert trace.usage.requests == 1


def test_a_failed_call_is_the_failure_of_the_sample_with_its_own_kind() -> None:
    with pytest.raises(ModelError, match="too many") as caught:
        solve(TWO_TURNS, {"q": "x"}, ModelError("rate_limit", "too many"))

    assert caught.value.kind == "rate_limit"


def test_a_failed_call_may_be_caught() -> None:
    body = """
    try:
        await model.predict("q")
    except Exception as error:
        trace.append_assistant_message(f"failed: {error}")
    return trace
"""

    assert "too many" in solve(python(body), {}, ModelError("rate_limit", "too many")).output


def test_a_spent_budget_ends_the_run_whatever_the_author_catches() -> None:
    body = """
    try:
        await model.predict("q")
    except Exception:
        pass
    return trace
"""

    with pytest.raises(BudgetSpent):
        solve(python(body), {}, BudgetSpent("the budget is spent"))


@pytest.mark.parametrize(
    ("body", "said_so"),
    [
        pytest.param("    pass", "must return the trace, got `None`", id="nothing"),
        pytest.param("    return 'text'", "must return the trace: expected", id="text"),
        pytest.param("    return {'a': 1}", "must return the trace: .* got `a`", id="an object"),
    ],
)
def test_what_is_no_trace_is_said(body: str, said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        solve(python(body))


def test_a_list_of_messages_is_a_trace() -> None:
    body = "    return [{'role': 'user', 'content': 'q'}, {'role': 'assistant', 'content': 'a'}]"

    assert solve(python(body)).output == "a"


def test_an_exception_of_the_authors_is_a_failure_with_its_place() -> None:
    with pytest.raises(SnippetFailed, match="KeyError") as caught:
        solve(TWO_TURNS, {})

    assert caught.value.kind == "KeyError"


async def _alone() -> None:
    await solver(TWO_TURNS).solve(Case(sample=Sample("a", {}), model=Replies()))


def test_without_anything_to_run_it_a_python_solver_says_so() -> None:
    with pytest.raises(ValueError, match="needs snippets"):
        asyncio.run(_alone())


def test_what_is_read_is_the_code_and_the_row() -> None:
    row = Sample("a", {"x": 1})

    assert solver(TWO_TURNS).describe_inputs(row) != solver(
        python("    return trace")
    ).describe_inputs(row)
    assert solver(TWO_TURNS).describe_inputs(row) != solver(TWO_TURNS).describe_inputs(
        Sample("a", {"x": 2})
    )
