import asyncio
import json
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest
from msgspec import structs
from tests.servers.asking import answered, chat, failed, question

from evalwright.clients.adapters import BUILT_IN, Adapter, AdapterInfo
from evalwright.clients.custom import CustomInferenceModel, InferenceConfig, takes_sample
from evalwright.secrets import Secret
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import Source
from evalwright.types import MLTask, Request, Sample

HIDDEN = "hunter2-hunter2"
IDENTITY = BUILT_IN["latticeflow$identity"]()
ANSWERING = """
import json

def run_inference(body, environment):
    asked = json.loads(body)["messages"][-1]["content"]
    said = f"{asked} in {environment['PLACE']}"
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})
"""


MADE: list[DirectSnippets] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while MADE:
        asyncio.run(MADE.pop().close())


def model(
    source: str = ANSWERING,
    *,
    adapter: Adapter = IDENTITY,
    task: MLTask = "chat_completion",
    parameters: dict[str, Any] | None = None,
    **environment: str,
) -> CustomInferenceModel:
    text = dedent(source)
    snippets = DirectSnippets({"bot": Source(text=text, path="models/bot.yaml", line=9)})
    MADE.append(snippets)
    config = InferenceConfig(
        function="bot:run_inference",
        text=text,
        environment={name: Secret(value) for name, value in environment.items()},
        timeout_s=5,
    )
    info = AdapterInfo(key="bot", task=task)
    return CustomInferenceModel(snippets, config, adapter, info, parameters=parameters or {})


def question_of_a_record() -> Request:
    return Request(sample=question().sample, task="custom", input={})


def test_the_authors_function_answers() -> None:
    found = answered(model(PLACE="Rome"), chat("hello"))

    assert (found.text, found.usage.requests) == ("hello in Rome", 1)
    assert found.bodies is not None
    assert found.bodies[0] == '{"messages":[{"role":"user","content":"hello"}]}'
    assert "hello in Rome" in found.bodies[1]


def test_an_async_function_answers_too() -> None:
    source = """
    async def run_inference(body, environment):
        return '{"choices": [{"message": {"content": "4"}}]}'
    """

    assert answered(model(source), chat("hello")).text == "4"


def test_a_third_argument_gets_the_row() -> None:
    source = """
    import json

    def run_inference(body, environment, sample):
        return json.dumps({"seen": sample})
    """
    request = Request(sample=Sample("0", {"city": "Rome"}), task="custom", input={})

    assert answered(model(source, task="custom"), request).output == {"seen": {"city": "Rome"}}
    assert answered(model(source, task="custom"), question_of_a_record()).output == {"seen": None}


@pytest.mark.parametrize(
    ("signature", "takes"),
    [
        ("def run_inference(body, environment):", False),
        ("def run_inference(body, environment, sample):", True),
        ("def run_inference(body, environment, sample=None):", True),
        ("async def run_inference(body, environment, /, sample):", True),
        ("def run_inference(*everything):", True),
        ("def other(a, b, c):", False),
    ],
)
def test_it_is_known_beforehand_whether_the_row_matters(signature: str, *, takes: bool) -> None:
    assert takes_sample(f"{signature}\n    return ''") is takes


def test_an_exception_is_a_failure_with_its_place_and_without_the_environment() -> None:
    source = """
    def run_inference(body, environment):
        raise ValueError("no luck with " + environment["PASSWORD"])
    """

    error = failed(model(source, PASSWORD=HIDDEN), chat("hello"))

    assert error.kind == "inference"
    assert "models/bot.yaml:" in str(error)
    assert "no luck with [redacted]" in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        pytest.param("return 3", "inference", "got `int`", id="no text"),
        pytest.param("return {'a': 1}", "wrong_shape", "", id="JSON that is no answer"),
        pytest.param("return 'hello'", "not_json", "hello", id="no JSON"),
        pytest.param("return '{}'", "wrong_shape", "choices", id="no completion"),
        pytest.param("""return '{"error": "busy"}'""", "error_object", "busy", id="an error"),
    ],
)
def test_what_is_no_answer_says_why(body: str, kind: str, says: str) -> None:
    error = failed(model(f"def run_inference(body, environment):\n    {body}\n"), chat("hello"))

    assert error.kind == kind
    assert says in str(error)


@pytest.mark.parametrize(
    ("error", "again"),
    [("ConnectionResetError", True), ("TimeoutError", True), ("KeyError", False)],
)
def test_what_a_network_does_may_be_tried_again(error: str, *, again: bool) -> None:
    source = f"def run_inference(body, environment):\n    raise {error}('x')\n"

    assert failed(model(source), chat("hello")).retryable is again


def test_it_is_asked_only_for_what_it_is_declared_for() -> None:
    assert failed(model(task="embeddings"), chat("hello")).kind == "unsupported"


def test_what_changes_the_answers_changes_the_fingerprint_and_no_secret_is_in_it() -> None:
    plain = model(PLACE="Rome", API_KEY=HIDDEN).fingerprint

    assert plain == model(PLACE="Rome", API_KEY="another-password").fingerprint
    assert HIDDEN not in plain
    others = [
        model(PLACE="Paris", API_KEY=HIDDEN).fingerprint,
        model(ANSWERING + "\n", PLACE="Rome", API_KEY=HIDDEN).fingerprint,
        model(parameters={"temperature": 1}, PLACE="Rome", API_KEY=HIDDEN).fingerprint,
        model(
            adapter=BUILT_IN["latticeflow$openai_responses"](), PLACE="Rome", API_KEY=HIDDEN
        ).fingerprint,
    ]
    assert len({plain, *others}) == len(others) + 1


@pytest.mark.parametrize(
    ("message", "text"), [({"content": ""}, ""), ({"content": None, "refusal": "nope"}, "nope")]
)
def test_who_takes_all_takes_an_empty_answer_and_a_refusal(
    message: dict[str, Any], text: str
) -> None:
    said = json.dumps({"choices": [{"message": message}]})
    source = f"def run_inference(body, environment): return {said!r}"
    request = structs.replace(chat("hello"), takes_all=True)

    assert answered(model(source), request).text == text
    assert failed(model(source), chat("hello")).kind in {"empty", "refused"}
