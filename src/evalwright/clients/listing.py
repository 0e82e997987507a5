"""The models that a provider's server says it has: `/models`, beside the chat.

Both shapes are read: a list, and an object with the list under `data`.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from evalwright.clients.anthropic import API_VERSION
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Timeouts
from evalwright.clients.providers import beside, locate

_TIMEOUTS = Timeouts(first_byte_timeout_s=20, total_timeout_s=30)
_ANTHROPIC_MOST = 1000


class Listed(Struct, frozen=True):
    """One model."""

    id: str


class Listing(Struct, frozen=True):
    """All of them."""

    data: list[Listed]


_decoder = msgspec.json.Decoder(Listing | list[Listed])


async def models_at(provider: str, environment: Mapping[str, str]) -> list[str]:
    """Their names; `UsageError` for a missing key, `ModelError` for a server that will not say."""
    messages = provider == "anthropic"
    path = "/messages" if messages else "/chat/completions"
    address = beside(locate(provider, path, environment), path, "/models")
    headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
    if messages:
        address.url = address.url.with_query(limit=_ANTHROPIC_MOST)
        headers = {"x-api-key": address.key} if address.key else {}
        headers["anthropic-version"] = API_VERSION
    endpoint = Endpoint(address, headers=headers, timeouts=_TIMEOUTS)
    try:
        found = await endpoint.get(_decoder)
    finally:
        await endpoint.close()
    listed = found.data if isinstance(found, Listing) else found
    return [one.id.removeprefix("models/") for one in listed]  # one provider writes it before each
