import asyncio
import math
from typing import Any

import pytest

from evalwright.clients.scripted import Answer, Scripted
from evalwright.errors import ModelError
from evalwright.ports import Case, Model
from evalwright.scorers.self_report import SelfReport, parse_confidence
from evalwright.types import (
    SELF_REPORT,
    Completion,
    Request,
    Sample,
    Score,
    TaskSpec,
    Trace,
    find_self_report,
    without_self_report,
)

TASK = TaskSpec(
    task_id="a",
    category="arithmetic",
    prompt="2 + 2",
    targets=("4",),
    metric_name="exact_match",
    post_process="extract_first_line",
)
TRACE = Trace(input="2 + 2", output=" {4}\nThat is my answer.\n", post_processed="{4}")


class Weighing:
    """A model that finds `True` and `False` so likely; it remembers what it was asked."""

    caveat = fingerprint = ""
    weighs = True

    def __init__(self, *given: tuple[float, ...]) -> None:
        self._given = given
        self.calls: list[Request] = []

    async def close(self) -> None:
        pass

    async def complete(self, request: Request) -> Completion:
        self.calls.append(request)
        return Completion(text="", given=self._given)


def saying(text: str) -> Scripted:
    """A model that weighs nothing."""

    def script(request: Request) -> Answer:
        del request
        return Answer(text, 0.5)

    model = Scripted("test", script, remember=True)
    model.weighs = False
    return model


def asked(model: Model, **changes: Any) -> Score:
    made: dict[str, Any] = {"sample": Sample("a", TASK), "model": model, "answer": TRACE, **changes}
    return asyncio.run(SelfReport().score(Case(**made)))


def test_a_model_that_weighs_weighs_true_against_false() -> None:
    model = Weighing((math.log(0.3),), (math.log(0.1),))

    score = asked(model, trial=2)

    assert score.values == {"confidence": pytest.approx(0.75)}
    assert score.correct is None
    (call,) = model.calls
    assert (call.given, call.trial, call.sample.id) == (("True", "False"), 2, "a")
    (message,) = call.messages
    assert message.role == "user"
    assert message.content == (
        "Question:\n2 + 2\n\nProposed answer:\n{4}\nThat is my answer.\n\n"
        "Is the proposed answer right? Answer True or False."
    )


def test_any_other_is_asked_for_a_number() -> None:
    model = saying("85")

    score = asked(model)

    assert score == Score(values={"confidence": 0.85}, metadata={SELF_REPORT: True})
    (call,) = model.calls
    assert (call.given, call.takes_all) == ((), True)
    assert call.messages[0].content.endswith(
        "Give the probability in percent: a number from 0 to 100 and nothing else."
    )


def test_who_says_no_number_has_no_confidence_and_that_is_no_failure() -> None:
    assert asked(saying("I am sure")) == Score(
        values={"confidence": None},
        reason="expected one number from 0 to 100, got 'I am sure'",
        metadata={SELF_REPORT: True},
    )


def test_a_long_reply_is_quoted_in_part() -> None:
    assert asked(saying("word " * 100)).reason.endswith("word …'")


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("85", 0.85),
        ("0", 0.0),
        ("100", 1.0),
        (" 85 %\n", 0.85),
        ("85.5%", 0.855),
        ("85,5 %", 0.855),
        ("**85**", 0.85),
        ("85.", 0.85),
        ("(85)", 0.85),
        ("Probability: 85 percent.", 0.85),
        ("85/100", 0.85),
        ("85 out of 100", 0.85),
        ("0.5 %", 0.005),
        ("0.0", 0.0),
        ("85 %, yes: 85", 0.85),
        ("<think>50? No, 60.</think>\n85", 0.85),
    ],
)
def test_one_number_is_read_however_it_is_dressed(reply: str, confidence: float) -> None:
    assert parse_confidence(reply) == pytest.approx(confidence)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("", id="nothing"),
        pytest.param("high", id="a word"),
        pytest.param("80-90", id="a range"),
        pytest.param("between 80 and 90", id="a range in words"),
        pytest.param("101", id="too much"),
        pytest.param("-5", id="too little"),
        pytest.param("0.85", id="a share, or less than a percent"),
        pytest.param("1.0", id="all, or one percent"),
        pytest.param("85 of 90", id="another scale"),
        pytest.param("1,000", id="thousands"),
        pytest.param("1e1", id="an exponent"),
        pytest.param("85th", id="a rank"),
        pytest.param(".85", id="half a number"),
        pytest.param("2 + 2 is 4, so 95", id="the question again"),
        pytest.param("<think>85", id="a thought without an end"),
    ],
)
def test_what_is_not_one_number_is_not_guessed(reply: str) -> None:
    assert parse_confidence(reply) is None


@pytest.mark.parametrize("given", [(), ((-1.0,),), ((0.5,), (-1.0,)), ((-math.inf,),) * 2])
def test_weights_that_are_none_break_the_contract(given: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(ValueError, match=r"expected|probability 0"):
        asked(Weighing(*given))


def test_a_question_that_could_not_be_asked_is_an_error() -> None:
    def broken(request: Request) -> Answer:
        del request
        raise ModelError("timeout", "no answer")

    model = Scripted("test", broken)
    model.weighs = False

    with pytest.raises(ModelError, match="no answer"):
        asked(model)


def test_what_was_said_of_an_answer_holds_whatever_becomes_of_its_targets() -> None:
    stored = Score(values={"confidence": None})

    assert SelfReport().describe_inputs(Sample("a", TASK)) == ""
    assert SelfReport().reuse(stored).values == stored.values


def test_a_score_of_an_earlier_version_is_marked_when_it_is_reused() -> None:
    revised = SelfReport().reuse(Score(values={"confidence": 0.5}))

    assert find_self_report({"exact": Score(values={"score": 1}), "confidence": revised}) is revised
    assert without_self_report({"confidence": revised}) == {}
