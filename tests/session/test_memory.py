from pathlib import Path

import pytest
from tests.session.made import model, record, run_records, write_records

import evalwright as ew
from evalwright.session.memory import StoredAnswers
from evalwright.spec.records.fixtures import TASKS
from evalwright.store.memory import MemoryStore


def test_samples_are_read_from_the_store_whenever_they_are_asked_for() -> None:
    report = ew.run(TASKS, "scripted/oracle", limit=3)

    first, second = list(report.samples()), list(report.samples())

    assert [one.sample_id for one in first] == [one.sample_id for one in second]
    assert len(first) == 3


@pytest.mark.parametrize(
    "store",
    [
        pytest.param("runs.db", id="a path that was relative to another folder"),
        pytest.param("memory:", id="a store that forgets when the process ends"),
    ],
)
def test_samples_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.chdir(tmp_path)
    report = ew.run(TASKS, "scripted/oracle", limit=3, store=store)
    (tmp_path / "elsewhere").mkdir()

    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("EVALWRIGHT_STORE", "nowhere.db")

    assert len(list(report.samples())) == 3


def test_a_run_in_memory_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALWRIGHT_STORE", "memory:")

    report = ew.run(TASKS, "scripted/oracle", limit=3)

    assert len(list(report.samples(failed=False))) == 3
    assert list(tmp_path.iterdir()) == []


def test_what_is_reused_is_counted_by_answers(tmp_path: Path) -> None:
    tasks = write_records(tmp_path / "tasks.jsonl", record("a"))
    store = MemoryStore()
    run_records(tasks, {"m": model()}, store)
    (outcome,) = store.outcomes(store.find("latest").id)
    memory = StoredAnswers(store, None)

    assert memory.trace("nothing") is None
    assert memory.trace(outcome.solve_key) == outcome.trace
    assert memory.score(outcome.score_keys["record"]) == outcome.scores["record"]
    assert memory.score("nothing") is None

    assert memory.reused == 1


def test_only_the_answers_that_it_was_given_are_remembered(tmp_path: Path) -> None:
    tasks = write_records(tmp_path / "tasks.jsonl", record("a"))
    store = MemoryStore()
    run_records(tasks, {"m": model()}, store)
    (outcome,) = store.outcomes(store.find("latest").id)

    assert StoredAnswers(store, {}).trace(outcome.solve_key) is None
