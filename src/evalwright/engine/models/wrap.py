"""Put the wrappers around a client, in the order that the package describes."""

from msgspec import Struct

from evalwright.engine.models.base import CountedModel, Counters
from evalwright.engine.models.budget import Budget, CappedModel
from evalwright.engine.models.cache import CachedModel
from evalwright.engine.models.limits import AdaptiveGate, Gate, LimitedModel, Rate, RateLimitedModel
from evalwright.engine.models.prices import MeteredModel, Price, Prices
from evalwright.engine.models.retry import Backoff, RetryingModel
from evalwright.engine.redact import RedactingModel
from evalwright.errors import UsageError
from evalwright.ports import Model, ReplyCache
from evalwright.secrets import Redactor


class AdaptiveConcurrency(Struct, frozen=True, kw_only=True):
    """Concurrency that adapts to the server."""

    start: int = 8
    most: int = 64


class ModelSettings(Struct, frozen=True, kw_only=True):
    """Settings of one model."""

    name: str
    """`provider/model`."""
    backoff: Backoff = Backoff()
    at_once: int | AdaptiveConcurrency | None = None
    rate: Rate = Rate()
    by_sample: bool = False
    """Whether it reads the sample, which is not in a cache's key: then it has no cache."""


class SharedWrapping(Struct, frozen=True, kw_only=True):
    """Settings that all models of a run share; None turns a wrapper off."""

    counters: Counters | None = None
    redactor: Redactor | None = None
    prices: Prices | None = None
    budget: Budget | None = None
    reply_cache: ReplyCache | None = None


def apply_wrappers(client: Model, settings: ModelSettings, shared: SharedWrapping) -> Model:
    """Return the client with the wrappers that its settings require.

    Raises `UsageError` for a budget in dollars where the price is unknown: such a budget cannot be
    enforced.
    """
    price = shared.prices.of(settings.name) if shared.prices else None
    model = _wrap_sending(client, settings, shared)
    if shared.redactor:
        model = RedactingModel(model, shared.redactor)
    if price is not None:
        model = MeteredModel(model, price)
    if shared.budget is not None and _needs_budget(shared.budget, settings.name, price):
        model = CappedModel(model, shared.budget)
    if shared.reply_cache is not None and not settings.by_sample:
        model = CachedModel(
            model, settings.name, reply_cache=shared.reply_cache, counters=shared.counters
        )
    return model


def _wrap_sending(client: Model, settings: ModelSettings, shared: SharedWrapping) -> Model:
    model = client
    if shared.counters is not None:
        model = CountedModel(model, shared.counters)
    if settings.rate != Rate():
        model = RateLimitedModel(model, settings.rate)
    if settings.at_once is not None:
        model = LimitedModel(model, _gate(settings.at_once))
    if settings.backoff.attempts > 1:
        model = RetryingModel(model, settings.backoff, counters=shared.counters)
    return model


def _gate(at_once: int | AdaptiveConcurrency) -> Gate:
    if isinstance(at_once, AdaptiveConcurrency):
        return AdaptiveGate(at_once.start, at_once.most)
    return Gate(at_once)


def _needs_budget(budget: Budget, name: str, price: Price | None) -> bool:
    if budget.max_cost is not None and price is None:
        raise UsageError(
            f"`{name}` has no known price, so a cost cap cannot be enforced",
            hint="add its price to a table (`--prices FILE`), or cap the tokens instead",
        )
    costs = budget.max_cost is not None and price is not None and not price.free
    return costs or budget.max_tokens is not None
