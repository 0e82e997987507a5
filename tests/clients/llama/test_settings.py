from typing import Any

import pytest

from evalwright.clients.llama.settings import LlamaSettings, parse_settings
from evalwright.errors import UsageError


def test_without_parameters_an_answer_is_the_likeliest_and_reproducible() -> None:
    running, sent = parse_settings("local/m", {})

    assert running == LlamaSettings(slots=4, context=4096, threads=None)
    assert sent == {
        "temperature": 0,
        "seed": 0,
        "max_tokens": 256,
        "logprobs": True,
        "cache_prompt": False,
    }


def test_how_it_is_run_is_not_sent() -> None:
    running, sent = parse_settings(
        "local/m", {"slots": 2, "context": 512, "threads": 3, "total_timeout_s": 9, "top_k": 5}
    )

    assert running == LlamaSettings(slots=2, context=512, threads=3, total_timeout_s=9)
    assert sent["top_k"] == 5
    assert not {"slots", "context", "threads", "total_timeout_s"} & set(sent)


@pytest.mark.parametrize(("given", "expected"), [(64, 256), (256, 256), (257, 512), (4096, 4096)])
def test_a_context_is_what_llama_cpp_makes_of_it(given: int, expected: int) -> None:
    assert parse_settings("local/m", {"context": given})[0].context == expected


def test_what_is_not_known_here_is_sent_as_it_is() -> None:
    assert parse_settings("local/m", {"mirostat": 2})[1]["mirostat"] == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": "four"}, "slots"),
        ({"context": 3}, "context"),
        ({"threads": 0}, "threads"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"grammar": 7}, "grammar"),
        ({"json_schema": "{"}, "json_schema"),
        ({"n": 2}, "every trial is a separate request"),
        ({"model": "x"}, "it is taken from the model name"),
        ({"id_slot": 1}, "slots are assigned automatically"),
        ({"stream": True}, "streaming is not supported"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match="local/m") as caught:
        parse_settings("local/m", given)
    assert said in caught.value.message
