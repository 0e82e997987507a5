"""Addresses and keys of providers, one line per provider.

`NAME_BASE_URL` sets the address, unless a model is written `provider/model@URL`. `NAME_API_KEY`
sets the key. The path of an endpoint is appended to the base URL, which may end with a slash. If
the URL has no path, `/v1` is added first. A URL that already ends with the endpoint's path is used
unchanged.

A provider's own address requires a key. At any other base URL, the server decides. Keys are sent
only in headers: a base URL with a user, a password or a query is rejected.
"""

from collections.abc import Mapping

from msgspec import Struct, structs
from yarl import URL

from evalwright.errors import UnknownName, UsageError
from evalwright.generation_parameters import split_address
from evalwright.lines import refuse_nul
from evalwright.nearest import suggest


class Provider(Struct, frozen=True):
    """A provider, or the server of a model document."""

    base_url: str
    """Public address. If it is empty, the variable must be set."""
    prefix: str = ""
    """Prefix of the environment variables; empty for the server of a document."""
    needs_key: bool = True
    address_in: str = ""
    """Source of the base URL, for messages, if it is not the environment variable."""

    @property
    def base_url_variable(self) -> str:
        """Environment variable of the base URL."""
        return self.address_in or (f"{self.prefix}_BASE_URL" if self.prefix else "`config.url`")

    @property
    def key_variable(self) -> str:
        """Environment variable of the key."""
        return f"{self.prefix}_API_KEY" if self.prefix else "`config.api_key`"


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ"),
    "latticeflow": Provider("", "LATTICEFLOW", needs_key=False),
    "llamacpp": Provider("http://localhost:8080/v1", "LLAMACPP", needs_key=False),
    "lmstudio": Provider("http://localhost:1234/v1", "LMSTUDIO", needs_key=False),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL"),
    "novita": Provider("https://api.novita.ai/openai/v1", "NOVITA"),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA", needs_key=False),
    "openai": Provider("https://api.openai.com/v1", "OPENAI"),
    "openai-responses": Provider("https://api.openai.com/v1", "OPENAI"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER"),
    "sambanova": Provider("https://api.sambanova.ai/v1", "SAMBANOVA"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER"),
    "vllm": Provider("http://localhost:8000/v1", "VLLM", needs_key=False),
}


def split_provider_address(provider: str, name: str) -> tuple[str, str]:
    """Split `model@URL` into model and address; the address may be empty."""
    model, address = split_address(name)
    if address and provider not in PROVIDERS:
        raise UsageError(
            f"{provider} models have no address", hint=f"write {provider}/{model}, without the `@`"
        )
    return model, address


class Address:
    """The URL and key of an endpoint. Not a struct, so that the key is never printed."""

    def __init__(self, provider: Provider, url: URL, *, key: str = "", proxy: str = "") -> None:
        self.provider, self.url, self.key = provider, url, key
        self.proxy = proxy
        """URL of the proxy, which may contain a password; empty for none."""

    @property
    def headers(self) -> dict[str, str]:
        """The provider's headers, including the key if there is one."""
        if self.provider.prefix == "ANTHROPIC":
            version = {"anthropic-version": "2023-06-01"}
            return {"x-api-key": self.key, **version} if self.key else version
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def __repr__(self) -> str:
        return f"Address({str(self.url)!r})"


def locate(name: str, path: str, environment: Mapping[str, str], *, base_url: str = "") -> Address:
    """Return the address of a provider's endpoint; `UsageError` if a setting is invalid."""
    if name not in PROVIDERS:
        known = ", ".join(f"`{provider}`" for provider in PROVIDERS)
        raise UnknownName(
            f"`{name}` is not a provider; the providers are {known}",
            hint=suggest(name, tuple(PROVIDERS)),
        )
    provider = PROVIDERS[name]
    if base_url:
        provider = structs.replace(provider, address_in="the address after `@`")
    variable = provider.base_url_variable
    base_url = base_url or environment.get(variable, "").strip() or provider.base_url
    if not base_url:
        raise UsageError(
            f"{name} has no public address", hint=f"set {variable} to the address of its server"
        )
    url = _join_path(base_url, path, variable)
    key = _read_key(environment, provider.key_variable)
    if provider.needs_key and not key and url == _join_path(provider.base_url, path, variable):
        raise UsageError(f"{name} needs an API key", hint=f"set {provider.key_variable}")
    return Address(provider, url, key=key, proxy=_find_proxy(url, environment))


def locate_neighbour(address: Address, path: str, other: str) -> Address:
    """Return a different endpoint of the same server, such as `/models`."""
    url = address.url.with_path(address.url.path.removesuffix(path) + other)
    return Address(address.provider, url, key=address.key, proxy=address.proxy)


def locate_document(url: str, key: str, environment: Mapping[str, str]) -> Address:
    """Return the address in a model document, including the query."""
    server = Provider(url, needs_key=False)
    address = _parse_base_url(url, server.base_url_variable)
    return Address(server, address, key=key.strip(), proxy=_find_proxy(address, environment))


def _parse_url(text: str) -> URL | None:
    try:
        refuse_nul(text)
        url = URL(text)
    except ValueError:
        return None
    return url if url.scheme in {"http", "https"} and url.host else None


def _parse_base_url(text: str, variable: str) -> URL:
    url = _parse_url(text)
    if url is None:
        raise UsageError(
            f"{variable} is not a URL", hint="expected a URL such as `https://api.example.com/v1`"
        )
    return url


def _join_path(base: str, path: str, variable: str) -> URL:
    url = _parse_base_url(base, variable)
    if url.user is not None or url.password is not None or url.query_string or url.fragment:
        raise UsageError(
            f"{variable} must not contain a user name, a query or a fragment",
            hint="set the key in its variable; it is sent in a header",
        )
    root = url.path.rstrip("/")
    if root.endswith(path):
        return url.with_path(root)
    if path == "/messages" and not root.endswith("/v1"):
        root += "/v1"  # other clients of this API always add the version
    return url.with_path((root or "/v1") + path)


def _read_key(environment: Mapping[str, str], variable: str) -> str:
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"{variable} contains a character that is not allowed in a header",
            hint="copy the key again",
        )
    return key


def _find_proxy(url: URL, environment: Mapping[str, str]) -> str:
    """Return the proxy from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

    Lowercase variables take precedence. Proxies are never used for the local machine.
    """
    proxies = {
        name.lower().removesuffix("_proxy"): environment[name].strip()
        for name in sorted(environment)  # uppercase sorts first, so lowercase takes precedence
        if name.lower().endswith("_proxy")
    }
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    host = url.host or ""
    is_here = host in {"localhost", "::1"} or host.startswith("127.")
    if not proxy or is_here or _skips_proxy(url, proxies.get("no", "")):
        return ""
    parsed = _parse_url(proxy if "://" in proxy else f"http://{proxy}")
    if parsed is None:
        raise UsageError(
            f"the proxy for {url.host} is not an HTTP proxy",
            hint="set HTTPS_PROXY or HTTP_PROXY to a URL such as `http://proxy.example.com:3128`",
        )
    return str(parsed)


def _skips_proxy(url: URL, exceptions: str) -> bool:
    """Whether NO_PROXY contains the host or a parent domain, with or without a port, or `*`."""
    for exception in exceptions.lower().replace(" ", "").split(","):
        if exception == "*":
            return True
        domain = exception.removeprefix("*").removeprefix(".")
        for host in (f"{url.host}", f"{url.host}:{url.port}"):
            if domain and (host == domain or host.endswith(f".{domain}")):
                return True
    return False
