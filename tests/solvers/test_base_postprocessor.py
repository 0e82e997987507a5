import asyncio
from typing import Any

import pytest
from tests.solvers.made import snippets_of, solver

from evalwright.objects import make_message
from evalwright.solvers.base import PythonPostprocessor

SOLVED: dict[str, Any] = {
    "items": [make_message("user", "q"), make_message("assistant", "a b")],
    "raw_outputs": [],
    "direct_ios": [],
}


def processed(body: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    made = PythonPostprocessor.model_validate({"type": "python", "postprocess_snippet": body})

    async def run() -> list[tuple[dict[str, Any], dict[str, Any]]]:
        snippets = snippets_of(made)
        try:
            return await made.apply({"x": 1}, SOLVED, snippets)
        finally:
            await snippets.close()

    return asyncio.run(run())


def test_a_pair_may_pass_unchanged() -> None:
    assert processed(
        "def postprocess(sample, solver_output):\n    return [(sample, solver_output)]"
    ) == [({"x": 1}, SOLVED)]


def test_one_sample_becomes_several() -> None:
    pairs = processed(
        """
from latticeflow.core.dtypes import SolverTrace

async def postprocess(sample, solver_output):
    made = []
    for place, word in enumerate(str(solver_output.output).split()):
        trace = SolverTrace()
        trace.append_assistant_message(word)
        made.append(({**sample, "place": place}, trace))
    return made
"""
    )

    assert [sample for sample, _ in pairs] == [{"x": 1, "place": 0}, {"x": 1, "place": 1}]
    assert [one["items"] for _, one in pairs] == [
        [make_message("assistant", word)] for word in "ab"
    ]


def test_no_pair_is_allowed() -> None:
    assert processed("def postprocess(sample, solver_output):\n    return []") == []


@pytest.mark.parametrize(
    ("value", "said_so"),
    [
        ("None", "must return a list of pairs, got `NoneType`"),
        ("[sample]", r"pairs of a sample and a solver output, got `dict` - at `\$\[0\]`"),
        ("[(sample, solver_output), (1, 2)]", r"got `\['int', 'int'\]` - at `\$\[1\]`"),
        ("[(sample, 3)]", r"expected a trace .* got `int` - at `\$\[0\]\[1\]`"),
    ],
)
def test_what_is_no_pair_is_said(value: str, said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        processed(f"def postprocess(sample, solver_output):\n    return {value}")


def test_without_anything_to_run_it_a_postprocessor_says_so() -> None:
    made = PythonPostprocessor.model_validate(
        {"type": "python", "postprocess_snippet": "def postprocess(s, o): return []"}
    )

    with pytest.raises(ValueError, match="needs snippets"):
        asyncio.run(made.apply({}, SOLVED, None))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "pass_through_solver", "trace_column": "x"},
        {"type": "python", "run_solver_snippet": "def run_solver(s, m, t): return t"},
        {"type": "multi_turn_solver", "message_builders": [{"type": "generate"}]},
        {
            "type": "single_turn_solver",
            "input_builder": {"type": "generic", "template": "1"},
        },
        {
            "type": "grouped_single_turn_solver",
            "input_builder": {"type": "generic", "template": "[1]"},
        },
    ],
    ids=lambda fields: str(fields["type"]),
)
def test_every_solver_takes_one_and_it_is_no_part_of_the_answer(fields: dict[str, Any]) -> None:
    post = {"type": "python", "postprocess_snippet": "def postprocess(s, o): return []"}

    assert solver({**fields, "postprocessor": post}).settings == solver(fields).settings
