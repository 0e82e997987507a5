from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from evalwright import api
from evalwright.errors import UnknownName, UsageError
from evalwright.registry import names
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Failure, Outcome, Part, Run, Score, Trace

MODELS = ("m/one", "m/two")
BROKEN = Failure(stage="solver", type="timeout", message="no answer")


def outcome(task: str, ordinal: int, trial: int, model: str) -> Outcome:
    """Of sample s0, s1, s2…; the second model fails at the second trial."""
    failure = BROKEN if (trial, model) == (1, "m/two") else None
    return Outcome(
        task=task,
        model=model,
        sample_id=f"s{ordinal}",
        ordinal=ordinal,
        trial=trial,
        trace=None if failure else Trace(input=f"{task} {ordinal}", output="", post_processed=""),
        failure=failure,
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    """One run: two tasks of five samples, two trials, two models."""
    path = tmp_path / "runs.db"
    now = "2026-11-15T12:00:00+00:00"
    facts = {"path": "", "records": 5, "code_exec": 0, "trials": 10}
    tasks = [{"name": name, **facts} for name in ("easy", "hard")]
    manifest = {"plan": {"tasks": tasks, "models": MODELS}, "models": dict.fromkeys(MODELS, "1")}
    opened = SqliteStore(path)
    opened.begin(
        Run(
            id="r1",
            created=now,
            updated=now,
            status="finished",
            plan_key="key",
            manifest=manifest,
        )
    )
    jobs = product(("easy", "hard"), range(5), range(2), MODELS)
    opened.append("r1", [outcome(*job) for job in jobs])
    opened.close()
    return str(path)


def test_a_sample_is_found_in_every_task_trial_and_model(store: str) -> None:
    found = [(one.task, one.trial, one.model) for one in api.show_samples("r1", "s3", store)]

    assert found == list(product(("easy", "hard"), range(2), MODELS))


@pytest.mark.parametrize("sample_id", [pytest.param("s3", id="one"), pytest.param(None, id="all")])
def test_only_one_model_or_only_failures_can_be_asked_for(
    sample_id: str | None, store: str
) -> None:
    of_one = list(api.show_samples("r1", sample_id, store, model="m:one"))
    failed = list(api.show_samples("r1", sample_id, store, failed=True))

    assert {one.model for one in of_one} == {"m/one"}
    assert {(one.model, one.trial) for one in failed} == {("m/two", 1)}
    assert len(of_one) == (4 if sample_id else 20)
    assert len(failed) == (2 if sample_id else 10)


@pytest.mark.parametrize("sample_id", [pytest.param("s3", id="one"), pytest.param(None, id="all")])
def test_only_one_task_can_be_asked_for(sample_id: str | None, store: str) -> None:
    found = list(api.show_samples("r1", sample_id, store, task="hard"))
    with pytest.raises(UnknownName, match="no task `hrd`; it has `easy`, `hard`") as raised:
        next(api.show_samples("r1", sample_id, store, task="hrd"))

    assert {one.task for one in found} == {"hard"}
    assert len(found) == (4 if sample_id else 20)
    assert raised.value.hint == "did you mean `hard`?"


def test_only_what_is_wrong_can_be_asked_for(store: str) -> None:
    wrong = Score(values={"score": 0}, correct=False)
    right = Score(values={"score": 1, "ok": True, "late": False}, correct=True)
    no = Score(values={"said": "x", "is_correct": False})
    verdicts: list[dict[str, Any]] = [
        {"scores": {"a": wrong}},
        {"scores": {"a": right}},
        {"scores": {"a": right, "b": no}},
        {"parts": (Part(sample={}, scores={"a": right}), Part(sample={}, scores={"a": no}))},
        {"scores": {"a": Score(values={"score": 0})}},
    ]
    opened = SqliteStore(Path(store))
    told = (
        structs.replace(outcome("easy", at, 5, "m/one"), **one) for at, one in enumerate(verdicts)
    )
    opened.append("r1", list(told))
    opened.close()

    found = api.show_samples("r1", None, store, wrong=True)

    assert [one.sample_id for one in found] == ["s0", "s2", "s3"]
    assert [one.trial for one in api.show_samples("r1", "s2", store, wrong=True)] == [5]


def test_a_sample_or_a_model_that_is_not_there_is_an_unknown_name(store: str) -> None:
    with pytest.raises(UnknownName, match="no outcome for sample `s9`"):
        next(api.show_samples("r1", "s9", store))
    with pytest.raises(UnknownName, match="no model `m/three`; it has `m/one`, `m/two`"):
        next(api.show_samples("r1", None, store, model="m/three"))


def test_a_run_is_listed_with_how_far_it_came(store: str) -> None:
    (run,) = api.runs(store)

    assert (run.id, run.done, run.failed, run.models) == ("r1", 40, 10, [*MODELS])
    assert api.show_run("latest", store).plan_key == "key"


def test_no_store_yet_is_no_runs_yet_but_a_wrong_one_is_an_error(tmp_path: Path) -> None:
    assert api.runs(str(tmp_path / "none.db")) == []
    with pytest.raises(UsageError, match="a store must be a file"):
        api.runs("postgresql://host/db")
    (tmp_path / "text").write_text("not a database, and long enough to be taken for one" * 100)
    with pytest.raises(UsageError, match="not a database"):
        api.runs(str(tmp_path / "text"))


def test_every_provider_of_the_registry_has_a_line() -> None:
    found = api.list_models()

    assert [one.provider for one in found] == names("models")
    assert all(one.about and "\n" not in one.about for one in found)
