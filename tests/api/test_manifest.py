from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from tests.api.made import code, jailed_by, model, record, written

from evalwright.api.assembly import crew_of
from evalwright.api.manifest import ended, facts_of, manifest_of, plan_key, plan_of, what_changed
from evalwright.api.options import RunOptions, options_of
from evalwright.clients.scripted import Scripted
from evalwright.engine.run import Crew, Team
from evalwright.engine.stop import Stop
from evalwright.plan.documents import DocumentPlan, PlannedSpec
from evalwright.plan.plan import make_plan
from evalwright.report.report import CodeExecution
from evalwright.types import Run


def manifest(
    *paths: str, models: tuple[str, ...] = ("m",), fingerprint: str = "1", **options: Any
) -> dict[str, Any]:
    told = options_of(options)
    plan = make_plan(
        paths,
        models,
        limit=told.limit,
        samples=told.samples,
        allow_bad_tasks=told.allow_bad_tasks,
    )
    clients: dict[str, Scripted] = {name: model() for name in models}
    for client in clients.values():
        client.fingerprint = fingerprint
    return manifest_of(plan, clients, crew_of(plan, clients, told), told)


def key(*paths: str, **options: Any) -> str:
    return plan_key(manifest(*paths, **options), parent=None)


def run(known: dict[str, Any], *, id_: str = "earlier") -> Run:
    return Run(id=id_, created="", updated="", status="finished", plan_key="", manifest=known)


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return written(tmp_path / "tasks.jsonl", record("a"), record("b"))


def test_a_manifest_is_json_and_gives_the_plan_back(tasks: str) -> None:
    known = msgspec.json.decode(msgspec.json.encode(manifest(tasks, parameters={"seed": 1})))

    assert plan_of(run(known)) == make_plan([tasks], ["m"])
    assert known["models"] == {"m": "1"}
    assert known["parameters"] == {"seed": 1}
    assert known["notes"] == ["m: answers by a script that knows the targets, not by a model"]


def test_where_the_files_lie_does_not_matter(tmp_path: Path, tasks: str) -> None:
    (tmp_path / "moved").mkdir()
    moved = written(tmp_path / "moved" / "tasks.jsonl", record("a"), record("b"))

    assert key(moved) == key(tasks)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"seed": 7, "bins": 15}, id="how the report is made"),
        pytest.param({"concurrency": 3, "retries": 9}, id="how many at once, and how patiently"),
        pytest.param({"fresh": True}, id="that nothing shall be reused"),
        pytest.param({"max_cost": 5.0, "durable": True, "store": "other.db"}, id="cost and place"),
        pytest.param({"limit": None}, id="what is not said"),
    ],
)
def test_a_plan_is_the_same_whatever(tasks: str, options: dict[str, Any]) -> None:
    assert key(tasks, **options) == key(tasks)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"limit": 1}, id="a limit"),
        pytest.param({"samples": 2}, id="more generations"),
        pytest.param({"models": ("n",)}, id="another model"),
        pytest.param({"models": ("m", "n")}, id="one more model"),
        pytest.param({"fingerprint": "2"}, id="other parameters of the model"),
    ],
)
def test_another_plan_is(tasks: str, options: dict[str, Any]) -> None:
    assert key(tasks, **options) != key(tasks)


def test_another_content_is_another_plan(tmp_path: Path, tasks: str) -> None:
    before = key(tasks)

    written(tmp_path / "tasks.jsonl", record("a"), record("b", targets=["5"]))

    assert key(tasks) != before


def test_another_name_of_the_task_is_another_plan(tmp_path: Path, tasks: str) -> None:
    renamed = written(tmp_path / "renamed.jsonl", record("a"), record("b"))

    assert key(renamed) != key(tasks)


def test_scoring_a_run_again_is_another_plan_for_each_run(tasks: str) -> None:
    known = manifest(tasks)
    parents = [None, run(known, id_="one"), run(known, id_="two")]

    assert len({plan_key(known, parent=parent) for parent in parents}) == 3


@pytest.mark.parametrize("part", ["solver", "scorers", "sandbox"])
def test_another_version_of_a_part_is_another_plan(tasks: str, part: str) -> None:
    known = manifest(tasks)

    newer = {**known, part: {"record": 99}}

    assert plan_key(newer, parent=None) != plan_key(known, parent=None)
    assert list(what_changed(newer, [run(known)])) == [
        f"not the plan of earlier: another version of the {part}; what is the same is reused"
    ]


@pytest.mark.parametrize(
    ("options", "change"),
    [
        pytest.param({"limit": 1}, "the limit is 1, it was none", id="a limit"),
        pytest.param({"samples": 2}, "--samples is 2, it was none", id="more generations"),
        pytest.param({"models": ("m", "n")}, "n is new", id="one more model"),
        pytest.param({"models": ("n",)}, "n is new, m is gone", id="another model"),
        pytest.param({"fingerprint": "2"}, "m has other parameters", id="other parameters"),
    ],
)
def test_what_has_changed_is_said(tasks: str, options: dict[str, Any], change: str) -> None:
    earlier = [run(manifest(tasks))]

    assert list(what_changed(manifest(tasks, **options), earlier)) == [
        f"not the plan of earlier: {change}; what is the same is reused"
    ]


