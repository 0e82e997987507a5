import asyncio
import traceback

import pytest
from tests.engine.models.made import Says, answer, question

from evalwright.engine.redact import RedactingModel
from evalwright.errors import ModelError
from evalwright.secrets import Redactor
from evalwright.types import Completion

KEY = "sk-proj-0123456789abcdef"


def ask(*replies: Completion | Exception) -> Completion:
    return asyncio.run(RedactingModel(Says(*replies), Redactor([KEY])).complete(question()))


def test_an_answer_that_repeats_the_key_loses_it_and_keeps_the_rest() -> None:
    reply = answer(f"your key is {KEY}, right?")

    completion = ask(reply)

    assert completion.text == "your key is [redacted], right?"
    assert completion.usage == reply.usage


def test_an_answer_without_it_is_passed_on_as_it_is() -> None:
    reply = answer("4")

    assert ask(reply) is reply


def test_an_error_keeps_everything_but_the_key() -> None:
    error = ModelError(
        "rate_limited", f"429: {KEY}", retryable=True, retry_after_s=5, hint=f"not {KEY}"
    )
    error.attempts = 4

    with pytest.raises(ModelError) as caught:
        ask(error)

    found = caught.value
    assert (found.message, found.hint) == ("429: [redacted]", "not [redacted]")
    assert (found.kind, found.retryable, found.retry_after_s, found.attempts) == (
        *("rate_limited", True, 5, 4),
    )


class Echo(Says):
    """A client whose error was caused by one that says the key."""

    async def complete(self, request: object) -> Completion:
        del request
        raise ModelError("connection", "refused") from OSError(f"Authorization: Bearer {KEY}")


def test_the_cause_of_an_error_is_not_printed_either() -> None:
    with pytest.raises(ModelError) as caught:
        asyncio.run(RedactingModel(Echo(), Redactor([KEY])).complete(question()))

    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_output_loses_the_key_wherever_it_stands_in_it() -> None:
    reply = Completion(
        text="4",
        output={KEY: [{"a": f"x {KEY}"}, 1, None, [0.5, KEY]], "vector": [0.5, 1]},
        bodies=(f"sent {KEY}", f"came {KEY}"),
    )

    found = ask(reply)

    assert found.output == {
        "[redacted]": [{"a": "x [redacted]"}, 1, None, [0.5, "[redacted]"]],
        "vector": [0.5, 1],
    }
    assert found.bodies == ("sent [redacted]", "came [redacted]")
