"""Put the wrappers around a client, in their order, and only those that have something to do.

From the inside out, and why there:

    Counted       sees single attempts
    RateLimited   a call is sent the moment it is due, with no gate left to pass
    Limited       a call that waits to be retried holds no place
    Retrying
    Redacting     whatever is further out may keep what it sees
    Metered       the cap and the cache see costs
    Capped        an answer from the cache costs nothing, so it is not capped
    Cached
"""

from msgspec import Struct

from evalwright.engine.models.cache import Cached
from evalwright.engine.models.cap import Budget, Capped
from evalwright.engine.models.count import Counted, Counters
from evalwright.engine.models.limit import AdaptiveGate, Gate, Limited
from evalwright.engine.models.meter import Metered
from evalwright.engine.models.prices import Price, Prices
from evalwright.engine.models.rate import Rate, RateLimited
from evalwright.engine.models.redact import Redacting
from evalwright.engine.models.retry import Backoff, Retrying
from evalwright.errors import UsageError
from evalwright.ports import Model, Shelf
from evalwright.secrets import Redactor


class Adaptive(Struct, frozen=True, kw_only=True):
    """As many at once as the server can take."""

    start: int = 8
    most: int = 64


class Settings(Struct, frozen=True, kw_only=True):
    """Of one model."""

    name: str
    """`provider/model`."""
    backoff: Backoff = Backoff()
    at_once: int | Adaptive | None = None
    rate: Rate = Rate()
    by_sample: bool = False
    """Whether it looks at the sample, which is no part of a cache's key: then it has no cache."""


class Shared(Struct, frozen=True, kw_only=True):
    """What all models of a run have in common; what is None is not wanted."""

    counters: Counters | None = None
    redactor: Redactor | None = None
    prices: Prices | None = None
    budget: Budget | None = None
    shelf: Shelf | None = None


def stack(client: Model, settings: Settings, shared: Shared) -> Model:
    """The client, made patient, polite, thrifty and discreet, as far as that is wanted.

    Raises `UsageError` for a cap on costs where the price is not known: a cap that cannot be kept
    is worse than none.
    """
    price = shared.prices.of(settings.name) if shared.prices else None
    model = _sending(client, settings, shared)
    if shared.redactor:
        model = Redacting(model, shared.redactor)
    if price is not None:
        model = Metered(model, price)
    if shared.budget is not None and _binds(shared.budget, settings.name, price):
        model = Capped(model, shared.budget)
    if shared.shelf is not None and not settings.by_sample:
        model = Cached(model, settings.name, shelf=shared.shelf, counters=shared.counters)
    return model


def _sending(client: Model, settings: Settings, shared: Shared) -> Model:
    model = client
    if shared.counters is not None:
        model = Counted(model, shared.counters)
    if settings.rate != Rate():
        model = RateLimited(model, settings.rate)
    if settings.at_once is not None:
        model = Limited(model, _gate(settings.at_once))
    if settings.backoff.attempts > 1:
        model = Retrying(model, settings.backoff, counters=shared.counters)
    return model


def _gate(at_once: int | Adaptive) -> Gate:
    if isinstance(at_once, Adaptive):
        return AdaptiveGate(at_once.start, at_once.most)
    return Gate(at_once)


def _binds(budget: Budget, name: str, price: Price | None) -> bool:
    """Whether there is a cap that this model could reach."""
    if budget.max_cost is not None and price is None:
        raise UsageError(
            f"`{name}` has no known price, so a cap on costs cannot be kept",
            hint="give its price in a table (`--prices FILE`), or cap the tokens instead",
        )
    costs = budget.max_cost is not None and price is not None and not price.free
    return costs or budget.max_tokens is not None
