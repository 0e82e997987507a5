import asyncio
import base64
import json
import traceback
from urllib.parse import quote, quote_plus

import pytest
from tests.engine.models.made import Held, Says, answer, question, refused, settle

from evalwright.clients.scripted import connect
from evalwright.engine.models.base import Counters
from evalwright.engine.models.budget import Budget
from evalwright.engine.models.cache import MemoryReplyCache
from evalwright.engine.models.limits import Rate
from evalwright.engine.models.prices import Price, Prices
from evalwright.engine.models.retry import Backoff
from evalwright.engine.models.wrap import (
    AdaptiveConcurrency,
    ModelSettings,
    SharedWrapping,
    apply_wrappers,
)
from evalwright.errors import BudgetSpent, ModelError, UsageError
from evalwright.ports import Model
from evalwright.secrets import Redactor
from evalwright.types import Completion

KEY = 'sk-proj-Zm9v/+bar&baz"0123'
PRICED = Prices({"p/m": Price(1_000_000, 1_000_000)})  # a dollar a token
ONCE = Backoff(attempts=1)
QUICK = Backoff(base_s=0)


def layers(model: object) -> list[str]:
    """The names of the wrappers, outermost first."""
    found = []
    while hasattr(model, "_ask"):
        found.append(type(model).__name__)
        model = model._ask.__self__
    return found


def ask(model: Model, *texts: str) -> list[Completion]:
    async def ask_all() -> list[Completion]:
        return [await model.complete(question(text)) for text in texts]

    return asyncio.run(ask_all())


def test_a_plain_run_pays_nothing() -> None:
    client = Says()

    assert (
        apply_wrappers(client, ModelSettings(name="p/m", backoff=ONCE), SharedWrapping()) is client
    )


def test_everything_at_once_stands_in_its_order() -> None:
    model = apply_wrappers(
        Says(),
        ModelSettings(name="p/m", at_once=4, rate=Rate(requests_per_minute=60)),
        SharedWrapping(
            counters=Counters(),
            redactor=Redactor([KEY]),
            prices=PRICED,
            budget=Budget(max_cost=1),
            reply_cache=MemoryReplyCache(),
        ),
    )

    assert layers(model) == [
        *("CachedModel", "CappedModel", "MeteredModel", "RedactingModel"),
        *("RetryingModel", "LimitedModel", "RateLimitedModel", "CountedModel"),
    ]


@pytest.mark.parametrize(
    ("settings", "shared", "expected"),
    [
        pytest.param(
            ModelSettings(name="p/m"),
            SharedWrapping(),
            ["RetryingModel"],
            id="retry is for everyone",
        ),
        pytest.param(
            ModelSettings(name="p/m", backoff=ONCE, at_once=AdaptiveConcurrency()),
            SharedWrapping(),
            ["LimitedModel"],
            id="an adaptive limit",
        ),
        pytest.param(
            ModelSettings(name="p/m", backoff=ONCE, rate=Rate(tokens_per_minute=9)),
            SharedWrapping(),
            ["RateLimitedModel"],
            id="tokens alone",
        ),
        pytest.param(
            ModelSettings(name="p/m", backoff=ONCE),
            SharedWrapping(redactor=Redactor(["short"])),
            [],
            id="no secrets, no redaction",
        ),
        pytest.param(
            ModelSettings(name="p/unknown", backoff=ONCE),
            SharedWrapping(prices=PRICED),
            [],
            id="no price, no meter",
        ),
        pytest.param(
            ModelSettings(name="ollama/m", backoff=ONCE),
            SharedWrapping(prices=PRICED, budget=Budget(max_cost=1)),
            ["MeteredModel"],
            id="what is free needs no cap on costs",
        ),
        pytest.param(
            ModelSettings(name="ollama/m", backoff=ONCE),
            SharedWrapping(prices=PRICED, budget=Budget(max_tokens=1)),
            ["CappedModel", "MeteredModel"],
            id="but it needs one on tokens",
        ),
        pytest.param(
            ModelSettings(name="p/unknown", backoff=ONCE),
            SharedWrapping(prices=PRICED, budget=Budget(max_tokens=1)),
            ["CappedModel"],
            id="tokens can be capped without a price",
        ),
        pytest.param(
            ModelSettings(name="scripted/oracle", backoff=ONCE, by_sample=True),
            SharedWrapping(reply_cache=MemoryReplyCache()),
            [],
            id="who answers by the sample is not cached",
        ),
        pytest.param(
            ModelSettings(name="p/m", backoff=ONCE),
            SharedWrapping(budget=Budget()),
            [],
            id="a cap on nothing",
        ),
    ],
)
def test_only_what_has_something_to_do(
    settings: ModelSettings, shared: SharedWrapping, expected: list[str]
) -> None:
    assert layers(apply_wrappers(Says(), settings, shared)) == expected


