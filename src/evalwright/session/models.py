"""Connect models by their names, and wrap them with retry, limits, cache, budget and redaction."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from msgspec import Struct, structs

from evalwright.clients.llama.settings import LlamaSettings
from evalwright.clients.parameters import reject_misspelled_parameters, resolve_extra
from evalwright.clients.providers import split_provider_address
from evalwright.engine.models.base import Counters
from evalwright.engine.models.budget import Budget
from evalwright.engine.models.limits import Rate
from evalwright.engine.models.prices import Prices, read_prices
from evalwright.engine.models.retry import Backoff
from evalwright.engine.models.wrap import (
    AdaptiveConcurrency,
    ModelSettings,
    SharedWrapping,
    apply_wrappers,
)
from evalwright.errors import UsageError
from evalwright.generation_parameters import split_parameters
from evalwright.plan.options import RunOptions
from evalwright.ports import Model, Snippets
from evalwright.registry import BUILT_IN, load
from evalwright.secrets import Redactor, Secret
from evalwright.session.stores import open_reply_cache
from evalwright.types import NOTHING, MLTask, ModelOptions, Usage

SAMPLE_READERS = frozenset({"replay", "scripted"})
"""Providers whose answers depend on the sample, not only on the request."""
LOCAL_PROVIDERS = frozenset({"local", *SAMPLE_READERS})
"""Providers that run locally: a call that fails would fail again."""


class Connection(Struct, frozen=True, kw_only=True):
    """An unwrapped client, and how to call it."""

    name: str
    """`provider/model` if there is one, otherwise the key: for prices."""
    client: Model
    requests_per_minute: float | None = None
    at_once: int | None = None
    """Maximum concurrent requests; None for as many as the server accepts."""
    task: MLTask | None = None
    """The kind of requests it is declared for; None for everything its API can do."""
    remote: bool = True
    """Whether a call may fail now and succeed later."""
    by_sample: bool = False
    """Whether it reads the sample, which is not in a cache's key: then it has no cache."""
    secrets: tuple[Secret, ...] = ()
    """Values that must not be stored."""


Connector = Callable[[str, Snippets | None], Connection]
"""Connects models by name; a model may be one of the author's snippets."""


def connect_provider(name: str, options: ModelOptions) -> Connection:
    """Connect the model `provider/model`, with `?NAME=VALUE` and `@URL` if it has them.

    The parameters in the name take precedence over those in the options.
    """
    name, own = split_parameters(name)
    provider, _, rest = name.partition("/")
    if not provider or not rest:
        raise UsageError(f"`{name}` is not a model", hint="write provider/model")
    rest, base_url = split_provider_address(provider, rest)
    options = override_parameters(options, own, model=name)
    reject_misspelled_parameters(options.parameters, model=f"{provider}/{rest}", in_name=own)
    if provider not in BUILT_IN["models"]:  # a plugin takes names as they are
        options = structs.replace(options, parameters=resolve_extra(options.parameters))
    options = structs.replace(options, provider=provider, base_url=base_url)
    client: Model = load("models", provider)(rest, options)
    return Connection(
        name=name,
        client=client,
        at_once=slots_of(client),
        remote=provider not in LOCAL_PROVIDERS,
        by_sample=provider in SAMPLE_READERS,
    )


def override_parameters(
    options: ModelOptions, parameters: Mapping[str, Any], *, model: str
) -> ModelOptions:
    """Return the options with a model's own parameters, and tell what they override."""
    for name, value in parameters.items():
        if (general := options.parameters.get(name, value)) != value:
            options.tell(
                f"warning: `-p {name}={general}` has no effect on {model}, which sets it to {value}"
            )
    return structs.replace(options, parameters={**options.parameters, **parameters})


def provider_connector(
    options: RunOptions, *, tell: Callable[[str], None] = lambda _: None
) -> Connector:
    """Connects models of providers, with the keys in the environment."""
    model_options = ModelOptions(
        parameters=options.parameters, environment=dict(os.environ), tell=tell
    )

    def connect(name: str, snippets: Snippets | None) -> Connection:
        del snippets
        return connect_provider(name, model_options)

    return connect


def prefer_connections(connect: Connector, connections: Mapping[str, Connection]) -> Connector:
    """Return a connector that uses these connections for their names, and `connect` for others."""

    def connect_either(name: str, snippets: Snippets | None) -> Connection:
        return connections.get(name) or connect(name, snippets)

    return connect_either


def wrap_models(
    connections: Mapping[str, Connection], options: RunOptions, shared: SharedWrapping
) -> dict[str, Model]:
    """Return the models, wrapped with retry, rate limit, cache, budget and redaction."""
    return {
        name: _wrap_model(name, connection, options, shared)
        for name, connection in connections.items()
    }


def _wrap_model(
    name: str, connection: Connection, options: RunOptions, shared: SharedWrapping
) -> Model:
    remote = connection.remote
    adaptive = AdaptiveConcurrency() if remote and options.concurrency is None else None
    settings = ModelSettings(
        name=connection.name or name,
        backoff=Backoff(attempts=1 + (options.retries if remote else 0)),
        at_once=connection.at_once or slots_of(connection.client) or adaptive,
        by_sample=connection.by_sample,
        rate=Rate(
            requests_per_minute=options.requests_per_minute or connection.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
        )
        if remote
        else Rate(),
    )
    return apply_wrappers(connection.client, settings, shared)


def share_limits(
    options: RunOptions,
    exit_stack: ExitStack,
    *,
    redactor: Redactor | None,
    counters: Counters | None = None,
    spent: Callable[[], Usage] = lambda: NOTHING,
    command: str = "run",
) -> SharedWrapping:
    """Return the settings that all models share; `spent` is called only if there is a budget."""
    capped = options.max_cost is not None or options.max_tokens_total is not None
    return SharedWrapping(
        counters=counters or Counters(),
        redactor=redactor or None,
        prices=Prices(read_prices(options.prices) if options.prices else None),
        budget=Budget(
            max_cost=options.max_cost,
            max_tokens=options.max_tokens_total,
            spent=spent(),
            command=command,
        )
        if capped
        else None,
        reply_cache=open_reply_cache(exit_stack) if options.cache else None,
    )


def choose_workers(
    models: Sequence[str], options: RunOptions, *, needs_sandbox: bool = False
) -> int:
    """Return the requested concurrency, or one that adapts to the server."""
    if options.concurrency is not None:
        return options.concurrency
    providers = {name.partition("/")[0] for name in models if name}
    if providers - LOCAL_PROVIDERS:
        return AdaptiveConcurrency().most
    if "local" in providers:  # while one is computed, the next is ready
        return 2 * int(options.parameters.get("slots", LlamaSettings().slots))
    # A program is a process here.
    return 4 * (os.cpu_count() or 1) if needs_sandbox else AdaptiveConcurrency().most


def slots_of(client: Model) -> int | None:
    """Return how many concurrent calls a local model accepts; None if unknown."""
    slots: int | None = getattr(client, "slots", None)
    return slots


def caveat_notes(clients: Mapping[str, Model]) -> tuple[str, ...]:
    """Return one note per caveat, with the models it applies to."""
    names: dict[str, list[str]] = {}
    for name, client in clients.items():
        if client.caveat:
            names.setdefault(client.caveat, []).append(name)
    return tuple(f"{', '.join(about)}: {caveat}" for caveat, about in names.items())
