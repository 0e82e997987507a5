"""What every store does. What can happen to a file alone (a kill, a full disk) is in its tests."""

import math
import random
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from evalwright.errors import EvalwrightError, UnknownName
from evalwright.ports import Store
from evalwright.store.memory import MemoryStore
from evalwright.store.sqlite import SqliteStore
from evalwright.types import (
    SELF_REPORT,
    Action,
    Failure,
    Outcome,
    Part,
    Row,
    Run,
    Score,
    Trace,
    Usage,
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield made
    made.close()


def begun(store: Store, *ids: str, **fields: Any) -> Run:
    """Begin a run under each id; returns the last."""
    run = Run(id="", created="", updated="", status="running", plan_key="plan")
    for id_ in ids:
        run = Run(
            **{
                "id": id_,
                "created": "2026-01-02T03:04:05+00:00",
                "updated": "2026-01-02T03:04:05+00:00",
                "status": "running",
                "plan_key": "plan",
                **fields,
            }
        )
        store.begin(run)
    return run


def trace(output: str = "42") -> Trace:
    return Trace(input="6 * 7 =", output=output, post_processed=output)


def outcome(ordinal: int = 0, **fields: Any) -> Outcome:
    return Outcome(
        **{
            "task": "sums",
            "model": "scripted/echo",
            "sample_id": f"sum-{ordinal}",
            "ordinal": ordinal,
            "group": "arithmetic",
            "trace": trace(),
            "scores": {"record": Score(values={"score": 1.0}, correct=True)},
            **fields,
        }
    )


def failed(ordinal: int = 0, *, stage: str = "solver", **fields: Any) -> Outcome:
    failure = Failure(stage=stage, type="timeout", message="no answer")  # type: ignore[arg-type]
    return outcome(ordinal, **{"trace": None, "scores": {}, "failure": failure, **fields})


FULL = Outcome(
    task="sums",
    model="openai/gpt-4.1-mini",
    sample_id="sum-7",
    trial=3,
    group="arithmetic",
    trace=Trace(
        input="6 * 7 =",
        output=" 42\n",
        post_processed="42",
        usage=Usage(requests=2, prompt_tokens=11, completion_tokens=5, cost=0.0123),
        latency_s=1 / 3,
        finish="length",
        nll=1.5,
        nll_tokens=4,
        confidence=0.6872892787909722,
    ),
    scores={
        "record": Score(
            values={"score": 0.25, "other": -1.0},
            correct=False,
            reason="'42' against '43'",
            metadata={"passed": 1, "targets": [True, False], "none": None, "deep": {"x": [1.5]}},
        ),
        "judge": Score(values={}),
    },
    failure=Failure(stage="score", type="KeyError", message="'x'", hint="look", attempts=3),
    ordinal=7,
    solve_key="0123456789abcdef0123456789abcdef",
    score_keys={"record": "f" * 32, "judge": "0" * 32},
    sample={"question": "6 * 7", "deep": {"x": [1.5, "é"]}},
    others={"openai/judge": Usage(requests=1, prompt_tokens=3, completion_tokens=2, cost=0.5)},
    parts=(
        Part(
            sample={"question": "6 * 7", "n": [1, None, True]},
            trace=Trace(input="", output="42", post_processed="42", conversation={"items": [{}]}),
            scores={"python": Score(values={"label": "good", "ok": True, "n": 3})},
        ),
    ),
    actions=(Action(action="exclude_from_metrics", rule_key="no-sums"),),
    whole={"record": Score(values={"score": 0.5})},
)
"""Nothing of it is what it would be by default."""


def test_a_run_is_as_it_was_begun(store: Store) -> None:
    run = begun(
        store, "a1", parent="a0", manifest={"models": ["x"], "limit": None, "deep": {"n": 1}}
    )

    assert store.find("a1") == run
    assert store.runs() == [run]


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.runs() == []
    assert store.trace("ab") is None
    assert store.score("ab") is None


def test_an_id_is_begun_only_once(store: Store) -> None:
    run = begun(store, "a1")

    with pytest.raises(EvalwrightError, match="run `a1` already exists"):
        begun(store, "a1", plan_key="another")

    assert store.runs() == [run]


def test_runs_come_newest_first(store: Store) -> None:
    begun(store, "b", "c", "a")

    assert [run.id for run in store.runs()] == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("latest", "beta-2", id="the newest"),
        pytest.param("beta-1", "beta-1", id="an id"),
        pytest.param("al", "alpha", id="the start of one"),
        pytest.param("beta", "beta", id="an id that is the start of others"),
    ],
)
def test_a_run_is_found_by(store: Store, name: str, expected: str) -> None:
    begun(store, "alpha", "beta-1", "beta", "beta-2")

    assert store.find(name).id == expected


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        pytest.param("beta-", "the start of 2 runs: `beta-2`, `beta-1`", "", id="ambiguous"),
        pytest.param("alhpa", "no run `alhpa`", "did you mean `alpha`?", id="misspelt"),
        pytest.param("x", "the newest are `beta-2`, `beta-1`, `alpha`", "", id="like none"),
        pytest.param("", "no run ``", "", id="nothing is not the start of all"),
        pytest.param("%", "no run `%`", "", id="no pattern"),
    ],
)
def test_a_name_that_is_no_run(store: Store, name: str, message: str, hint: str) -> None:
    begun(store, "alpha", "beta-1", "beta-2")

    with pytest.raises(UnknownName) as caught:
        store.find(name)

    assert message in caught.value.message
    assert caught.value.hint == hint


