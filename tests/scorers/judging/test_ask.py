import asyncio
from typing import Any

import pytest
from tests.scorers.cases import case, chat
from tests.scorers.judging.judges import Judge

from evalwright.errors import ModelError
from evalwright.scorers.judging.ask import JudgeReply, ReplySchema, ask
from evalwright.types import Message, Request

SCHEMA = ReplySchema(
    "verdict", {"reasoning": {"type": "string"}, "prediction": {"enum": ["a", "b"]}}
)
MESSAGES = (Message("user", "Which?"),)
REFUSED = "HTTP 400: Invalid parameter: 'response_format' of type 'json_schema' is not supported"


def asked(judge: Judge, schema: ReplySchema | None = SCHEMA, *, times: int = 1) -> list[JudgeReply]:
    one = case({}, chat("hi"), models={"judge": judge}, trial=2)

    async def work() -> list[JudgeReply]:
        return [await ask(one, "judge", MESSAGES, schema=schema) for _ in range(times)]

    return asyncio.run(work())


def refusing(kind: str, words: str) -> Any:
    def reply(request: Request) -> str:
        if request.input is not None:
            raise ModelError(kind, words)
        return "a"

    return reply


def test_the_request_is_the_samples_with_a_strict_schema_beside_the_messages() -> None:
    judge = Judge('{"prediction": "a"}')

    (answer,) = asked(judge)

    assert answer == JudgeReply('{"prediction": "a"}', structured=True)
    (request,) = judge.requests
    assert (request.messages, request.sample.id, request.trial) == (MESSAGES, "a", 2)
    assert request.takes_all
    assert request.input == {
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "verdict",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": SCHEMA.properties,
                    "required": ["reasoning", "prediction"],
                    "additionalProperties": False,
                },
            },
        }
    }


def test_without_a_schema_nothing_is_asked_beside_the_messages() -> None:
    judge = Judge("a")

    assert asked(judge, None) == [JudgeReply("a", structured=False)]
    assert judge.requests[0].input is None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param("bad_request", REFUSED, id="openai"),
        pytest.param("bad_request", "HTTP 422: extra fields: response_format", id="strict server"),
        pytest.param("not_found", "HTTP 404: no endpoint supports response_format", id="router"),
        pytest.param("server", "HTTP 500: failed to parse grammar", id="local server"),
        pytest.param("unsupported", "this API has no JSON schema", id="our own client"),
        pytest.param("bad_request", "HTTP 400: output_config: not permitted", id="messages API"),
    ],
)
def test_a_server_that_refuses_the_schema_is_asked_without_it_and_that_is_said(
    kind: str, words: str
) -> None:
    judge = Judge(refusing(kind, words))

    (answer,) = asked(judge)

    assert (answer.text, answer.structured) == ("a", False)
    assert answer.note == (
        f"`judge` does not accept a schema for its reply ({words}): "
        "it was queried without structured outputs"
    )
    assert [one.input is None for one in judge.requests] == [False, True]


def test_a_refused_schema_is_tried_once_a_run_and_noted_every_time() -> None:
    judge = Judge(refusing("bad_request", REFUSED))

    answers = asked(judge, times=3)

    assert [one.input is None for one in judge.requests] == [False, True, True, True]
    assert len({one.note for one in answers}) == 1
    assert answers[2].note
    asked(judge)  # another run: the server may have learnt it
    assert [one.input is None for one in judge.requests[4:]] == [False, True]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param("bad_request", "HTTP 400: maximum context length exceeded", id="too long"),
        pytest.param("auth", "HTTP 401: no key for response_format", id="no key"),
        pytest.param("rate_limited", "HTTP 429: schema quota", id="too fast"),
        pytest.param("server", "HTTP 500: overloaded", id="overloaded"),
    ],
)
def test_any_other_error_is_the_judges_and_not_asked_away(kind: str, words: str) -> None:
    judge = Judge(refusing(kind, words))

    with pytest.raises(ModelError, match=words) as error:
        asked(judge)

    assert error.value.message.startswith("the judge `")
    assert error.value.kind == kind
    assert len(judge.requests) == 1


def test_a_judge_that_fails_without_a_schema_is_named_too() -> None:
    def reply(_: Request) -> str:
        raise ModelError("server", "HTTP 500: boom", hint="wait")

    with pytest.raises(ModelError, match="the judge `judge`: HTTP 500: boom") as error:
        asked(Judge(reply), None)

    assert error.value.hint == "wait"


def test_a_long_refusal_is_cut() -> None:
    (answer,) = asked(Judge(refusing("bad_request", f"schema {'x' * 1000}")))

    assert len(answer.note) < 350


def test_a_cut_reply_and_a_refusal_are_known_as_such() -> None:
    declined = {"choices": [{"message": {"content": None, "refusal": "No."}}]}

    assert asked(Judge("a", finish="length"), None) == [JudgeReply("a", structured=False, cut=True)]
    assert asked(Judge("No.", output=declined), None)[0].refused
    called = {"choices": [{"message": {"content": "a", "refusal": None}}]}
    assert not asked(Judge("a", output=called), None)[0].refused


def test_a_judge_that_is_not_there_is_told_by_name() -> None:
    one = case({}, chat("hi"), models={"other": Judge("a")})

    with pytest.raises(ValueError, match="`judge` is not one of the models: `other`"):
        asyncio.run(ask(one, "judge", MESSAGES, schema=None))
