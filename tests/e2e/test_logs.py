"""Result logs, as a person moves them: export, import, and what may go wrong on the way."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process
from tests.e2e.commands import COMMAND
from tests.living import PATIENCE_S, wait_until
from tests.result_logs.sample_logs import foreign_log, old_sample

MANY = 10_000
MEAN = {
    "values": {"is_correct_mean": 0.5},
    "metric_key": "mean",
    "metric_type": "mean",
    "scorer_key": "equals",
    "scorer_purpose": "score",
}
MEASURED = (
    "import sys\n"
    "from evalwright.cli import app\n"
    "sys.argv[0] = 'evalwright'\n"
    "app(standalone_mode=False)\n"
    "print(next(one for one in open('/proc/self/status') if one.startswith('VmHWM')),"
    " file=sys.stderr)"
)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "EVALWRIGHT_STORE"}


def evalwright(*arguments: str, cwd: Path, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """The command; `limit` is the size that a file may have, in KiB."""
    if not limit:
        return in_process.evalwright(*arguments, cwd=cwd, env=environment())
    return subprocess.run(
        ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "bash", *COMMAND, *arguments],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def said(*arguments: str, cwd: Path) -> str:
    done = evalwright(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*arguments: str, cwd: Path, exit_code: int = 2, limit: int = 0) -> str:
    done = evalwright(*arguments, cwd=cwd, limit=limit)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def write_log(path: Path, count: int = 4, **changes: Any) -> None:
    """A log of another program, some samples long."""
    whole = {**foreign_log(metrics=[MEAN]), **changes}
    evidence = whole.pop("evidence")
    evidence.pop("samples")
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(whole)[:-1] + ', "evidence": ' + json.dumps(evidence)[:-1])
        file.write(', "samples": [\n')
        file.writelines(f"{json.dumps(old_sample(one))},\n" for one in range(count - 1))
        file.write(f"{json.dumps(old_sample(count - 1))}]}}}}\n")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a long log, imported."""
    folder = tmp_path_factory.mktemp("large")
    write_log(folder / "log.json", MANY)
    said("import", "log.json", cwd=folder)
    return folder


def runs_in(folder: Path) -> list[Any]:
    listed: list[Any] = json.loads(said("list", "--json", cwd=folder))
    return listed


def test_an_imported_log_is_known_to_every_command(tmp_path: Path) -> None:
    write_log(tmp_path / "log.json")

    report = json.loads(said("import", "log.json", "--json", cwd=tmp_path))

    assert report["metrics"][0]["value"] == 0.5
    assert "is_correct_mean" in said("report", cwd=tmp_path)
    assert "was not run" in said("report", cwd=tmp_path)
    assert "Paris" in said("show", "latest", "s0", cwd=tmp_path)
    assert len(said("export", cwd=tmp_path).splitlines()) == 4
    (listed,) = runs_in(tmp_path)
    assert (listed["id"], listed["done"], listed["failed"]) == (report["run_id"], 4, 0)
    said("export", "--format", "logs", "-o", "out", "--link-logs", cwd=tmp_path)
    said("validate", "out", cwd=tmp_path)
    again = json.loads(said("run", "out/" + yaml_in(tmp_path / "out"), "--json", cwd=tmp_path))
    assert again["metrics"] == report["metrics"]


def yaml_in(folder: Path) -> str:
    (found,) = folder.glob("*.yaml")
    return found.name


def test_a_gate_judges_it(tmp_path: Path) -> None:
    write_log(tmp_path / "log.json")
    said("import", "log.json", cwd=tmp_path)
    rule = {
        "key": "good",
        "display_name": "Good enough",
        "definition": {
            "type": "threshold",
            "metric": "is_correct_mean",
            "operator": ">=",
            "threshold": 0.9,
        },
    }
    policy = [{"key": "p", "display_name": "P", "description": "", "rules": [rule]}]
    (tmp_path / "policies.yaml").write_text(json.dumps(policy))

    done = evalwright("gate", "latest", "--policy", "policies.yaml", cwd=tmp_path)

    assert done.returncode == 1, done.stderr
    assert "0.5" in done.stdout