def test_an_empty_store_has_no_latest(store: Store) -> None:
    with pytest.raises(UnknownName, match="the store is empty"):
        store.find("latest")


def test_an_update_changes_the_status_and_the_moment(store: Store) -> None:
    run = begun(store, "a", manifest={"kept": 1})

    store.update("a", status="finished")

    found = store.find("a")
    assert found == structs.replace(run, status="finished", updated=found.updated)
    assert found.updated > run.updated


def test_an_update_by_what_the_manifest_is_leaves_the_status_and_the_moment(store: Store) -> None:
    run = begun(store, "a", manifest={"one": 1})
    store.update("a", status="finished", manifest={"one": 1, "two": 2})
    before = store.find("a")

    store.update("a", manifest=lambda now: {**now, "three": len(now)})

    assert store.find("a") == structs.replace(before, manifest={"one": 1, "two": 2, "three": 2})
    assert run.manifest == {"one": 1}


def test_a_change_of_a_manifest_that_fails_changes_nothing(store: Store) -> None:
    begun(store, "a", manifest={"one": 1})

    with pytest.raises(KeyError):
        store.update("a", status="finished", manifest=lambda now: now["two"])

    assert store.find("a").status == "running"


def test_an_update_replaces_the_manifest_if_it_brings_one(store: Store) -> None:
    begun(store, "a", manifest={"old": 1})

    store.update("a", status="stopped", manifest={})

    assert store.find("a").manifest == {}


def test_the_outcomes_of_one_task_and_one_model_come_in_order(store: Store) -> None:
    begun(store, "a")
    store.append("a", [outcome(2), outcome(0), outcome(1, model="other"), outcome(0, task="else")])

    task, model = outcome().task, outcome().model
    assert list(store.outcomes("a", task=task, model=model)) == [outcome(0), outcome(2)]
    assert list(store.outcomes("a", task="nothing", model=model)) == []


