"""A run, and the same run again: what is asked, what is reused, what the report says."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.session.made import (
    Died,
    Jail,
    Listening,
    Mortal,
    asked,
    code,
    comparable,
    jailed_by,
    model,
    record,
    run_records,
    write_records,
)

import evalwright as ew
from evalwright import api
from evalwright.clients.scripted import Scripted
from evalwright.errors import BadTasks, EvalwrightError, Unreadable, UsageError
from evalwright.ports import Store
from evalwright.report.report import CodeExecution
from evalwright.store.memory import MemoryStore
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Request

ABC = ("a", "b", "c")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield made
    made.close()


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return write_records(tmp_path / "tasks.jsonl", *map(record, ABC))


def mended(path: str, **changes: Any) -> None:
    """Change the record `b`, and leave the others."""
    changed = (record(name, **changes) if name == "b" else record(name) for name in ABC)
    write_records(Path(path), *changed)


def moody(request: Request) -> str:
    """Right about most, wrong about some, and nothing at all to say about others."""
    name = f"{request.sample.id}{request.trial}"
    if name == "f0":
        raise ConnectionError("no answer")
    return "5" if name in {"b1", "e0"} else "4"


def failing_about(*names: str) -> Callable[[Request], str]:
    def script(request: Request) -> str:
        if request.sample.id in names:
            raise ConnectionError("no answer")
        return "4"

    return script


class TestTheSamePlanIsTheSameRun:
    @pytest.mark.parametrize("workers", [1, 3])
    @pytest.mark.parametrize("room", range(15))
    def test_killed_anywhere_it_ends_as_if_nothing_had_happened(
        self, tmp_path: Path, room: int, workers: int
    ) -> None:
        records = [record("a"), record("b", metadata={"samples": 3}), *map(record, "cdef")]
        tasks = write_records(tmp_path / "tasks.jsonl", *records)
        clients = {"one": model(moody), "two": model()}
        whole = run_records(tasks, clients, MemoryStore())
        in_one_go = len(asked(clients["one"])) + len(asked(clients["two"]))
        store = Mortal(room)

        with pytest.raises(Died):
            run_records(tasks, clients, store, concurrency=workers)
        kept = len(list(store.outcomes(store.find("latest").id)))
        before = len(asked(clients["one"])) + len(asked(clients["two"]))
        store.room = None
        report = run_records(tasks, clients, store)

        assert comparable(report) == comparable(whole)
        assert report.summary.reused == kept
        assert len(store.runs()) == 1
        again = len(asked(clients["one"])) + len(asked(clients["two"]))
        assert again == in_one_go - kept
        assert before - kept <= workers, "no more than one call a worker is paid for twice"

    def test_a_finished_run_is_reported_again_and_nothing_is_asked(
        self, tasks: str, store: Store
    ) -> None:
        client = model()
        first = run_records(tasks, {"m": client}, store)
        assert asked(client) == ["a", "b", "c"]

        second = run_records(tasks, {"m": client}, store)

        assert asked(client) == []
        assert second.run_id == first.run_id
        assert (first.summary.reused, second.summary.reused) == (0, 3)
        assert comparable(second) == comparable(first)

    def test_also_when_the_files_have_moved(self, tmp_path: Path, store: Store) -> None:
        client = model()
        before = write_records(tmp_path / "tasks.jsonl", record("a"), "{")
        first = run_records(before, {"m": client}, store, allow_bad_tasks=True)
        (tmp_path / "moved").mkdir()
        after = Path(before).rename(tmp_path / "moved" / "tasks.jsonl")
        asked(client)

        second = run_records(str(after), {"m": client}, store, allow_bad_tasks=True)

        assert (second.run_id, asked(client)) == (first.run_id, [])
        assert second.left_out[0].file == str(after)
        (task,) = store.find("latest").manifest["plan"]["tasks"]
        assert task["path"] == str(after), "whoever scores it again must find the file"

    def test_the_report_may_be_made_another_way(self, tasks: str, store: Store) -> None:
        client = model()
        run_records(tasks, {"m": client}, store)
        asked(client)

        report = run_records(tasks, {"m": client}, store, bins=15, seed=3)

        assert len(report.calibration["m"].bins) == 15
        assert asked(client) == []

    def test_failed_samples_stay_failed_unless_they_are_to_be_tried_again(
        self, tasks: str, store: Store
    ) -> None:
        first = run_records(tasks, {"m": model(failing_about("b"))}, store)
        client = model()

        same = run_records(tasks, {"m": client}, store)
        assert (same.status, same.summary.failed, asked(client)) == (
            *("finished_with_failures", 1, []),
        )
        retried = run_records(tasks, {"m": client}, store, retry_failed=True)

        assert asked(client) == ["b"]
        assert retried.run_id == first.run_id
        assert (retried.status, retried.summary.failed, retried.summary.reused) == (
            *("finished", 0, 2),
        )

    def test_a_sample_that_only_its_scorer_failed_is_scored_again_without_a_call(
        self, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jailed_by(monkeypatch, "Jail")
        tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() =="))
        client = model(lambda _: "def f(): return 1")
        run_records(tasks, {"m": client}, store)
        assert asked(client) == ["a"]

        retried = run_records(tasks, {"m": client}, store, retry_failed=True)

        assert asked(client) == []
        assert retried.failures[0].stage == "score"


class TestAnotherPlanReusesWhatIsTheSame:
    def test_a_mended_target_is_scored_again_and_nothing_is_asked(
        self, tasks: str, store: Store
    ) -> None:
        client, progress = model(), Listening()
        first = run_records(tasks, {"m": client}, store)
        asked(client)
        mended(tasks, targets=["5"])

        second = run_records(tasks, {"m": client}, store, progress=progress)

        assert asked(client) == []
        assert second.run_id != first.run_id
        assert second.summary.reused == 3
        assert [first.leaderboard[0].mean, second.leaderboard[0].mean] == [1.0, 2 / 3]
        assert progress.told == [
            f"new run: since {first.run_id}, {tasks} has changed; unchanged results are reused"
        ]

    def test_another_rule_makes_other_post_processed_answers_of_the_same_outputs(
        self, tasks: str, store: Store
    ) -> None:
        client = model(lambda _: " 4\nsurely")
        run_records(tasks, {"m": client}, store)
        asked(client)
        mended(tasks, post_process="extract_first_line")

        report = run_records(tasks, {"m": client}, store)

        outcomes = list(store.outcomes(report.run_id))
        traces = {one.sample_id: one.trace for one in outcomes if one.trace}
        assert asked(client) == []
        assert {one.output for one in traces.values()} == {" 4\nsurely"}
        assert {name: one.post_processed for name, one in traces.items()} == {
            "a": "4\nsurely",
            "b": "4",
            "c": "4\nsurely",
        }
        assert [one.scores["record"].values["score"] for one in outcomes] == [0.0, 1.0, 0.0]

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"prompt": "what now?"}, id="a prompt"),
            pytest.param(
                {"few_shot_examples": [{"prompt": "1 + 1", "completion": "2"}]}, id="an example"
            ),
        ],
    )
    def test_a_changed_question_is_asked_and_no_other(
        self, tasks: str, store: Store, change: dict[str, Any]
    ) -> None:
        client = model()
        run_records(tasks, {"m": client}, store)
        asked(client)
        mended(tasks, **change)

        report = run_records(tasks, {"m": client}, store)

        assert asked(client) == ["b"]
        assert report.summary.reused == 2

    def test_a_new_model_is_asked_and_no_other(self, tasks: str, store: Store) -> None:
        old, new = model(), model()
        run_records(tasks, {"old": old}, store)
        asked(old)

        report = run_records(tasks, {"old": old, "new": new}, store)

        assert (asked(old), asked(new)) == ([], ["a", "b", "c"])
        assert report.summary.reused == 3

    def test_a_model_with_other_parameters_is_asked_again(self, tasks: str, store: Store) -> None:
        cold, warm = model(), model()
        warm.fingerprint = "temperature=1"
        run_records(tasks, {"m": cold}, store)

        report = run_records(tasks, {"m": warm}, store)

        assert asked(warm) == ["a", "b", "c"]
        assert report.summary.reused == 0

    def test_a_higher_limit_asks_for_what_is_new(self, tasks: str, store: Store) -> None:
        client = model()
        run_records(tasks, {"m": client}, store, limit=2)
        asked(client)

        report = run_records(tasks, {"m": client}, store)

        assert asked(client) == ["c"]
        assert (report.summary.samples, report.summary.reused) == (3, 2)

    def test_more_generations_are_asked_for_those_that_are_new(
        self, tasks: str, store: Store
    ) -> None:
        client = model()
        run_records(tasks, {"m": client}, store, samples=2, limit=1)
        assert asked(client) == ["a", "a"]

        report = run_records(tasks, {"m": client}, store, samples=3, limit=1)

        assert asked(client) == ["a"]
        assert (report.summary.samples, report.summary.reused) == (3, 2)
        assert [row.metric for row in report.metrics] == ["mean", "pass@1", "pass@2", "pass@3"]

    def test_programs_judged_another_way_are_judged_again_and_nothing_is_asked(
        self, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jailed_by(monkeypatch, "Jail")
        tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
        client = model(lambda _: "def f(): return 1")
        split = run_records(tasks, {"m": client}, store)
        asked(client)

        together = run_records(tasks, {"m": client}, store, in_process_targets=True)

        assert asked(client) == []
        assert [_verified(store, report.run_id) for report in (split, together)] == [True, False]

    def test_records_that_ask_the_same_keep_their_own_answers(
        self, tmp_path: Path, store: Store
    ) -> None:
        same = [record(name, prompt="guess") for name in ("a", "b")]
        tasks = write_records(tmp_path / "tasks.jsonl", *same)
        client = model(lambda request: {"a": "4", "b": "5"}[request.sample.id])
        first = run_records(tasks, {"m": client}, store)
        write_records(tmp_path / "tasks.jsonl", *same, record("c"))

        run_records(tasks, {"m": client}, store, limit=2)

        said = {one.sample_id: one.trace for one in store.outcomes(store.find("latest").id)}
        assert {name: trace.output for name, trace in said.items() if trace} == {"a": "4", "b": "5"}
        assert first.run_id != store.find("latest").id


def _verified(store: Store, run_id: str) -> bool:
    (outcome,) = store.outcomes(run_id)
    return outcome.scores["record"].metadata["verified"] is True


class TestFresh:
    def test_it_asks_for_everything_again_in_another_run(self, tasks: str, store: Store) -> None:
        client, progress = model(), Listening()
        first = run_records(tasks, {"m": client}, store)
        asked(client)

        second = run_records(tasks, {"m": client}, store, fresh=True, progress=progress)

        assert asked(client) == ["a", "b", "c"]
        assert second.run_id != first.run_id
        assert second.summary.reused == 0
        assert progress.told == []

    def test_gone_on_with_it_still_reuses_nothing_of_other_runs(self, tasks: str) -> None:
        store, client = Mortal(3 + 1), model()
        run_records(tasks, {"m": client}, store)
        with pytest.raises(Died):
            run_records(tasks, {"m": client}, store, fresh=True, concurrency=1)
        asked(client)
        store.room = None

        report = run_records(tasks, {"m": client}, store)

        assert asked(client) == ["b", "c"], "`a` is its own; the others have old answers only"
        assert report.summary.reused == 1
        assert len(store.runs()) == 2


class TestStopping:
    def test_too_many_failures_stop_a_run_that_can_be_gone_on_with(
        self, tasks: str, store: Store
    ) -> None:
        broken = model(failing_about("b"))

        stopped = run_records(tasks, {"m": broken}, store, max_failures=0, concurrency=1)
        resumed = run_records(tasks, {"m": model()}, store, max_failures=0, concurrency=1)

        assert asked(broken) == ["a", "b"]
        assert stopped.status == "stopped"
        assert stopped.notes[-1] == (
            "not finished (1 sample failed, more than the 0 allowed): 2 of 3 samples; "
            "the same command resumes it"
        )
        assert (resumed.status, resumed.run_id) == ("finished_with_failures", stopped.run_id)
        assert not any("not finished" in note for note in resumed.notes)

    def test_a_cap_is_the_runs_however_often_it_is_gone_on_with(
        self, tasks: str, store: Store
    ) -> None:
        # A question has three words, an answer is one token.
        client = model()
        capped: dict[str, Any] = {"max_tokens_total": 7, "concurrency": 1}

        stopped = run_records(tasks, {"m": client}, store, **capped)
        again = run_records(tasks, {"m": client}, store, **capped)
        assert asked(client) == ["a", "b"]
        finished = run_records(tasks, {"m": client}, store, max_tokens_total=100, concurrency=1)

        assert asked(client) == ["c"]
        assert stopped.status == again.status == "stopped"
        assert (
            stopped.notes[-1]
            == again.notes[-1]
            == (
                "not finished (the cap is reached: 8 of 7 tokens spent): 2 of 3 samples; "
                "raise the cap and run again to resume"
            )
        )
        assert finished.status == "finished"
        assert {stopped.run_id, again.run_id, finished.run_id} == {finished.run_id}

    def test_a_stopped_run_says_so_in_the_store(self, tasks: str, store: Store) -> None:
        run_records(tasks, {"m": model(failing_about("a"))}, store, max_failures=0, concurrency=1)

        run = store.find("latest")

        assert run.status == "stopped"
        assert run.manifest["stopped"]["reason"] == "1 sample failed, more than the 0 allowed"

    def test_a_run_that_broke_is_still_running_for_whoever_looks(self, tasks: str) -> None:
        store = Mortal(1)

        with pytest.raises(Died):
            run_records(tasks, {"m": model()}, store, concurrency=1)

        assert store.find("latest").status == "running"
        assert store.count(store.find("latest").id) == (1, 0)


class TestScore:
    def test_it_scores_stored_outputs_as_the_files_are_now(self, tasks: str) -> None:
        first = ew.run(tasks, "scripted/oracle")
        mended(tasks, targets=["5"])

        second = ew.score()

        assert second.run_id != first.run_id
        assert api.find().parent == first.run_id
        assert second.summary.reused == 3
        assert [first.leaderboard[0].mean, second.leaderboard[0].mean] == [1.0, 2 / 3]

    def test_it_asks_no_model_so_a_changed_question_fails(self, tasks: str) -> None:
        ew.run(tasks, "scripted/oracle")
        mended(tasks, prompt="what now?")

        report = ew.score()

        assert report.status == "finished_with_failures"
        assert report.summary.completed == 2
        assert (report.failures[0].stage, report.failures[0].sample_ids) == ("solver", ["b"])
        assert report.failures[0].message == (
            "no answer is stored for 'b' with its current task and row, and `score` queries no "
            "models: use `evalwright run`"
        )

    def test_its_report_says_what_the_outputs_are(self, tasks: str) -> None:
        first = ew.run(tasks, "scripted/oracle")

        second = ew.score(first.run_id)

        assert second.notes == [*first.notes, f"outputs of {first.run_id}, scored again"]
        assert ew.load().notes == second.notes

    def test_twice_is_once_while_the_files_stay_the_same(self, tasks: str) -> None:
        first = ew.run(tasks, "scripted/oracle")

        one, two = ew.score(first.run_id), ew.score(first.run_id)

        assert one.run_id == two.run_id != first.run_id

    def test_the_outputs_are_those_of_the_run_that_was_named(self, tasks: str) -> None:
        store = SqliteStore(os.environ["EVALWRIGHT_STORE"])
        older = run_records(tasks, {"m": model(lambda _: "4")}, store)
        newer = run_records(tasks, {"m": model(lambda _: "5")}, store, fresh=True)
        store.close()

        means = [ew.score(run.run_id).leaderboard[0].mean for run in (older, newer)]

        assert means == [1.0, 0.0]

    def test_fresh_scores_have_outputs_too(self, tasks: str) -> None:
        ew.run(tasks, "scripted/oracle")

        assert ew.score(fresh=True).leaderboard[0].mean == 1.0

    def test_a_run_that_is_not_there_is_an_error_before_anything_is_made(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(Unreadable, match="no such file"):
            ew.score(store=tmp_path / "runs.db")

        assert list(tmp_path.iterdir()) == []


class TestBeforeTheFirstCall:
    @pytest.mark.parametrize(
        ("wrong", "kind"),
        [
            pytest.param({"models": "scripted/orcale"}, UsageError, id="a model"),
            pytest.param({"models": []}, UsageError, id="no model"),
            pytest.param({"limit": 0}, UsageError, id="an option"),
            pytest.param({"tasks": "nope.jsonl"}, UsageError, id="a file"),
            pytest.param({"tasks": "bad.jsonl"}, BadTasks, id="a record"),
            pytest.param({"prices": "nope.toml"}, UsageError, id="prices"),
            pytest.param({"store": "postgresql://x"}, UsageError, id="a store"),
        ],
    )
    def test_a_mistake_is_found_and_no_run_begun(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        wrong: dict[str, Any],
        kind: type[Exception],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write_records(tmp_path / "tasks.jsonl", record("a"))
        write_records(tmp_path / "bad.jsonl", "{")
        right = {"tasks": "tasks.jsonl", "models": "scripted/oracle", "store": "runs.db"}

        with pytest.raises(kind):
            ew.run(**{**right, **wrong})

        assert api.runs("runs.db") == []

    def test_code_needs_a_sandbox_and_no_run_is_begun(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jailed_by(monkeypatch, "no_jail")
        tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
        store = MemoryStore()

        with pytest.raises(
            EvalwrightError, match="no sandbox that isolates programs is available"
        ) as refused:
            run_records(tasks, {"m": model()}, store)

        assert refused.value.exit_code == 4
        assert store.runs() == []

    def test_without_a_sandbox_the_user_may_allow_it_and_hears_and_reads_of_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jailed_by(monkeypatch, "no_jail")
        tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
        client, progress = model(lambda _: "def f(): return 1"), Listening()

        report = run_records(
            tasks, {"m": client}, MemoryStore(), progress=progress, unsafe_code_exec=True
        )

        assert report.leaderboard[0].mean == 1.0
        assert report.code_execution == CodeExecution(
            tier="rlimits", verified=False, passes=1, mean=1.0, verified_mean=0.0
        )
        assert progress.told[0].startswith("warning: programs run in a plain child process")
        assert "not isolated" in report.to_markdown()


def test_whoever_watches_hears_of_what_is_stored(tasks: str, store: Store) -> None:
    run_records(tasks, {"m": model()}, store, limit=1)
    one, two = Listening(), Listening()

    run_records(tasks, {"m": model()}, store, progress=one)
    run_records(tasks, {"m": model()}, store, progress=two)

    assert (one.begun, two.begun) == ([(3, 0)], [(3, 3)])
    assert sorted(outcome.sample_id for outcome in one.stored) == ["a", "b", "c"]
    assert two.stored == []
    assert one.ends == two.ends == [False]


def test_whoever_watches_hears_of_the_end_also_of_a_run_that_breaks(tasks: str) -> None:
    progress = Listening()

    with pytest.raises(Died):
        run_records(tasks, {"m": model()}, Mortal(0), progress=progress)

    assert progress.ends == [False]
    assert progress.stored == []


def test_a_secret_of_the_environment_is_never_stored(
    tasks: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-0123456789abcdef")
    mended(tasks, prompt="is sk-0123456789abcdef a key?")
    client = model(lambda _: "my key is sk-0123456789abcdef")

    report = run_records(tasks, {"m": client}, store)

    for outcome in store.outcomes(report.run_id):
        assert outcome.trace is not None
        assert outcome.trace.output == "my key is [redacted]"
        assert "sk-0123456789abcdef" not in repr(outcome)


def test_with_a_cache_equal_questions_are_asked_once_in_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    same = [record(name, prompt="guess") for name in ABC]
    tasks = write_records(tmp_path / "tasks.jsonl", *same)
    client = model()

    one = run_records(tasks, {"acme/m": client}, MemoryStore(), cache=True, concurrency=1)
    two = run_records(tasks, {"acme/m": client}, MemoryStore(), cache=True)

    assert asked(client) == ["a"]
    assert one.leaderboard == two.leaderboard
    assert [path.name for path in (tmp_path / ".evalwright").iterdir()] == ["cache.db"], "closed"


def test_a_million_workers_for_three_samples_are_three(tasks: str) -> None:
    before = threading.active_count()

    report = run_records(tasks, {"m": model()}, MemoryStore(), concurrency=2**62)

    assert report.summary.completed == 3
    assert threading.active_count() == before


def test_models_are_closed_also_when_the_run_breaks(tasks: str) -> None:
    class Closing(Scripted):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    clients = [Closing("test", model()._script) for _ in range(2)]

    run_records(tasks, {"m": clients[0]}, MemoryStore())
    with pytest.raises(Died):
        run_records(tasks, {"m": clients[1]}, Mortal(0))

    assert [client.closed for client in clients] == [1, 1]


def test_the_sandbox_is_closed_whatever_becomes_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jailed_by(monkeypatch, "Jail")
    tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
    client = {"m": model(lambda _: "def f(): return 1")}

    run_records(tasks, client, MemoryStore())
    with pytest.raises(Died):
        run_records(tasks, client, Mortal(0))
    with pytest.raises(UsageError, match=r"nope\.toml"):
        run_records(tasks, client, MemoryStore(), prices="nope.toml")

    assert [jail.closed for jail in Jail.made] == [1, 1, 1]


def test_inside_a_running_loop_it_works_and_raises_as_elsewhere(tasks: str) -> None:
    async def notebook(store: Store) -> ew.Report:
        return run_records(tasks, {"m": model()}, store)

    assert asyncio.run(notebook(MemoryStore())).summary.completed == 3
    with pytest.raises(Died):
        asyncio.run(notebook(Mortal(1)))
