import math
import random
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.report.fold import ModelFold, RunFold, fold_rows
from evalwright.report.result_rows import UsageTotal, usage_rows
from evalwright.store.scalars import row_of
from evalwright.types import Failure, Outcome, Row


def plan(*sizes: int, models: Sequence[str] = ("m", "n")) -> PlanOutline:
    """Tasks of so many records, called `t0`, `t1`…"""
    tasks = tuple(
        TaskOutline(name=f"t{n}", path=f"t{n}.jsonl", models=tuple(models), records=size)
        for n, size in enumerate(sizes)
    )
    return PlanOutline(tasks=tasks, models=tuple(models), ranking="all_tasks")


def row(ordinal: int = 0, score: float | None = 1.0, **fields: object) -> Row:
    """A completed trial of `m` in `t0`; without a score, a failed one that has no trace."""
    failed = score is None and "failure_type" not in fields
    known: dict[str, object] = {
        "task": "t0",
        "model": "m",
        "sample_id": f"s{ordinal}",
        "ordinal": ordinal,
        "trial": 0,
        "group": "arithmetic",
        "failure_stage": "solver" if failed else None,
        "failure_type": "timeout" if failed else None,
        "score": score,
        "correct": None if failed else score == 1,
        "confidence": None,
        "nll": None,
        "nll_tokens": 0,
        "finish": "" if failed else "stop",
        "requests": 0 if failed else 1,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": None if failed else 0.0,
        "latency_s": 0.0,
    }
    return Row(**{**known, **fields})  # type: ignore[arg-type]


def of(found: RunFold, model: str = "m") -> ModelFold:
    return found.models[model]


def test_a_records_place_is_its_tasks_offset_and_its_ordinal() -> None:
    found = fold_rows(plan(2, 3), [row(1, 0.5), row(2, 1.0, task="t1")])

    means = of(found).means()
    assert np.isnan(means[[0, 2, 3]]).all()
    assert means[[1, 4]].tolist() == [0.5, 1.0]
    assert [found.places(task) for task in plan(2, 3).tasks] == [slice(0, 2), slice(2, 5)]


def test_a_record_is_completed_when_no_trial_of_it_has_failed() -> None:
    rows = [
        *(row(0, score, trial=n) for n, score in enumerate([1.0, 0.0])),
        *(row(1, score, trial=n) for n, score in enumerate([1.0, None])),
        row(2, None),
    ]

    means = of(fold_rows(plan(4), rows)).means()

    assert means[0] == 0.5
    assert np.isnan(means[1:]).all()


def test_a_record_is_completed_when_as_many_trials_have_landed_as_were_planned() -> None:
    once, thrice = (
        plan(1).tasks[0],
        structs.replace(plan(0, 3).tasks[1], trial_counts=((2, 3), (1, 1))),
    )
    planned = PlanOutline(tasks=(once, thrice), models=("m", "n"))
    rows = [
        row(0, 1.0),
        *(row(0, 0.5, task="t1", trial=n) for n in range(3)),
        *(row(1, 0.5, task="t1", trial=n) for n in range(2)),
        row(2, 0.0, task="t1"),
    ]

    means = of(fold_rows(planned, rows)).means()

    assert np.isnan(means[2])
    assert means[[0, 1, 3]].tolist() == [1.0, 0.5, 0.0]


def test_a_score_that_is_undefined_completes_nothing() -> None:
    undefined = row(0, None, failure_type=None, finish="stop")

    column = of(fold_rows(plan(1), [undefined]))

    assert np.isnan(column.means()).all()
    assert column.answers.outcomes == 1


def test_a_category_has_its_records_whoever_has_reached_them() -> None:
    rows = [row(0, group="mcq"), row(1, group="arithmetic"), row(2, None, group="mcq", model="n")]

    members = {name: inside.tolist() for name, inside in fold_rows(plan(4), rows).categories()}

    assert list(members) == ["arithmetic", "mcq"]
    assert members == {
        "arithmetic": [False, True, False, False],
        "mcq": [True, False, True, False],
    }


def test_a_category_that_nothing_has_landed_of_has_no_records() -> None:
    found = fold_rows(plan(2), [row(0, group="mcq")])

    assert found.members("mcq").tolist() == [True, False]
    assert found.members("code_exec").tolist() == [False, False]


