import asyncio

import pytest
from tests.solvers.made import Replies

from evalwright.objects import make_message
from evalwright.ports import Case
from evalwright.solvers.conversation import Conversation, ModelInput, input_text
from evalwright.types import Completion, Message, Sample, Usage

ASKED = ModelInput(messages=(Message("user", "q"),))
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def talk_with(*answers: str | Completion) -> Conversation:
    talk = Conversation(Case(sample=Sample("a", {}), model=Replies(*answers), trial=3))

    async def ask() -> None:
        for _ in answers:
            await talk.ask(ASKED)

    asyncio.run(ask())
    return talk


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        pytest.param([0.5, 0.25], 0.75, id="known"),
        pytest.param([0.5, None], None, id="one that is not known makes the sum unknown"),
        pytest.param([], 0.0, id="nothing asked costs nothing"),
    ],
)
def test_costs_are_added(costs: list[float | None], expected: float | None) -> None:
    talk = talk_with(*(Completion(text="x", usage=Usage(1, 2, 3, cost)) for cost in costs))

    usage = talk.trace().usage

    assert usage.cost == expected
    assert usage.requests == len(costs)
    assert usage.prompt_tokens == 2 * len(costs)


def test_what_is_taken_back_leaves_its_cost_and_nothing_else() -> None:
    talk = talk_with("a")
    place = talk.position()
    talk.case.model._answers = iter(["b"])  # type: ignore[attr-defined] # one answer more

    asyncio.run(talk.ask(ASKED))
    talk.go_back(place)

    trace = talk.trace()
    assert trace.output == "a"
    assert trace.usage.requests == 2


def test_a_request_carries_the_sample_and_the_trial() -> None:
    talk = talk_with("a")
    (request,) = talk.case.model.requests  # type: ignore[attr-defined] # a model of this room's

    assert (request.sample, request.trial) == (talk.case.sample, 3)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        pytest.param(
            [make_message("user", "q"), make_message("assistant", "a")], "q", id="before the answer"
        ),
        pytest.param([make_message("user", "q")], "q", id="no answer"),
        pytest.param(
            [make_message("user", "q"), make_message("assistant", "w"), CALL, CALL],
            "q",
            id="with calls",
        ),
        pytest.param(
            [make_message("user", "q"), CALL, make_message("assistant", "a")],
            "user: q\n\nfunction_call: f({})",
            id="a call is before the answer",
        ),
        pytest.param(
            [make_message("user", "q"), make_message("assistant", "a"), make_message("user", "r")],
            "q",
            id="more",
        ),
        pytest.param([CALL], "", id="an answer alone"),
    ],
)
def test_the_input_is_what_was_said_before_the_last_answer(
    items: list[dict[str, object]], text: str
) -> None:
    assert input_text({"items": items}) == text


def test_an_empty_answer_and_a_refusal_will_do() -> None:
    message = {"role": "assistant", "content": None, "refusal": "nope"}
    talk = talk_with("", Completion(text="nope", output={"choices": [{"message": message}]}))

    assert all(one.takes_all for one in talk.case.model.requests)  # type: ignore[attr-defined] # a model of this room's
    assert talk.trace().output == "nope"
    assert talk_with("").trace().output == ""
