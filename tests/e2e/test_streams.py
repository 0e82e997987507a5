"""Standard streams, folders and stores that cannot be used: exit code, message, nothing left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e import in_process
from tests.living import PATIENCE_S

from evalwright.spec.records.fixtures import TASKS

EVALWRIGHT = f"{sys.executable} -m evalwright"
COMMANDS = {
    "run": f"run {TASKS} -m scripted/oracle --store new.db",
    "show": "show --store runs.db",
    "list": "list --store runs.db",
    "export": "export --store runs.db",
    "exec": "exec a.py --target 'f() == 1'",
    "schema": "schema run",
    "validate": "validate bad.jsonl",
    "help": "run --help",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams")
    record = TASKS.read_text().splitlines()[0].replace('"task_id": "', '"task_id": "数-é-')
    (path / "tasks.jsonl").write_text(record + "\n", encoding="utf-8")
    (path / "bad.jsonl").write_text("{}\n")
    (path / "a.py").write_text("def f(): return 1\n")
    done = in_process.evalwright(
        "run", "tasks.jsonl", "-m", "scripted/oracle", "--store", "runs.db", cwd=path
    )
    assert done.returncode == 0, done.stderr
    return path


def shell(line: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
        timeout=PATIENCE_S,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "exec"])
def test_a_full_device_as_standard_output_is_named(folder: Path, name: str) -> None:
    done = shell(f"{EVALWRIGHT} {COMMANDS[name]} > /dev/full", folder)

    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert last == "evalwright: standard output cannot be written: no space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_full_devices_do_not_change_the_exit_code_but_for_lost_output(folder: Path) -> None:
    codes = {
        f"run {TASKS} -m scripted/oracle --store full.db --fresh": (0, 4),
        "run tasks.jsonl -m scripted/none --store full.db": (2, 2),
        "run none.jsonl -m scripted/oracle": (2, 2),
        "report --store runs.db": (0, 4),
        "report --store none.db": (2, 2),
        "show --store runs.db --page 9": (0, 0),
        "list models": (0, 4),
        "export --store runs.db --format csv": (0, 4),
        "validate bad.jsonl": (1, 4),
        "lint bad.jsonl": (0, 0),
        "schema none": (2, 2),
        "none": (2, 2),
        "": (2, 2),
    }

    found = {}
    for line in codes:
        runs = (
            in_process.evalwright(*line.split(), cwd=folder, stdout=stdout, stderr="/dev/full")
            for stdout in ("", "/dev/full")
        )
        found[line] = tuple(done.returncode for done in runs)

    assert found == codes


@pytest.mark.parametrize("name", ["run", "exec"])
@pytest.mark.parametrize("closed", [">&-", "2>&- >/dev/null", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_exit_code(folder: Path, name: str, closed: str) -> None:
    for store in folder.glob("new.db*"):
        store.unlink()

    done = shell(f"{EVALWRIGHT} {COMMANDS[name]} {closed}", folder)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    if name == "run":
        again = in_process.evalwright("show", "--store", "new.db", "--json", cwd=folder)
        assert again.returncode == 0, "no output went into the store"


@pytest.mark.parametrize("name", ["--help", "help", "show"])
def test_without_a_reader_every_command_exits_alike(folder: Path, name: str) -> None:
    command = f"{EVALWRIGHT} {COMMANDS.get(name, name)}"

    done = shell(f"({{ {command}; echo $? >&2; }} | true) 2>&1 | tail -n 1", folder)

    assert done.stdout == "141\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"run {TASKS} -m scripted/oracle", 4, "the current folder does not exist any more"),
        ("run .", 4, "the current folder does not exist any more"),
        ("init .", 2, "README.md"),
        (f"validate {TASKS}", 0, "10 valid records"),
        ("schema run", 0, ""),
    ],
)
def test_a_deleted_folder_is_named(tmp_path: Path, command: str, code: int, said: str) -> None:
    gone = tmp_path / "gone"

    done = shell(f"mkdir {gone} && cd {gone} && rmdir {gone} && {EVALWRIGHT} {command}", tmp_path)

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not gone.exists()


@pytest.mark.parametrize("command", ["run", "report", "list", "gc", "score latest"])
@pytest.mark.parametrize("store", ["/dev/null", "/dev/full", "pipe.db"])
def test_a_store_that_is_no_file_is_named_and_nothing_is_left(
    tmp_path: Path, command: str, store: str
) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    more = [str(TASKS), "-m", "scripted/oracle"] if command == "run" else []

    done = in_process.evalwright(*command.split(), *more, "--store", store, cwd=tmp_path)

    kind = "a pipe" if store == "pipe.db" else "a device"
    assert done.returncode == 2
    assert f"{store}: {kind}, not a file" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "pipe.db"]
    assert not Path(f"{store}-journal").exists()


def test_an_id_in_other_letters_is_found_and_shown_in_every_locale(folder: Path) -> None:
    (task_id,) = (
        line.split('"task_id": "')[1].split('"')[0]
        for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    )
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    for form, said in (("", "?-?"), (" --json", "数-é")):
        done = subprocess.run(
            [*EVALWRIGHT.split(), "show", "latest", task_id, "--store", "runs.db", *form.split()],
            cwd=folder,
            capture_output=True,
            check=False,
            env=os.environ | plain,
            timeout=PATIENCE_S,
        )

        assert (done.returncode, done.stderr) == (0, b"")
        assert said in done.stdout.decode()