def test_no_field_of_an_outcome_is_lost(store: Store) -> None:
    plain = Outcome(task="", model="", sample_id="")
    assert all(getattr(FULL, name) != getattr(plain, name) for name in Outcome.__struct_fields__)
    begun(store, "a")

    store.append("a", [FULL])

    assert list(store.outcomes("a")) == [FULL]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(outcome(trace=trace("")), id="nothing was said"),
        pytest.param(outcome(trace=trace("a\0b\x1b[31m")), id="control characters"),
        pytest.param(outcome(trace=trace("نور 👋 \U0010ffff")), id="Unicode"),
        pytest.param(outcome(trace=trace("\ud800 \udfff")), id="lone surrogates"),
        pytest.param(outcome(trace=trace("\ud800" * 5000)), id="many of them"),
        pytest.param(outcome(trace=trace("word " * 200_000)), id="a megabyte"),
        pytest.param(
            outcome(trace=trace(random.Random(1).randbytes(9000).hex())), id="hard to compress"
        ),
        pytest.param(
            outcome(sample_id="\udcff", task="t\udcff", model="m\udcff", group="g\udcff"),
            id="a file name that is no text",
        ),
        pytest.param(outcome(sample_id="é", task="ü", model="ñ", group="ß"), id="accents"),
        pytest.param(outcome(sample_id="", task="", model="", group=""), id="empty names"),
        pytest.param(
            outcome(scores={"s": Score(values={"x": math.inf}, metadata={"n": 2**80})}),
            id="numbers beyond a machine's",
        ),
        pytest.param(outcome(scores={"s": Score(values={"x": True})}), id="a bool"),
        pytest.param(outcome(scores={"s": Score(values={"x": 3})}), id="an int"),
        pytest.param(
            outcome(trace=Trace(input="", output="", post_processed="", nll=5e-324)), id="tiny"
        ),
        pytest.param(outcome(2**62, trial=2**62), id="far down a dataset"),
        pytest.param(outcome(solve_key="Not Hex", score_keys={"record": "é"}), id="foreign keys"),
        pytest.param(
            failed(stage="score", trace=trace(), score_keys={"record": "ab"}),
            id="a key without its score",
        ),
    ],
)
def test_what_is_odd_comes_back_as_it_was(store: Store, odd: Outcome) -> None:
    begun(store, "a")

    store.append("a", [odd])

    assert list(store.outcomes("a")) == [odd]
    assert list(store.list_jobs("a")) == [
        (odd.task, odd.model, odd.ordinal, odd.trial, odd.failure is not None)
    ]
    assert next(store.rows("a")).sample_id == odd.sample_id


def test_scores_keep_their_order(store: Store) -> None:
    names = ["zeta", "alpha", "mid"]
    begun(store, "a")

    store.append("a", [outcome(scores={name: Score(values={"x": 0.5}) for name in names})])

    assert list(next(store.outcomes("a")).scores) == names


def test_an_outcome_replaces_the_earlier_one_of_its_job(store: Store) -> None:
    begun(store, "a", "b")
    store.append("a", [failed(0), outcome(1)])
    store.append("b", [failed(0)])

    store.append("a", [outcome(0)])

    assert list(store.outcomes("a")) == [outcome(0), outcome(1)]
    assert store.count("a") == (2, 0)
    assert store.count("b") == (1, 1)


def test_of_two_outcomes_of_one_job_at_once_the_later_counts(store: Store) -> None:
    begun(store, "a")

    store.append("a", [failed(0), outcome(1), outcome(0)])

    assert list(store.outcomes("a")) == [outcome(0), outcome(1)]


def test_jobs_differ_in_task_model_ordinal_and_trial(store: Store) -> None:
    each = [
        outcome(0),
        outcome(0, task="other"),
        outcome(0, model="other"),
        outcome(0, trial=1),
        outcome(1),
    ]
    begun(store, "a")

    store.append("a", each)

    assert store.count("a") == (5, 0)


def test_nothing_appended_is_nothing(store: Store) -> None:
    begun(store, "a")

    store.append("a", [])

    assert store.count("a") == (0, 0)
    assert list(store.rows("a")) == []
    assert list(store.outcomes("a", offset=3)) == []


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda store: store.append("x", [outcome()]), id="append"),
        pytest.param(lambda store: store.update("x", status="failed"), id="update"),
        pytest.param(lambda store: store.list_jobs("x"), id="list_jobs"),
        pytest.param(lambda store: store.rows("x"), id="rows"),
        pytest.param(lambda store: store.outcomes("x"), id="outcomes"),
        pytest.param(lambda store: store.count("x"), id="count"),
        pytest.param(lambda store: store.delete("x"), id="delete"),
    ],
)
def test_a_run_that_is_not_there(store: Store, ask: Any) -> None:
    begun(store, "a")

    with pytest.raises(UnknownName, match="there is no run `x`"):
        ask(store)

    assert store.count("a") == (0, 0)


