import pytest

from evalwright.engine.results import FinalResult
from evalwright.report.result_rows import Account, UsageTotal, usage_rows
from evalwright.store.scalars import row_of
from evalwright.types import Failure, Outcome, Trace, Usage

ONE = Usage(1, 10, 5, 0.5)
BROKEN = Failure(stage="solver", type="ValueError", message="no")


def outcome(*, solved: bool = True, **others: Usage) -> Outcome:
    trace = Trace(input="", output="", post_processed="", usage=ONE) if solved else None
    return Outcome(
        task="t",
        model="m",
        sample_id="a",
        trace=trace,
        failure=None if solved else BROKEN,
        others=others,
    )


def test_what_was_asked_beside_the_answers_is_counted_apart_also_of_the_same_model() -> None:
    account = Account()
    account.add_answer("m", row_of(outcome(m=ONE)))
    account.add_result(FinalResult(others={"m": ONE, "judge": Usage(2, 20, 10, 0.25)}))

    answers, beside = usage_rows(account.answers), usage_rows(account.beside)

    assert (answers["m"].requests, answers["m"].cost) == (1, 0.5)
    assert {name: one.requests for name, one in beside.items()} == {"m": 1, "judge": 2}
    assert beside["judge"].total_tokens == 30


def test_what_an_answer_took_that_never_came_is_usage_of_the_model() -> None:
    account = Account()
    account.add_outcome(outcome(solved=False, m=ONE, other=ONE))
    account.add_outcome(outcome(judge=ONE, m=ONE))

    assert {name: one.requests for name, one in account.answers.items()} == {"m": 1}
    assert {name: one.requests for name, one in account.beside.items()} == {
        "other": 1,
        "judge": 1,
        "m": 1,
    }


@pytest.mark.parametrize(
    ("usages", "cost"),
    [
        pytest.param([ONE, ONE], 1.0, id="a sum"),
        pytest.param([ONE, Usage(1, 1, 1, None)], None, id="unknown in part is unknown"),
        pytest.param([ONE, Usage()], 0.5, id="nothing was asked"),
        pytest.param([], 0.0, id="nothing at all"),
    ],
)
def test_a_cost_is_known_whole_or_not(usages: list[Usage], cost: float | None) -> None:
    spent = UsageTotal()
    for usage in usages:
        spent.add(usage)

    assert spent.row().cost == cost


def test_nobody_has_no_row() -> None:
    assert usage_rows({"": UsageTotal(requests=1)}) == {}
