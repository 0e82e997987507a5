import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from evalwright.components import provider_key
from evalwright.registry import BUILT_IN
from evalwright.secrets import Secret
from evalwright.spec.documents.models.model import (
    BUILT_IN_ADAPTERS,
    CONNECTION_TYPES,
    OLD_IDENTITIES,
    AdapterDocument,
    CustomConnection,
    CustomInference,
    ModelDocument,
    PlaceholderConnection,
    ProviderConnection,
    ProviderModel,
)

KEY = "sk-0123456789abcdef"
URL = "https://bot.example/v1/chat/completions"
SNIPPET = "def run_inference(body, environment):\n    return body\n"


def model(config: Any, **more: Any) -> ModelDocument:
    return ModelDocument.model_validate({"key": "bot", "config": config, **more})


def connection(**config: Any) -> CustomConnection:
    found = model({"url": URL, **config}).config
    assert isinstance(found, CustomConnection)
    return found


def faults(config: Any, **more: Any) -> dict[str, str]:
    """What is wrong, by the dotted path without the tag of the connection."""
    with pytest.raises(ValidationError) as caught:
        model(config, **more)
    return {
        ".".join(str(part) for part in one["loc"] if not str(part).startswith("custom_c")): one[
            "msg"
        ].removeprefix("Value error, ")
        for one in caught.value.errors()
    }


def test_without_a_connection_type_it_is_a_connection_of_ones_own() -> None:
    found = model({"url": URL})

    assert isinstance(found.config, CustomConnection)
    assert (found.task, found.adapter_key) == ("chat_completion", "latticeflow$identity")
    assert (found.rate_limit, found.max_concurrent_requests) == (None, None)


def test_every_key_of_a_model_is_read() -> None:
    found = model(
        {
            "connection_type": "custom_connection",
            "url": f"{URL}?version=2",
            "api_key": KEY,
            "model_key": "m-1",
            "adapter": {"key": "latticeflow$openai_chat_completion"},
            "custom_headers": {"X-Team": "evals"},
            "tls_context": {"validation_context": {"trust_chain_verification": "accept_untrusted"}},
        },
        display_name="Bot",
        description="A bot",
        rate_limit=600,
        max_concurrent_requests=8,
        task="custom",
        secrets={"A": "b"},
    )

    config = found.config
    assert isinstance(config, CustomConnection)
    assert config.api_key == Secret(KEY)
    assert config.custom_headers == {"X-Team": Secret("evals")}
    assert config.tls_context is not None
    assert (found.rate_limit, found.max_concurrent_requests, found.task) == (600, 8, "custom")


def test_the_authors_own_python_may_be_the_model() -> None:
    found = model(
        {
            "connection_type": "custom_inference",
            "run_inference_snippet": SNIPPET,
            "environment": {"API_KEY": KEY},
            "timeout": 1.5,
        }
    )

    config = found.config
    assert isinstance(config, CustomInference)
    assert config.run_inference_snippet.text == SNIPPET
    assert config.environment == {"API_KEY": Secret(KEY)}
    assert config.timeout == 1.5


def test_a_model_of_a_provider_is_named_by_both() -> None:
    connected = {"connection_type": "provider_connection", "provider_id": "openai"}
    found = model({**connected, "model_key": "gpt-4o"}).config

    assert isinstance(found, ProviderConnection)
    assert found.model == "openai/gpt-4o"


def test_a_placeholder_needs_nothing() -> None:
    found = model({"connection_type": "placeholder"})

    assert isinstance(found.config, PlaceholderConnection)
    assert found.adapter_key is None


