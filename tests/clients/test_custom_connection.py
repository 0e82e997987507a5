from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.servers.asking import answered, asking, chat, failed
from tests.servers.certificates import CERTIFICATE, tls_of_a_stranger
from tests.servers.model_server import Behaviour, ModelServer, body, hostile, json, status
from tests.servers.model_server import chat as chatting

from evalwright.clients.adapters import BUILT_IN, Adapter, AdapterInfo, TemplateAdapter
from evalwright.clients.custom import ConnectionConfig, CustomConnectionModel, select_keys
from evalwright.errors import ModelError, UsageError
from evalwright.secrets import Secret
from evalwright.templates import Template
from evalwright.types import MLTask, ModelOptions

KEY = "sk-0123456789abcdef"
OTHER = "hunter2-hunter2"
IDENTITY = BUILT_IN["latticeflow$identity"]()


def model(
    url: str,
    *,
    adapter: Adapter = IDENTITY,
    task: MLTask = "chat_completion",
    parameters: dict[str, Any] | None = None,
    **where: Any,
) -> CustomConnectionModel:
    info = AdapterInfo(key="bot", task=task, model_key="m-1")
    options = ModelOptions(parameters=parameters or {})
    return CustomConnectionModel(ConnectionConfig(url=url, **where), adapter, info, options)


def error_of(behaviour: Behaviour, **told: Any) -> ModelError:
    with ModelServer(behaviour) as server:
        return failed(model(server.url, **told), chat("hello"))


def test_a_chat_goes_to_the_whole_address_and_its_answer_comes_back_with_the_bodies() -> None:
    with ModelServer(chatting("4")) as server:
        found = answered(
            model(
                f"{server.origin}/bots/7?version=2",
                api_key=Secret(f"{KEY}\n"),
                headers={"X-Team": Secret("evals"), "user-agent": Secret("mine")},
                parameters={"temperature": 0},
            ),
            chat("hello", keys={"max_tokens": 3}),
        )

    (asked,) = server.log
    assert asked.path == "/bots/7?version=2"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["X-Team"] == "evals"
    assert asked.headers.getall("User-Agent") == ["mine"]  # type: ignore[attr-defined]
    assert asked.body == {
        "model": "m-1",
        "temperature": 0,
        "max_tokens": 3,
        "messages": [{"role": "user", "content": "hello"}],
    }
    assert (found.text, found.usage.prompt_tokens, found.output) == ("4", 11, None)
    assert found.bodies is not None
    assert found.bodies[0] == asked.raw.decode()
    assert '"content":"4"' in found.bodies[1]


def test_a_header_of_ones_own_may_be_the_login() -> None:
    with ModelServer() as server:
        told = {"authorization": Secret("Basic abc")}
        answered(model(server.url, api_key=Secret(KEY), headers=told), chat("hello"))

    assert server.log[0].headers["Authorization"] == "Basic abc"


def test_an_adapter_puts_an_endpoints_words_into_ours() -> None:
    adapter = TemplateAdapter(
        "mine",
        process_input=Template('{"q": {{ input.messages[-1].content | tojson }}}'),
        process_output=Template(
            '{"choices": [{"message": {"role": "assistant", "content": {{ body | tojson }}},'
            ' "references": [{"content": "p. {{ status_code }}"}]}]}'
        ),
    )
    with ModelServer(body(b"not JSON, but four", content_type="text/plain")) as server:
        found = answered(model(server.url, adapter=adapter), chat("2 + 2?"))

    assert server.log[0].body == {"q": "2 + 2?"}
    assert found.text == "not JSON, but four"
    assert found.output["choices"][0]["references"] == [{"content": "p. 200"}]


def test_embeddings_and_custom_tasks_go_out_and_come_back() -> None:
    with ModelServer(json({"embeddings": [[1.0], [2.0]]})) as server:
        request = asking("embeddings", {"input": ["a", "b"]})
        found = answered(model(server.url, task="embeddings"), request)
        assert server.log[0].body == {"model": "m-1", "input": ["a", "b"]}
        assert found.output["embeddings"] == [[1.0], [2.0]]

        server.behave(json({"label": "cat"}))
        found = answered(model(server.url, task="custom"), asking("custom", {"pixels": [1]}))
        assert server.log[1].body == {"pixels": [1]}
        assert (found.text, found.output) == ('{"label":"cat"}', {"label": "cat"})


def test_a_model_is_asked_only_for_what_it_is_declared_for() -> None:
    with ModelServer() as server:
        error = failed(model(server.url), asking("embeddings", "a"))

    assert server.log == []
    assert error.kind == "unsupported"
    assert str(error) == (
        "the model `bot` is declared for `chat_completion`, but the request is for `embeddings`"
    )


@pytest.mark.parametrize(
    ("kind", "behaviour"),
    [
        pytest.param(kind, one, id=f"{number} {kind}")
        for number, (kind, one) in enumerate(hostile())
    ],
)
def test_every_bad_answer_is_told_apart(kind: str, behaviour: Behaviour) -> None:
    waits = {"first_byte_timeout_s": 0.2, "total_timeout_s": 0.3}

    assert error_of(behaviour, parameters=waits).kind == kind


