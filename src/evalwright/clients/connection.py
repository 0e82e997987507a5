"""A model behind an address of its own: what a document's `custom_connection` describes.

The body is what the adapter makes of the input; it is sent by POST to the whole address, nothing
appended. `api_key` goes out as `Authorization: Bearer …`, unless a header of that name is given.
Statuses that are no success are failures, and tried again where that may help, as at a provider;
what comes back otherwise, the adapter reads. Bodies are kept with the answer, word for word.

Does not:   put a key into its fingerprint. Headers are part of it by their names, and by a digest
            of what is no key, neither by its name nor declared a secret: an API's version may
            change the answers.
"""

import base64
import binascii
import ssl
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from evalwright.clients.adapters import (
    AdaptedModel,
    Adapter,
    AdapterInfo,
    hash_values,
    parse_json,
    select_logins,
)
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Sampling, check_parameters
from evalwright.clients.providers import declared
from evalwright.errors import UsageError
from evalwright.secrets import Secret, secrets_in
from evalwright.types import ModelOptions, Request

_NEVER = {"model": "it is the document's `model_key`", "messages": "they are the task's"}


class ConnectionConfig(Struct, frozen=True, kw_only=True):
    """The endpoint, as a document declares it."""

    url: str
    api_key: Secret | None = None
    headers: dict[str, Secret] = {}
    trusted_ca: Secret | None = None
    accept_untrusted: bool = False

    def make_tls_context(self) -> ssl.SSLContext | None:
        """Return how certificates are checked; None where it is as everywhere."""
        if not self.accept_untrusted and self.trusted_ca is None:
            return None
        trusted_ca = self.trusted_ca.reveal() if self.trusted_ca else ""
        return make_tls_context(trusted_ca, accept_untrusted=self.accept_untrusted)


class CustomConnectionModel(AdaptedModel):
    """Asks one address, through an adapter."""

    def __init__(
        self,
        endpoint: Endpoint,
        adapter: Adapter,
        info: AdapterInfo,
        *,
        parameters: dict[str, Any],
        facts: Mapping[str, Any],
    ) -> None:
        """Take `facts`: what is known of the address, without secrets."""
        super().__init__(adapter, info, parameters=parameters, facts=facts, clean=endpoint.clean)
        self.caveat = "the server's certificate is not checked" if facts["untrusted"] else ""
        self._endpoint = endpoint
        self._must_be_json = bool(facts["json"])

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _exchange(self, body: str, request: Request) -> tuple[str, int]:
        del request
        if self._must_be_json:
            parse_json(body, "the body that the adapter makes")
        return await self._endpoint.ask_text(body.encode())


def connect(
    config: ConnectionConfig, adapter: Adapter, info: AdapterInfo, options: ModelOptions
) -> CustomConnectionModel:
    """Connect the model at that address."""
    parameters, timeouts = check_parameters(
        options.parameters, Sampling, model=info.key, never=_NEVER
    )
    key = config.api_key.reveal().strip() if config.api_key else ""
    headers = {name: value.reveal().strip() for name, value in config.headers.items()}
    if key and "authorization" not in map(str.lower, headers):
        headers["Authorization"] = f"Bearer {key}"
    address = declared(config.url, key, options.environment)
    url = address.url
    in_url = secrets_in(dict(url.query))
    endpoint = Endpoint(
        address,
        headers=headers,
        timeouts=timeouts,
        secrets=[*(headers[name] for name in select_logins(config.headers)), *in_url],
        tls=config.make_tls_context(),
    )
    content = {name.lower(): value for name, value in headers.items()}.get("content-type", "json")
    facts = {
        "url": str(url.with_query([(n, v) for n, v in url.query.items() if v not in in_url])),
        "headers": hash_values(config.headers),
        "untrusted": config.accept_untrusted,
        "json": "json" in content.lower(),
    }
    return CustomConnectionModel(endpoint, adapter, info, parameters=parameters, facts=facts)


def make_tls_context(trusted_ca: str = "", *, accept_untrusted: bool = False) -> ssl.SSLContext:
    """Return how certificates are checked.

    `trusted_ca` is PEM in base64. Its authorities are trusted instead of the machine's own; without
    it, those of the machine are.
    """
    try:
        pem = base64.b64decode("".join(trusted_ca.split()), validate=True).decode("ascii")
        context = ssl.create_default_context(cadata=pem or None)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError) as error:
        raise UsageError(
            "`trusted_ca` is not a certificate",
            hint="it is PEM in base64: `base64 -w0 ca.pem` writes it",
        ) from error
    if pem:
        # Python 3.13 asks more of an authority than private ones mostly have.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if accept_untrusted:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
