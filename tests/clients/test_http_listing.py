import asyncio

import pytest
from tests.servers.model_server import ModelServer, json, models, status

from evalwright.clients.http import list_served_models
from evalwright.errors import ModelError, UsageError


def listed(provider: str, **environment: str) -> list[str]:
    return asyncio.run(list_served_models(provider, environment))


def test_a_server_says_which_models_it_has() -> None:
    with ModelServer(models("gpt-4.1", "gpt-4o")) as server:
        found = listed("openai", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-0123456789")

    (asked,) = server.log
    assert found == ["gpt-4.1", "gpt-4o"]
    assert (asked.method, asked.path) == ("GET", "/v1/models")
    assert asked.headers["Authorization"] == "Bearer sk-0123456789"


@pytest.mark.parametrize("base", ["/v1/", "", "/v1/chat/completions"])
def test_the_list_is_beside_the_chat(base: str) -> None:
    with ModelServer(models("m")) as server:
        assert listed("vllm", VLLM_BASE_URL=server.origin + base) == ["m"]

    assert server.log[0].path == "/v1/models"


def test_a_bare_list_is_one_and_a_folder_before_a_name_is_dropped() -> None:
    with ModelServer(json([{"id": "models/gemini-2.0", "created": 1}])) as server:
        assert listed("gemini", GEMINI_BASE_URL=server.url) == ["gemini-2.0"]


def test_anthropic_is_asked_as_it_wants_it() -> None:
    with ModelServer(models("claude-haiku-4-5")) as server:
        found = listed(
            "anthropic", ANTHROPIC_BASE_URL=server.origin, ANTHROPIC_API_KEY="sk-0123456789"
        )

    (asked,) = server.log
    assert found == ["claude-haiku-4-5"]
    assert asked.path == "/v1/models?limit=1000"
    assert asked.headers["x-api-key"] == "sk-0123456789"
    assert "anthropic-version" in asked.headers


def test_without_a_key_nobody_is_asked() -> None:
    with pytest.raises(UsageError, match="needs an API key"):
        listed("openai")


def test_a_server_that_will_not_say_is_an_error() -> None:
    with ModelServer(status(404)) as server, pytest.raises(ModelError, match="404"):
        listed("openai", OPENAI_BASE_URL=server.url)
