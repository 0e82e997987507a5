import pytest

from evalwright.clients import openai
from evalwright.clients.providers import PROVIDERS, Address, locate
from evalwright.errors import UnknownName, UsageError
from evalwright.registry import BUILT_IN

KEY = "sk-0123456789"
CHAT = "/chat/completions"


def url(base: str, path: str = CHAT) -> str:
    return str(locate("openai", path, {"OPENAI_BASE_URL": base}).url)


def proxy(address: str, **environment: str) -> str:
    return locate("openai", CHAT, {"OPENAI_BASE_URL": address, **environment}).proxy


@pytest.mark.parametrize(
    ("name", "address", "variable"),
    [
        ("openai", "https://api.openai.com/v1/chat/completions", "OPENAI_API_KEY"),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", "OPENROUTER_API_KEY"),
        ("together", "https://api.together.xyz/v1/chat/completions", "TOGETHER_API_KEY"),
        (
            "fireworks",
            "https://api.fireworks.ai/inference/v1/chat/completions",
            "FIREWORKS_API_KEY",
        ),
        ("groq", "https://api.groq.com/openai/v1/chat/completions", "GROQ_API_KEY"),
        ("mistral", "https://api.mistral.ai/v1/chat/completions", "MISTRAL_API_KEY"),
        ("deepseek", "https://api.deepseek.com/v1/chat/completions", "DEEPSEEK_API_KEY"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            "GEMINI_API_KEY",
        ),
        ("novita", "https://api.novita.ai/openai/v1/chat/completions", "NOVITA_API_KEY"),
        ("sambanova", "https://api.sambanova.ai/v1/chat/completions", "SAMBANOVA_API_KEY"),
    ],
)
def test_a_provider_has_an_address_and_needs_its_own_key(
    name: str, address: str, variable: str
) -> None:
    found = locate(name, CHAT, {variable: f" {KEY}\n"})

    assert (str(found.url), found.key) == (address, KEY)
    with pytest.raises(UsageError, match=f"^{name} needs an API key") as caught:
        locate(name, CHAT, {"SOME_API_KEY": KEY})
    assert caught.value.hint == f"set {variable}"


@pytest.mark.parametrize(
    ("name", "port"), [("vllm", 8000), ("ollama", 11434), ("llamacpp", 8080), ("lmstudio", 1234)]
)
def test_a_server_of_ones_own_is_on_this_machine_and_needs_no_key(name: str, port: int) -> None:
    found = locate(name, CHAT, {})

    assert (str(found.url), found.key) == (f"http://localhost:{port}/v1/chat/completions", "")
    assert locate(name, CHAT, {f"{name.upper()}_API_KEY": KEY}).key == KEY


def test_a_provider_without_a_public_address_is_asked_where_its_variable_says() -> None:
    with pytest.raises(UsageError, match="no public address") as caught:
        locate("latticeflow", CHAT, {"LATTICEFLOW_API_KEY": KEY})
    assert "LATTICEFLOW_BASE_URL" in caught.value.hint

    found = locate("latticeflow", CHAT, {"LATTICEFLOW_BASE_URL": "http://localhost:9/v1"})
    assert (str(found.url), found.key) == ("http://localhost:9/v1/chat/completions", "")


@pytest.mark.parametrize("name", [*PROVIDERS])
def test_every_provider_can_be_asked_elsewhere_and_there_the_server_decides_about_keys(
    name: str,
) -> None:
    variable = PROVIDERS[name].base_url_variable

    found = locate(name, CHAT, {variable: "http://gpu.example:9/api/v1"})

    assert str(found.url) == "http://gpu.example:9/api/v1/chat/completions"
    assert found.key == ""