def test_an_adapter_sees_no_failed_status_and_the_document_is_named() -> None:
    wrong = error_of(status(401, f"bad key {KEY}"), api_key=Secret(KEY))
    gone = error_of(status(404))
    busy = error_of(status(503))

    assert (wrong.kind, wrong.hint) == ("auth", "check `config.api_key`")
    assert KEY not in str(wrong)
    assert gone.hint == "check the model name and `config.url`"
    assert busy.retryable


def test_a_body_that_is_no_json_is_not_sent_as_json() -> None:
    adapter = TemplateAdapter("mine", process_input=Template("hello"), process_output=None)
    with ModelServer(json({"choices": [{"message": {"content": "4"}}]})) as server:
        error = failed(model(server.url, adapter=adapter), chat("hello"))
        assert (error.kind, server.log) == ("not_json", [])

        told = {"Content-Type": Secret("text/plain")}
        answered(model(server.url, adapter=adapter, headers=told), chat("hello"))
        assert server.log[0].raw == b"hello"
        assert server.log[0].headers["Content-Type"] == "text/plain"


def test_an_empty_reply_is_one_and_bytes_that_are_no_text_are_no_json() -> None:
    assert error_of(body(b" ")).kind == "empty"
    assert error_of(body(b"\xff\xfe")).kind == "not_json"


def test_an_error_object_does_not_show_a_key_from_a_header_or_the_address() -> None:
    with ModelServer(json({"error": f"who is {OTHER} or {KEY}?"})) as server:
        url = f"{server.url}?api_key={KEY}"
        asked = model(url, headers={"X-Api-Key": Secret(OTHER)})
        error = failed(asked, chat("hello"))

    assert str(error) == "the output is an error: who is [redacted] or [redacted]?"
    assert KEY not in asked.fingerprint
    assert OTHER not in asked.fingerprint


def fingerprint(url: str = "http://h/", **told: Any) -> str:
    return model(url, **told).fingerprint


def test_what_changes_the_answers_changes_the_fingerprint_and_nothing_else() -> None:
    adapter = TemplateAdapter("mine", process_input=Template("{}"), process_output=None)
    plain = fingerprint()

    assert plain == fingerprint(api_key=Secret(KEY))
    assert plain == fingerprint("http://h/?api_key=0123456789")
    assert fingerprint(headers={"X-Api-Key": Secret("a")}) == fingerprint(
        headers={"X-Api-Key": Secret("b")}
    )
    others = [
        fingerprint("http://h/2"),
        fingerprint("http://h/?version=2"),
        fingerprint(adapter=adapter),
        fingerprint(task="custom"),
        fingerprint(parameters={"temperature": 1}),
        fingerprint(headers={"X-Version": Secret("1")}),
        fingerprint(headers={"X-Version": Secret("2")}),
    ]
    assert len({plain, *others}) == len(others) + 1


def test_a_declared_secret_is_a_login_under_any_name() -> None:
    told = [fingerprint(headers={"X-Team": Secret(value, declared=True)}) for value in (KEY, OTHER)]

    assert told[0] == told[1] != fingerprint()
    assert error_of(
        json({"error": f"who is {OTHER}?"}), headers={"X-Team": Secret(OTHER, declared=True)}
    ).args == ("the output is an error: who is [redacted]?",)


@pytest.mark.parametrize("parameters", [{"model": "x"}, {"messages": []}, {"temperature": "hot"}])
def test_parameters_that_make_no_sense_are_refused_at_once(parameters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="bot"):
        model("http://h/", parameters=parameters)


@pytest.mark.parametrize("url", ["$BOT_URL", "bot.example/v1", "ftp://h/", ""])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match=r"`config\.url` is not a URL"):
        model(url)


def test_a_stranger_is_not_trusted(tmp_path: Path) -> None:
    with ModelServer(tls=tls_of_a_stranger(tmp_path)) as server:
        error = failed(model(server.url), chat("hello"))

    assert "certificate" in str(error)
    assert server.log == []


def test_a_stranger_with_a_trusted_authority_is_trusted(tmp_path: Path) -> None:
    trusted = Secret(b64encode(CERTIFICATE.encode()).decode())
    with ModelServer(tls=tls_of_a_stranger(tmp_path)) as server:
        asked = model(server.url, trusted_ca=trusted)

        assert answered(asked, chat("hello")).text == "4"
    assert asked.caveat == ""


def test_a_stranger_may_be_accepted_and_the_report_says_so(tmp_path: Path) -> None:
    with ModelServer(tls=tls_of_a_stranger(tmp_path)) as server:
        asked = model(server.url, accept_untrusted=True)

        assert answered(asked, chat("hello")).text == "4"
    assert asked.caveat == "the server's certificate is not checked"


def test_a_header_whose_value_has_a_scheme_of_authentication_holds_a_key() -> None:
    headers = {
        "X-Upstream": Secret("Bearer abcdefgh12"),
        "X-Gate": Secret("basic dXNlcjpwYXNz"),
        "Accept": Secret("application/json"),
        "X-Note": Secret("Basic plan"),
    }

    assert set(select_keys(headers)) == {"X-Upstream", "X-Gate"}
