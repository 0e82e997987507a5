import asyncio

import pytest
from msgspec import structs
from tests.engine.models.made import Held, Says, answer, question, settle

from evalwright.engine.models.budget import Budget, CappedModel
from evalwright.errors import BudgetSpent, ModelError, Stopped, boundary
from evalwright.types import Completion, Usage


def costing(cost: float | None, *, tokens: int = 10) -> Completion:
    reply = answer(prompt=tokens, completion=0)
    return structs.replace(reply, usage=structs.replace(reply.usage, cost=cost))


def answered(model: Says, budget: Budget, *, calls: int = 100) -> int:
    """How many calls were answered before the cap, one after the other."""

    async def ask_all() -> None:
        for _ in range(calls):
            await CappedModel(model, budget).complete(question())

    with pytest.raises(BudgetSpent):
        asyncio.run(ask_all())
    return len(model.asked)


def test_a_cap_on_costs_stops_before_the_next_call() -> None:
    budget = Budget(max_cost=1.0)

    assert answered(Says(costing(0.3)), budget) == 4
    assert budget.cost == pytest.approx(1.2)


def test_a_cap_on_tokens_stops_before_the_next_call() -> None:
    budget = Budget(max_tokens=30)

    assert answered(Says(costing(None, tokens=10)), budget) == 3
    assert budget.tokens == 30


def test_all_models_share_a_budget() -> None:
    budget = Budget(max_cost=1.0)
    asyncio.run(CappedModel(Says(costing(0.9)), budget).complete(question()))

    assert answered(Says(costing(0.1)), budget) == 1


def test_what_earlier_parts_of_the_run_spent_counts() -> None:
    spent = Usage(requests=5, prompt_tokens=40, completion_tokens=10, cost=0.9)

    assert answered(Says(costing(0.1)), Budget(max_cost=1.0, spent=spent)) == 1
    assert answered(Says(costing(0.1)), Budget(max_tokens=50, spent=spent)) == 0


def test_a_cap_of_nothing_lets_nothing_through() -> None:
    assert answered(Says(costing(0.1)), Budget(max_cost=0.0)) == 0


def test_a_failed_call_spends_nothing_and_holds_nothing() -> None:
    budget = Budget(max_cost=1.0)
    model = CappedModel(Says(ModelError("server", "500")), budget)

    for _ in range(3):
        with pytest.raises(ModelError):
            asyncio.run(model.complete(question()))

    assert (budget.cost, budget._under_way) == (0.0, 0)


def test_near_the_cap_a_call_waits_for_those_under_way() -> None:
    async def together() -> tuple[int, float, list[Completion | BaseException]]:
        budget = Budget(max_cost=1.0, spent=Usage(requests=4, cost=0.5))
        inner = Held(costing(0.125))
        model = CappedModel(inner, budget)
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(20)]
        await settle()
        at_once = inner.now
        inner.go.set()
        found = await asyncio.gather(*calls, return_exceptions=True)
        return at_once, budget.cost, found

    at_once, cost, found = asyncio.run(together())

    assert at_once == 4
    assert cost == 1.0
    assert sum(isinstance(one, Completion) for one in found) == 4
    assert sum(isinstance(one, BudgetSpent) for one in found) == 16


def test_calls_that_were_cheaper_than_expected_leave_room_for_more() -> None:
    async def together() -> list[Completion | BaseException]:
        budget = Budget(max_cost=1.0, spent=Usage(requests=1, cost=0.5))
        inner = Held(costing(0.0))
        calls = [
            asyncio.ensure_future(CappedModel(inner, budget).complete(question())) for _ in "abcd"
        ]
        await settle()
        inner.go.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(one, Completion) for one in asyncio.run(together()))


def test_a_call_cancelled_while_it_waits_or_runs_holds_nothing() -> None:
    async def cancelled() -> int:
        budget = Budget(max_cost=1.0, spent=Usage(requests=1, cost=0.5))
        inner = Held(costing(0.1))
        calls = [
            asyncio.ensure_future(CappedModel(inner, budget).complete(question())) for _ in "ab"
        ]
        await settle()
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        return budget._under_way

    assert asyncio.run(cancelled()) == 0


@pytest.mark.parametrize(
    ("budget", "reply", "what"),
    [
        pytest.param(
            Budget(max_cost=1.0), costing(None), "what a call cost", id="no cost, cap on costs"
        ),
        pytest.param(
            Budget(max_tokens=9), costing(0.1, tokens=0), "how many tokens", id="no token counts"
        ),
    ],
)
def test_a_server_that_does_not_say_what_it_used_keeps_its_answer_and_stops_the_run(
    budget: Budget, reply: Completion, what: str
) -> None:
    model = CappedModel(Says(reply), budget)

    assert asyncio.run(model.complete(question())).text == "4"
    with pytest.raises(BudgetSpent, match=f"does not report {what}"):
        asyncio.run(model.complete(question()))


def test_a_model_that_asks_nobody_has_nothing_to_tell() -> None:
    model = CappedModel(Says(Completion(text="4", usage=Usage(cost=0.0))), Budget(max_tokens=9))

    for _ in range(3):
        assert asyncio.run(model.complete(question())).text == "4"


def test_a_spent_budget_is_no_failure_of_a_sample() -> None:
    budget = Budget(max_cost=0.0)

    with pytest.raises(Stopped) as caught, boundary("solver"):
        asyncio.run(CappedModel(Says(), budget).complete(question()))

    assert caught.value.exit_code == 3
    assert caught.value.message == "the cap is reached: 0.0000 of 0.0000 USD spent"
    assert caught.value.hint == "raise the cap and run again to resume"


def test_a_small_cap_is_said_with_digits_and_the_command_is_named() -> None:
    budget = Budget(max_cost=0.00002, command="score")

    with pytest.raises(BudgetSpent) as caught:
        answered_until(budget, 0.000013)

    assert caught.value.message == "the cap is reached: 0.000026 of 0.000020 USD spent"
    assert caught.value.hint == "raise the cap and score again to resume"


def test_what_was_spent_above_a_cap_is_said() -> None:
    cost, tokens = Budget(max_cost=1.0), Budget(max_tokens=5)
    assert (cost.overrun, tokens.overrun) == ("", "")
    for budget in (cost, tokens):
        budget.add(Usage(requests=1, prompt_tokens=9, cost=1.5))

    assert cost.overrun == "the cap was exceeded: 1.5000 of 1.0000 USD spent"
    assert tokens.overrun == "the cap was exceeded: 9 of 5 tokens spent"


def answered_until(budget: Budget, cost: float) -> None:
    async def ask_all() -> None:
        for _ in range(5):
            await CappedModel(Says(costing(cost)), budget).complete(question())

    asyncio.run(ask_all())


def test_what_was_spent_before_and_is_known_late_counts() -> None:
    budget = Budget(max_cost=1.0)
    budget.add(Usage(requests=3, cost=1.0))

    with pytest.raises(BudgetSpent, match="the cap is reached"):
        asyncio.run(budget.open())
