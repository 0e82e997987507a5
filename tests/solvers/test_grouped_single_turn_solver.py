import json
from typing import Any

import pytest
from tests.solvers.made import Replies, solve, solve_with, solver, spoken

from evalwright.objects import SolverTrace
from evalwright.types import Completion, Sample


def grouped(template: str) -> dict[str, Any]:
    return {
        "type": "grouped_single_turn_solver",
        "input_builder": {"type": "generic", "template": template},
    }


def asking(text: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text}]})


def test_a_list_of_inputs_gives_a_list_of_outputs() -> None:
    model = Replies("1", "2")

    trace = solve_with(model, grouped(f"[{asking('a')}, {asking('b')}]"))

    assert model.asked() == [[("user", "a")], [("user", "b")]]
    outputs: Any = SolverTrace.from_json(trace.conversation).solver_outputs
    assert [str(one.output) for one in outputs] == ["1", "2"]
    assert outputs[1].messages[0].content == "b"
    assert spoken(trace) == ["user: a", "assistant: 1", "user: b", "assistant: 2"]
    assert (trace.input, trace.output) == ('["a", "b"]', '["1", "2"]')
    assert trace.usage.requests == 2
    assert SolverTrace.from_json(trace.conversation).to_json() == trace.conversation


def test_an_object_of_inputs_gives_an_object_of_outputs() -> None:
    trace = solve(
        grouped(f'{{"x": {asking("{{ sample.q }}")}, "y": {asking("b")}}}'), {"q": "a"}, "1", "2"
    )

    outputs: Any = SolverTrace.from_json(trace.conversation).solver_outputs
    assert {name: str(one.output) for name, one in outputs.items()} == {"x": "1", "y": "2"}
    assert json.loads(trace.output) == {"x": "1", "y": "2"}
    assert json.loads(trace.input) == {"x": "a", "y": "b"}


def test_inputs_of_a_custom_task_are_any_json() -> None:
    model = Replies(Completion(text="", output={"y": 1}))

    trace = solve_with(model, grouped('[{"x": 1}]'), task="custom")

    assert model.requests[0].input == {"x": 1}
    assert json.loads(trace.output) == ['{"y": 1}']


@pytest.mark.parametrize("template", ["3", "[]", "{}", '"text"'])
def test_what_is_no_group_is_said(template: str) -> None:
    with pytest.raises(ValueError, match="a list or an object of inputs"):
        solve(grouped(template))


def test_what_is_read_is_what_is_sent() -> None:
    made = solver(grouped('["{{ sample.q }}"]'))

    assert made.describe_inputs(Sample("a", {"q": "x", "z": 1})) == '["x"]'
    assert '"z":1' in made.describe_inputs(Sample("a", {"z": 1}))
