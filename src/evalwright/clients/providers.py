"""Where models are asked: one line a provider, one pattern for all of them.

`NAME_BASE_URL` says where, `NAME_API_KEY` is the key. A base URL is exactly what the path of an
endpoint is appended to, with or without a slash at its end. Two courtesies: a URL without any path
gets `/v1`, and a URL that already ends in the endpoint's path is taken as it is.

A key is needed at a provider's own address. At any other base URL the server decides. Keys travel
in headers only: a base URL with a user, a password or a query is refused.
"""

from collections.abc import Mapping

from msgspec import Struct
from yarl import URL

from evalwright.errors import UnknownName, UsageError
from evalwright.nearest import suggest


class Provider(Struct, frozen=True):
    """One line of the table."""

    base_url: str
    """Empty where no address is public: then only its variable says where."""
    prefix: str
    """What its variables begin with."""
    needs_key: bool = True

    @property
    def base_url_variable(self) -> str:
        """Names another base URL."""
        return f"{self.prefix}_BASE_URL"

    @property
    def key_variable(self) -> str:
        """Holds the key."""
        return f"{self.prefix}_API_KEY"


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


class Declared(Provider, frozen=True):
    """The server of a model document: what is wrong is to be put right there."""

    @property
    def base_url_variable(self) -> str:
        """Says where."""
        return "`config.url`"

    @property
    def key_variable(self) -> str:
        """Holds the key."""
        return "`config.api_key`"


class Address:
    """Where one model is asked, and with what key. Not a struct: it must never print the key."""

    def __init__(self, provider: Provider, url: URL, *, key: str = "", proxy: str = "") -> None:
        self.provider = provider
        self.url = url
        self.key = key
        self.proxy = proxy
        """The proxy on the way there; empty for none. May hold a password."""

    @property
    def bearer(self) -> dict[str, str]:
        """The header that carries the key; none without a key."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def __repr__(self) -> str:
        return f"Address({str(self.url)!r})"


def locate(name: str, path: str, environment: Mapping[str, str]) -> Address:
    """The address of a provider's endpoint; `UsageError` for what is missing or makes no sense."""
    if name not in PROVIDERS:
        raise UnknownName(
            f"`{name}` is not a provider; there are {', '.join(f'`{one}`' for one in PROVIDERS)}",
            hint=suggest(name, tuple(PROVIDERS)),
        )
    provider = PROVIDERS[name]
    given = environment.get(provider.base_url_variable, "").strip()
    if not given and not provider.base_url:
        raise UsageError(
            f"{name} has no public address",
            hint=f"set {provider.base_url_variable} to a server that has its models",
        )
    url = _endpoint(given or provider.base_url, path, provider.base_url_variable)
    own = bool(provider.base_url) and url == _endpoint(
        provider.base_url, path, provider.base_url_variable
    )
    key = _key(environment, provider.key_variable)
    if own and provider.needs_key and not key:
        raise UsageError(
            f"{name} needs a key, and none was found", hint=f"set {provider.key_variable}"
        )
    return Address(provider, url, key=key, proxy=_proxy(url, environment))


def beside(address: Address, path: str, other: str) -> Address:
    """Another endpoint of the same server: `/models` where `/chat/completions` is."""
    url = address.url.with_path(address.url.path.removesuffix(path) + other)
    return Address(address.provider, url, key=address.key, proxy=address.proxy)


def declared(url: str, key: str, environment: Mapping[str, str]) -> Address:
    """The address of a model document, as it stands there; the query stays part of it."""
    server = Declared(url, "", needs_key=False)
    found = _address(url, server.base_url_variable)
    return Address(server, found, key=key.strip(), proxy=_proxy(found, environment))


def _address(text: str, variable: str) -> URL:
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(
            f"{variable} is not an address", hint="it is like `https://api.example.com/v1`"
        )
    return url


def _endpoint(base: str, path: str, variable: str) -> URL:
    url = _address(base, variable)
    if url.user is not None or url.password is not None or url.query_string or url.fragment:
        raise UsageError(
            f"{variable} is more than an address: it has a user, a query or a fragment",
            hint="a key belongs into its own variable, and travels in a header",
        )
    root = url.path.rstrip("/")
    if root.endswith(path):
        return url.with_path(root)
    if path == "/messages" and not root.endswith("/v1"):
        root += "/v1"  # the other clients of this API add the version, whatever the path
    return url.with_path((root or "/v1") + path)


def _key(environment: Mapping[str, str], variable: str) -> str:
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"{variable} holds a character that no header can carry", hint="copy the key again"
        )
    return key


def _proxy(url: URL, environment: Mapping[str, str]) -> str:
    """What HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say, small letters first.

    This machine itself is never reached through a proxy.
    """
    found: dict[str, str] = {}
    for name in sorted(environment):  # capitals sort first, so small letters win
        if name.lower().endswith("_proxy"):
            found[name.lower().removesuffix("_proxy")] = environment[name].strip()
    proxy = found.get(url.scheme) or found.get("all") or ""
    if not proxy or _is_here(url.host or "") or _is_excepted(url, found.get("no", "")):
        return ""
    try:
        parsed = URL(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        parsed = URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(
            f"the proxy that {url.host} is to be reached through is not an HTTP proxy",
            hint="`http://proxy.example.com:3128`, in HTTPS_PROXY or HTTP_PROXY",
        )
    return str(parsed)


def _is_here(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def _is_excepted(url: URL, exceptions: str) -> bool:
    """Whether NO_PROXY has the host, a domain above it, or `*`; each with a port or without."""
    for exception in exceptions.lower().replace(" ", "").split(","):
        if exception == "*":
            return True
        domain = exception.removeprefix("*").removeprefix(".")
        for host in (f"{url.host}", f"{url.host}:{url.port}"):
            if domain and (host == domain or host.endswith(f".{domain}")):
                return True
    return False