@pytest.mark.parametrize(
    "provider",
    [
        "openai",
        "anthropic",
        "gemini",
        "together",
        "fireworks",
        "sambanova",
        "novita",
        "latticeflow",
    ],
)
def test_every_provider_of_the_format_is_known(provider: str) -> None:
    assert ProviderModel.model_validate({"$provider": f"{provider}/m"}).model == f"{provider}/m"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai/gpt-4.1-nano", "openai$gpt-4-1-nano"),
        ("together/Qwen/Qwen3--8B_it.", "together$qwen-qwen3-8b_it"),
        ("anthropic/claude-haiku-4-5", "anthropic$claude-haiku-4-5"),
        ("openai/a.-b", "openai$a-b"),
    ],
)
def test_the_key_of_a_providers_model_has_lost_characters(name: str, key: str) -> None:
    assert provider_key(name) == key
    assert ProviderModel.model_validate({"$provider": name}).key == key


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt-4o", "expected `provider/model`, got `gpt-4o`"),
        ("openai/", "expected `provider/model`, got `openai/`"),
        ("opnai/gpt-4o", "`opnai` is not a provider; did you mean `openai`?"),
    ],
)
def test_a_provider_that_is_none_is_refused_with_the_nearest(name: str, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ProviderModel.model_validate({"$provider": name})

    assert caught.value.errors()[0]["msg"] == f"Value error, {says}"


def test_no_secret_is_printed_or_dumped() -> None:
    found = model({"url": URL, "api_key": KEY, "custom_headers": {"X": KEY}}, secrets={"NAME": KEY})

    for shown in (repr(found), str(found), found.model_dump_json(), str(found.model_dump())):
        assert KEY not in shown
        assert "[redacted]" in shown


def test_a_mistake_does_not_show_the_key_beside_it() -> None:
    with pytest.raises(ValidationError) as caught:
        model({"url": 3, "api_key": KEY})

    assert KEY not in str(caught.value)


@pytest.mark.parametrize("kind", ["langsmith", "azure_foundry", "aws_bedrock", "dify"])
def test_a_platform_with_an_interface_of_its_own_is_asked_by_a_snippet(kind: str) -> None:
    found = faults({"connection_type": kind, "whatever": 1})

    assert found == {
        "config": f"connection_type `{kind}` is not supported here: "
        "use `custom_inference`, with a snippet that calls the platform"
    }


def test_a_misspelt_connection_type_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ValidationError) as caught:
        model({"connection_type": "custom_conection"})

    (error,) = caught.value.errors()
    assert error["msg"] == "unknown connection_type `custom_conection`"
    assert error["ctx"]["known"] == CONNECTION_TYPES


@pytest.mark.parametrize(
    ("config", "field", "says"),
    [
        pytest.param({"url": "bot.example"}, "config.url", "http://", id="no scheme"),
        pytest.param({"url": "ftp://h/"}, "config.url", "http://", id="another scheme"),
        pytest.param({"url": "http://[::/"}, "config.url", "http://", id="no address"),
        pytest.param({"url": "https://me:pw@h/"}, "config.url", "`api_key`", id="a password"),
        pytest.param({}, "config.url", "required", id="no url"),
        pytest.param({"url": URL, "urll": ""}, "config.urll", "not permitted", id="a typo"),
        pytest.param({"url": URL, "api_key": 3}, "config.api_key", "got `int`", id="no text"),
        pytest.param({"url": URL, "api_key": "a\nb"}, "config.api_key", "header", id="two lines"),
        pytest.param(
            {"url": URL, "custom_headers": {"X Y": "a"}},
            "config.custom_headers.X Y.[key]",
            "pattern",
            id="no name of a header",
        ),
        pytest.param(
            {"url": URL, "adapter": {"key": "a b"}}, "config.adapter.key", "pattern", id="no key"
        ),
        pytest.param(
            {"url": URL, "tls_context": {"validation_context": {"trusted_ca": "?"}}},
            "config.tls_context.validation_context.trusted_ca",
            "is not base64",
            id="is not base64",
        ),
        pytest.param(
            {
                "url": URL,
                "tls_context": {"validation_context": {"trusted_ca": b64encode(b"hello").decode()}},
            },
            "config.tls_context.validation_context.trusted_ca",
            "something else",
            id="no certificate",
        ),
    ],
)
def test_a_mistake_is_named_at_its_place(config: Any, field: str, says: str) -> None:
    found = faults(config)

    assert [*found] == [field]
    assert says in found[field]


@pytest.mark.parametrize("unset", ["$BOT", "${BOT}", "<< secrets.BOT >>"])
def test_what_is_not_known_here_is_no_mistake_yet(unset: str) -> None:
    found = connection(
        url=unset, api_key=unset, tls_context={"validation_context": {"trusted_ca": unset}}
    )

    assert found.url == unset


