import asyncio
import base64
import json
import traceback
from urllib.parse import quote, quote_plus

import pytest
from tests.engine.models.made import Held, Says, answer, question, refused, settle

from evalwright.clients.scripted import connect
from evalwright.engine.models.cache import MemoryShelf
from evalwright.engine.models.cap import Budget
from evalwright.engine.models.count import Counters
from evalwright.engine.models.prices import Price, Prices
from evalwright.engine.models.rate import Rate
from evalwright.engine.models.retry import Backoff
from evalwright.engine.models.stack import Adaptive, Settings, Shared, stack
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

    assert stack(client, Settings(name="p/m", backoff=ONCE), Shared()) is client


def test_everything_at_once_stands_in_its_order() -> None:
    model = stack(
        Says(),
        Settings(name="p/m", at_once=4, rate=Rate(requests_per_minute=60)),
        Shared(
            counters=Counters(),
            redactor=Redactor([KEY]),
            prices=PRICED,
            budget=Budget(max_cost=1),
            shelf=MemoryShelf(),
        ),
    )

    assert layers(model) == [
        *("Cached", "Capped", "Metered", "Redacting"),
        *("Retrying", "Limited", "RateLimited", "Counted"),
    ]


@pytest.mark.parametrize(
    ("settings", "shared", "expected"),
    [
        pytest.param(Settings(name="p/m"), Shared(), ["Retrying"], id="retry is for everyone"),
        pytest.param(
            Settings(name="p/m", backoff=ONCE, at_once=Adaptive()),
            Shared(),
            ["Limited"],
            id="an adaptive limit",
        ),
        pytest.param(
            Settings(name="p/m", backoff=ONCE, rate=Rate(tokens_per_minute=9)),
            Shared(),
            ["RateLimited"],
            id="tokens alone",
        ),
        pytest.param(
            Settings(name="p/m", backoff=ONCE),
            Shared(redactor=Redactor(["short"])),
            [],
            id="no secrets, no redaction",
        ),
        pytest.param(
            Settings(name="p/unknown", backoff=ONCE),
            Shared(prices=PRICED),
            [],
            id="no price, no meter",
        ),
        pytest.param(
            Settings(name="ollama/m", backoff=ONCE),
            Shared(prices=PRICED, budget=Budget(max_cost=1)),
            ["Metered"],
            id="what is free needs no cap on costs",
        ),
        pytest.param(
            Settings(name="ollama/m", backoff=ONCE),
            Shared(prices=PRICED, budget=Budget(max_tokens=1)),
            ["Capped", "Metered"],
            id="but it needs one on tokens",
        ),
        pytest.param(
            Settings(name="p/unknown", backoff=ONCE),
            Shared(prices=PRICED, budget=Budget(max_tokens=1)),
            ["Capped"],
            id="tokens can be capped without a price",
        ),
        pytest.param(
            Settings(name="scripted/oracle", backoff=ONCE, by_sample=True),
            Shared(shelf=MemoryShelf()),
            [],
            id="who answers by the sample is not cached",
        ),
        pytest.param(
            Settings(name="p/m", backoff=ONCE), Shared(budget=Budget()), [], id="a cap on nothing"
        ),
    ],
)
def test_only_what_has_something_to_do(
    settings: Settings, shared: Shared, expected: list[str]
) -> None:
    assert layers(stack(Says(), settings, shared)) == expected


@pytest.mark.parametrize("prices", [None, PRICED])
def test_a_cap_on_costs_that_cannot_be_kept_is_refused_before_the_first_call(
    prices: Prices | None,
) -> None:
    with pytest.raises(UsageError, match="`p/unknown` has no known price") as caught:
        stack(
            Says(),
            Settings(name="p/unknown"),
            Shared(prices=prices, budget=Budget(max_cost=5)),
        )

    assert "cap the tokens" in caught.value.hint


def test_a_stack_is_a_model_like_the_one_inside() -> None:
    client = Says()
    model = stack(client, Settings(name="p/m", at_once=1), Shared(shelf=MemoryShelf()))

    asyncio.run(model.close())

    assert (model.caveat, model.fingerprint) == (client.caveat, client.fingerprint)
    assert client.closed


def test_a_call_that_waits_to_be_retried_holds_no_place() -> None:
    async def together() -> list[str]:
        client = Says(refused(), answer("second"))
        settings = Settings(name="p/m", at_once=1, backoff=Backoff(base_s=3600, cap_s=3600))
        model = stack(client, settings, Shared())
        first = asyncio.ensure_future(model.complete(question("first")))
        await settle()
        second = await asyncio.wait_for(model.complete(question("second")), timeout=60)
        first.cancel()
        return [second.text]

    assert asyncio.run(together()) == ["second"]


def test_the_cap_sees_what_the_meter_says_and_the_cache_is_not_capped() -> None:
    client = Says(answer(prompt=1, completion=1))
    shared = Shared(prices=PRICED, budget=Budget(max_cost=4), shelf=MemoryShelf())
    model = stack(client, Settings(name="p/m"), shared)

    found = ask(model, "a", "a", "b", "a", "b")
    with pytest.raises(BudgetSpent):
        ask(model, "c")

    assert [one.usage.cost for one in found] == [2, 0, 2, 0, 0]
    assert ask(model, "a", "b")[0].text == "4"


def test_the_counters_tell_the_whole_story() -> None:
    counters = Counters()
    client = Says(refused(), answer(), ModelError("server", "500", retryable=True), answer())
    shared = Shared(counters=counters, shelf=MemoryShelf())
    model = stack(client, Settings(name="p/m", backoff=QUICK), shared)

    ask(model, "a", "a", "b")

    assert counters == Counters(requests=4, retries=2, rate_limited=1, cache_hits=1)


def test_equal_questions_share_one_call_through_the_whole_stack() -> None:
    async def together() -> int:
        client = Held()
        model = stack(client, Settings(name="p/m", at_once=4), Shared(shelf=MemoryShelf()))
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(4)]
        await settle()
        client.go.set()
        await asyncio.gather(*calls)
        return len(client.asked)

    assert asyncio.run(together()) == 1


def test_a_script_answers_through_the_stack() -> None:
    model = stack(connect("echo"), Settings(name="scripted/echo"), Shared(prices=Prices()))

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
    shelf = MemoryShelf()
    shared = Shared(redactor=Redactor([KEY]), shelf=shelf, counters=Counters())
    model = stack(Says(error), Settings(name="p/m", backoff=QUICK), shared)

    with pytest.raises(ModelError) as caught:
        ask(model, "a")

    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    assert "refused: " in told
    assert not any(form in told for form in SPELLINGS.values())
    assert shelf.kept == {}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_no_answer_and_no_cache_keeps_the_key(spelling: str) -> None:
    shelf = MemoryShelf()
    shared = Shared(redactor=Redactor([KEY]), shelf=shelf)
    model = stack(Says(answer(f"I saw {spelling}.")), Settings(name="p/m"), shared)

    found = ask(model, "a", "a")

    kept = b"".join(shelf.kept.values())
    assert [one.text[:6] for one in found] == ["I saw "] * 2
    assert not any(form in one.text for one in found for form in SPELLINGS.values())
    assert not any(form.encode() in kept for form in SPELLINGS.values())
