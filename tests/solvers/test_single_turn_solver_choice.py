import asyncio
import math
from typing import Any

import pytest
from tests.solvers.made import Replies, solver, spoken

from evalwright.ports import Case
from evalwright.solvers.single_turn_solver import ChoiceSolver
from evalwright.types import Completion, Sample, Trace, Usage

ASKING: dict[str, Any] = {
    "type": "single_turn_solver",
    "input_builder": {
        "type": "chat_completion",
        "input_messages": [{"role": "user", "content": "{{ sample.question }}"}],
    },
}
SAMPLE = Sample("a", {"question": "Which?", "answer": "B", "labels": ("A", "B", "C")})
WEIGHED = Completion(
    text="",
    usage=Usage(requests=1, prompt_tokens=7, cost=0.0),
    given=((math.log(0.1),), (math.log(0.6),), (math.log(0.1),)),
)


def labels(sample: Sample) -> tuple[str, ...]:
    if sample.data["answer"] not in sample.data["labels"]:
        raise ValueError("no choice can be right")
    offered: tuple[str, ...] = sample.data["labels"]
    return offered


CHOICE = ChoiceSolver(solver(ASKING), labels)


def choose(model: Replies, sample: Sample = SAMPLE) -> Trace:
    return asyncio.run(CHOICE.solve(Case(sample=sample, model=model)))


def test_the_likeliest_label_is_the_answer() -> None:
    model = Replies(WEIGHED)

    trace = choose(model)

    assert model.asked() == [[("user", "Which?")]]
    assert model.requests[0].given == ("A", "B", "C")
    assert (trace.input, trace.output, trace.post_processed) == ("Which?", "B", "B")
    assert spoken(trace) == ["user: Which?", "assistant: B"]
    assert trace.usage.requests == 1


def test_its_confidence_is_its_share_of_all_likelihoods() -> None:
    trace = choose(Replies(WEIGHED))

    assert trace.confidence == pytest.approx(0.6 / 0.8)
    assert trace.nll == pytest.approx(-math.log(0.6))
    assert trace.nll_tokens == 1
    assert trace.options == pytest.approx(
        {"A": math.log(0.1), "B": math.log(0.6), "C": math.log(0.1)}
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"question": "Who?"}, id="what is asked"),
        pytest.param({"labels": ("A", "B")}, id="what can be chosen"),
    ],
)
def test_a_choice_depends_on(changes: dict[str, Any]) -> None:
    other = Sample("a", {**SAMPLE.data, **changes})

    assert CHOICE.describe_inputs(other) != CHOICE.describe_inputs(SAMPLE)


def test_a_choice_is_stored_apart_from_an_answer() -> None:
    assert CHOICE.describe_inputs(SAMPLE) != solver(ASKING).describe_inputs(SAMPLE)
    assert CHOICE.weighs_options(SAMPLE)


def test_where_no_choice_can_be_right_the_model_is_not_asked() -> None:
    wrong = Sample("a", {**SAMPLE.data, "answer": "Z"})
    model = Replies(WEIGHED)

    with pytest.raises(ValueError, match="no choice can be right"):
        choose(model, wrong)
    with pytest.raises(ValueError, match="no choice can be right"):
        CHOICE.reuse(wrong, Trace(input="", output="B", post_processed="B"))
    assert model.requests == []


def test_a_stored_choice_stays() -> None:
    stored = Trace(input="Which?", output="B", post_processed="B")

    assert CHOICE.reuse(SAMPLE, stored) is stored