def test_a_changed_file_is_named(tmp_path: Path, tasks: str) -> None:
    other = written(tmp_path / "other.jsonl", record("a"))
    before = run(manifest(tasks, other))

    written(tmp_path / "other.jsonl", record("a", targets=["5"]))

    assert list(what_changed(manifest(tasks, other), [before])) == [
        f"not the plan of earlier: {other} has changed; what is the same is reused"
    ]


def test_the_newest_run_of_the_same_tasks_is_compared_with(tmp_path: Path, tasks: str) -> None:
    other = written(tmp_path / "other.jsonl", record("a"))
    earlier = [
        run(manifest(other), id_="of other tasks"),
        run(manifest(tasks, limit=1), id_="newer"),
        run(manifest(tasks), id_="older"),
    ]

    (said,) = what_changed(manifest(tasks), earlier)

    assert said.startswith("not the plan of newer: the limit is none, it was 1;")


def test_nothing_is_said_where_nothing_has_changed_or_nothing_was(
    tmp_path: Path, tasks: str
) -> None:
    other = written(tmp_path / "other.jsonl", record("a"))
    known = manifest(tasks)

    assert list(what_changed(known, [])) == []
    assert list(what_changed(known, [run(known)])) == []
    assert list(what_changed(known, [run(manifest(other))])) == []


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"in_process_targets": True}, id="where programs are judged"),
        pytest.param({"sandbox_packages": ["numpy"]}, id="what they may import"),
    ],
)
def test_another_way_to_judge_programs_is_another_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    jailed_by(monkeypatch, "Jail")
    programs = written(tmp_path / "programs.jsonl", code("a", "f() == 1"))
    texts = written(tmp_path / "texts.jsonl", record("a"))

    assert key(programs, **options) != key(programs)
    assert key(texts, **options) == key(texts), "where no program is run, it does not matter"


def test_a_report_made_later_says_how_code_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jailed_by(monkeypatch, "Jail")
    tasks = written(tmp_path / "tasks.jsonl", code("a", "f() == 1"))
    known = manifest(tasks, in_process_targets=True, sandbox_packages=["numpy"], seed=7, bins=15)

    facts = facts_of(run(known), wall_seconds=1.5, reused=3, stopped=False)

    assert facts.code_execution == CodeExecution(
        tier="namespaces+seccomp", verified=False, packages=["numpy"]
    )
    assert (facts.seed, facts.bins, facts.reused, facts.wall_seconds) == (7, 15, 3, 1.5)
    assert (facts.stop_reason, facts.go_on) == ("", "the same command goes on")


@pytest.mark.parametrize(
    ("hint", "fresh", "go_on"),
    [
        pytest.param("", False, "the same command goes on", id="by the same command"),
        pytest.param("", True, "the same command without `--fresh` goes on", id="begun fresh"),
        pytest.param("raise the cap", False, "raise the cap", id="as the reason says"),
    ],
)
def test_a_stopped_run_remembers_why_and_how_to_go_on(
    tasks: str, hint: str, go_on: str, *, fresh: bool
) -> None:
    stop = Stop()
    stop.request("enough", hint=hint)
    before = run(manifest(tasks))

    after = run(ended(before, plan_of(before), RunOptions(fresh=fresh, seed=7), stop))

    facts = facts_of(after, wall_seconds=0, reused=0, stopped=True)
    assert (facts.stop_reason, facts.go_on, facts.seed) == ("enough", go_on, 7)


def test_a_run_that_was_gone_on_with_to_its_end_forgets_why_it_had_stopped(tasks: str) -> None:
    stop = Stop()
    stop.request("enough")
    before = run(manifest(tasks))
    plan = plan_of(before)
    stopped = run(ended(before, plan, RunOptions(), stop))

    finished = ended(stopped, plan, RunOptions(), Stop())

    assert finished["stopped"] is None


class Scorer(Struct):
    """As much of a scorer as has a version."""

    version: int = 1


def versions(*teams: dict[str, int], late: dict[str, int] | None = None) -> Any:
    """Of the scorers of tasks `t0`, `t1` and so on; `late` are those of all samples of `t0`."""
    plan = DocumentPlan(tasks=(), models=())
    made: Any = [{name: Scorer(one) for name, one in team.items()} for team in teams]
    crew = Crew(models={}, teams={f"t{n}": Team(scorers=scorers) for n, scorers in enumerate(made)})
    after: Any = {"t0": {name: Scorer(one) for name, one in (late or {}).items()}}
    return manifest_of(plan, {}, crew, options_of({}), late=after)["scorers"]


def test_where_all_tasks_have_the_same_scorers_they_are_named_once() -> None:
    assert versions({"record": 1}, {"record": 1}) == {"record": 1}


def test_two_scorers_of_one_name_are_two() -> None:
    found = versions({"correct": 7}, {"correct": 1})

    assert found == {"t0": {"correct": 7}, "t1": {"correct": 1}}


def test_scorers_of_all_samples_have_versions_too() -> None:
    assert versions({"correct": 7}, late={"unique": 2}) == {"correct": 7, "unique": 2}


def test_what_people_read_in_place_of_a_key_makes_no_other_plan() -> None:
    def planned(**changes: Any) -> str:
        task = PlannedSpec(**{"name": "first", "task_key": "capitals", **changes})
        plan = DocumentPlan(tasks=(task,), models=())
        crew = Crew(models={}, teams={})
        return plan_key(manifest_of(plan, {}, crew, options_of({})), parent=None)

    assert planned(display_name="Capitals") == planned(display_name="Cities")
    assert planned(name="second") != planned()
