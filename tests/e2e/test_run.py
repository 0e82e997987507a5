"""`evalwright run`, as a person runs it."""

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.e2e import in_process
from tests.living import PATIENCE_S, wait_until

import evalwright as ew
from evalwright import api
from evalwright.errors import UsageError
from evalwright.session.progress import SilentProgress
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD

COMMAND = [sys.executable, "-m", "evalwright", "run"]
ORACLE = ("-m", "scripted/oracle")

Write = Callable[..., str]


def run(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return in_process.evalwright("run", *arguments, cwd=cwd, stdin=stdin)


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


def comparable(report: Any) -> Any:
    """A report without what no two invocations share."""
    summary = {**report["summary"], "wall_seconds": 0, "reused": 0}
    return {**report, "run_id": "", "summary": summary}


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
    done = run(str(TASKS), *ORACLE, "-m", "scripted/noisy", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stderr == ""
    assert re.search(r"^ +1 +scripted/oracle +1\.00 +\[0\.72, 1\.00\]", done.stdout, re.MULTILINE)
    for title in ("Leaderboard", "Mean by category", "Differences", "Calibration", "Usage"):
        assert f"\n{title}\n" in f"\n{done.stdout}"
    assert "note: scripted/oracle, scripted/noisy: the answers come from a script" in done.stdout
    assert "forged" not in done.stdout
    assert re.search(r"\S+: 20 of 20 samples completed, \d+\.\d s\n$", done.stdout)


def test_json_is_the_report_alone_and_fits_the_schema(tmp_path: Path) -> None:
    found = run_json(str(TASKS), *ORACLE, "--bins", "15", cwd=tmp_path)

    jsonschema.Draft202012Validator(ew.schema("report")).validate(found)
    assert found["status"] == "finished"
    assert found["models"] == ["scripted/oracle"]
    assert found["tasks"] == ["tasks"]
    assert found["pairwise"] == []
    assert found["leaderboard"][0]["mean"] == 1.0
    assert len(found["calibration"]["scripted/oracle"]["bins"]) == 15
    held = found["code_execution"]
    assert (held["tier"] in TIERS, held["verified"], held["packages"]) == (True, True, [])


def test_programs_can_be_judged_in_their_own_process_and_the_report_says_so(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", code("a", "f() == 1", solution="def f(): return 1"))
    arguments = (tasks, *ORACLE, "--in-process-targets")

    shown = run(*arguments, cwd=tmp_path)
    found = run_json(*arguments, cwd=tmp_path)

    assert "note: code_exec: programs were isolated" in shown.stdout
    assert "could have forged its own verdict" in shown.stdout
    assert found["code_execution"]["verified"] is False
    assert found["code_execution"]["tier"] in TIERS


def test_programs_may_import_the_packages_that_are_named(tmp_path: Path, write: Write) -> None:
    program = "import yarl\ndef host(): return yarl.URL('http://x.org/a').host"
    tasks = write("tasks.jsonl", code("a", "host() == 'x.org'", timeout_s=20, solution=program))
    needed = ("yarl", "multidict", "propcache", "idna")
    named = [part for name in needed for part in ("--sandbox-package", name)]

    without = run_json(tasks, *ORACLE, cwd=tmp_path)
    having = run_json(tasks, *ORACLE, *named, cwd=tmp_path)

    assert [report["leaderboard"][0]["mean"] for report in (without, having)] == [0.0, 1.0]
    assert having["code_execution"]["packages"] == sorted(needed)
    assert having["summary"]["reused"] == 1, "the answer; not the verdict"


def test_the_flag_for_systems_without_a_sandbox_changes_nothing_where_there_is_one(
    tmp_path: Path,
) -> None:
    done = run(str(TASKS), *ORACLE, "--unsafe-code-exec", "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["code_execution"]["verified"] is True
    assert done.stderr.startswith("`--unsafe-code-exec` is not needed here: programs are isolated")


NO_TIER = """
import sys
from evalwright import cli, registry
from evalwright.sandbox.tiers import NoTier

def no_jail(**_):
    raise NoTier("namespaces+seccomp: forbidden here")

sys.modules["no_jail"] = sys.modules["__main__"]
registry.BUILT_IN["sandboxes"]["jailed"] = "no_jail:no_jail"
cli.main()
"""


def test_without_a_sandbox_programs_are_refused_with_exit_4_unless_the_user_allows_them(
    tmp_path: Path,
) -> None:
    def without_one(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", NO_TIER, "run", str(TASKS), *ORACLE, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    refused = without_one()
    allowed = without_one("--unsafe-code-exec", "--json")

    assert (refused.returncode, refused.stdout) == (4, "")
    assert refused.stderr == (
        "evalwright: no sandbox that isolates programs is available: "
        "namespaces+seccomp: forbidden here\n"
        "  hint: `evalwright doctor` shows how to get one; `--unsafe-code-exec` runs programs in a "
        "plain child process with your permissions: only for code you trust\n"
    )
    assert allowed.returncode == 0
    assert allowed.stderr.startswith("warning: programs run in a plain child process")
    found = json.loads(allowed.stdout)["code_execution"]
    assert (found["tier"], found["verified"]) == ("rlimits", False)


def test_the_same_run_gives_the_same_numbers(tmp_path: Path) -> None:
    models = ("-m", "scripted/biased", "-m", "scripted/noisy")
    arguments = (str(TASKS), *models, "--seed", "3")

    one = run_json(*arguments, "--concurrency", "1", cwd=tmp_path)
    two = run_json(*arguments, "--concurrency", "7", "--fresh", cwd=tmp_path)

    assert comparable(one) == comparable(two)


def test_the_same_command_again_asks_nothing_and_says_so(tmp_path: Path) -> None:
    arguments = (str(TASKS), "-m", "scripted/noisy")

    first = run(*arguments, "--json", cwd=tmp_path)
    again = run(*arguments, "--json", cwd=tmp_path)

    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert comparable(one) == comparable(two)
    assert (one["summary"]["reused"], two["summary"]["reused"]) == (0, 10)
    assert (first.stderr, again.stderr) == ("", "resuming: 10 of 10 samples are done\n")


def test_a_changed_plan_says_what_has_changed(tmp_path: Path, write: Write) -> None:
    tasks = write("tasks.jsonl", record("a"), record("b"))
    first = run_json(tasks, *ORACLE, cwd=tmp_path)
    write("tasks.jsonl", record("a"), record("b", targets=["4", "four"]))

    done = run(tasks, *ORACLE, "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["summary"]["reused"] == 2
    assert done.stderr == (
        f"new run: since {first['run_id']}, tasks.jsonl has changed; unchanged results are reused\n"
    )


def test_runs_are_kept_in_the_folder_one_is_in_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALWRIGHT_STORE")

    run_json(str(TASKS), *ORACLE, "--limit", "1", cwd=tmp_path)
    run_json(str(TASKS), *ORACLE, "--limit", "1", "--store", "x/my.db", cwd=tmp_path)

    assert (tmp_path / ".evalwright" / "runs.db").exists()
    assert (tmp_path / "x" / "my.db").exists()


@pytest.mark.parametrize(
    ("option", "stopped"),
    [
        pytest.param(["--fail-fast"], True, id="--fail-fast"),
        pytest.param(["--max-failures", "0"], True, id="none may"),
        pytest.param(["--max-failures", "1"], False, id="as many as may"),
        pytest.param(["--max-failures", "10%"], True, id="more than a share"),
        pytest.param(["--max-failures", "20%"], False, id="just the share"),
    ],
)
def test_failures_may_stop_a_run_with_exit_3(
    tmp_path: Path, write: Write, option: list[str], *, stopped: bool
) -> None:
    tasks = write("tasks.jsonl", *map(record, "abcde"))
    write("outputs.jsonl", *(answer(name, "4") for name in "acde"))
    arguments = (tasks, "-m", "replay/outputs.jsonl", "--concurrency", "1", *option)

    found = run_json(*arguments, cwd=tmp_path, exit_code=3)

    assert found["status"] == ("stopped" if stopped else "finished_with_failures")
    assert found["summary"]["samples"] == (2 if stopped else 5)


def test_a_spent_budget_stops_a_run_with_exit_3_and_says_what_to_do(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", *map(record, "abcde"))

    done = run(tasks, *ORACLE, "--max-tokens-total", "8", "--concurrency", "1", cwd=tmp_path)
    more = run_json(tasks, *ORACLE, "--max-tokens-total", "99", cwd=tmp_path)

    assert done.returncode == 3
    assert (
        "note: not finished (the cap is reached: 8 of 8 tokens spent): 2 of 5 samples; "
        "raise the cap and run again to resume\n"
    ) in done.stdout
    assert (more["status"], more["summary"]["reused"]) == ("finished", 2)


def test_bad_records_are_refused_with_exit_1_and_nothing_is_run(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"), "{", record("a"))

    done = run(tasks, *ORACLE, cwd=tmp_path)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "evalwright: 2 invalid records; nothing was run: "
        "tasks.jsonl:2 (bad_json), tasks.jsonl:3 (duplicate_task_id)\n"
        "  hint: `evalwright validate tasks.jsonl` explains each; "
        "`--allow-bad-tasks` runs the valid records and lists the others in the report\n"
    )


def test_bad_records_can_be_left_out_and_the_report_lists_them(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"), "{", record("a"))

    shown = run(tasks, *ORACLE, "--allow-bad-tasks", cwd=tmp_path)
    found = run_json(tasks, *ORACLE, "--allow-bad-tasks", cwd=tmp_path)

    assert shown.returncode == 0
    assert re.search(r"tasks\.jsonl:2 +bad_json", shown.stdout)
    assert "1 of 1 sample completed, 2 invalid records excluded" in shown.stdout
    assert found["summary"]["excluded"] == found["metrics"][0]["excluded"] == 2
    assert [(row["line"], row["rule"]) for row in found["left_out"]] == [
        (2, "bad_json"),
        (3, "duplicate_task_id"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([str(TASKS)], "no model was given", id="no model"),
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
        pytest.param(
            [str(TASKS), *ORACLE, "--sandbox-package", "no_such_package"],
            "`no_such_package` is not installed",
            id="no such package",
        ),
        pytest.param([str(TASKS), *ORACLE, "--samples", "0"], "--samples", id="no answers"),
        pytest.param([str(TASKS), *ORACLE, "--samples", "1001"], "--samples", id="too many"),
        pytest.param(
            [str(TASKS), "-m", "replay/nope.jsonl"], "nope.jsonl: no such file", id="no recording"
        ),
        pytest.param(["nope.jsonl", *ORACLE], "nope.jsonl: no such file", id="a missing file"),
        pytest.param([".", *ORACLE], ".: expected a run.yaml, or documents", id="a directory"),
        pytest.param(["-", *ORACLE], "read twice", id="standard input"),
        pytest.param(["empty.jsonl", *ORACLE], "empty.jsonl: no tasks", id="an empty file"),
        pytest.param(
            [str(TASKS_BAD), *ORACLE, "--allow-bad-tasks"], "no tasks", id="only invalid records"
        ),
        pytest.param([str(TASKS), *ORACLE, "--limit", "0"], "--limit", id="nothing to run"),
        pytest.param([str(TASKS), *ORACLE, "--seed", "-1"], "--seed", id="no such seed"),
        pytest.param([str(TASKS), *ORACLE, "--limit", "9" * 30], "`limit`", id="no such number"),
        pytest.param([str(TASKS), *ORACLE, "-p", "x"], "NAME=VALUE", id="half a parameter"),
        pytest.param([str(TASKS), *ORACLE, "-p", "=x"], "NAME=VALUE", id="the other half"),
        *(
            pytest.param([str(TASKS), *ORACLE, "--max-failures", text], "max", id=f"{text} of them")
            for text in ("x", "-1", "100%", "-5%", "nan%", "%", "1.5")
        ),
        pytest.param(
            [str(TASKS), *ORACLE, "--prices", "nope"],
            "nope: ",
            id="no prices",
        ),
        pytest.param(
            [str(TASKS), *ORACLE, "--store", "x://y"], "a store must be a file", id="no such store"
        ),
        pytest.param(
            [str(TASKS), *ORACLE, "--store", "empty.jsonl/x"],
            "empty.jsonl/x: ",
            id="a store below a file",
        ),
        pytest.param(["\udcff.jsonl", *ORACLE], "not UTF-8", id="a file that no report can name"),
        pytest.param([str(TASKS), "-m", "replay/\udcff"], "not UTF-8", id="nor such a model"),
        pytest.param([], "PATH is missing", id="no path"),
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


def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "/dev/stdin", *ORACLE],
        cwd=tmp_path,
        input=TASKS.read_text(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "read twice" in done.stderr


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
        answer("pass", "n = 0\ndef f():\n    global n\n    n += 1\n    return n"),
        answer("assertion_fail", "def f(): return 1"),
        answer("syntax_error", "def f( return 1"),
        answer("timeout", "while True: pass"),
        answer("error", "raise RuntimeError('no')"),
    )

    report = ew.run("tasks.jsonl", "replay/outputs.jsonl")

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
        *("outcome", "passed", "total", "targets", "detail", "tier", "verified", "reason"),
    }
    assert report.leaderboard[0].mean == pytest.approx(1.5 / 5)
    assert report.summary.failed == 0


def test_a_target_that_does_not_compile_is_a_failure_at_stage_score(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", code("a", "f() =="), record("b"))
    write("outputs.jsonl", answer("a", "def f(): return 1"), answer("b", "4"))

    found = run_json(tasks, "-m", "replay/outputs.jsonl", cwd=tmp_path, exit_code=3)

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
        "pass@4": 1.0,
    }


def test_samples_on_the_command_line_count_before_those_of_a_record(
    tmp_path: Path, write: Write
) -> None:
    program = "def f(): return {}"
    tasks = write("tasks.jsonl", code("a", "f() == 1"), code("b", "f() == 1", samples=2))
    said = [1, 2, 2, 1, 2, 1]
    write(
        "outputs.jsonl", *(answer("aaabbb"[n], program.format(one)) for n, one in enumerate(said))
    )
    arguments = (tasks, "-m", "replay/outputs.jsonl", "--samples", "3")

    found = run_json(*arguments, cwd=tmp_path)
    shown = run(*arguments, cwd=tmp_path)

    assert found["summary"]["samples"] == 6
    assert found["leaderboard"][0]["total"] == 2
    numbers = {row["metric"]: row for row in found["metrics"]}
    assert {name: row["value"] for name, row in numbers.items()} == {
        "mean": 0.5,
        "pass@1": 0.5,  # 1/3 and 2/3
        "pass@2": pytest.approx((2 / 3 + 1) / 2),  # 1 - C(2, 2) / C(3, 2), and 1
        "pass@3": 1.0,
    }
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in numbers.values())
    assert re.search(r"tasks +replay/outputs\.jsonl +pass@2 +0\.83 +\[", shown.stdout)


def test_more_samples_than_were_recorded_are_failures_and_no_answers(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"))
    write("outputs.jsonl", answer("a", "4"))
    arguments = (tasks, "-m", "replay/outputs.jsonl", "--samples", "2")

    found = run_json(*arguments, cwd=tmp_path, exit_code=3)

    assert (found["summary"]["completed"], found["summary"]["failed"]) == (1, 1)
    assert found["failures"][0]["message"] == "no output is recorded for 'a', trial 2"


def test_a_stopped_run_counts_no_record_of_which_a_generation_is_missing(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", record("a"), record("b"))
    # The first asks with three words and is answered with one: four tokens a generation.
    capped = (tasks, *ORACLE, "--samples", "3", "--concurrency", "1", "--max-tokens-total", "16")

    found = run_json(*capped, cwd=tmp_path, exit_code=3)

    assert (found["status"], found["summary"]["samples"]) == ("stopped", 4)
    assert (found["leaderboard"][0]["completed"], found["leaderboard"][0]["total"]) == (1, 2)
    assert {row["n"] for row in found["metrics"]} == {1}


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


TIERS = {"namespaces+seccomp", "landlock+seccomp"}
GATE = """\
import os, time
HERE = os.path.dirname(__file__)
def wait(name):
    with open(os.path.join(HERE, name)):
        while not os.path.exists(os.path.join(HERE, "opened")): time.sleep(0.01)
"""
WAITING = ("waiting-0", "waiting-1")


class Slow:
    """A run of twenty programs, two at a time, of which two in a row wait for a gate to open."""

    arguments = (
        *("tasks.jsonl", "-m", "replay/outputs.jsonl", "--concurrency", "2"),
        *("--sandbox-package", "gate"),
    )

    def __init__(self, folder: Path, write: Write, *, quick: int) -> None:
        """So many come before them."""
        self._folder, self._quick = folder, quick
        self._processes: set[Path] = set()
        self._gate = folder / "packages" / "gate"
        self._gate.mkdir(parents=True)
        (self._gate / "__init__.py").write_text(GATE)
        for name in WAITING:
            (self._gate / name).touch()
        names = [f"t{n}" for n in range(20)]
        write("tasks.jsonl", *(code(name, "True", timeout_s=30) for name in names))
        programs = ["" for _ in names]
        programs[quick : quick + 2] = [f"import gate\ngate.wait({name!r})" for name in WAITING]
        write("outputs.jsonl", *map(answer, names, programs))

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command or [*COMMAND, *self.arguments],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_both(self, process: subprocess.Popen[str]) -> None:
        """Until all before them are stored, and they stand at the gate."""
        wait_until(lambda: stored() == self._quick or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        wait_until(lambda: held_files(process.pid).issuperset(WAITING))
        self._processes = descendants(process.pid)
        assert len(self._processes) >= 2, "at least a process for each of them"

    def open(self) -> None:
        """From now on nobody waits."""
        (self._gate / "opened").touch()

    def left_behind(self) -> set[Path]:
        """Of what ran then. The kernel may take a moment to clear away what was killed."""
        return {path for path in self._processes if path.exists()}


@pytest.fixture
def slow_run(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], Slow]:
    """A slow run, with so many quick programs first."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    return lambda quick: Slow(tmp_path, write, quick=quick)


def held_files(pid: int) -> set[str]:
    """The names of the files that the processes below one have open."""
    names: set[str] = set()
    for process in descendants(pid):
        try:
            names |= {link.readlink().name for link in (process / "fd").iterdir()}
        except PermissionError:  # hidden from a user without rights: it runs, and that has to do
            names |= {*WAITING}
        except OSError:  # it has ended, or the file is closed by now
            continue
    return names


def descendants(pid: int) -> set[Path]:
    """The places in /proc of all processes below one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    below: set[Path] = set()
    for thread in children.parent.parent.glob("*/children"):
        for child in map(int, thread.read_text().split()):
            below |= {Path(f"/proc/{child}"), *descendants(child)}
    return below


def stored() -> int:
    """How many outcomes of its newest run the store has."""
    runs = api.runs()
    return runs[0].done if runs else 0


def interrupted(process: subprocess.Popen[str]) -> str:
    """Send Ctrl-C; the line that is said."""
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    return process.stderr.readline()


def test_ctrl_c_once_waits_for_those_in_flight_and_says_how_to_go_on(
    tmp_path: Path, slow_run: Callable[[int], Slow]
) -> None:
    slow = slow_run(2)

    with slow.start() as process:
        slow.wait_for_both(process)
        said = interrupted(process)
        slow.open()
        out, rest = process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not slow.left_behind())
    resumed = run(*slow.arguments, "--json", cwd=tmp_path)

    assert said == "stopping: waiting for 2 samples in flight; Ctrl-C again stops at once\n"
    assert (process.returncode, rest) == (130, "")
    assert "note: not finished (interrupted): 4 of 20 samples; the same command resumes it\n" in out
    assert (resumed.returncode, resumed.stderr) == (0, "resuming: 4 of 20 samples are done\n")
    summary = json.loads(resumed.stdout)["summary"]
    assert (summary["samples"], summary["completed"], summary["reused"]) == (20, 20, 4)


def test_ctrl_c_twice_stops_at_once_and_can_be_gone_on_with(
    tmp_path: Path, slow_run: Callable[[int], Slow]
) -> None:
    slow = slow_run(2)

    with slow.start() as process:
        slow.wait_for_both(process)
        interrupted(process)
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not slow.left_behind())
    slow.open()
    resumed = run_json(*slow.arguments, cwd=tmp_path)

    assert (process.returncode, rest) == (130, "")
    assert "note: not finished (interrupted): 2 of 20 samples; the same command resumes it\n" in out
    assert (resumed["status"], resumed["summary"]["reused"]) == ("finished", 2)


def test_ctrl_c_at_the_last_sample_is_a_finished_run(slow_run: Callable[[int], Slow]) -> None:
    slow = slow_run(18)

    with slow.start() as process:
        slow.wait_for_both(process)
        interrupted(process)
        slow.open()
        out, _ = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0
    assert "20 of 20 samples completed" in out


def test_killed_at_any_moment_only_what_was_in_flight_is_done_again(
    tmp_path: Path, slow_run: Callable[[int], Slow]
) -> None:
    slow = slow_run(5)

    with slow.start() as process:
        slow.wait_for_both(process)
        process.kill()
    wait_until(lambda: not slow.left_behind())
    slow.open()
    resumed = run_json(*slow.arguments, cwd=tmp_path)
    whole = run_json(*slow.arguments, "--fresh", cwd=tmp_path)

    assert (resumed["summary"]["reused"], resumed["status"]) == (5, "finished")
    assert comparable(resumed) == comparable(whole)


def test_ctrl_c_ends_a_run_in_a_notebook_too_and_keeps_what_was_done(
    tmp_path: Path, slow_run: Callable[[int], Slow]
) -> None:
    slow = slow_run(3)
    script = (
        "import asyncio, evalwright as ew\n"
        "async def cell():\n"
        "    options = {'concurrency': 2, 'sandbox_packages': ['gate']}\n"
        "    ew.run('tasks.jsonl', 'replay/outputs.jsonl', **options)\n"
        "asyncio.new_event_loop().run_until_complete(cell())\n"
    )

    with slow.start(sys.executable, "-W", "ignore", "-c", script) as process:
        slow.wait_for_both(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not slow.left_behind())
    slow.open()
    resumed = run_json(*slow.arguments, cwd=tmp_path)

    assert said.rstrip().endswith("KeyboardInterrupt")
    assert resumed["summary"]["reused"] == 3


def test_two_processes_may_run_the_same_plan_in_the_same_store(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", *(record(f"t{n}") for n in range(300)))
    command = [*COMMAND, tasks, "-m", "scripted/noisy", "--json"]

    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    reports = [json.loads(process.communicate(timeout=PATIENCE_S)[0]) for process in both]
    alone = run_json(tasks, "-m", "scripted/noisy", "--store", "alone.db", cwd=tmp_path)

    assert [process.returncode for process in both] == [0, 0]
    assert [comparable(report) for report in reports] == [comparable(alone)] * 2


def test_two_processes_may_run_different_plans_in_the_same_store(
    tmp_path: Path, write: Write
) -> None:
    tasks = write("tasks.jsonl", *(record(f"t{n}") for n in range(300)))
    commands = [
        [*COMMAND, tasks, "-m", model, "--json"] for model in ("scripted/noisy", "scripted/oracle")
    ]

    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    reports = [json.loads(process.communicate(timeout=PATIENCE_S)[0]) for process in both]

    assert {run.id for run in api.runs()} == {report["run_id"] for report in reports}
    assert [report["summary"]["completed"] for report in reports] == [300, 300]
    assert reports[1]["leaderboard"][0]["mean"] == 1.0


def test_a_library_run_works_inside_a_running_loop() -> None:
    async def notebook() -> ew.Report:
        return ew.run(TASKS, ["scripted/oracle"], limit=2)

    report = asyncio.run(notebook())

    assert report.summary.completed == 2


def test_a_broken_stream_inside_a_running_loop_raises_there_too(
    tmp_path: Path, write: Write
) -> None:
    path = tmp_path / write("tasks.jsonl", record("a"))

    class Gone(SilentProgress):
        """Whoever is told that the run begins takes the file away."""

        def begin(self, total: int, done: int, counters: Any, **_: Any) -> None:
            del total, done, counters
            path.unlink()

    async def notebook() -> None:
        ew.run(path, "scripted/oracle", progress=Gone())

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
    run: Any = ew.run  # with a keyword that is only known here

    with pytest.raises(UsageError, match=f"`{name}`: Expected `int` >= "):
        run(TASKS, "scripted/oracle", progress=None, **{name: -1})
