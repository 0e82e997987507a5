import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.servers.asking import answered, chat
from tests.servers.certificates import tls_of_a_stranger
from tests.servers.model_server import ModelServer, by_path, json, models, status
from tests.servers.model_server import chat as chatting

from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.components import Snippet
from evalwright.errors import UnknownName, UsageError
from evalwright.secrets import Secret
from evalwright.session.models import Connection
from evalwright.session.project_models import connect_model
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.spec.documents.models.model import AdapterDocument, ModelDocument, ProviderModel
from evalwright.types import ModelOptions

KEY = "sk-0123456789abcdef"
SNIPPET = Snippet(
    "def run_inference(body, environment):\n"
    '    return \'{"choices": [{"message": {"content": "four"}}]}\'\n'
)


def project(*documents: dict[str, Any]) -> dict[str, ModelDocument | ProviderModel]:
    """The models of a project, by their keys."""
    kinds = [ProviderModel if "$provider" in one else ModelDocument for one in documents]
    made = [kind.model_validate(one) for kind, one in zip(kinds, documents, strict=True)]
    return {one.key: one for one in made}


def plan(
    key: str,
    *documents: dict[str, Any],
    adapters: Mapping[str, AdapterDocument] | None = None,
    snippets: DirectSnippets | None = None,
    parameters: dict[str, Any] | None = None,
    **environment: str,
) -> Connection:
    return connect_model(
        key,
        project(*documents),
        adapters or {},
        snippets=snippets,
        options=ModelOptions(parameters=parameters or {}, environment=environment),
    )


def document(**config: Any) -> dict[str, Any]:
    return {"key": "bot", "config": config}


def refused(key: str, *documents: dict[str, Any], **environment: str) -> UnknownName:
    with pytest.raises(UnknownName) as caught:
        connect_model(
            key,
            project(*documents),
            {},
            snippets=None,
            options=ModelOptions(environment=environment),
        )
    return caught.value


@pytest.mark.parametrize("key", ["openai/org/m-1.5", "openai:org/m-1.5"])
def test_a_providers_model_may_be_written_out(key: str) -> None:
    with ModelServer(chatting("4")) as server:
        found = plan(key, parameters={"temperature": 0}, OPENAI_BASE_URL=server.url)

        assert answered(found.client, chat("hello")).text == "4"
    assert server.log[0].body["model"] == "org/m-1.5"
    assert server.log[0].body["temperature"] == 0
    assert found.name == "openai/org/m-1.5"
    assert (found.remote, found.by_sample, found.task) == (True, False, None)


def test_a_script_looks_at_the_sample_and_is_here() -> None:
    found = plan("scripted/echo")

    assert (found.remote, found.by_sample) == (False, True)


def test_a_document_comes_before_an_entry_of_the_same_key() -> None:
    key = "openai$gpt-4-1"
    own = {"key": key, "config": {"connection_type": "placeholder"}}

    assert isinstance(plan(key, {"$provider": "openai/gpt-4.1"}, own).client, PlaceholderModel)


def test_an_entry_is_found_by_its_sanitised_key() -> None:
    with ModelServer(models()) as server:
        entry = {"$provider": "openai/GPT-4.1"}
        found = plan("openai$gpt-4-1", entry, OPENAI_BASE_URL=server.url)

    assert found.name == "openai/GPT-4.1"
    assert server.log == []


@pytest.mark.parametrize("kind", ["headers", "environment"])
def test_a_key_of_the_environment_is_a_login_under_any_name(kind: str) -> None:
    def fingerprint(team: str) -> str:
        told = {"url": "http://h/", "custom_headers": {"X-Team": team}}
        snippet = {
            "connection_type": "custom_inference",
            "run_inference_snippet": SNIPPET,
            "environment": {"TEAM": team},
            "timeout": 1,
        }
        asked = document(**(told if kind == "headers" else snippet))
        snippets = DirectSnippets(collect_sources([SNIPPET]))
        found = plan("bot", asked, snippets=snippets, A_TOKEN=KEY, B_TOKEN=f"{KEY}2")
        assert (Secret(team) in found.secrets) == (team != "evals")
        return found.client.fingerprint

    assert fingerprint(KEY) == fingerprint(f"{KEY}2") != fingerprint("evals")


