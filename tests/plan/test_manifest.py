"""Which plans are the same, what is said of those that are not, and manifests of older versions."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.session.made import code, describe_records, jailed_by, record, write_records

from evalwright.errors import Unreadable
from evalwright.plan.manifest import (
    VERSION,
    Command,
    Manifest,
    SandboxFacts,
    describe_changes,
    key_of_run,
    plan_key,
    read_manifest,
)
from evalwright.plan.outline import PlanOutline, PrimaryMetric, TaskOutline
from evalwright.types import Run


def key(*paths: str, **options: Any) -> str:
    return plan_key(describe_records(*paths, **options))


def run(
    manifest: Manifest | dict[str, Any], *, id_: str = "earlier", parent: str | None = None
) -> Run:
    raw = manifest.to_builtins() if isinstance(manifest, Manifest) else manifest
    return Run(
        id=id_,
        created="",
        updated="",
        status="finished",
        plan_key="of the version before",
        parent=parent,
        manifest=raw,
    )


def changes(manifest: Manifest, *earlier: Manifest | dict[str, Any]) -> list[str]:
    return list(describe_changes(manifest, [run(one) for one in earlier]))


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return write_records(tmp_path / "tasks.jsonl", record("a"), record("b"))


class TestTheSamePlan:
    def test_where_the_files_lie_does_not_matter(self, tmp_path: Path, tasks: str) -> None:
        (tmp_path / "moved").mkdir()
        moved = write_records(tmp_path / "moved" / "tasks.jsonl", record("a"), record("b"))

        assert key(moved) == key(tasks)

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param({"seed": 7, "bins": 15}, id="how the report is made"),
            pytest.param({"concurrency": 3, "retries": 9}, id="how many at once, how patiently"),
            pytest.param({"fresh": True}, id="that nothing shall be reused"),
            pytest.param(
                {"max_cost": 5.0, "durable": True, "store": "other.db"}, id="cost and place"
            ),
            pytest.param({"limit": None}, id="what is not said"),
            pytest.param({"trials": 1}, id="as many trials as there are anyway"),
        ],
    )
    def test_it_is_the_same_whatever(self, tasks: str, options: dict[str, Any]) -> None:
        assert key(tasks, **options) == key(tasks)

    def test_trials_are_the_same_by_either_name(self, tasks: str) -> None:
        assert key(tasks, trials=2) == key(tasks, samples=2)

    def test_what_people_read_in_place_of_a_key_does_not_matter(self) -> None:
        def planned(**fields: Any) -> str:
            task = TaskOutline(**{"name": "first", "task_key": "capitals", **fields})
            return plan_key(Manifest(plan=PlanOutline(tasks=(task,), models=()), models={}))

        assert planned(display_name="Capitals") == planned(display_name="Cities")
        assert planned(name="second") != planned()

    def test_the_key_of_a_stored_run_is_that_of_its_plan(self, tasks: str) -> None:
        manifest = describe_records(tasks)

        assert key_of_run(run(manifest)) == plan_key(manifest)
        assert key_of_run(run(manifest, parent="p")) == plan_key(manifest, parent="p")


class TestAnotherPlan:
    @pytest.mark.parametrize(
        "options",
        [
            pytest.param({"limit": 1}, id="a limit"),
            pytest.param({"trials": 2}, id="more trials"),
            pytest.param({"models": ("n",)}, id="another model"),
            pytest.param({"models": ("m", "n")}, id="one more model"),
            pytest.param({"fingerprint": "2"}, id="other parameters of the model"),
            pytest.param({"mcq": "loglikelihood"}, id="another way to choose"),
            pytest.param({"confidence": "self"}, id="another confidence"),
        ],
    )
    def test_it_is_another_with(self, tasks: str, options: dict[str, Any]) -> None:
        assert key(tasks, **options) != key(tasks)

    def test_another_content_is_another_plan(self, tmp_path: Path, tasks: str) -> None:
        before = key(tasks)

        write_records(tmp_path / "tasks.jsonl", record("a"), record("b", targets=["5"]))

        assert key(tasks) != before

    def test_another_name_of_the_task_is_another_plan(self, tmp_path: Path, tasks: str) -> None:
        renamed = write_records(tmp_path / "renamed.jsonl", record("a"), record("b"))

        assert key(renamed) != key(tasks)

    def test_scoring_a_run_again_is_another_plan_for_each_run(self, tasks: str) -> None:
        manifest = describe_records(tasks)

        assert len({plan_key(manifest, parent=parent) for parent in ("", "one", "two")}) == 3

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            pytest.param("solver", {"record": 99}, id="solver"),
            pytest.param("scorers", {"record": 99}, id="scorers"),
        ],
    )
    def test_another_version_of_a_part_is_another_plan(
        self, tasks: str, part: str, value: Any
    ) -> None:
        manifest = describe_records(tasks)
        newer = structs.replace(manifest, **{part: value})

        assert plan_key(newer) != plan_key(manifest)
        assert changes(newer, manifest) == [
            (
                f"new run: since earlier, the version of the {part} has changed; "
                "unchanged results are reused"
            )
        ]

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param({"in_process_targets": True}, id="where programs are judged"),
            pytest.param({"sandbox_packages": ["numpy"]}, id="what they may import"),
        ],
    )
    def test_another_way_to_judge_programs_is_another_plan(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
    ) -> None:
        jailed_by(monkeypatch, "Jail")
        programs = write_records(tmp_path / "programs.jsonl", code("a", "f() == 1"))
        texts = write_records(tmp_path / "texts.jsonl", record("a"))

        assert key(programs, **options) != key(programs)
        assert key(texts, **options) == key(texts), "where no program is run, it does not matter"


class TestWhatHasChanged:
    @pytest.mark.parametrize(
        ("options", "change"),
        [
            pytest.param({"limit": 1}, "the limit is 1 (was none)", id="a limit"),
            pytest.param({"trials": 2}, "--trials is 2 (was none)", id="more trials"),
            pytest.param({"samples": 2}, "--trials is 2 (was none)", id="by its other name"),
            pytest.param({"models": ("m", "n")}, "n is new", id="one more model"),
            pytest.param({"models": ("n",)}, "n is new, m was removed", id="another model"),
            pytest.param(
                {"fingerprint": "2"}, "the parameters of m have changed", id="other parameters"
            ),
            pytest.param(
                {"confidence": "self"}, "--confidence is self (was logprobs)", id="a mode"
            ),
        ],
    )
    def test_it_is_said(self, tasks: str, options: dict[str, Any], change: str) -> None:
        assert changes(describe_records(tasks, **options), describe_records(tasks)) == [
            f"new run: since earlier, {change}; unchanged results are reused"
        ]

    @pytest.mark.parametrize(
        ("now", "said"),
        [
            pytest.param({"tier": "rlimits"}, "the sandbox is rlimits (was jail)", id="tier"),
            pytest.param({"verified": False}, "--in-process-targets is on", id="where judged"),
            pytest.param(
                {"packages": ["numpy"]}, "--sandbox-package is numpy (was none)", id="packages"
            ),
        ],
    )
    def test_another_sandbox_is_described(self, tasks: str, now: dict[str, Any], said: str) -> None:
        before = SandboxFacts(tier="jail", verified=True)
        manifest = structs.replace(describe_records(tasks), sandbox=before)
        newer = structs.replace(manifest, sandbox=structs.replace(before, **now))

        assert plan_key(newer) != plan_key(manifest)
        assert changes(newer, manifest) == [
            f"new run: since earlier, {said}; unchanged results are reused"
        ]

    def test_a_sandbox_that_was_not_needed_is_no_change(self, tasks: str) -> None:
        with_code = structs.replace(
            describe_records(tasks), sandbox=SandboxFacts(tier="jail", verified=True)
        )
        limited = describe_records(tasks, limit=1)

        assert changes(limited, with_code) == [
            "new run: since earlier, the limit is 1 (was none); unchanged results are reused"
        ]

    def test_a_changed_file_is_named(self, tmp_path: Path, tasks: str) -> None:
        other = write_records(tmp_path / "other.jsonl", record("a"))
        before = describe_records(tasks, other)

        write_records(tmp_path / "other.jsonl", record("a", targets=["5"]))

        assert changes(describe_records(tasks, other), before) == [
            f"new run: since earlier, {other} has changed; unchanged results are reused"
        ]

    def test_the_newest_run_of_the_same_tasks_is_compared_with(
        self, tmp_path: Path, tasks: str
    ) -> None:
        other = write_records(tmp_path / "other.jsonl", record("a"))
        earlier = [
            run(describe_records(other), id_="of other tasks"),
            run(describe_records(tasks, limit=1), id_="newer"),
            run(describe_records(tasks), id_="older"),
        ]

        (said,) = describe_changes(describe_records(tasks), earlier)

        assert said.startswith("new run: since newer, the limit is none (was 1);")

    def test_an_imported_run_is_not_compared_with(self, tasks: str) -> None:
        before = describe_records(tasks)
        changed = structs.replace(before, mcq="loglikelihood")

        assert changes(changed, before) != []
        assert changes(changed, structs.replace(before, imported="log.json")) == []

    def test_nothing_is_said_where_nothing_has_changed_or_nothing_was(
        self, tmp_path: Path, tasks: str
    ) -> None:
        other = write_records(tmp_path / "other.jsonl", record("a"))
        manifest = describe_records(tasks)

        assert changes(manifest) == []
        assert changes(manifest, manifest) == []
        assert changes(manifest, describe_records(other)) == []


# Manifests as the version before this one wrote them, without a `version`.

RECORDS_TASK: dict[str, Any] = {
    "name": "tasks",
    "path": "tasks.jsonl",
    "records": 6,
    "code_exec": 0,
    "trials": 6,
    "tries": [],
    "digest": "2fbf61e34f39ee6ee6a9cf860fe4b242",
    "issues": [],
}
RECORDS: dict[str, Any] = {
    "plan": {
        "tasks": [RECORDS_TASK],
        "models": ["scripted/oracle", "scripted/noisy"],
        "limit": None,
        "samples": None,
    },
    "models": {"scripted/oracle": "1", "scripted/noisy": "1"},
    "solver": {"record": 1},
    "scorers": {"record": 2},
    "sandbox": None,
    "fresh": False,
    "seed": 0,
    "bins": 10,
    "calibrate": False,
    "parameters": {},
    "notes": ["scripted/oracle: answers by a script that knows the targets, not by a model"],
    "evalwright": "0.1.0",
    "python": "3.11.7",
    "platform": "Linux",
    "git": None,
    "stopped": None,
}
PROJECT: dict[str, Any] = {
    **RECORDS,
    "plan": {
        "tasks": [
            {
                "name": "caps",
                "task_key": "capitals",
                "display_name": "Capitals",
                "kind": "model",
                "models": ["scripted/echo"],
                "records": 4,
                "trials": 2,
                "repeats": 1,
                "after": "",
                "values": {"word": "capital"},
                "digest": "521b8ab3eedcc40a9ad1e6b66b7da2a2",
                "landed": 0,
            }
        ],
        "models": ["scripted/echo"],
        "evaluation": "e",
        "path": "run.yaml",
        "limit": 4,
        "samples": None,
        "kind": "documents",
    },
    "models": {"scripted/echo": "1", "judge": "{}"},
    "solver": {"single_turn_solver": 1},
    "scorers": {"right": 1, "exact": 1},
    "by_sample": ["scripted/echo"],
    "specifications": {"caps": {"key": "caps", "task_key": "capitals"}},
    "judges": [{"task": "caps", "scorer": "right"}],
    "told": {"models": ["scripted/echo"], "trials": 2},
    "folder": "/somewhere",
    "policies": [{"key": "p", "rules": []}],
    "report": {"run_id": "x"},
    "results": [{"task": "caps"}],
}


def records(task: dict[str, Any] | None = None, **plan: Any) -> dict[str, Any]:
    whole = {**RECORDS["plan"], "tasks": [{**RECORDS_TASK, **(task or {})}], **plan}
    return {**RECORDS, "plan": whole}


class TestAManifestWithoutAVersion:
    def test_of_records_has_a_task_for_each_file_with_all_models(self) -> None:
        manifest = read_manifest(run(RECORDS))

        (task,) = manifest.plan.tasks
        assert (task.models, task.records, task.trials) == (manifest.plan.models, 6, 1)
        assert manifest.plan.total == 12
        assert task.primary == PrimaryMetric(scorer="record", field="score", metric="mean")
        assert not task.finalized, "its metrics are made from the stored scores"
        assert manifest.plan.ranking == "all_tasks"
        assert manifest.plan.sources == ["tasks.jsonl"]
        assert (manifest.mcq, manifest.confidence) == ("letter", "logprobs")

    @pytest.mark.parametrize(
        ("tries", "samples", "trials", "counts", "jobs"),
        [
            pytest.param([], None, 1, (), 6, id="each once"),
            pytest.param([[6, 3]], 3, 3, (), 18, id="asked for"),
            pytest.param([[6, 3]], None, 3, (), 18, id="as the records say"),
            pytest.param(
                [[1, 1], [2, 3], [3, 1]], None, 3, ((1, 1), (2, 3), (3, 1)), 10, id="they differ"
            ),
        ],
    )
    def test_of_records_says_how_often_each_is_tried(
        self,
        tries: list[list[int]],
        samples: int | None,
        trials: int,
        counts: tuple[tuple[int, int], ...],
        jobs: int,
    ) -> None:
        raw = records({"tries": tries, "trials": jobs}, samples=samples)

        plan = read_manifest(run(raw)).plan

        (task,) = plan.tasks
        assert (task.trials, task.trial_counts, task.jobs) == (trials, counts, jobs)
        assert plan.trials == samples

    def test_of_records_keeps_its_modes_its_issues_and_its_sandbox(self) -> None:
        issue = {"line": 3, "rule": "bad_json", "field": None, "detail": "not JSON"}
        raw = {
            **records({"issues": [issue]}),
            "mcq": "loglikelihood",
            "confidence": "self",
            "sandbox": {"tier": "namespaces+seccomp", "verified": True, "packages": ["numpy"]},
        }

        manifest = read_manifest(run(raw))

        assert (manifest.mcq, manifest.confidence) == ("loglikelihood", "self")
        assert [one.line for one in manifest.plan.tasks[0].issues] == [3]
        assert manifest.sandbox == SandboxFacts(
            tier="namespaces+seccomp", verified=True, packages=["numpy"]
        )

    def test_of_a_run_that_stopped_says_why(self) -> None:
        stopped = {"reason": "1 sample failed", "go_on": "the same command goes on"}

        manifest = read_manifest(run({**RECORDS, "stopped": stopped}))

        assert manifest.stopped is not None
        assert manifest.stopped.reason == "1 sample failed"
        assert manifest.stopped.resume_hint == "the same command goes on"

    def test_of_a_project_keeps_its_tasks_and_its_results(self) -> None:
        manifest = read_manifest(run(PROJECT))

        (task,) = manifest.plan.tasks
        assert (task.name, task.task_key, task.kind) == ("caps", "capitals", "model")
        assert (task.trials, task.jobs, task.values) == (2, 8, {"word": "capital"})
        assert task.finalized, "its metrics were made when the run ended"
        assert (manifest.plan.path, manifest.plan.evaluation) == ("run.yaml", "e")
        assert (manifest.plan.limit, manifest.plan.trials) == (4, 2)
        assert manifest.plan.ranking == "per_task"
        assert manifest.command == Command(models=("scripted/echo",), trials=2)
        assert (manifest.folder, manifest.by_sample) == ("/somewhere", ("scripted/echo",))
        assert manifest.report == {"run_id": "x"}
        assert manifest.results == [{"task": "caps"}]
        assert manifest.judges == [{"task": "caps", "scorer": "right"}]
        assert manifest.policies == [{"key": "p", "rules": []}]

    def test_of_an_imported_run_says_where_it_is_from(self) -> None:
        raw = {**PROJECT, "imported": "logs", "taken": ["caps"], "models": {}, "told": {}}

        manifest = read_manifest(run(raw))

        assert (manifest.imported, manifest.recorded_tasks) == ("logs", ("caps",))

    def test_has_the_key_of_the_same_plan_of_this_version(self, tmp_path: Path) -> None:
        path = write_records(tmp_path / "tasks.jsonl", record("a"), record("b"))
        now = describe_records(path, models=("m", "n"), trials=3)
        (task,) = now.plan.tasks
        raw = {
            **records(
                {
                    "path": "elsewhere/tasks.jsonl",
                    "records": 2,
                    "trials": 6,
                    "tries": [[2, 3]],
                    "digest": task.digest,
                },
                models=["m", "n"],
                samples=3,
            ),
            "models": {"m": "1", "n": "1"},
            "scorers": now.scorers,
        }

        assert key_of_run(run(raw)) == plan_key(now)
        assert changes(now, raw) == []

    def test_has_the_same_key_when_this_version_has_resumed_it(self) -> None:
        old = run(RECORDS)
        resumed = structs.replace(
            old,
            manifest=structs.replace(read_manifest(old), version=VERSION).to_builtins(),
        )

        assert key_of_run(resumed) == key_of_run(old)

    def test_of_another_plan_is_told_apart(self, tmp_path: Path) -> None:
        path = write_records(tmp_path / "tasks.jsonl", record("a"))
        now = describe_records(path, trials=2)

        (said,) = changes(now, {**records(samples=3), "models": {"m": "1"}})

        assert said.startswith(f"new run: since earlier, {path} has changed, ")
        assert "--trials is 2 (was 3)" in said


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(PROJECT, id="a project"),
        pytest.param(records({"trials": 9, "tries": [[3, 2], [3, 1]]}), id="records"),
    ],
)
def test_a_manifest_that_is_stored_again_stays_what_it_is(raw: dict[str, Any]) -> None:
    upgraded = read_manifest(run(raw))

    assert upgraded.version == VERSION
    assert read_manifest(run(upgraded)) == upgraded


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"version": VERSION + 1, "plan": 3, "models": {}}, id="of a later version"),
        pytest.param({**RECORDS, "plan": {"tasks": [{}], "models": []}}, id="a task without name"),
        pytest.param({**PROJECT, "version": VERSION + 1}, id="of a later version, readable"),
        pytest.param({**RECORDS, "models": ["m"]}, id="of another shape"),
        pytest.param({**RECORDS, "plan": None}, id="no plan"),
        pytest.param({**RECORDS, "plan": {"tasks": [1], "models": []}}, id="no task"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told_with_its_run(raw: dict[str, Any]) -> None:
    with pytest.raises(
        Unreadable, match="run earlier was written by a different version"
    ) as refused:
        read_manifest(run(raw))

    assert "run it again" in refused.value.hint
    assert key_of_run(run(raw)) == "", "it cannot be resumed"
