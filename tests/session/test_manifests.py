"""What a run keeps of its plan, and what a report reads from it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from tests.session.made import code, describe_records, jailed_by, record, write_records

from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.plan.finalization import Finalization
from evalwright.plan.manifest import Manifest, read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import TaskOutline
from evalwright.plan.plan import Plan, TaskPlan, TaskRuntime
from evalwright.plan.samples import NoRows, RowSamples
from evalwright.report.judges import CHECKS
from evalwright.report.report import CodeExecution
from evalwright.session.manifests import describe_run, end_manifest, keep_checks, report_facts
from evalwright.types import Run


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return write_records(tmp_path / "tasks.jsonl", record("a"), record("b"))


def stored(manifest: Manifest) -> Manifest:
    """The manifest as a store gives it back."""
    raw = msgspec.json.decode(msgspec.json.encode(manifest.to_builtins()))
    return read_manifest(
        Run(id="x", created="", updated="", status="running", plan_key="", manifest=raw)
    )


def test_a_manifest_is_json_and_gives_the_plan_back(tasks: str) -> None:
    manifest = describe_records(tasks, parameters={"seed": 1})

    found = stored(manifest)

    assert found == manifest
    assert [task.path for task in found.plan.tasks] == [tasks]
    assert found.models == {"m": "1"}
    assert found.parameters == {"seed": 1}
    assert found.notes == (
        "m: the answers come from a script that knows the targets, not from a model",
    )


def test_a_report_made_later_says_how_code_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jailed_by(monkeypatch, "Jail")
    tasks = write_records(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
    manifest = describe_records(
        tasks, in_process_targets=True, sandbox_packages=["numpy"], seed=7, bins=15
    )

    facts = report_facts("x", stored(manifest), wall_seconds=1.5, reused=3, stopped=False)

    assert facts.code_execution == CodeExecution(
        tier="namespaces+seccomp", verified=False, packages=["numpy"]
    )
    assert (facts.seed, facts.bins, facts.reused, facts.wall_seconds) == (7, 15, 3, 1.5)
    assert (facts.stop_reason, facts.resume_hint) == ("", "the same command resumes it")


@pytest.mark.parametrize(
    ("hint", "fresh", "resume"),
    [
        pytest.param("", False, "the same command resumes it", id="by the same command"),
        pytest.param("", True, "the same command without `--fresh` resumes it", id="begun fresh"),
        pytest.param("raise the cap", False, "raise the cap", id="as the reason says"),
    ],
)
def test_a_stopped_run_remembers_why_and_how_to_resume_it(
    tasks: str, hint: str, resume: str, *, fresh: bool
) -> None:
    stop = Stop()
    stop.request("enough", hint=hint)
    before = describe_records(tasks)

    after = end_manifest(before, before.plan, RunOptions(fresh=fresh, seed=7), stop)

    facts = report_facts("x", stored(after), wall_seconds=0, reused=0, stopped=True)
    assert (facts.stop_reason, facts.resume_hint, facts.seed) == ("enough", resume, 7)


def test_a_run_that_was_resumed_to_its_end_forgets_why_it_had_stopped(tasks: str) -> None:
    stop = Stop()
    stop.request("enough")
    before = describe_records(tasks)
    stopped = end_manifest(before, before.plan, RunOptions(), stop)

    finished = end_manifest(stopped, before.plan, RunOptions(), Stop())

    assert (stopped.stopped is None, finished.stopped) == (False, None)


def test_checks_of_judges_that_others_stored_meanwhile_are_kept() -> None:
    assert keep_checks({"a": 1, CHECKS: 0}, {"a": 2, CHECKS: [3]}) == {"a": 1, CHECKS: [3]}
    assert keep_checks({"a": 1}, {"a": 2}) == {"a": 1}


class VersionedScorer(Struct):
    """As much of a scorer as has a version."""

    version: int = 1


def versions(*tasks: dict[str, int], late: dict[str, int] | None = None) -> Any:
    """Of the scorers of tasks `t0`, `t1` and so on; `late` are those of all samples of `t0`."""

    def scorers(of: dict[str, int]) -> Any:
        return {name: VersionedScorer(version) for name, version in of.items()}

    plan = Plan(
        tasks=tuple(
            TaskPlan(
                outline=TaskOutline(name=f"t{n}"),
                samples=RowSamples(rows=NoRows(), places=range(1)),
                runtime=TaskRuntime(scorers=scorers(task)),
                finalization=Finalization(run_scorers=scorers({} if n else late or {})),
            )
            for n, task in enumerate(tasks)
        ),
        models=(),
    )
    resources = Resources(models={}, tasks={task.name: task.runtime for task in plan.tasks})
    return describe_run(plan, plan.outline, {}, resources, RunOptions()).scorers


def test_where_all_tasks_have_the_same_scorers_they_are_named_once() -> None:
    assert versions({"record": 1}, {"record": 1}) == {"record": 1}


def test_two_scorers_of_one_name_are_two() -> None:
    found = versions({"correct": 7}, {"correct": 1})

    assert found == {"t0": {"correct": 7}, "t1": {"correct": 1}}


def test_scorers_of_all_samples_have_versions_too() -> None:
    assert versions({"correct": 7}, late={"unique": 2}) == {"correct": 7, "unique": 2}