def test_a_trace_is_found_by_its_key_whatever_the_run(store: Store) -> None:
    begun(store, "a", "b")
    store.append("a", [outcome(0, solve_key="ab" * 16), outcome(1, solve_key="cd" * 16)])
    store.append("b", [outcome(5, solve_key="ab" * 16, trace=trace("newer"))])

    assert store.trace("ab" * 16) == trace("newer")
    assert store.trace("cd" * 16) == trace()
    assert store.trace("ef" * 16) is None


def test_of_two_tasks_that_asked_the_same_each_finds_its_own(store: Store) -> None:
    begun(store, "a")
    one, other = Score(values={"x": 1.0}), Score(values={"x": 0.0})
    key: dict[str, Any] = {"solve_key": "ab" * 16, "score_keys": {"s": "01"}}
    store.append("a", [outcome(0, task="first", trace=trace("own"), scores={"s": one}, **key)])
    store.append("a", [outcome(0, task="second", trace=trace("its"), scores={"s": other}, **key)])

    assert store.trace("ab" * 16, "first") == trace("own")
    assert store.score("01", "first") == one
    assert store.trace("ab" * 16, "second") == store.trace("ab" * 16, "third") == trace("its")
    assert store.score("01", "second") == store.score("01", "third") == other


def test_latest_is_the_run_that_was_touched_last(store: Store) -> None:
    begun(store, "a", "b", updated="2026-01-02T00:00:00+00:00")

    store.update("a", status="finished")

    assert store.find("latest").id == "a"
    assert [one.id for one in store.runs()] == ["b", "a"]


def test_a_run_is_found_by_its_name_and_the_newest_by_a_tag(store: Store) -> None:
    begun(store, "1a", "1b", "1c")
    store.update("1a", status="finished", manifest={"name": "base", "tags": {"branch": "main"}})
    store.update("1b", manifest={"tags": {"branch": "main"}})
    store.update("1c", manifest={"name": "twice"})

    assert store.find("base").id == store.find("branch=main").id == "1a", "the last touched"
    store.update("1b", manifest={"name": "twice"})
    with pytest.raises(UnknownName, match="`twice` is the name of 2 runs"):
        store.find("twice")
    with pytest.raises(UnknownName, match="there is no run `bass`") as raised:
        store.find("bass")
    assert raised.value.hint == "did you mean `base`?"


def test_a_score_is_found_by_its_key_whatever_the_run(store: Store) -> None:
    one, other = Score(values={"x": 0.5}, reason="why"), Score(values={"y": 0.0}, correct=False)
    begun(store, "a", "b")
    store.append("a", [outcome(scores={"s": one, "t": other}, score_keys={"s": "01", "t": "02"})])
    store.append("b", [outcome(9, scores={"s": other}, score_keys={"s": "01"})])

    assert store.score("01") == other
    assert store.score("02") == other
    assert store.score("03") is None


@pytest.mark.parametrize("stage", ["solver", "score", "metric", "action"])
def test_a_trace_is_good_for_others_whatever_broke_after_it(store: Store, stage: str) -> None:
    begun(store, "a")

    store.append("a", [failed(stage=stage, trace=trace(), solve_key="ab")])

    assert store.trace("ab") == trace()


def test_where_the_solver_broke_there_is_no_trace(store: Store) -> None:
    begun(store, "a")

    store.append("a", [failed(stage="solver", solve_key="ab")])

    assert store.trace("ab") is None


