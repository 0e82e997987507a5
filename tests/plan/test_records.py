import gzip
import json
import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from evalwright.errors import BadTasks, FileChanged, Unreadable, UsageError
from evalwright.plan.options import parse_options
from evalwright.plan.outline import PrimaryMetric
from evalwright.plan.plan import Job, Plan
from evalwright.plan.records import compile_records
from evalwright.solvers.record import RecordSolver
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD


def record(task_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": "2 + 2",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "none",
        **changes,
    }


def code(task_id: str, **changes: Any) -> dict[str, Any]:
    rules = {"category": "code_exec", "metric_name": "code_exec"}
    return record(task_id, **rules, targets=["f() == 1"], **changes)


def written(path: Path, *records: dict[str, Any] | str) -> str:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def planned(*paths: str, models: tuple[str, ...] = ("m",), **options: Any) -> Plan:
    return compile_records(paths, models, parse_options(options))


def jobs_of(plan: Plan) -> Iterator[Job]:
    return (job for task in plan.tasks for job in task.jobs())


def short(job: Job) -> tuple[str, str, int]:
    return job.model, job.sample.id, job.trial


def test_the_fixtures_are_ten_records_of_which_two_run_code() -> None:
    plan = planned(str(TASKS), models=("one", "two"))

    (task,) = plan.tasks
    outline = task.outline
    assert (outline.name, outline.records, outline.code_exec, outline.jobs) == ("tasks", 10, 2, 10)
    assert plan.needs_sandbox
    assert plan.outline.total == 20
    assert len(list(jobs_of(plan))) == 20


def test_a_plan_holds_counts_and_never_records(tmp_path: Path) -> None:
    path = written(tmp_path / "tasks.jsonl", *(record(f"t{n}") for n in range(100)))

    plan = planned(path)

    assert len(repr(plan.outline)) < 800
    assert "t99" not in repr(plan)


def test_jobs_go_record_by_record_so_that_models_stay_comparable(tmp_path: Path) -> None:
    path = written(
        tmp_path / "tasks.jsonl", record("a"), record("b", metadata={"samples": 2}), record("c")
    )

    jobs = list(jobs_of(planned(path, models=("one", "two"))))

    assert [short(job) for job in jobs] == [
        ("one", "a", 0),
        ("two", "a", 0),
        ("one", "b", 0),
        ("two", "b", 0),
        ("one", "b", 1),
        ("two", "b", 1),
        ("one", "c", 0),
        ("two", "c", 0),
    ]
    assert {job.group for job in jobs} == {"arithmetic"}


def test_a_job_knows_the_place_of_its_record_among_the_valid_ones(tmp_path: Path) -> None:
    path = written(
        tmp_path / "tasks.jsonl", "{", record("a"), "", record("a"), record("b"), record("c")
    )

    jobs = jobs_of(planned(path, models=("one", "two"), allow_bad_tasks=True))

    assert [(job.sample.id, job.ordinal) for job in jobs if job.model == "two"] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
    ]


@pytest.mark.parametrize("line", [record("c"), "{"], ids=["as long as before", "no record"])
def test_a_file_that_changes_between_planning_and_running_stops_the_run(
    tmp_path: Path, line: Any
) -> None:
    path = written(tmp_path / "tasks.jsonl", record("a"), record("b"))
    jobs = jobs_of(planned(path))

    written(Path(path), record("a"), line)

    with pytest.raises(FileChanged, match=r"tasks\.jsonl: the file changed while it was in use"):
        next(jobs)


def test_a_digest_is_that_of_the_content_wherever_and_however_it_lies(tmp_path: Path) -> None:
    records = [record(f"t{n}", prompt="x" * 5000) for n in range(100)]
    one = written(tmp_path / "one.jsonl", *records)
    two = written(tmp_path / "two.jsonl", *records)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(one).read_bytes()))

    digests = {task.outline.digest for task in planned(one, two, str(packed)).tasks}

    assert digests == {blake2b(Path(one).read_bytes(), digest_size=16).hexdigest()}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([record("a"), record("c")], id="a record"),
        pytest.param([record("a"), record("b", targets=["5"])], id="a target"),
        pytest.param([record("b"), record("a")], id="the order"),
        pytest.param([record("a"), record("b"), record("c")], id="one more"),
        pytest.param([record("a"), "", record("b")], id="a blank line: lines have moved"),
        pytest.param([record("a"), record("b"), "{"], id="a bad line"),
    ],
)
def test_a_digest_minds(tmp_path: Path, lines: list[dict[str, Any] | str]) -> None:
    before = planned(written(tmp_path / "tasks.jsonl", record("a"), record("b")))

    after = planned(written(tmp_path / "tasks.jsonl", *lines), allow_bad_tasks=True)

    assert after.tasks[0].outline.digest != before.tasks[0].outline.digest