@pytest.mark.parametrize("prices", [None, PRICED])
def test_a_cap_on_costs_that_cannot_be_kept_is_refused_before_the_first_call(
    prices: Prices | None,
) -> None:
    with pytest.raises(UsageError, match="`p/unknown` has no known price") as caught:
        apply_wrappers(
            Says(),
            ModelSettings(name="p/unknown"),
            SharedWrapping(prices=prices, budget=Budget(max_cost=5)),
        )

    assert "cap the tokens" in caught.value.hint


def test_a_stack_is_a_model_like_the_one_inside() -> None:
    client = Says()
    model = apply_wrappers(
        client, ModelSettings(name="p/m", at_once=1), SharedWrapping(reply_cache=MemoryReplyCache())
    )

    asyncio.run(model.close())

    assert (model.caveat, model.fingerprint) == (client.caveat, client.fingerprint)
    assert client.closed


def test_a_call_that_waits_to_be_retried_holds_no_place() -> None:
    async def together() -> list[str]:
        client = Says(refused(), answer("second"))
        settings = ModelSettings(name="p/m", at_once=1, backoff=Backoff(base_s=3600, cap_s=3600))
        model = apply_wrappers(client, settings, SharedWrapping())
        first = asyncio.ensure_future(model.complete(question("first")))
        await settle()
        second = await asyncio.wait_for(model.complete(question("second")), timeout=60)
        first.cancel()
        return [second.text]

    assert asyncio.run(together()) == ["second"]


def test_the_cap_sees_what_the_meter_says_and_the_cache_is_not_capped() -> None:
    client = Says(answer(prompt=1, completion=1))
    shared = SharedWrapping(
        prices=PRICED, budget=Budget(max_cost=4), reply_cache=MemoryReplyCache()
    )
    model = apply_wrappers(client, ModelSettings(name="p/m"), shared)

    found = ask(model, "a", "a", "b", "a", "b")
    with pytest.raises(BudgetSpent):
        ask(model, "c")

    assert [one.usage.cost for one in found] == [2, 0, 2, 0, 0]
    assert ask(model, "a", "b")[0].text == "4"


def test_the_counters_tell_the_whole_story() -> None:
    counters = Counters()
    client = Says(refused(), answer(), ModelError("server", "500", retryable=True), answer())
    shared = SharedWrapping(counters=counters, reply_cache=MemoryReplyCache())
    model = apply_wrappers(client, ModelSettings(name="p/m", backoff=QUICK), shared)

    ask(model, "a", "a", "b")

    assert counters == Counters(requests=4, retries=2, cache_hits=1)


def test_equal_questions_share_one_call_through_the_whole_stack() -> None:
    async def together() -> int:
        client = Held()
        model = apply_wrappers(
            client,
            ModelSettings(name="p/m", at_once=4),
            SharedWrapping(reply_cache=MemoryReplyCache()),
        )
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(4)]
        await settle()
        client.go.set()
        await asyncio.gather(*calls)
        return len(client.asked)

    assert asyncio.run(together()) == 1


def test_a_script_answers_through_the_stack() -> None:
    model = apply_wrappers(
        connect("echo"), ModelSettings(name="scripted/echo"), SharedWrapping(prices=Prices())
    )

    assert ask(model, "hello")[0].text == "hello"


SPELLINGS = {
    "plain": KEY,
    "URL": quote(KEY, safe=""),
    "form": quote_plus(KEY),
    "JSON": json.dumps(KEY)[1:-1],
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 in a header": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "URL-safe base64": base64.urlsafe_b64encode(f"me:{KEY}!".encode()).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("retryable", [True, False])
@pytest.mark.parametrize("retry_after_s", [None, 0.0, 9999.0])
def test_no_failure_says_the_key(
    spelling: str,
    retryable: bool,  # noqa: FBT001 - a table
    retry_after_s: float | None,
) -> None:
    said = f"refused: {spelling}"
    error = ModelError("auth", said, retryable=retryable, retry_after_s=retry_after_s, hint=said)
    error.__cause__ = OSError(said)
    reply_cache = MemoryReplyCache()
    shared = SharedWrapping(redactor=Redactor([KEY]), reply_cache=reply_cache, counters=Counters())
    model = apply_wrappers(Says(error), ModelSettings(name="p/m", backoff=QUICK), shared)

    with pytest.raises(ModelError) as caught:
        ask(model, "a")

    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    assert "refused: " in told
    assert not any(form in told for form in SPELLINGS.values())
    assert reply_cache.replies == {}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_no_answer_and_no_cache_keeps_the_key(spelling: str) -> None:
    reply_cache = MemoryReplyCache()
    shared = SharedWrapping(redactor=Redactor([KEY]), reply_cache=reply_cache)
    model = apply_wrappers(Says(answer(f"I saw {spelling}.")), ModelSettings(name="p/m"), shared)

    found = ask(model, "a", "a")

    kept = b"".join(reply_cache.replies.values())
    assert [one.text[:6] for one in found] == ["I saw "] * 2
    assert not any(form in one.text for one in found for form in SPELLINGS.values())
    assert not any(form.encode() in kept for form in SPELLINGS.values())
