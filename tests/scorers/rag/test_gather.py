import asyncio

import pytest

from evalwright.errors import BudgetSpent
from evalwright.scorers.rag.judge import gather_or_cancel


async def say(word: str) -> str:
    await asyncio.sleep(0)
    return word


async def fail(error: Exception) -> str:
    await asyncio.sleep(0)
    raise error


def test_what_is_asked_together_comes_in_the_order_of_the_questions() -> None:
    async def ask() -> list[str]:
        return await gather_or_cancel(say("a"), say("b"), say("c"))

    assert asyncio.run(ask()) == ["a", "b", "c"]


def test_what_breaks_comes_out_as_itself() -> None:
    async def ask() -> list[str]:
        return await gather_or_cancel(say("a"), fail(ValueError("broken")))

    with pytest.raises(ValueError, match=r"^broken$"):
        asyncio.run(ask())


def test_the_end_of_a_budget_is_no_fault_of_a_sample() -> None:
    async def ask() -> list[str]:
        return await gather_or_cancel(fail(ValueError("broken")), fail(BudgetSpent("spent")))

    with pytest.raises(BudgetSpent, match=r"^spent$"):
        asyncio.run(ask())


def test_nothing_to_ask_gives_nothing() -> None:
    assert asyncio.run(gather_or_cancel()) == []
