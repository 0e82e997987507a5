"""What is stored, as a person looks at it: list, show, report, export, score, delete, gc."""

import csv
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.e2e import in_process
from tests.living import PATIENCE_S

from evalwright.spec.records.fixtures import TASKS
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Outcome, Run, Score, Trace

COMMAND = [sys.executable, "-m", "evalwright"]
EXPORTED = [
    *("task", "model", "sample_id", "trial", "status", "input", "output", "post_processed"),
    *("scores", "metadata", "failure", "usage", "latency_s", "reasons"),
]
LARGE = ("export", "large", "--store", "runs.db")
OUTCOMES = 20_000


def environment(**changes: str) -> dict[str, str]:
    """Without `EVALWRIGHT_STORE`: a store lies in its folder here, as it does for a person."""
    ours = {name: value for name, value in os.environ.items() if name != "EVALWRIGHT_STORE"}
    return {**ours, **changes}


def evalwright(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return in_process.evalwright(*arguments, cwd=cwd, env=environment())


def said(*arguments: str, cwd: Path, exit_code: int = 0) -> str:
    done = evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return done.stdout


def refused(*arguments: str, cwd: Path, exit_code: int = 2) -> str:
    """What was said on stderr; stdout must be empty, and nothing a traceback."""
    done = evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def exported(*arguments: str, cwd: Path) -> list[Any]:
    return [json.loads(line) for line in said("export", *arguments, cwd=cwd).splitlines()]


def record(task_id: str, target: str, **changes: Any) -> str:
    fields = {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": f"Which number is {task_id}?",
        "targets": [target],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }
    return f"{json.dumps(fields)}\n"


def lines(*objects: Any) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in objects)


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripted")
    (folder / "tasks.jsonl").write_bytes(TASKS.read_bytes())
    models = ("-m", "scripted/oracle", "-m", "scripted/noisy")
    said("run", "tasks.jsonl", *models, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed")
    (folder / "three.jsonl").write_text(record("a", "1") + record("b", "2") + record("c", "3"))
    answers = ({"id": "a", "output": " 1\n"}, {"id": "b", "output": "zwei\n数\x1b[31m"})
    (folder / "outputs.jsonl").write_text(lines(*answers))
    said("run", "three.jsonl", "-m", "replay/outputs.jsonl", cwd=folder, exit_code=3)
    return folder


@pytest.fixture
def folder(scripted: Path, tmp_path: Path) -> Path:
    """After a run of the ten example tasks with two scripts."""
    return Path(copytree(scripted, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def recorded(replayed: Path, tmp_path: Path) -> Path:
    """After a run of three records, one of which has no recorded answer."""
    return Path(copytree(replayed, tmp_path, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has one large run, and one with a tenth of its outcomes."""
    folder = tmp_path_factory.mktemp("large")
    now = "2026-11-15T12:00:00+00:00"
    store = SqliteStore(folder / "runs.db")
    for name, outcomes in (("large", OUTCOMES), ("small", OUTCOMES // 10)):
        store.begin(Run(id=name, created=now, updated=now, status="finished", plan_key=name))
        for first in range(0, outcomes, 500):
            store.append(name, [_large(number) for number in range(first, first + 500)])
    store.close()
    return folder


def _large(number: int) -> Outcome:
    text = f"{number} " * 800
    return Outcome(
        task="tasks",
        model="m",
        sample_id=f"s{number}",
        ordinal=number,
        trace=Trace(input=text, output=text, post_processed=""),
        scores={"record": Score(values={"score": number / OUTCOMES})},
    )


def test_the_list_has_a_line_for_every_run_newest_first(folder: Path) -> None:
    said("run", "tasks.jsonl", "-m", "scripted/echo", "--limit", "2", cwd=folder)

    header, newest, oldest = said("list", cwd=folder).splitlines()

    assert header.split() == [
        *("run", "created", "(UTC)", "status", "tasks", "models", "metric,", "95", "%"),
        *("interval", "done", "failed", "parameters"),
    ]
    assert newest.split()[3:6] == ["finished", "tasks", "scripted/echo"]
    assert newest.split()[-3:] == ["2/2", "0", "limit=2"]
    assert oldest.split()[4:7] == ["tasks", "scripted/oracle,", "scripted/noisy"]


def test_the_list_as_json_is_a_list_of_objects(recorded: Path) -> None:
    (run,) = json.loads(said("list", "runs", "--json", cwd=recorded))

    assert run["status"] == "finished_with_failures"
    assert run["tasks"] == ["three"]
    assert run["models"] == ["replay/outputs.jsonl"]
    assert (run["done"], run["total"], run["failed"]) == (3, 3, 1)
    assert run["parent"] is None


def test_a_terminal_gets_a_drawn_table(folder: Path) -> None:
    shown = _on_a_terminal([*COMMAND, "list"], cwd=folder)

    assert "────" in shown
    assert "20/20" in shown


def test_without_a_store_there_are_no_runs_yet(tmp_path: Path) -> None:
    done = evalwright("list", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no runs yet in .evalwright/runs.db\n"
    assert said("list", "--json", cwd=tmp_path) == "[]\n"
    assert not (tmp_path / ".evalwright").exists(), "to look is not to make"


def test_providers_are_listed_with_a_line_each(tmp_path: Path) -> None:
    shown = said("list", "models", cwd=tmp_path)
    listed = json.loads(said("list", "models", "--json", cwd=tmp_path))
    found = {one["provider"]: one for one in listed}

    assert "\nopenai/…" in shown
    assert len(shown.splitlines()) == len(found) + 1
    assert found["openai"]["key_variable"] == "OPENAI_API_KEY"
    assert found["ollama"]["needs_key"] is False
    assert found["replay"]["about"] == "answers from recorded outputs"
    assert found["replay"]["base_url"] is None


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("show", "latest"), id="show"),
        pytest.param(("report", "latest"), id="report"),
        pytest.param(("export", "latest"), id="export"),
        pytest.param(("score", "latest"), id="score"),
        pytest.param(("delete", "latest", "--yes"), id="delete"),
        pytest.param(("gc",), id="gc"),
    ],
)
def test_without_a_store_the_others_say_so_in_one_line(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    told = refused(*command, cwd=tmp_path)

    assert ".evalwright/runs.db: no such file" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "report", "export", "score"])
def test_a_mistyped_run_is_met_with_the_nearest(command: str, folder: Path) -> None:
    (run,) = json.loads(said("list", "--json", cwd=folder))

    told = refused(command, f"{run['id'][:-1]}x", cwd=folder)

    assert f"did you mean `{run['id']}`?" in told


def test_a_run_is_found_by_the_start_of_its_id_and_in_another_store(folder: Path) -> None:
    (run,) = json.loads(said("list", "--json", cwd=folder))
    (folder / ".evalwright" / "runs.db").rename(folder / "other.db")

    shown = json.loads(said("show", run["id"][:6], "--store", "other.db", "--json", cwd=folder))

    assert shown["id"] == run["id"]


def test_a_run_is_shown_with_all_of_its_manifest(folder: Path) -> None:
    shown = said("show", "latest", cwd=folder)
    whole = json.loads(said("show", "latest", "--json", cwd=folder))

    told = {line.split(maxsplit=1)[0] for line in shown.splitlines()}
    assert told >= {"run", "status", "outcomes", "created", "parent", "task"}
    assert told >= whole["manifest"].keys() - {"plan"}
    assert whole["manifest"]["plan"]["tasks"][0]["digest"] in shown
    assert (whole["done"], whole["total"], whole["failed"]) == (20, 20, 0)


def test_a_sample_is_shown_for_each_model_with_the_reason_of_its_score(folder: Path) -> None:
    shown = said("show", "latest", "arith_001", cwd=folder)
    noisy = said("show", "latest", "arith_001", "--model", "scripted:noisy", cwd=folder)

    assert "arith_001  scripted/oracle  trial 1  completed" in shown
    assert "  post-processed:\n    95\n  record.score: 1\n" in shown
    assert " against '95')" in noisy
    assert "scripted/oracle" not in noisy


def test_a_sample_as_json_has_its_reasons(recorded: Path) -> None:
    (sample,) = json.loads(said("show", "latest", "b", "--json", cwd=recorded))

    assert list(sample) == EXPORTED
    assert sample["output"] == "zwei\n数\x1b[31m"
    assert "against '2'" in sample["reasons"]["record"]


def test_wrong_samples_are_shown_without_their_names(folder: Path) -> None:
    shown = json.loads(said("show", "latest", "--task", "tasks", "--wrong", "--json", cwd=folder))

    assert shown
    assert max(one["scores"]["record"]["score"] for one in shown) < 1
    assert {one["model"] for one in shown} == {"scripted/noisy"}


def test_a_terminal_gets_wrong_samples_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text("".join(record(f"t{n}", "1") for n in range(30)))
    said("run", "many.jsonl", "-m", "scripted/echo", cwd=tmp_path)

    shown = _on_a_terminal([*COMMAND, "show", "--wrong"], cwd=tmp_path)

    assert shown.count("trial 1  completed") == 20
    assert "more outcomes: add --page 2" in shown


def test_failed_samples_are_shown_without_their_names(recorded: Path) -> None:
    shown = said("show", "latest", "--failed", cwd=recorded)

    assert shown.startswith("c  replay/outputs.jsonl  trial 1  failed  (three)\n")
    assert "failure: solver: LookupError: no output is recorded for 'c'" in shown
    assert said("show", "latest", "a", "--failed", cwd=recorded) == ""


def test_what_a_model_said_does_not_act_on_the_terminal(recorded: Path) -> None:
    shown = said("show", "latest", "b", cwd=recorded)

    assert "    zwei\n    数\\x1b[31m\n" in shown
    assert "\x1b" not in shown


def test_a_mistyped_sample_or_model_is_met_with_the_nearest(folder: Path) -> None:
    assert "did you mean `arith_001`?" in refused("show", "latest", "arith_01", cwd=folder)
    assert "it has `scripted/oracle`, `scripted/noisy`" in refused(
        "show", "latest", "--model", "gpt", cwd=folder
    )


def test_a_report_is_made_again_from_what_is_stored(recorded: Path) -> None:
    (recorded / "three.jsonl").unlink()

    report = json.loads(said("report", "latest", "--json", "--bins", "7", cwd=recorded))
    said("report", "latest", "--markdown", "report.md", cwd=recorded)

    assert report["status"] == "finished_with_failures"
    assert report["summary"]["failed"] == 1
    assert len(report["calibration"]["replay/outputs.jsonl"]["bins"]) == 7
    assert "## Leaderboard" in (recorded / "report.md").read_text()


def test_a_temperature_is_fitted_when_it_is_asked_for(folder: Path) -> None:
    def scaled(*words: str) -> Any:
        found = json.loads(said(*words, "--json", cwd=folder))
        return found["calibration"]["scripted/biased"]["scaled"]

    fitted = scaled("run", "tasks.jsonl", "-m", "scripted/biased", "--calibrate")

    assert (fitted["fitted_on"], fitted["n"]) == (5, 5)
    assert scaled("report") == scaled("score", "latest", "--calibrate") == fitted
    assert scaled("report", "--no-calibrate") is None
    assert scaled("run", "tasks.jsonl", "-m", "scripted/biased") is None


def test_a_report_made_again_is_the_report_of_the_run(folder: Path) -> None:
    options = ("-m", "scripted/noisy", "--limit", "3", "--bins", "7", "--seed", "3", "--json")
    first = json.loads(said("run", "tasks.jsonl", *options, cwd=folder))

    again = json.loads(said("report", first["run_id"], "--json", cwd=folder))

    for report in (first, again):
        del report["summary"]["wall_seconds"], report["summary"]["reused"]
    assert again == first


def test_an_exported_line_has_the_promised_shape(recorded: Path) -> None:
    a, b, c = exported("latest", cwd=recorded)

    assert [list(row) for row in (a, b, c)] == [[*EXPORTED, "sample"]] * 3
    assert a["scores"] == {"record": {"score": 1.0}}
    assert (a["output"], a["post_processed"]) == (" 1\n", "1")
    assert (a["metadata"], a["failure"]) == ({}, None)
    assert set(a["usage"]) == {
        *("requests", "prompt_tokens", "completion_tokens", "total_tokens", "cost")
    }
    assert b["output"] == "zwei\n数\x1b[31m"
    assert c["status"] == "failed"
    assert c["failure"]["stage"] == "solver"
    assert c["failure"]["type"] == "LookupError"
    assert [row["sample_id"] for row in exported("latest", "--failed", cwd=recorded)] == ["c"]


def test_an_exported_program_has_its_record(folder: Path) -> None:
    rows = exported("latest", "--json", cwd=folder)

    (program, *_) = [row for row in rows if row["sample_id"] == "code_001"]
    held = program["metadata"]["record"]
    assert list(held) == [
        *("outcome", "passed", "total", "targets", "detail", "tier", "verified", "reason")
    ]
    assert len(held["targets"]) == held["total"]
    assert all(not row["metadata"] for row in rows if not row["sample_id"].startswith("code"))


def test_csv_keeps_newlines_and_every_language(recorded: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "export", "latest", "--format", "csv"],
        cwd=recorded,
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        check=True,
    )

    rows = list(csv.DictReader(StringIO(done.stdout.decode(), newline="")))
    assert [row["output"] for row in rows] == [" 1\n", "zwei\n数\x1b[31m", ""]
    assert [row["record.score"] for row in rows] == ["1.0", "0.0", ""]
    assert rows[2]["failure.type"] == "LookupError"


def test_parquet_is_a_file_that_pyarrow_reads(recorded: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra `parquet`")

    done = evalwright(
        "export", "latest", "--format", "parquet", "--output", "runs.parquet", cwd=recorded
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == "wrote 3 outcomes to runs.parquet\n"
    assert pq.read_table(recorded / "runs.parquet")["record.score"].to_pylist() == [1.0, 0.0, None]


def test_parquet_without_a_file_is_used_wrongly(recorded: Path) -> None:
    assert "--output FILE" in refused("export", "latest", "--format", "parquet", cwd=recorded)


def test_parquet_without_its_extra_names_it_in_one_line(recorded: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from evalwright.cli import main; main()"
    arguments = ("export", "latest", "--format", "parquet", "--output", "x.parquet")

    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=recorded,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'evalwright[parquet]'" in done.stderr
    assert list(recorded.glob("*parquet*")) == []


def test_a_file_is_replaced_whole(recorded: Path) -> None:
    path = recorded / "out.jsonl"
    path.write_text("old\n" * 1000)

    said("export", "latest", "--output", "out.jsonl", cwd=recorded)

    assert len(path.read_text().splitlines()) == 3
    assert list(recorded.glob(".out*")) == []


def test_a_file_stays_what_it_was_when_the_new_one_cannot_be_written(large: Path) -> None:
    path = large / "out.jsonl"
    path.write_text("old\n")

    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 512; exec "$@"', "bash", *COMMAND, *LARGE, "-o", "out.jsonl"],
        cwd=large,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 4
    assert done.stderr == "evalwright: out.jsonl: cannot be written: file too large\n"
    assert path.read_text() == "old\n"
    assert list(large.glob(".out*")) == []


@pytest.mark.parametrize(
    ("output", "exit_code"),
    [
        pytest.param("/dev/full", 4, id="a full disk"),
        pytest.param("nowhere/out.jsonl", 2, id="a folder that is not there"),
    ],
)
def test_what_cannot_be_written_is_one_line(output: str, exit_code: int, recorded: Path) -> None:
    told = refused("export", "latest", "--output", output, cwd=recorded, exit_code=exit_code)

    assert "cannot be written: no s" in told
    assert told.count("\n") == 1


def test_a_device_is_written_to_and_not_replaced(recorded: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "export", "latest", "--output", "/dev/stdout"],
        cwd=recorded,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_head_ends_an_export_without_a_word(form: str, large: Path) -> None:
    command = f"{' '.join((*COMMAND, *LARGE))} --format {form} | head -n 1"

    done = subprocess.run(
        ["bash", "-c", f'{command}; echo "${{PIPESTATUS[0]}}" >&2'],
        cwd=large,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.count("\n") == 1
    assert done.stderr == "141\n"


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_memory_does_not_grow_with_what_is_exported(form: str, large: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to measure a process")

    small = _peak_megabytes_of_export("small", form, cwd=large)

    assert _peak_megabytes_of_export("large", form, cwd=large) < small + 40  # of 180 MB of text


def _peak_megabytes_of_export(run: str, form: str, *, cwd: Path) -> float:
    code = (
        "import atexit, pathlib, sys\n"
        "status = pathlib.Path('/proc/self/status')\n"
        "atexit.register(lambda: print(status.read_text(), file=sys.stderr))\n"
        "from evalwright.cli import main; main()"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-c", code, "export", run, "--store", "runs.db"),
            *("--format", form, "--output", f"{run}.{form}"),
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    (peak,) = (line for line in done.stderr.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def test_scoring_again_asks_no_model_and_names_the_parent(recorded: Path) -> None:
    (parent,) = json.loads(said("list", "--json", cwd=recorded))
    (recorded / "outputs.jsonl").unlink()
    (recorded / "three.jsonl").write_text(
        record("a", "1") + record("b", "zwei\n数\x1b[31m") + record("c", "3")
    )

    report = json.loads(said("score", "latest", "--json", cwd=recorded, exit_code=3))

    child = json.loads(said("show", report["run_id"], "--json", cwd=recorded))
    assert child["id"] != parent["id"]
    assert child["parent"] == parent["id"]
    assert f"parent      {parent['id']}" in said("show", "latest", cwd=recorded)
    a, b, c = exported("latest", cwd=recorded)
    assert (a["scores"], b["scores"]) == ({"record": {"score": 1.0}},) * 2
    assert c["status"] == "failed"
    assert "`score` queries no models" in c["failure"]["message"]
    before = exported(parent["id"], cwd=recorded)
    assert before[1]["scores"] == {"record": {"score": 0.0}}, "the parent stays what it was"
    assert before[1]["output"] == b["output"]


@pytest.mark.parametrize(
    ("option", "verified"),
    [
        pytest.param([], True, id="as in a run"),
        pytest.param(["--in-process-targets"], False, id="in their own process"),
    ],
)
def test_scoring_runs_programs(folder: Path, option: list[str], *, verified: bool) -> None:
    report = json.loads(said("score", "latest", *option, "--json", cwd=folder))

    assert report["summary"]["completed"] == 20
    assert report["code_execution"]["verified"] is verified


def test_deleting_needs_a_yes(folder: Path) -> None:
    told = refused("delete", "latest", cwd=folder)

    assert "20 outcomes" in told
    assert "--yes" in told
    assert len(json.loads(said("list", "--json", cwd=folder))) == 1


def test_a_deleted_run_is_gone_and_its_space_given_back(folder: Path) -> None:
    said("run", "tasks.jsonl", "-m", "scripted/echo", "--limit", "1", cwd=folder)
    runs = json.loads(said("list", "--json", cwd=folder))

    deleted = json.loads(said("delete", runs[1]["id"], "--yes", "--json", cwd=folder))
    given_back = json.loads(said("gc", "--json", cwd=folder))

    assert deleted == {"run_id": runs[1]["id"], "outcomes": 20}
    assert given_back["bytes"] > 0
    assert [run["id"] for run in json.loads(said("list", "--json", cwd=folder))] == [runs[0]["id"]]
    assert len(exported("latest", cwd=folder)) == 1


@pytest.mark.parametrize(
    ("answer", "left"), [pytest.param("y", 0, id="yes"), pytest.param("n", 1, id="no")]
)
def test_a_person_is_asked_before_a_run_is_deleted(answer: str, left: int, folder: Path) -> None:
    shown = _on_a_terminal([*COMMAND, "delete", "latest"], cwd=folder, typed=f"{answer}\n")

    assert "(tasks with scripted/oracle, scripted/noisy, finished) and 20 outcomes? [y/N]" in shown
    assert len(json.loads(said("list", "--json", cwd=folder))) == left


def _on_a_terminal(command: list[str], *, cwd: Path, typed: str = "") -> str:
    ours, theirs = pty.openpty()
    wide = environment(COLUMNS="120", TERM="xterm")
    with subprocess.Popen(
        command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=wide
    ) as child:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b"".join(_read(ours))
        child.wait(timeout=PATIENCE_S)
    os.close(ours)
    return shown.decode()


def _read(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 4096)
        except OSError:  # how Linux says that the other end is closed
            return
        if not data:
            return
        yield data