def test_nothing_is_found_under_no_key(store: Store) -> None:
    begun(store, "a")

    store.append("a", [outcome(solve_key="", score_keys={"record": ""}), failed(1, solve_key="ab")])

    assert store.trace("") is None
    assert store.score("") is None
    assert store.trace("ab") is None


def test_keys_that_are_nearly_alike_are_not_alike(store: Store) -> None:
    same = "0123456789abcdef"
    collision = f"{int(same, 16) + (1 << 64) - 59:x}"  # to who reduces keys modulo that prime
    keys = [same + "00" * 8, same + "11" * 8, same, same.upper(), collision]
    begun(store, "a")

    store.append(
        "a",
        [
            outcome(
                at,
                trace=trace(key),
                solve_key=key,
                scores={"s": Score(values={}, reason=key)},
                score_keys={"s": key},
            )
            for at, key in enumerate(keys)
        ],
    )

    assert [store.trace(key) for key in keys] == [trace(key) for key in keys]
    assert [store.score(key) for key in keys] == [Score(values={}, reason=key) for key in keys]
    assert store.trace(same + "22" * 8) is None
    assert store.score(same + "22" * 8) is None


def test_what_was_replaced_is_not_found(store: Store) -> None:
    begun(store, "a")
    store.append("a", [outcome(0, solve_key="ab", score_keys={"record": "cd"})])

    store.append("a", [failed(0, solve_key="ab", score_keys={"record": "cd"})])

    assert store.trace("ab") is None
    assert store.score("cd") is None


def test_a_row_has_the_scalars_of_an_outcome(store: Store) -> None:
    begun(store, "a")

    store.append("a", [FULL])

    assert list(store.rows("a")) == [
        Row(
            task="sums",
            model="openai/gpt-4.1-mini",
            sample_id="sum-7",
            ordinal=7,
            trial=3,
            group="arithmetic",
            failure_stage="score",
            failure_type="KeyError",
            score=0.25,
            correct=False,
            confidence=0.6872892787909722,
            nll=1.5,
            nll_tokens=4,
            finish="length",
            requests=2,
            prompt_tokens=11,
            completion_tokens=5,
            cost=0.0123,
            latency_s=1 / 3,
        )
    ]


def test_a_row_of_a_failure_has_what_there_is(store: Store) -> None:
    begun(store, "a")

    store.append("a", [failed(0)])

    assert list(store.rows("a")) == [
        Row(
            task="sums",
            model="scripted/echo",
            sample_id="sum-0",
            ordinal=0,
            trial=0,
            group="arithmetic",
            failure_stage="solver",
            failure_type="timeout",
            score=None,
            correct=None,
            confidence=None,
            nll=None,
            nll_tokens=0,
            finish="",
            requests=0,
            prompt_tokens=0,
            completion_tokens=0,
            cost=None,
            latency_s=0.0,
        )
    ]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({}, (None, None), id="none"),
        pytest.param({"s": Score(values={})}, (None, None), id="no value"),
        pytest.param({"s": Score(values={"x": math.nan})}, (None, None), id="undefined"),
        pytest.param({"s": Score(values={"x": 1})}, (1.0, None), id="no verdict"),
        pytest.param(
            {"s": Score(values={"x": 0.5, "y": 1.0}, correct=True), "t": Score(values={"z": 0.0})},
            (0.5, True),
            id="the first value of the first",
        ),
    ],
)
def test_the_score_of_a_row(
    store: Store, scores: dict[str, Score], expected: tuple[float | None, bool | None]
) -> None:
    begun(store, "a")

    store.append("a", [outcome(scores=scores)])

    (row,) = store.rows("a")
    assert (row.score, row.correct) == expected


def self_report(confidence: float | None) -> Score:
    return Score(values={"confidence": confidence}, metadata={SELF_REPORT: True})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({}, 0.5, id="what its tokens say"),
        pytest.param({"confidence": self_report(0.9)}, 0.9, id="what it says"),
        pytest.param({"confidence": self_report(None)}, None, id="nothing"),
    ],
)
def test_the_confidence_of_a_row(
    store: Store, said: dict[str, Score], expected: float | None
) -> None:
    begun(store, "a")
    right = Score(values={"score": 1.0}, correct=True)
    sure = structs.replace(trace(), confidence=0.5)

    store.append("a", [outcome(trace=sure, scores={"record": right, **said})])

    (row,) = store.rows("a")
    assert (row.score, row.correct, row.confidence) == (1.0, True, expected)


