"""Models declared in documents: `custom_connection` (a URL) and `custom_inference` (Python).

Both are queried through an adapter, which builds the body from the input and parses the reply.

`custom_connection` sends the body to the exact URL in a POST request. `api_key` is sent as
`Authorization: Bearer …`, unless a header with that name is declared. Error statuses are handled
and retried as for providers. Bodies are stored unchanged with the answer. The fingerprint contains
no keys, only the names of headers and a digest of each value that is neither a key, judging by its
name, nor a declared secret. Values are included because a header such as an API version may change
the answers.

`custom_inference` calls the author's function in a snippet process, with only the variables that
the document sets in `environment`:

    def run_inference(body: str, environment: dict, sample: dict | None = None) -> str: ...

The function returns the reply as text or as an object that is converted to JSON.

A function with a third parameter receives the sample's row. Its answers depend on more than the
request, so they must not be cached by request alone: see `takes_sample`.
"""

import ast
import base64
import binascii
import ssl
from collections.abc import Mapping
from hashlib import blake2b
from json import dumps
from typing import Any

from msgspec import Struct

from evalwright.clients.adapters import AdaptedModel, Adapter, AdapterInfo, parse_json
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import (
    SamplingParameters,
    check_parameters,
    reject_misspelled_parameters,
)
from evalwright.clients.providers import locate_document
from evalwright.errors import ModelError, SnippetFailed, UsageError
from evalwright.ports import Snippets
from evalwright.secrets import (
    SCHEME,
    Redactor,
    Secret,
    find_credentials,
    is_secret_name,
    secrets_in,
)
from evalwright.types import ModelOptions, Request

FUNCTION = "run_inference"
_UNCHECKED = "the server's certificate is not checked"
_NEVER = {"model": "it is taken from the document's `model_key`", "messages": "the task sets them"}
_LOGINS = {"authorization", "cookie", "proxy-authorization"}
_OK = 200
_ARGUMENTS = 3
_RETRYABLE = {
    "BrokenPipeError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "TimeoutError",
}
"""Network errors, except the timeout of a call."""


class ConnectionConfig(Struct, frozen=True, kw_only=True):
    """An endpoint declared in a document."""

    url: str
    api_key: Secret | None = None
    headers: dict[str, Secret] = {}
    trusted_ca: Secret | None = None
    accept_untrusted: bool = False


class CustomConnectionModel(AdaptedModel):
    """Queries an endpoint through an adapter."""

    def __init__(
        self, config: ConnectionConfig, adapter: Adapter, info: AdapterInfo, options: ModelOptions
    ) -> None:
        reject_misspelled_parameters(options.parameters, model=info.key)
        parameters, timeouts = check_parameters(
            options.parameters, SamplingParameters, model=info.key, never=_NEVER
        )
        key = config.api_key.reveal().strip() if config.api_key else ""
        headers = {name: value.reveal().strip() for name, value in config.headers.items()}
        if key and "authorization" not in map(str.lower, headers):
            headers["Authorization"] = f"Bearer {key}"
        address = locate_document(config.url, key, options.environment)
        url = address.url
        in_url = [*secrets_in(dict(url.query)), *find_credentials(str(url))]
        self._endpoint = Endpoint(
            address,
            headers=headers,
            timeouts=timeouts,
            secrets=[
                *(secret.reveal().strip() for secret in find_secret_values(config.headers)),
                *in_url,
            ],
            tls=_make_tls(config),
        )
        lower = {name.lower(): value.lower() for name, value in headers.items()}
        self._must_be_json = "json" in lower.get("content-type", "json")
        self.caveat = _UNCHECKED if config.accept_untrusted else ""
        shown = url.with_query([(n, v) for n, v in url.query.items() if v not in in_url])
        facts = {
            "url": Redactor(in_url).clean(str(shown)),
            "headers": hash_values(config.headers),
            "untrusted": config.accept_untrusted,
            "json": self._must_be_json,
        }
        super().__init__(
            adapter, info, parameters=parameters, facts=facts, clean=self._endpoint.clean
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _exchange(self, body: str, request: Request) -> tuple[str, int]:
        del request
        if self._must_be_json:
            parse_json(body, "the adapter's body")
        return await self._endpoint.ask_text(body.encode())


def _make_tls(config: ConnectionConfig) -> ssl.SSLContext | None:
    if not config.accept_untrusted and not config.trusted_ca:
        return None
    trusted_ca = config.trusted_ca.reveal() if config.trusted_ca else ""
    return make_tls_context(trusted_ca, accept_untrusted=config.accept_untrusted)


def make_tls_context(trusted_ca: str = "", *, accept_untrusted: bool = False) -> ssl.SSLContext:
    """Return a context that trusts only `trusted_ca` (PEM in base64), by default the system's."""
    try:
        pem = base64.b64decode("".join(trusted_ca.split()), validate=True).decode("ascii")
        context = ssl.create_default_context(cadata=pem or None)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError) as error:
        raise UsageError(
            "`trusted_ca` is not a certificate",
            hint="expected PEM in base64, as printed by `base64 -w0 ca.pem`",
        ) from error
    if pem:
        # Python 3.13 requires extensions that the certificates of most private CAs lack.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if accept_untrusted:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class InferenceConfig(Struct, frozen=True, kw_only=True):
    """A function declared in a document."""

    function: str
    """Name of the function for the `Snippets` port."""
    text: str
    """The Python code and a hash of the imported modules; part of the fingerprint."""
    environment: dict[str, Secret] = {}
    timeout_s: float


