"""`evalwright run`, as a person runs it."""

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import evalwright as ew
from evalwright.errors import UsageError
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD

COMMAND = [sys.executable, "-m", "evalwright", "run"]
ORACLE = ("-m", "scripted/oracle")

Write = Callable[..., str]


def run(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_json(*arguments: str, cwd: Path, exit_code: int = 0) -> Any:
    done = run(*arguments, "--json", cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return json.loads(done.stdout)


def record(task_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": "2 + 2",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }


def code(task_id: str, *targets: str, **metadata: Any) -> dict[str, Any]:
    return record(
        task_id,
        category="code_exec",
        metric_name="code_exec",
        post_process="none",
        targets=list(targets),
        metadata=metadata,
    )


def answer(sample_id: str, output: str) -> dict[str, Any]:
    return {"id": sample_id, "output": output}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write records, or lines, to a file of the working directory; its name."""

    def written(name: str, *lines: dict[str, Any] | str) -> str:
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{text}\n" for text in texts))
        return name

    return written


def test_a_run_prints_its_tables_and_exits_0(tmp_path: Path) -> None:
    done = run(str(TASKS), *ORACLE, "-m", "scripted/noisy", "--unsafe-code-exec", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stderr == ""
    assert re.search(r"^ +1 +scripted/oracle +1\.00 +\[0\.72, 1\.00\]", done.stdout, re.MULTILINE)
    for title in ("Leaderboard", "Mean by category", "Differences", "Calibration", "Usage"):
        assert f"\n{title}\n" in f"\n{done.stdout}"
    assert "note: scripted/oracle, scripted/noisy: answers by a script" in done.stdout
    assert "could have forged its own verdict" in done.stdout
    assert re.search(r"\S+: 20 of 20 samples completed, \d+\.\d s\n$", done.stdout)


def test_json_is_the_report_alone_and_fits_the_schema(tmp_path: Path) -> None:
    found = run_json(str(TASKS), *ORACLE, "--unsafe-code-exec", "--bins", "15", cwd=tmp_path)

    jsonschema.Draft202012Validator(ew.schema("report")).validate(found)
    assert found["status"] == "finished"
    assert found["models"] == ["scripted/oracle"]
    assert found["tasks"] == ["tasks"]
    assert found["pairwise"] == []
    assert found["leaderboard"][0]["mean"] == 1.0
    assert len(found["calibration"]["scripted/oracle"]["bins"]) == 15
    assert found["code_execution"] == {"tier": "rlimits", "verified": False}


def test_the_same_run_gives_the_same_numbers(tmp_path: Path) -> None:
    models = ("-m", "scripted/biased", "-m", "scripted/noisy")
    arguments = (str(TASKS), *models, "--unsafe-code-exec", "--seed", "3")

    one = run_json(*arguments, "--concurrency", "1", cwd=tmp_path)
    two = run_json(*arguments, "--concurrency", "7", cwd=tmp_path)

    for report in (one, two):
        del report["run_id"], report["summary"]["wall_seconds"]
    assert one == two


def test_bad_records_are_refused_with_exit_1_and_nothing_is_run(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"), "{", record("a"))

    done = run(tasks, *ORACLE, cwd=tmp_path)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "evalwright: 2 bad records, nothing was run: "
        "tasks.jsonl:2 (bad_json), tasks.jsonl:3 (duplicate_task_id)\n"
        "  hint: `evalwright validate tasks.jsonl` explains each; "
        "`--allow-bad-tasks` runs the valid ones and lists the rest in the report\n"
    )


def test_bad_records_can_be_left_out_and_the_report_lists_them(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"), "{", record("a"))

    shown = run(tasks, *ORACLE, "--allow-bad-tasks", cwd=tmp_path)
    found = run_json(tasks, *ORACLE, "--allow-bad-tasks", cwd=tmp_path)

    assert shown.returncode == 0
    assert re.search(r"tasks\.jsonl:2 +bad_json", shown.stdout)
    assert "1 of 1 sample completed, 2 bad records left out" in shown.stdout
    assert found["summary"]["excluded"] == found["metrics"][0]["excluded"] == 2
    assert [(row["line"], row["rule"]) for row in found["left_out"]] == [
        (2, "bad_json"),
        (3, "duplicate_task_id"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([str(TASKS)], "no model was named", id="no model"),
        pytest.param([str(TASKS), "-m", "oracle"], "`oracle` is not a model", id="no provider"),
        pytest.param([str(TASKS), "-m", "/x"], "`/x` is not a model", id="an empty provider"),
        pytest.param(
            [str(TASKS), "-m", "scripted/orcale"],
            "hint: did you mean `scripted/oracle`?",
            id="a misspelt model",
        ),
        pytest.param(
            [str(TASKS), "-m", "scriptd/oracle"],
            "hint: did you mean `scripted`?",
            id="a misspelt provider",
        ),
        pytest.param([str(TASKS), *ORACLE], "`--unsafe-code-exec`", id="code needs its flag"),
        pytest.param(
            [str(TASKS), "-m", "replay/nope.jsonl"], "nope.jsonl: no such file", id="no recording"
        ),
        pytest.param(["nope.jsonl", *ORACLE], "nope.jsonl: no such file", id="a missing file"),
        pytest.param([".", *ORACLE], ".: a directory, not a file", id="a directory"),
        pytest.param(["-", *ORACLE], "read twice", id="standard input"),
        pytest.param(["/dev/stdin", *ORACLE], "read twice", id="a pipe"),
        pytest.param(["empty.jsonl", *ORACLE], "empty.jsonl: no tasks", id="an empty file"),
        pytest.param(
            [str(TASKS_BAD), *ORACLE, "--allow-bad-tasks"], "no tasks", id="only bad records"
        ),
        pytest.param([str(TASKS), *ORACLE, "--limit", "0"], "--limit", id="nothing to run"),
        pytest.param([str(TASKS), *ORACLE, "--seed", "-1"], "--seed", id="no such seed"),
        pytest.param(["\udcff.jsonl", *ORACLE], "not UTF-8", id="a file that no report can name"),
        pytest.param([str(TASKS), "-m", "replay/\udcff"], "not UTF-8", id="nor such a model"),
        pytest.param([], "missing argument 'PATH...'", id="no path"),
        pytest.param([str(TASKS), "--modle", "x"], "--model", id="a misspelt option"),
    ],
)
def test_wrong_use_is_exit_2_and_says_what_to_do(
    tmp_path: Path, write: Write, arguments: list[str], said: str
) -> None:
    write("empty.jsonl")

    done = run(*arguments, cwd=tmp_path, stdin=TASKS.read_text())

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4


def test_some_failed_samples_are_exit_3_and_in_no_mean(tmp_path: Path, write: Write) -> None:
    tasks = write("tasks.jsonl", record("a"), record("b"))
    write("outputs.jsonl", answer("a", "4"))

    shown = run(tasks, "-m", "replay/outputs.jsonl", cwd=tmp_path)
    found = run_json(tasks, "-m", "replay/outputs.jsonl", cwd=tmp_path, exit_code=3)

    assert shown.returncode == 3
    assert "LookupError: no output is recorded for 'b'" in shown.stdout
    assert found["status"] == "finished_with_failures"
    assert found["leaderboard"][0]["mean"] == 1.0
    assert found["failures"][0]["sample_ids"] == ["b"]


def test_all_failed_samples_are_exit_3_and_null(tmp_path: Path, write: Write) -> None:
    tasks = write("tasks.jsonl", record("a"))
    write("outputs.jsonl")

    found = run_json(tasks, "-m", "replay/outputs.jsonl", cwd=tmp_path, exit_code=3)

    row = found["leaderboard"][0]
    assert (row["rank"], row["mean"], row["own_mean"], row["win_rate"]) == (None,) * 4
    assert found["metrics"][0]["value"] is None


def test_a_limit_takes_the_first_records(tmp_path: Path) -> None:
    found = run_json(str(TASKS), *ORACLE, "--limit", "3", cwd=tmp_path)

    assert found["summary"]["samples"] == found["leaderboard"][0]["total"] == 3
    assert found["code_execution"] is None


def test_a_model_has_one_name_however_it_is_written(tmp_path: Path) -> None:
    spelt = ("-m", "scripted:oracle", "-m", "scripted/oracle", "-m", "scripted:echo")

    found = run_json(str(TASKS), *spelt, "--limit", "2", cwd=tmp_path)

    assert found["models"] == ["scripted/oracle", "scripted/echo"]
    assert found["summary"]["samples"] == 4


def test_two_files_with_the_same_stem_are_two_tasks(tmp_path: Path, write: Write) -> None:
    write("x/tasks.jsonl", record("a"))
    write("y/tasks.jsonl", record("a", targets=["5"]))
    write("outputs.jsonl", answer("a", "4"))
    paths = ("x/tasks.jsonl", "y/tasks.jsonl")

    shown = run(*paths, "-m", "replay/outputs.jsonl", cwd=tmp_path)
    found = run_json(*paths, "-m", "replay/outputs.jsonl", cwd=tmp_path)

    assert found["tasks"] == list(paths)
    assert [row["value"] for row in found["metrics"]] == [1.0, 0.0]
    assert found["leaderboard"][0]["mean"] == 0.5
    assert re.search(r"y/tasks\.jsonl +replay/outputs\.jsonl +0\.00", shown.stdout)


def test_the_same_file_twice_is_once(tmp_path: Path, write: Write) -> None:
    tasks = write("tasks.jsonl", record("a"))

    found = run_json(tasks, tasks, *ORACLE, cwd=tmp_path)

    assert found["tasks"] == ["tasks"]
    assert [row["metric"] for row in found["metrics"]] == ["mean"]


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl.gz").write_bytes(gzip.compress(TASKS.read_bytes()))
    outputs = json.dumps(answer("arith_001", "95")).encode()
    (tmp_path / "outputs.jsonl.gz").write_bytes(gzip.compress(outputs))

    found = run_json(
        "tasks.jsonl.gz", "-m", "replay/outputs.jsonl.gz", "--limit", "1", cwd=tmp_path
    )

    assert found["tasks"] == ["tasks"]
    assert found["leaderboard"][0]["mean"] == 1.0


def test_markdown_is_written_beside_what_is_printed(tmp_path: Path) -> None:
    arguments = (str(TASKS), *ORACLE, "--limit", "2", "--markdown", "report.md")

    found = run_json(*arguments, cwd=tmp_path)

    text = (tmp_path / "report.md").read_text()
    assert text.startswith(f"# tasks\n\nRun `{found['run_id']}`, finished: 2 of 2 samples")
    assert "| 1 | scripted/oracle | 1.00 |" in text


@pytest.mark.parametrize(
    ("target", "why"),
    [
        pytest.param(
            "nope/report.md", "no such file or directory", id="a folder that is not there"
        ),
        pytest.param("outputs.jsonl/report.md", "not a directory", id="a folder that is a file"),
        pytest.param("/proc/report.md", "", id="a folder that takes no files"),
    ],
)
def test_a_report_that_cannot_be_written_is_known_before_the_run(
    tmp_path: Path, write: Write, target: str, why: str
) -> None:
    tasks = write("tasks.jsonl", record("a"))
    write("outputs.jsonl", "a line that the run would stumble over")

    done = run(tasks, "-m", "replay/outputs.jsonl", "--markdown", target, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith(f"evalwright: {target}: cannot be written: {why}")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_folder_is_no_file_for_a_report(tmp_path: Path) -> None:
    done = run(str(TASKS), *ORACLE, "--markdown", str(tmp_path), cwd=tmp_path)

    assert done.returncode == 2
    assert "is a directory" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
def test_a_report_that_cannot_be_written_after_all_is_still_printed(tmp_path: Path) -> None:
    done = run(str(TASKS), *ORACLE, "--limit", "2", "--markdown", "/dev/full", cwd=tmp_path)

    assert done.returncode == 4
    assert "2 of 2 samples completed" in done.stdout
    assert done.stderr == "evalwright: /dev/full: cannot be written: no space left on device\n"


def test_a_run_that_is_refused_leaves_no_report_behind(tmp_path: Path, write: Write) -> None:
    tasks = write("tasks.jsonl", "{")

    run(tasks, *ORACLE, "--markdown", "report.md", cwd=tmp_path)

    assert not (tmp_path / "report.md").exists()


def test_every_end_of_a_program_arrives_in_the_outcomes(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    two = ("f() == 1", "f() == 2")
    names = ("pass", "assertion_fail", "syntax_error", "timeout", "error")
    write("tasks.jsonl", *(code(name, *two, timeout_s=1) for name in names))
    write(
        "outputs.jsonl",
        answer("pass", "class Any:\n    __eq__ = lambda a, b: True\ndef f(): return Any()"),
        answer("assertion_fail", "def f(): return 1"),
        answer("syntax_error", "def f( return 1"),
        answer("timeout", "while True: pass"),
        answer("error", "raise RuntimeError('no')"),
    )

    report = ew.run("tasks.jsonl", "replay/outputs.jsonl", unsafe_code_exec=True)

    found = {one.sample_id: one.scores["record"] for one in report.samples()}
    assert {name: score.metadata["outcome"] for name, score in found.items()} == {
        name: name for name in names
    }
    assert {name: score.values["score"] for name, score in found.items()} == {
        "pass": 1.0,
        "assertion_fail": 0.5,
        "syntax_error": 0.0,
        "timeout": 0.0,
        "error": 0.0,
    }
    assert set(found["pass"].metadata) == {
        *("outcome", "passed", "total", "targets", "detail", "tier", "verified"),
    }
    assert report.leaderboard[0].mean == pytest.approx(1.5 / 5)
    assert report.summary.failed == 0


def test_a_target_that_does_not_compile_is_a_failure_at_stage_score(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", code("a", "f() =="), record("b"))
    write("outputs.jsonl", answer("a", "def f(): return 1"), answer("b", "4"))

    found = run_json(
        tasks, "-m", "replay/outputs.jsonl", "--unsafe-code-exec", cwd=tmp_path, exit_code=3
    )

    (failure,) = found["failures"]
    assert (failure["stage"], failure["sample_ids"]) == ("score", ["a"])
    assert "target 1 of 1 does not compile" in failure["message"]
    assert found["leaderboard"][0]["mean"] == 1.0
    assert found["leaderboard"][0]["completed"] == 1


def test_samples_draws_so_many_generations_and_gives_pass_at_k(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a", metadata={"samples": 4}))
    write("outputs.jsonl", *(answer("a", text) for text in ("4", "5", "6", "7")))

    found = run_json(tasks, "-m", "replay/outputs.jsonl", cwd=tmp_path)

    assert found["summary"]["samples"] == 4
    assert found["leaderboard"][0]["total"] == 1
    assert {row["metric"]: row["value"] for row in found["metrics"]} == {
        "mean": 0.25,
        "pass@1": 0.25,
        "pass@2": 0.5,  # 1 - C(3, 2) / C(4, 2)
    }


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, str(TASKS), *ORACLE, "--limit", "2", "--markdown", "report.md"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert process.returncode == 141
    assert said == b""
    assert (tmp_path / "report.md").exists()


def test_a_terminal_that_cannot_show_a_sign_still_shows_the_report(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, str(TASKS), *ORACLE, "--limit", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0
    assert b"2 of 2 samples completed" in done.stdout


def slow(write: Write) -> None:
    names = [f"t{n}" for n in range(20)]
    write("tasks.jsonl", *(code(name, "True", timeout_s=30) for name in names))
    write("outputs.jsonl", *(answer(name, "import time; time.sleep(30)") for name in names))


def interrupted(command: list[str], cwd: Path) -> tuple[int, str, float]:
    """Exit code, stderr, and how long it took from the signal on."""
    (cwd / "tmp").mkdir()
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "TMPDIR": str(cwd / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 30
        while not any((cwd / "tmp").glob("evalwright-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=25)
    return process.returncode, said, time.monotonic() - sent


def test_ctrl_c_ends_a_run_with_one_line_and_exit_130(tmp_path: Path, write: Write) -> None:
    slow(write)
    command = [*COMMAND, "tasks.jsonl", "-m", "replay/outputs.jsonl", "--unsafe-code-exec"]

    code_, said, took = interrupted(command, tmp_path)

    assert code_ == 130
    assert said.split() == ["interrupted"]
    assert took < 10
    assert not any((tmp_path / "tmp").iterdir()), "no program and no directory is left behind"


def test_ctrl_c_ends_a_run_in_a_notebook_too(tmp_path: Path, write: Write) -> None:
    slow(write)
    script = (
        "import asyncio, evalwright as ew\n"
        "async def cell():\n"
        "    ew.run('tasks.jsonl', 'replay/outputs.jsonl', unsafe_code_exec=True)\n"
        "asyncio.new_event_loop().run_until_complete(cell())\n"
    )

    _, said, took = interrupted([sys.executable, "-W", "ignore", "-c", script], tmp_path)

    assert said.rstrip().endswith("KeyboardInterrupt")
    assert took < 10
    assert not any((tmp_path / "tmp").iterdir())


def test_a_library_run_works_inside_a_running_loop() -> None:
    async def notebook() -> ew.Report:
        return ew.run(TASKS, ["scripted/oracle"], limit=2)

    report = asyncio.run(notebook())

    assert report.summary.completed == 2


def test_a_broken_stream_inside_a_running_loop_raises_there_too(
    tmp_path: Path, write: Write
) -> None:
    path = tmp_path / write("tasks.jsonl", record("a"))

    def gone(_: object) -> Callable[[ew.Outcome], None]:
        path.unlink()
        return lambda _: None

    async def notebook() -> None:
        ew.run(path, "scripted/oracle", progress=gone)

    with pytest.raises(UsageError, match="no such file"):
        asyncio.run(notebook())


def test_the_library_gives_every_outcome() -> None:
    report = ew.run([TASKS], ["scripted/oracle", "scripted/echo"], limit=2)

    outcomes = list(report.samples())

    assert len(outcomes) == report.summary.samples == 4
    first = next(one for one in outcomes if one.model == "scripted/oracle")
    assert first.trace is not None
    assert (first.trace.output, first.trace.post_processed) == (" 95\n", "95")
    assert first.scores["record"].values == {"score": 1.0}


@pytest.mark.parametrize("name", ["limit", "concurrency", "bins", "seed"])
def test_the_library_refuses_options_that_cannot_be_before_it_runs(name: str) -> None:
    with pytest.raises(UsageError, match=f"`{name}` is"):
        ew.run(TASKS, "scripted/oracle", **{name: -1})  # type: ignore[arg-type]