@pytest.mark.parametrize("key", ["latticeflow$placeholder", "latticeflow/placeholder"])
def test_the_placeholder_needs_no_declaration(key: str) -> None:
    found = plan(key)

    assert isinstance(found.client, PlaceholderModel)
    assert not found.remote


def test_what_is_not_declared_is_looked_up_at_the_providers_server() -> None:
    there = by_path(models=models("gpt-4.1-mini", "gpt-4.1"), completions=chatting("4"))
    with ModelServer(there) as server:
        found = plan("openai$gpt-4-1", OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY)

        assert answered(found.client, chat("hello")).text == "4"
    assert found.name == "openai/gpt-4.1"
    assert server.log[1].body["model"] == "gpt-4.1"


def test_a_list_is_asked_for_inside_a_loop_too() -> None:
    async def inside(url: str) -> Connection:
        return plan("openai$gpt-4-1", OPENAI_BASE_URL=url)

    with ModelServer(models("gpt-4.1")) as server:
        assert asyncio.run(inside(server.url)).name == "openai/gpt-4.1"


def test_a_key_of_several_listed_models_is_nobodys() -> None:
    with (
        ModelServer(models("gpt-4.1", "gpt-4_1", "gpt-4-1")) as server,
        pytest.raises(UsageError, match=r"several models of openai: gpt-4-1, gpt-4\.1") as caught,
    ):
        plan("openai$gpt-4-1", OPENAI_BASE_URL=server.url)

    assert caught.value.hint == "write `openai/gpt-4-1`, or declare one with `$provider`"


def test_what_no_server_lists_is_to_be_declared() -> None:
    with ModelServer(models("gpt-4o")) as server:
        error = refused("openai$gpt-9", OPENAI_BASE_URL=server.url)

    assert str(error) == "unknown model `openai$gpt-9`: openai does not list it"
    assert error.hint == (
        "declare it under `models`: `$provider: openai/MODEL`, "
        "or a document with `key: openai$gpt-9`"
    )


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        pytest.param({}, "openai needs an API key", id="no key"),
        pytest.param({"OPENAI_API_KEY": KEY}, "HTTP 403", id="not allowed"),
    ],
)
def test_a_list_that_cannot_be_had_says_why(environment: dict[str, str], says: str) -> None:
    with ModelServer(status(403)) as server:
        where = {"OPENAI_BASE_URL": server.url} if environment else {}
        error = refused("openai$gpt-9", **environment, **where)

    assert says in str(error)


def test_a_misspelt_key_is_told_the_nearest() -> None:
    own = {"key": "support-bot", "config": {"connection_type": "placeholder"}}

    error = refused("suport-bot", own)

    assert str(error) == ("unknown model `suport-bot`: the project does not declare it")
    assert error.hint == "did you mean `support-bot`?"


def test_an_unknown_provider_is_told_the_nearest() -> None:
    assert refused("opnai/gpt-4").hint == "did you mean `openai`?"


def test_a_connection_of_ones_own_is_asked_through_its_adapter_within_its_limits() -> None:
    adapter = AdapterDocument.model_validate(
        {
            "key": "mine",
            "process_input": {"source_code": '{"q": {{ input.messages[0].content | tojson }}}'},
            "process_output": {
                "source_code": '{"choices": [{"message": {"content": {{ body }} }}]}'
            },
        }
    )
    with ModelServer(json("four")) as server:
        told = document(
            url=f"{server.origin}/ask",
            api_key=KEY,
            adapter={"key": "mine"},
            custom_headers={"X-Token": "0123456789", "X-Team": "evals"},
        )
        limits = {
            "rate_limit": 60,
            "max_concurrent_requests": 2,
            "secrets": {"A": "hunter2-hunter2"},
        }
        found = plan("bot", {**told, **limits}, adapters={"mine": adapter})

        assert answered(found.client, chat("2 + 2?")).text == "four"
    assert server.log[0].body == {"q": "2 + 2?"}
    assert (found.requests_per_minute, found.at_once, found.task) == (60, 2, "chat_completion")
    assert (found.name, found.remote) == ("bot", True)
    assert set(found.secrets) == {Secret(KEY), Secret("0123456789"), Secret("hunter2-hunter2")}