@pytest.mark.parametrize("name", [*PROVIDERS])
def test_every_provider_is_in_the_registry_and_in_the_docs(name: str) -> None:
    module = BUILT_IN["models"][name].partition(":")[0]

    assert module.startswith("evalwright.clients.")
    if module == openai.__name__:
        assert f"-m {name}/" in (openai.__doc__ or "")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        pytest.param("http://h/v1", "http://h/v1/chat/completions", id="as it is"),
        pytest.param("http://h/v1/", "http://h/v1/chat/completions", id="a slash at the end"),
        pytest.param("http://h:8000", "http://h:8000/v1/chat/completions", id="no path"),
        pytest.param("http://h/", "http://h/v1/chat/completions", id="no path but a slash"),
        pytest.param("http://h/api", "http://h/api/chat/completions", id="any path is kept"),
        pytest.param(
            "http://h/v1/chat/completions", "http://h/v1/chat/completions", id="the whole address"
        ),
        pytest.param(" http://h/v1\n", "http://h/v1/chat/completions", id="space around it"),
        pytest.param("", "https://api.openai.com/v1/chat/completions", id="empty is unset"),
    ],
)
def test_a_base_url_is_what_the_path_is_appended_to(base: str, expected: str) -> None:
    environment = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": KEY}

    assert str(locate("openai", CHAT, environment).url) == expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://h/anthropic", "https://h/anthropic/v1/messages"),
        ("https://h/anthropic/v1/", "https://h/anthropic/v1/messages"),
        ("https://h/v1/messages", "https://h/v1/messages"),
    ],
)
def test_the_messages_api_has_its_version_added(base: str, expected: str) -> None:
    environment = {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": KEY}

    assert str(locate("anthropic", "/messages", environment).url) == expected


@pytest.mark.parametrize(
    "base", ["localhost:8000/v1", "h/v1", "ftp://h/v1", "http://", "http://[::"]
)
def test_what_is_not_an_address_is_refused(base: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is not a URL"):
        url(base)


@pytest.mark.parametrize(
    "base",
    [
        f"https://me:{KEY}@h/v1",
        f"https://{KEY}@h/v1",
        f"https://h/v1?key={KEY}",
        f"https://h/#{KEY}",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(base: str) -> None:
    with pytest.raises(UsageError, match="must not contain") as caught:
        url(base)

    assert KEY not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("key", ["sk-12345\n67890", "sk-ключ-0123", "sk-\x0012345678"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY contains a character") as caught:
        locate("openai", CHAT, {"OPENAI_API_KEY": key})

    assert key not in caught.value.message
    assert caught.value.__cause__ is None


def test_an_address_does_not_print_its_key() -> None:
    found = locate("openai", CHAT, {"OPENAI_API_KEY": KEY})

    assert isinstance(found, Address)
    assert repr(found) == "Address('https://api.openai.com/v1/chat/completions')"


def test_a_provider_that_nobody_knows_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName, match="`openrooter` is not a provider") as caught:
        locate("openrooter", CHAT, {})

    assert caught.value.hint == "did you mean `openrouter`?"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"HTTPS_PROXY": "http://p:3128"}, "http://p:3128", id="by scheme"),
        pytest.param({"HTTP_PROXY": "http://p:3128"}, "", id="of another scheme"),
        pytest.param({"ALL_PROXY": "http://p:3128"}, "http://p:3128", id="for all"),
        pytest.param({"HTTPS_PROXY": "p:3128"}, "http://p:3128", id="without a scheme"),
        pytest.param(
            {"HTTPS_PROXY": "http://a", "https_proxy": "http://b"}, "http://b", id="small wins"
        ),
        pytest.param({"HTTPS_PROXY": ""}, "", id="empty is none"),
        pytest.param({"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, "", id="not at all"),
        pytest.param({"HTTPS_PROXY": "http://p", "NO_PROXY": "api.h.example"}, "", id="not there"),
        pytest.param({"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .h.example"}, "", id="nor above"),
        pytest.param({"HTTPS_PROXY": "http://p", "NO_PROXY": "h.example:443"}, "", id="by port"),
        pytest.param(
            {"HTTPS_PROXY": "http://p", "NO_PROXY": "h.example:80,ample,"}, "http://p", id="others"
        ),
    ],
)
def test_the_proxy_variables_are_honoured(environment: dict[str, str], expected: str) -> None:
    assert proxy("https://api.h.example/v1", **environment).rstrip("/") == expected


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_this_machine_is_never_reached_through_a_proxy(host: str) -> None:
    assert proxy(f"http://{host}:8000/v1", HTTP_PROXY="http://p:3128") == ""


@pytest.mark.parametrize("given", ["socks5://user:hunter2@p:1080", "http://", "http://[::"])
def test_a_proxy_that_is_none_is_refused_and_its_password_not_repeated(given: str) -> None:
    with pytest.raises(UsageError, match="not an HTTP proxy") as caught:
        proxy("https://api.h.example/v1", HTTPS_PROXY=given)

    assert "hunter2" not in caught.value.message + caught.value.hint