def test_an_answer_is_calibrated_when_it_has_a_confidence_and_a_verdict() -> None:
    rows = [
        row(0, 1.0, confidence=0.75),
        row(1, 0.0, confidence=0.5),
        row(2, 1.0),
        row(3, 0.5, confidence=0.25, correct=None),
        row(4, None, confidence=0.25),
    ]

    column = of(fold_rows(plan(5), rows))

    assert (list(column.answers.confidences), list(column.answers.verdicts)) == (
        [0.75, 0.5],
        [1, 0],
    )


@pytest.mark.parametrize(
    ("rows", "costs", "unknown"),
    [
        pytest.param([row(0, cost=0.25), row(1, cost=0.5)], [0.25, 0.5], False, id="known"),
        pytest.param([row(0, cost=0.25), row(1, cost=None)], [0.25], True, id="one is not"),
        pytest.param([row(0, cost=None, requests=0)], [], False, id="nothing was asked for"),
        pytest.param([row(0, None)], [], False, id="a call that failed says nothing of its cost"),
        pytest.param(
            [row(0, None, finish="stop", requests=1, cost=0.5)],
            [0.5],
            False,
            id="an answer that could not be scored was paid for",
        ),
    ],
)
def test_a_cost_is_known_or_it_is_known_that_it_is_not(
    rows: list[Row], costs: list[float], *, unknown: bool
) -> None:
    spent = fold_rows(plan(2), rows).account.answers.get("m", UsageTotal())

    assert (list(spent.costs), not spent.is_cost_known) == (costs, unknown)


def test_failures_are_counted_by_kind_with_the_first_five_ids() -> None:
    rows = [*(row(n, None) for n in range(7)), row(7, None, failure_stage="score"), row(8)]

    failures = fold_rows(plan(9), rows).failures

    assert {key: kind.count for key, kind in failures.items()} == {
        ("m", "solver", "timeout"): 7,
        ("m", "score", "timeout"): 1,
    }
    assert failures["m", "solver", "timeout"].sample_ids == ["s0", "s1", "s2", "s3", "s4"]


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(row(model="stranger"), id="of another model"),
        pytest.param(row(0, None, task="stranger"), id="of another task"),
    ],
)
def test_what_the_plan_does_not_name_is_left_out(stranger: Row) -> None:
    assert fold_rows(plan(1), [stranger, row()]) == fold_rows(plan(1), [row()])


ROWS = st.builds(
    row,
    st.integers(0, 4),
    st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    task=st.sampled_from(["t0", "t1"]),
    model=st.sampled_from(["m", "n"]),
    trial=st.integers(0, 3),
    group=st.sampled_from(["arithmetic", "mcq", "summary"]),
    confidence=st.one_of(st.none(), st.floats(0, 1)),
    nll=st.one_of(st.none(), st.floats(0, 50)),
    nll_tokens=st.integers(1, 9),
    prompt_tokens=st.integers(0, 99),
    completion_tokens=st.integers(0, 99),
    cost=st.one_of(st.none(), st.floats(0, 9)),
)


def consistent(rows: Sequence[Row]) -> list[Row]:
    """A record has one category, whoever is asked."""
    groups = {(one.task, one.ordinal): one.group for one in rows}
    return [structs.replace(one, group=groups[one.task, one.ordinal]) for one in rows]


def comparable(found: RunFold) -> object:
    """A fold without what depends on the order, which is the order."""
    columns = {
        model: {
            **structs.asdict(column),
            "answers": sorted(
                zip(
                    column.answers.confidences,
                    column.answers.verdicts,
                    column.answers.places,
                    strict=True,
                )
            ),
            "nlls": sorted(column.nlls),
        }
        for model, column in found.models.items()
    }
    usage = usage_rows(found.account.answers)
    members = [(name, inside.tolist()) for name, inside in found.categories()]
    return columns, usage, members, {key: kind.count for key, kind in found.failures.items()}


@given(st.lists(ROWS, max_size=40).map(consistent), st.randoms(use_true_random=False))
def test_rows_in_any_order_give_the_same_columns(
    rows: list[Row], randomness: random.Random
) -> None:
    shuffled = list(rows)
    randomness.shuffle(shuffled)

    assert comparable(fold_rows(plan(5, 5), shuffled)) == comparable(fold_rows(plan(5, 5), rows))