def test_a_scorer_of_a_project_that_is_called_confidence_says_nothing_of_the_model(
    store: Store,
) -> None:
    begun(store, "a")
    sure = structs.replace(trace(), confidence=0.5)
    scores = {"exact": Score(values={"is_correct": 1.0}), "confidence": Score(values={"x": 4.0})}

    store.append("a", [outcome(trace=sure, scores=scores)])

    (row,) = store.rows("a")
    assert row.confidence == 0.5


TASKS, MODELS, ORDINALS, TRIALS = ["b", "a", "Z"], ["y/2", "x/1", "z/3"], [2, 0, 10, 1], [1, 0]


def mixed() -> list[Outcome]:
    """Seventy-two outcomes in no order; every third has failed."""
    jobs = list(product(TASKS, ORDINALS, TRIALS, MODELS))
    outcomes = [
        (failed if at % 3 == 0 else outcome)(ordinal, task=task, trial=trial, model=model)
        for at, (task, ordinal, trial, model) in enumerate(jobs)
    ]
    random.Random(3).shuffle(outcomes)
    return outcomes


def in_order(outcomes: list[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda one: (one.task, one.ordinal, one.trial, one.model))


def test_rows_and_outcomes_come_by_task_ordinal_trial_and_model(store: Store) -> None:
    begun(store, "a", "other")
    store.append("other", [outcome(3)])

    for one in mixed():
        store.append("a", [one])

    expected = in_order(mixed())
    assert list(store.outcomes("a")) == expected
    assert [(row.task, row.ordinal, row.trial, row.model) for row in store.rows("a")] == [
        (one.task, one.ordinal, one.trial, one.model) for one in expected
    ]
    assert sorted(store.list_jobs("a")) == sorted(
        (one.task, one.model, one.ordinal, one.trial, one.failure is not None) for one in expected
    )


PAGES = [
    (0, None),
    (0, 0),
    (0, 5),
    (5, 5),
    (23, 2),
    (24, 24),
    (30, None),
    (47, 100),
    (71, 1),
    (72, 1),
]


@pytest.mark.parametrize("only_failed", [None, True, False])
@pytest.mark.parametrize("model", [None, "x/1", "nobody"])
def test_a_page_is_a_slice(store: Store, *, only_failed: bool | None, model: str | None) -> None:
    begun(store, "a")
    store.append("a", mixed())
    wanted = [
        one
        for one in in_order(mixed())
        if only_failed in {None, one.failure is not None} and model in {None, one.model}
    ]

    for offset, limit in PAGES:
        page = store.outcomes("a", failed=only_failed, model=model, offset=offset, limit=limit)

        assert list(page) == wanted[offset : None if limit is None else offset + limit]


@pytest.mark.parametrize("only_failed", [None, True, False])
@pytest.mark.parametrize("sample_id", ["sum-10", "sum-2", "nobody"])
def test_the_outcomes_of_a_sample(
    store: Store, *, only_failed: bool | None, sample_id: str
) -> None:
    begun(store, "a", "other")
    store.append("a", mixed())
    store.append("other", mixed())
    wanted = [
        one
        for one in in_order(mixed())
        if only_failed in {None, one.failure is not None} and one.sample_id == sample_id
    ]

    assert list(store.outcomes("a", failed=only_failed, sample_id=sample_id)) == wanted
    page = store.outcomes("a", failed=only_failed, sample_id=sample_id, offset=3, limit=5)
    assert list(page) == wanted[3:8]


def test_outcomes_are_counted(store: Store) -> None:
    begun(store, "a")

    store.append("a", mixed())

    assert store.count("a") == (72, 24)


def test_a_deleted_run_is_gone_and_the_others_are_not(store: Store) -> None:
    begun(store, "a", "b")
    store.append("a", [outcome(0, solve_key="ab", score_keys={"record": "01"}), failed(1)])
    store.append("a", [outcome(2, solve_key="cd")])
    store.append("b", [outcome(0, solve_key="ab", score_keys={"record": "01"}, trace=trace("b"))])

    assert store.delete("a") == 3

    assert [run.id for run in store.runs()] == ["b"]
    assert store.count("b") == (1, 0)
    assert store.trace("ab") == trace("b")
    assert store.score("01") == Score(values={"score": 1.0}, correct=True)
    assert store.trace("cd") is None


def test_a_run_of_the_same_plan_that_was_not_seen_is_taken_instead(store: Store) -> None:
    seen = Run(id="a", created="now", updated="now", status="running", plan_key="plan")
    meanwhile, own = structs.replace(seen, id="b"), structs.replace(seen, id="c")
    other = structs.replace(seen, id="d", plan_key="another")

    assert store.begin(seen, seen=()).id == "a"
    assert store.begin(meanwhile, seen={"a"}).id == "b"
    assert store.begin(own, seen={"a"}).id == "b"
    assert store.begin(other, seen=()).id == "d"
    assert [run.id for run in store.runs()] == ["d", "b", "a"]


def test_a_process_that_is_alone_with_its_run_may_take_every_job(store: Store) -> None:
    begun(store, "a")
    store.append("a", [outcome(0), failed(1)])

    membership = store.join("a")

    assert not membership.is_shared
    assert not membership.has_others()
    assert membership.is_ready()
    assert not membership.others_claim()
    assert membership.count_earlier() == 2
    jobs = [("sums", "m", ordinal, 0) for ordinal in range(3)]
    membership.share(jobs)
    assert [claim.state for claim in membership.claim(jobs)] == ["mine"] * 3
    membership.renew(jobs)
    membership.release()
    membership.leave()
    store.append("a", [outcome(2)])
    assert store.join("a").count_earlier() == 3


def test_the_id_of_a_deleted_run_can_be_begun_again(store: Store) -> None:
    begun(store, "a")
    store.append("a", [outcome(0)])
    store.delete("a")

    begun(store, "a")

    assert store.count("a") == (0, 0)


def test_tidying_up_changes_nothing(store: Store) -> None:
    begun(store, "a", "b")
    store.append("a", [FULL, outcome(1)])
    store.append("b", mixed())
    store.delete("b")

    assert store.gc() >= 0

    assert list(store.outcomes("a")) == [outcome(1), FULL]
    assert store.trace(FULL.solve_key) == FULL.trace
    assert store.score("f" * 32) == FULL.scores["record"]


def test_a_store_may_be_closed_twice(store: Store) -> None:
    store.close()
    store.close()


def test_what_one_thread_has_appended_another_sees(store: Store) -> None:
    begun(store, "a")
    wrong: list[object] = []

    def append() -> None:
        for ordinal in range(200):
            store.append("a", [outcome(ordinal, solve_key=f"{ordinal:04x}")])
            if store.trace(f"{ordinal:04x}") is None:
                wrong.append(ordinal)

    writer = threading.Thread(target=append)
    writer.start()
    while writer.is_alive():
        ordinals = [row.ordinal for row in store.rows("a")]
        if ordinals != list(range(len(ordinals))):
            wrong.append(ordinals)
    writer.join()

    assert not wrong
    assert store.count("a") == (200, 0)


def test_several_threads_may_append(store: Store) -> None:
    begun(store, "a")

    def append(model: str) -> None:
        for ordinal in range(50):
            store.append("a", [outcome(ordinal, model=model, group=f"{model}-{ordinal}")])

    writers = [threading.Thread(target=append, args=(f"m/{at}",)) for at in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert store.count("a") == (200, 0)
    assert all(row.group == f"{row.model}-{row.ordinal}" for row in store.rows("a"))