def test_a_killed_import_goes_on_and_is_the_same_run(tmp_path: Path, large: Path) -> None:
    write_log(tmp_path / "log.json", MANY)
    store = tmp_path / ".evalwright" / "runs.db"
    process = subprocess.Popen(
        [*COMMAND, "import", "log.json"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def some_are_stored() -> bool:
        if not store.exists():
            return False
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as opened:
            try:
                return bool(opened.execute("SELECT 1 FROM outcomes LIMIT 1").fetchone())
            except sqlite3.OperationalError:
                return False

    wait_until(some_are_stored)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (halfway,) = runs_in(tmp_path)
    report = json.loads(said("import", "log.json", "--json", cwd=tmp_path))

    (whole,) = runs_in(tmp_path)
    assert whole["id"] == halfway["id"]
    assert whole["done"] == MANY
    assert report["metrics"] == json.loads(said("report", "--json", cwd=large))["metrics"]


def test_a_full_disk_leaves_no_half_export(large: Path) -> None:
    told = refused(*("export", "--format", "logs", "-o", "full"), cwd=large, exit_code=4, limit=512)

    assert told == "evalwright: full: cannot be written: file too large\n"
    assert list(large.glob("*full*")) == []


def test_a_full_disk_while_importing_is_told_and_can_be_gone_on_with(tmp_path: Path) -> None:
    write_log(tmp_path / "log.json", 3000)

    told = refused("import", "log.json", cwd=tmp_path, exit_code=4, limit=256)

    assert "disk" in told or "full" in told or "large" in told
    assert said("import", "log.json", cwd=tmp_path)
    (run,) = runs_in(tmp_path)
    assert (run["done"], run["status"]) == (3000, "finished")


@pytest.mark.parametrize("command", ["import", "export"])
def test_memory_does_not_grow_with_a_log(command: str, large: Path, tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to measure a process")
    arguments = {
        "import": ("import", "log.json", "--store", str(tmp_path / "runs.db")),
        "export": ("export", "--format", "logs", "-o", str(tmp_path / "out")),
    }[command]

    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        cwd=large,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    (peak,) = (line for line in done.stderr.splitlines() if line.startswith("VmHWM:"))
    assert int(peak.split()[1]) / 1024 < 160


def test_a_damaged_log_is_refused_at_its_place(tmp_path: Path) -> None:
    write_log(tmp_path / "log.json")
    whole = (tmp_path / "log.json").read_text()
    (tmp_path / "log.json").write_text(
        whole.replace('"values": {"is_correct": true}', '"values": 1', 1)
    )

    told = refused("import", "log.json", cwd=tmp_path, exit_code=1)

    assert told == (
        "evalwright: log.json:2:1: expected an object, got int"
        " - at `$.evidence.samples[0].scores[0].values`\n"
    )
    assert runs_in(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("export", "--format", "logs"), "add --output DIR", id="no folder"),
        pytest.param(("export", "--link-logs"), "add `--format logs`", id="links of no logs"),
        pytest.param(
            ("export", "--format", "logs", "--failed", "-o", "x"), "`--failed`", id="some"
        ),
        pytest.param(("export", "-o", "."), "is a folder", id="a folder for a file"),
        pytest.param(("export", "--format", "logs", "-o", "."), "already exists", id="not empty"),
        pytest.param(("import", "nothing.json"), "no such file", id="nothing there"),
        pytest.param(("import", "."), "no result logs", id="no logs"),
    ],
)
def test_what_cannot_be_is_one_line_and_a_hint(
    arguments: tuple[str, ...], words: str, large: Path
) -> None:
    assert words in refused(*arguments, cwd=large)


def test_names_of_a_log_lead_out_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    hostile = {"key": "../../../أثر\x1b[31m", "task_key": "/etc/passwd", "model_key": "a/../b"}
    write_log(tmp_path / "deep" / "er" / "log.json", specification=hostile)
    said("import", "log.json", cwd=tmp_path / "deep" / "er")

    said("export", "--format", "logs", "-o", "out", "--link-logs", cwd=tmp_path / "deep" / "er")

    (log,) = (tmp_path / "deep" / "er" / "out").rglob("*.json")
    assert log.relative_to(tmp_path / "deep" / "er" / "out").parts[0] == "task_results"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["deep"]
    assert "\x1b" not in said("report", cwd=tmp_path / "deep" / "er")
