"""A model behind an address of its own: what a document's `custom_connection` describes.

The body is what the adapter makes of the input; it is sent by POST to the whole address, nothing
appended. `api_key` goes out as `Authorization: Bearer …`, unless a header of that name is given.
Statuses that are no success are failures, and tried again where that may help, as at a provider;
what comes back otherwise, the adapter reads. Bodies are kept with the answer, word for word.

Does not:   put a key into its fingerprint. Headers are part of it by their names, and by a digest
            of what is no key, neither by its name nor declared a secret: an API's version may
            change the answers.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.clients.adapters import Adapter, Info, asked_by, parsed
from evalwright.clients.http import Endpoint
from evalwright.clients.outputs import completion_of
from evalwright.clients.parameters import Sampling, check
from evalwright.clients.providers import declared
from evalwright.clients.tls import context
from evalwright.errors import ModelError
from evalwright.secrets import Secret, secrets_in
from evalwright.types import Completion, ModelOptions, Request

_NEVER = {"model": "it is the document's `model_key`", "messages": "they are the task's"}
_LOGINS = {"authorization", "cookie"}


class Where(Struct, frozen=True, kw_only=True):
    """The endpoint, as a document tells it."""

    url: str
    api_key: Secret | None = None
    headers: dict[str, Secret] = {}
    trusted_ca: Secret | None = None
    accept_untrusted: bool = False

    @property
    def own_trust(self) -> bool:
        """Whether certificates are checked otherwise than everywhere."""
        return self.accept_untrusted or self.trusted_ca is not None


class Connection:
    """Asks one address, through an adapter."""

    def __init__(
        self,
        endpoint: Endpoint,
        adapter: Adapter,
        info: Info,
        *,
        parameters: dict[str, Any],
        facts: Mapping[str, Any],
    ) -> None:
        """`facts` are what is known of the address, without secrets."""
        self.caveat = "the server's certificate is not checked" if facts["untrusted"] else ""
        self.fingerprint = fingerprint_of(adapter, info, parameters, facts)
        self._endpoint = endpoint
        self._adapter = adapter
        self._info = info
        self._parameters = parameters
        self._must_be_json = bool(facts["json"])

    async def complete(self, request: Request) -> Completion:
        """One answer."""
        fits(request, self._info)
        asked = asked_by(request, self._parameters)
        body = self._adapter.outgoing(asked, self._info)
        if self._must_be_json:
            parsed(body, "the body that the adapter makes")
        said, status = await self._endpoint.tell(body.encode())
        output = self._adapter.incoming(said, status, self._info)
        found = completion_of(
            output,
            request.task,
            clean=self._endpoint.clean,
            texts=asked.texts,
            takes_all=request.takes_all,
        )
        return structs.replace(found, bodies=(body, said))

    async def close(self) -> None:
        """Let go of connections."""
        await self._endpoint.close()


def connect(where: Where, adapter: Adapter, info: Info, options: ModelOptions) -> Connection:
    """The model at that address."""
    parameters, timeouts = check(options.parameters, Sampling, model=info.key, never=_NEVER)
    key = where.api_key.reveal().strip() if where.api_key else ""
    headers = {name: value.reveal().strip() for name, value in where.headers.items()}
    if key and "authorization" not in map(str.lower, headers):
        headers["Authorization"] = f"Bearer {key}"
    address = declared(where.url, key, options.environment)
    url = address.url
    in_url = secrets_in(dict(url.query))
    trusted = where.trusted_ca.reveal() if where.trusted_ca else ""
    endpoint = Endpoint(
        address,
        headers=headers,
        timeouts=timeouts,
        secrets=[*(headers[name] for name in logins(where.headers)), *in_url],
        tls=context(trusted, accept_untrusted=where.accept_untrusted) if where.own_trust else None,
    )
    content = {name.lower(): value for name, value in headers.items()}.get("content-type", "json")
    facts = {
        "url": str(url.with_query([(n, v) for n, v in url.query.items() if v not in in_url])),
        "headers": digests(where.headers),
        "untrusted": where.accept_untrusted,
        "json": "json" in content.lower(),
    }
    return Connection(endpoint, adapter, info, parameters=parameters, facts=facts)


def fits(request: Request, info: Info) -> None:
    """`ModelError` if the model is not declared for what is asked."""
    if request.task != info.task:
        raise ModelError(
            "unsupported",
            f"the model `{info.key}` is declared for `{info.task}`, and asked for `{request.task}`",
        )


def fingerprint_of(
    adapter: Adapter, info: Info, parameters: dict[str, Any], facts: Mapping[str, Any]
) -> str:
    """All that changes the answers, as JSON. The project's name for a model does not."""
    told = {
        "adapter": blake2b(adapter.source.encode(), digest_size=16).hexdigest(),
        "model_key": info.model_key,
        "task": info.task,
        "parameters": parameters,
        **facts,
    }
    return msgspec.json.encode(told, order="sorted").decode()


def digests(values: Mapping[str, Secret]) -> dict[str, str]:
    """Names with a digest of their value; without one where it is a key."""
    keys = logins(values)
    return {
        name: "" if name in keys else blake2b(value.reveal().encode(), digest_size=8).hexdigest()
        for name, value in values.items()
    }


def logins(values: Mapping[str, Secret]) -> dict[str, Secret]:
    """The headers or variables that hold a key: by their names, or because it was declared one."""
    return {name: value for name, value in values.items() if value.declared or is_login(name)}


def is_login(name: str) -> bool:
    """Whether a header or a variable of that name holds a key."""
    plain = name.replace("-", "_")
    return plain.lower() in _LOGINS or bool(secrets_in({plain: "x" * 8}))