def test_jobs_are_read_from_the_file_as_they_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "tasks.jsonl", record("a"), record("b"))
    jobs = jobs_of(planned(path))

    Path(path).unlink()

    with pytest.raises(Unreadable, match="no such file"):
        next(jobs)


def test_a_plan_can_be_run_more_than_once() -> None:
    plan = planned(str(TASKS))

    assert list(jobs_of(plan)) == list(jobs_of(plan))


def test_samples_are_generations_and_count_in_the_total(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", record("a", metadata={"samples": 5}), record("b"))

    plan = planned(path, models=("one", "two"))

    (outline,) = plan.outline.tasks
    assert (outline.records, outline.jobs, plan.outline.total) == (2, 6, 12)


def test_as_many_generations_as_asked_for_are_drawn_of_every_record(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", record("a", metadata={"samples": 5}), record("b"))

    plan = planned(path, models=("one", "two"), samples=3)

    (outline,) = plan.outline.tasks
    assert (outline.records, outline.jobs, plan.outline.total) == (2, 6, 12)
    assert [job.trial for job in jobs_of(plan) if job.model == "one"] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("given", "asked", "trials", "counts"),
    [
        pytest.param([1, 1, 1], None, 1, (), id="one each"),
        pytest.param([5, 5, 5], None, 5, (), id="equally often"),
        pytest.param([5, 5, 1, 5], None, 5, ((2, 5), (1, 1), (1, 5)), id="those in a row together"),
        pytest.param([5, 1], 3, 3, (), id="asked for"),
        pytest.param([5, 1], 1, 1, (), id="one each was asked for"),
    ],
)
def test_a_plan_knows_how_often_each_record_is_tried(
    tmp_path: Path,
    given: list[int],
    asked: int | None,
    trials: int,
    counts: tuple[tuple[int, int], ...],
) -> None:
    records = (record(f"t{n}", metadata={"samples": count}) for n, count in enumerate(given))

    plan = planned(written(tmp_path / "t.jsonl", *records), trials=asked)

    (outline,) = plan.outline.tasks
    assert (outline.trials, outline.trial_counts, plan.trials) == (trials, counts, asked)
    assert outline.jobs == len(list(jobs_of(plan)))


def test_models_are_ranked_by_the_mean_score_over_all_files(tmp_path: Path) -> None:
    plan = planned(written(tmp_path / "t.jsonl", record("a")))

    (outline,) = plan.outline.tasks
    assert plan.outline.ranking == "all_tasks"
    assert outline.primary == PrimaryMetric(scorer="record", field="score", metric="mean")
    assert not outline.finalized, "a report makes the metrics from the stored scores"


@pytest.mark.parametrize(
    ("options", "scorers", "weighs", "counts"),
    [
        pytest.param({}, ["record"], False, False, id="by default"),
        pytest.param({"mcq": "loglikelihood"}, ["record"], True, False, id="likelihoods"),
        pytest.param({"confidence": "self"}, ["record", "confidence"], False, True, id="asked"),
    ],
)
def test_modes_say_which_components_work_on_a_record(
    tmp_path: Path, options: dict[str, Any], scorers: list[str], *, weighs: bool, counts: bool
) -> None:
    choice = record("a", category="mcq", targets=["B"], prompt="A) x\nB) y")
    plan = planned(written(tmp_path / "t.jsonl", choice), **options)
    (job,) = jobs_of(plan)

    runtime = plan.tasks[0].runtime
    assert list(runtime.scorers) == scorers
    assert isinstance(runtime.solver, RecordSolver)
    assert runtime.solver.describe_inputs(job.sample).startswith("loglikelihood") is weighs
    assert runtime.counts_other_usage is counts


@pytest.mark.parametrize(
    ("limit", "ids", "runs_code"),
    [
        pytest.param(1, ["a"], False, id="the first record; code beyond it needs no sandbox"),
        pytest.param(2, ["a", "b"], True, id="the first two"),
        pytest.param(99, ["a", "b"], True, id="more than there are"),
    ],
)
def test_a_limit_takes_the_first_valid_records(
    tmp_path: Path, limit: int, ids: list[str], *, runs_code: bool
) -> None:
    path = written(tmp_path / "tasks.jsonl", "{", record("a"), code("b"))

    plan = planned(path, limit=limit, allow_bad_tasks=True)

    assert [job.sample.id for job in jobs_of(plan)] == ids
    assert plan.outline.total == len(ids)
    assert plan.needs_sandbox is runs_code


def test_a_limit_holds_for_each_file(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", record("a"), record("b"))
    two = written(tmp_path / "two.jsonl", record("c"), record("d"))

    assert [job.sample.id for job in jobs_of(planned(one, two, limit=1))] == ["a", "c"]


def test_bad_records_are_refused_with_their_number_and_place(tmp_path: Path) -> None:
    path = written(tmp_path / "tasks.jsonl", record("a"), "{", record("b"), "[]")

    with pytest.raises(BadTasks) as refused:
        planned(path)

    assert refused.value.message == (
        f"2 invalid records; nothing was run: {path}:2 (bad_json), {path}:4 (not_an_object)"
    )
    assert f"`evalwright validate {path}`" in refused.value.hint
    assert "`--allow-bad-tasks`" in refused.value.hint
    assert refused.value.exit_code == 1


def test_of_many_bad_records_the_first_five_places_are_named() -> None:
    with pytest.raises(BadTasks) as refused:
        planned(str(TASKS_BAD))

    count = len(TASKS_BAD.read_bytes().splitlines())
    assert refused.value.message.startswith(f"{count} invalid records; nothing was run: ")
    assert refused.value.message.count(f"{TASKS_BAD}:") == 5
    assert refused.value.message.endswith(f" and {count - 5} more")


def test_one_bad_record_beyond_the_limit_is_still_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "tasks.jsonl", record("a"), record("b"), "{")

    with pytest.raises(BadTasks, match=r"^1 invalid record; nothing was run"):
        planned(path, limit=1)


def test_bad_records_can_be_left_out_and_are_remembered_without_their_text(tmp_path: Path) -> None:
    path = written(tmp_path / "tasks.jsonl", "{", record("a"), record("a"))

    plan = planned(path, allow_bad_tasks=True)

    assert [job.sample.id for job in jobs_of(plan)] == ["a"]
    assert [(issue.line, issue.rule) for issue in plan.tasks[0].outline.issues] == [
        (1, "bad_json"),
        (3, "duplicate_task_id"),
    ]
    assert {issue.raw for issue in plan.tasks[0].outline.issues} == {""}


@pytest.mark.parametrize(
    "lines", [pytest.param([], id="an empty file"), pytest.param(["{"], id="only invalid records")]
)
def test_nothing_to_run_is_an_error(tmp_path: Path, lines: list[str]) -> None:
    path = written(tmp_path / "tasks.jsonl", *lines)

    with pytest.raises(UsageError, match=r": no tasks\n"):
        planned(path, allow_bad_tasks=True)


def test_an_empty_file_beside_a_full_one_is_fine(tmp_path: Path) -> None:
    empty = written(tmp_path / "empty.jsonl")
    full = written(tmp_path / "full.jsonl", record("a"))

    assert [task.outline.records for task in planned(empty, full).tasks] == [0, 1]


def test_standard_input_is_refused_because_it_cannot_be_read_twice() -> None:
    with pytest.raises(UsageError, match="read twice"):
        planned("-")


def test_a_pipe_is_refused_because_it_cannot_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)

    with pytest.raises(UsageError, match="read twice"):
        planned(str(pipe))


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"nope\.jsonl: no such file"):
        planned(str(tmp_path / "nope.jsonl"))


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        pytest.param(["a/x.jsonl", "a/y.jsonl"], ["x", "y"], id="stems"),
        pytest.param(["a/x.jsonl.gz"], ["x"], id="all suffixes go"),
        pytest.param(["a/x.jsonl", "b/x.jsonl"], ["a/x.jsonl", "b/x.jsonl"], id="the same stem"),
        pytest.param(["a/x", "a/x.jsonl"], ["a/x", "a/x.jsonl"], id="with and without a suffix"),
        pytest.param(["a/.jsonl"], ["a/.jsonl"], id="no stem at all"),
        pytest.param(["a/x.jsonl", "a/x.jsonl"], ["x"], id="the same file twice is once"),
    ],
)
def test_a_task_is_called_after_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in paths:
        Path(path).parent.mkdir(exist_ok=True)
        written(Path(path), record("a"))

    plan = planned(*paths)

    assert [task.name for task in plan.tasks] == names
    assert len(list(jobs_of(plan))) == len(names)


def test_a_compressed_file_is_planned_like_a_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "tasks.jsonl.gz"
    packed.write_bytes(gzip.compress(TASKS.read_bytes()))

    assert [job.sample for job in jobs_of(planned(str(packed)))] == [
        job.sample for job in jobs_of(planned(str(TASKS)))
    ]