class CustomInferenceModel(AdaptedModel):
    """Calls a function through an adapter."""

    def __init__(
        self,
        snippets: Snippets,
        config: InferenceConfig,
        adapter: Adapter,
        info: AdapterInfo,
        *,
        parameters: dict[str, Any],
    ) -> None:
        digest = blake2b(config.text.encode(), digest_size=16).hexdigest()
        self._environment = {name: value.reveal() for name, value in config.environment.items()}
        super().__init__(
            adapter,
            info,
            parameters=parameters,
            facts={"snippet": digest, "environment": hash_values(config.environment)},
            clean=Redactor(self._environment.values()).clean,
        )
        self._snippets, self._config = snippets, config
        self._takes_sample = takes_sample(config.text)

    async def close(self) -> None:
        """Do nothing, because the snippets are closed elsewhere."""

    async def _exchange(self, body: str, request: Request) -> tuple[str, int]:
        arguments: list[Any] = [body, self._environment]
        if self._takes_sample:
            row = request.sample.data
            arguments.append(row if isinstance(row, dict) else None)
        config = self._config
        try:
            reply = await self._snippets.call(
                config.function, arguments, timeout_s=config.timeout_s, waits=True
            )
        except SnippetFailed as error:
            failed = ModelError(
                "inference",
                self._clean(error.message),
                retryable=error.kind in _RETRYABLE,
                hint=self._clean(error.hint),
            )
        else:
            if isinstance(reply, str):
                return reply, _OK
            if isinstance(reply, dict | list):
                return dumps(reply, ensure_ascii=False), _OK
            got = type(reply).__name__
            failed = ModelError(
                "inference", f"expected `{FUNCTION}` to return text or JSON, got `{got}`"
            )
        raise failed  # raised here, because the cause may contain the key


def takes_sample(source: str) -> bool:
    """Whether the function has a parameter for the sample."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == FUNCTION:
            places = len(node.args.posonlyargs) + len(node.args.args)
            return places >= _ARGUMENTS or node.args.vararg is not None
    return False


def hash_values(values: Mapping[str, Secret]) -> dict[str, str]:
    """Return the names with a digest of each value; for keys, without a digest."""
    keys = select_keys(values)
    return {
        name: "" if name in keys else blake2b(value.reveal().encode(), digest_size=8).hexdigest()
        for name, value in values.items()
    }


def select_keys(values: Mapping[str, Secret]) -> dict[str, Secret]:
    """Return the headers or variables with keys, judging by name, declaration or scheme."""
    return {
        name: value
        for name, value in values.items()
        if value.declared or _is_key_name(name) or SCHEME.match(value.reveal())
    }


def find_secret_values(values: Mapping[str, Secret]) -> tuple[Secret, ...]:
    """Return the values to redact: keys and values that look like credentials."""
    credentials = [
        Secret(part) for value in values.values() for part in find_credentials(value.reveal())
    ]
    return tuple(dict.fromkeys((*select_keys(values).values(), *credentials)))


def _is_key_name(name: str) -> bool:
    return name.lower() in _LOGINS or is_secret_name(name)