@given(st.lists(ROWS, max_size=40).map(consistent))
def test_the_sums_are_those_of_the_rows(rows: list[Row]) -> None:
    found = fold_rows(plan(5, 5), rows)

    for model, column in found.models.items():
        own = [one for one in rows if one.model == model]
        assert column.answers.outcomes == len(own)
        assert sum(column.failed) == sum(one.failure_type is not None for one in own)
        assert sum(column.completed) == sum(one.failure_type is None for one in own)
        assert math.fsum(column.score_sum) == math.fsum(one.score or 0.0 for one in own)
        spent = found.account.answers.get(model, UsageTotal())
        assert spent.prompt_tokens == sum(one.prompt_tokens for one in own if one.finish)


def numbers_in(found: RunFold) -> Iterator[object]:
    for column in found.models.values():
        yield from structs.asdict(structs.replace(column, answers=0)).values()
        yield from structs.asdict(column.answers).values()
    for spent in found.account.answers.values():
        yield from structs.asdict(spent).values()
    yield from (found.groups, found.offsets, len(found.group_names), len(found.failures))


def test_a_row_costs_a_few_bytes_in_arrays_and_nothing_else() -> None:
    def size(count: int) -> int:
        rows = (
            row(n, confidence=0.5, nll=1.0, nll_tokens=1, cost=0.1, group=f"g{n % 5}")
            for n in range(count)
        )
        found = fold_rows(plan(count, models=["m"]), rows)
        assert all(
            isinstance(part, array | int | float | bool | dict) for part in numbers_in(found)
        )
        return sum(
            len(part) * part.itemsize for part in numbers_in(found) if isinstance(part, array)
        )

    sizes = [size(count) for count in (1000, 2000, 3000)]

    assert [after - before for before, after in pairwise(sizes)] == [58_000, 58_000]


def test_a_score_stands_where_only_the_confidence_could_not_be_asked_for() -> None:
    found = fold_rows(
        plan(3),
        [
            row(0, confidence=0.75),
            row(1, failure_stage="score", failure_type="timeout", confidence=0.5),
            row(2, 0.5, failure_stage="score", failure_type="KeyError", correct=None),
        ],
    )

    assert list(of(found).completed) == [1, 1, 0]
    assert list(of(found).failed) == [0, 0, 1]
    assert list(of(found).answers.confidences) == [0.75]


BROKEN = Failure(stage="solver", type="Timeout", message="no")


def trials_of(
    *places: tuple[int, int, str], failed: tuple[int, int, str] | None = None
) -> list[Row]:
    """Ordinal, trial and model of each."""
    return [
        row_of(
            Outcome(
                task="t",
                model=model,
                sample_id=str(ordinal),
                ordinal=ordinal,
                trial=trial,
                failure=BROKEN if (ordinal, trial, model) == failed else None,
            )
        )
        for ordinal, trial, model in places
    ]


def counts(given: list[Row], *, trials: int = 1, repeats: int = 1) -> tuple[int, int, int]:
    """Samples, failed ones among them, and outcomes, of a finalized task."""
    task = TaskOutline(
        name="t", models=("x", "y"), records=2, trials=trials, repeats=repeats, finalized=True
    )
    found = fold_rows(PlanOutline(tasks=(task,), models=("x", "y")), given)
    return found.samples, found.failed_samples, found.landed


EVERY = [(ordinal, trial, model) for ordinal in (0, 1) for trial in (0, 1) for model in "xy"]


def test_a_sample_is_counted_once_for_each_model_however_often_it_is_tried() -> None:
    assert counts(trials_of(*EVERY), trials=2) == (4, 0, 8)


def test_a_sample_has_failed_if_one_of_its_trials_has() -> None:
    assert counts(trials_of(*EVERY, failed=(1, 0, "y")), repeats=2) == (4, 1, 8)


def test_a_sample_whose_trials_are_not_all_there_is_not_counted() -> None:
    assert counts(trials_of(*EVERY[:-1], failed=(1, 0, "y")), trials=2) == (3, 0, 7)


def test_where_each_is_tried_once_a_row_is_a_sample() -> None:
    assert counts(trials_of((0, 0, "x"), (0, 0, "y"), (1, 0, "x"), failed=(1, 0, "x"))) == (3, 1, 3)


def test_nothing_is_no_sample() -> None:
    assert counts([]) == (0, 0, 0)