@pytest.mark.parametrize("timeout", [0, -1, "soon", float("inf"), float("nan"), None], ids=repr)
def test_a_snippet_has_a_time(timeout: Any) -> None:
    config = {"connection_type": "custom_inference", "run_inference_snippet": SNIPPET}

    assert [*faults({**config, "timeout": timeout})] == ["config.custom_inference.timeout"]


def test_a_snippet_that_is_no_python_is_a_mistake_of_the_document() -> None:
    config = {"connection_type": "custom_inference", "timeout": 1}

    found = faults({**config, "run_inference_snippet": "def run("})

    assert "line 1" in found["config.custom_inference.run_inference_snippet"]


@pytest.mark.parametrize("limit", ["rate_limit", "max_concurrent_requests"])
@pytest.mark.parametrize("value", [0, -3, 1.5, "many"])
def test_limits_are_whole_numbers_from_one(limit: str, value: Any) -> None:
    assert [*faults({"url": URL}, **{limit: value})] == [limit]


@pytest.mark.parametrize("key", ["", "a b", "a/b", "a" * 251])
def test_a_key_is_short_and_plain(key: str) -> None:
    assert [*faults({"url": URL}, key=key)] == ["key"]


@pytest.mark.parametrize("old", OLD_IDENTITIES)
def test_an_old_name_of_the_identity_is_taken_and_noted(old: str) -> None:
    found = model({"url": URL, "adapter": {"key": old}})

    (warning,) = found.warnings()
    assert found.adapter_key == "latticeflow$identity"
    assert warning.path == ("config", "adapter", "key")
    assert warning.detail == f"`{old}` is the old name of `latticeflow$identity`"
    assert not [*model({"url": URL}).warnings()]


def test_an_adapter_is_two_templates_and_either_may_be_left_out() -> None:
    found = AdapterDocument.model_validate(
        {
            "key": "mine",
            "display_name": "Mine",
            "provider": "user",
            "process_input": {"language": "jinja", "source_code": "{{ input | tojson }}"},
            "process_output": {"source_code": "{{ body }}"},
        }
    )

    assert found.process_input is not None
    assert found.process_input.source_code.render(input={"a": 1}) == '{"a": 1}'
    assert not [*found.warnings()]
    assert AdapterDocument(key="empty").process_output is None


def test_the_task_of_an_adapter_is_taken_and_noted() -> None:
    (warning,) = AdapterDocument(key="mine", task="custom").warnings()

    assert (warning.path, warning.hint) == (("task",), "remove it")


@pytest.mark.parametrize(
    "process", [{"language": "python", "source_code": ""}, {"source_code": "{{"}, {}, "{{ body }}"]
)
def test_an_adapter_that_is_no_jinja_is_a_mistake_of_the_document(process: Any) -> None:
    with pytest.raises(ValidationError):
        AdapterDocument.model_validate({"key": "mine", "process_output": process})


def test_the_documents_have_schemas() -> None:
    for kind in (ModelDocument, AdapterDocument, ProviderModel):
        assert kind.model_json_schema()["type"] == "object"


def test_the_adapters_that_are_named_here_are_those_that_there_are() -> None:
    from evalwright.clients.adapters import BUILT_IN as ADAPTERS

    assert set(BUILT_IN_ADAPTERS) == set(ADAPTERS)
    assert "latticeflow" in BUILT_IN["models"]


def test_a_connection_keeps_its_address_as_it_is_written() -> None:
    assert connection(url=f"{URL}?a=%20").url == f"{URL}?a=%20"


def examples() -> list[Any]:
    page = Path(__file__).parents[4] / "docs" / "guides" / "models-of-a-project.md"
    blocks = re.findall(
        r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return [yaml.safe_load(block) for block in blocks]


def test_every_example_of_the_guide_is_a_document() -> None:
    for example in examples():
        if "models" in example:
            assert [ProviderModel.model_validate(one).key for one in example["models"]]
        elif "process_input" in example:
            assert AdapterDocument.model_validate(example).process_input
        else:
            assert ModelDocument.model_validate(example).key
    assert len(examples()) == 9
