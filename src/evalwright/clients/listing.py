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


class ListedModel(Struct, frozen=True):
    """One model."""

    id: str


class ModelList(Struct, frozen=True):
    """The models of a server."""

    data: list[ListedModel]


_decoder = msgspec.json.Decoder(ModelList | list[ListedModel])


async def list_served_models(provider: str, environment: Mapping[str, str]) -> list[str]:
    """Return the names of a provider's models; `UsageError` for a missing key."""
    is_anthropic = provider == "anthropic"
    path = "/messages" if is_anthropic else "/chat/completions"
    address = beside(locate(provider, path, environment), path, "/models")
    headers = address.bearer
    if is_anthropic:
        address.url = address.url.with_query(limit=_ANTHROPIC_MOST)
        headers = {"x-api-key": address.key} if address.key else {}
        headers["anthropic-version"] = API_VERSION
    endpoint = Endpoint(address, headers=headers, timeouts=_TIMEOUTS)
    try:
        reply = await endpoint.get(_decoder)
    finally:
        await endpoint.close()
    models = reply.data if isinstance(reply, ModelList) else reply
    return [model.id.removeprefix("models/") for model in models]  # one provider writes it so