def test_a_stranger_is_accepted_where_the_document_says_so(tmp_path: Path) -> None:
    trust = {"validation_context": {"trust_chain_verification": "accept_untrusted"}}
    with ModelServer(chatting("4"), tls=tls_of_a_stranger(tmp_path)) as server:
        found = plan("bot", document(url=server.url, tls_context=trust))

        assert answered(found.client, chat("hello")).text == "4"


def test_a_snippet_of_the_project_may_be_the_model() -> None:
    snippets = DirectSnippets(collect_sources([SNIPPET]))
    told = document(
        connection_type="custom_inference",
        run_inference_snippet=SNIPPET,
        timeout=5,
        environment={"API_KEY": KEY, "PLACE": "Rome"},
    )

    found = plan("bot", told, snippets=snippets)

    assert answered(found.client, chat("hello")).text == "four"
    assert not found.by_sample
    assert found.secrets == (Secret(KEY),)
    assert KEY not in found.client.fingerprint
    asyncio.run(snippets.close())


def test_a_snippet_that_takes_the_row_must_not_be_cached_by_the_request_alone() -> None:
    snippets = DirectSnippets({})
    taking = "def run_inference(body, environment, sample):\n    return body\n"
    told = document(connection_type="custom_inference", run_inference_snippet=taking, timeout=5)

    assert plan("bot", told, snippets=snippets).by_sample
    asyncio.run(snippets.close())


def test_a_module_that_the_snippet_imports_is_in_the_fingerprint(tmp_path: Path) -> None:
    snippets = DirectSnippets({})
    text = "import near\n\ndef run_inference(body, environment):\n    return near.said(body)\n"
    seen = set()
    for version in "aba":
        (tmp_path / "near.py").write_text(f"# {version}", encoding="utf-8")
        told = document(
            connection_type="custom_inference",
            run_inference_snippet=Snippet(text, path=str(tmp_path / "bot.yaml")),
            timeout=5,
        )
        found = plan("bot", told, snippets=snippets)
        seen.add(found.client.fingerprint)
        assert not found.by_sample

    assert len(seen) == 2
    asyncio.run(snippets.close())


def test_where_snippets_are_refused_a_snippet_is_no_model() -> None:
    told = document(connection_type="custom_inference", run_inference_snippet=SNIPPET, timeout=5)

    with pytest.raises(UsageError, match="which is not allowed here"):
        plan("bot", told)


def test_a_document_may_name_a_providers_model() -> None:
    told = document(connection_type="provider_connection", provider_id="groq", model_key="m-1")
    with ModelServer(chatting("4")) as server:
        found = plan("bot", {**told, "rate_limit": 5}, GROQ_BASE_URL=server.url)

        assert answered(found.client, chat("hello")).text == "4"
    assert (found.name, found.requests_per_minute) == ("groq/m-1", 5)


def test_an_adapter_that_is_not_there_is_told_the_nearest() -> None:
    told = document(url="http://h/", adapter={"key": "latticeflow$opeani_responses"})

    error = refused("bot", told)

    assert "the adapter `latticeflow$opeani_responses`, which does not exist" in str(error)
    assert error.hint == "did you mean `latticeflow$openai_responses`?"


def test_an_old_name_of_the_identity_is_the_identity() -> None:
    old = document(url="http://h/", adapter={"key": "latticeflow$identity_chat_completion"})

    before, now = plan("bot", old), plan("bot", document(url="http://h/"))

    assert before.client.fingerprint == now.client.fingerprint
