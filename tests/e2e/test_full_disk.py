"""A disk that fills up in the middle of a run: a clear error, and with some space it goes on."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.commands import (
    COMMAND,
    environment,
    evalwright,
    metrics_of,
    outcomes_in,
    record,
    report_of,
    write_tasks,
)
from tests.living import PATIENCE_S
from tests.servers.model_server import Asked, ModelServer, chat

SAMPLES = 200
CONNECTIONS = 10
LITTLE = 400 * 2**10
PLENTY = "64m"
LIMITED = """
import os, resource, sys
size, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
os.execv(command[0], command)
"""


class Disk:
    """One with too little space for the store of this run, until somebody makes some."""

    said = ""
    limited: tuple[str, ...] = ()
    """A command that gives another one its limits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make_space(self) -> None:
        """Enough."""
        self.limited = ()

    def close(self) -> None:
        """Leave nothing behind."""


class Tmpfs(Disk):
    """A file system that is really full."""

    said = "the disk is full"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={LITTLE}", "tmpfs", str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")

    def make_space(self) -> None:
        remount = ["mount", "-o", f"remount,size={PLENTY}", str(self.folder)]
        subprocess.run(remount, check=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


class Quota(Disk):
    """No file may grow: what a quota looks like, and any user may try it."""

    said = "the disk could not be read or written"
    limited = (sys.executable, "-c", LIMITED, str(LITTLE // 2))


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")


@pytest.fixture
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made: Disk = request.param(folder)
    yield made
    made.close()


def noise(number: int) -> str:
    """Two thousand characters that no compression makes small."""
    return random.Random(number).randbytes(1000).hex()


def command(store: Path) -> list[str]:
    parts = ["run", "tasks.jsonl", "-m", "openai/x", "--json", "--store", str(store)]
    return [*parts, "--concurrency", str(CONNECTIONS)]


def on(disk: Disk, server: ModelServer, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*disk.limited, *COMMAND, *command(disk.folder / ".evalwright" / "runs.db")],
        cwd=cwd,
        env=environment(server),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def sometimes_right(asked: Asked) -> str:
    return "4" if asked.prompt < "8" else "5"


@pytest.mark.parametrize(
    "disk",
    [pytest.param(Tmpfs, id="tmpfs", marks=ROOT_ONLY), pytest.param(Quota, id="quota")],
    indirect=True,
)
def test_a_full_disk_is_one_clear_error_and_with_space_the_same_command_goes_on(
    tmp_path: Path, disk: Disk
) -> None:
    write_tasks(tmp_path, (record(f"t{n}", prompt=noise(n)) for n in range(SAMPLES)))
    with ModelServer(chat(sometimes_right)) as server:
        undisturbed = evalwright(server, *command(tmp_path / "calm.db"), cwd=tmp_path)
        server.log.clear()

        full = on(disk, server, cwd=tmp_path)
        asked_in_vain = len(server.log)
        disk.make_space()
        mended = on(disk, server, cwd=tmp_path)

    assert full.returncode == 4
    assert full.stdout == ""
    error, hint = full.stderr.splitlines()
    assert error.startswith(f"evalwright: {disk.folder}/.evalwright/runs.db: {disk.said}")
    assert "run again: finished samples are kept" in hint
    report = report_of(mended)
    assert metrics_of(report) == metrics_of(report_of(undisturbed))
    assert [one.sample_id for one in outcomes_in(disk.folder)] == [f"t{n}" for n in range(SAMPLES)]
    assert 0 < report["summary"]["reused"] < asked_in_vain < SAMPLES, "it was full in the middle"
    assert len(server.log) <= SAMPLES + CONNECTIONS, "only what was in flight is paid for twice"


@pytest.mark.parametrize("disk", [pytest.param(Tmpfs, id="tmpfs", marks=ROOT_ONLY)], indirect=True)
def test_a_disk_that_is_full_from_the_start_costs_no_request(tmp_path: Path, disk: Disk) -> None:
    write_tasks(tmp_path, [record("a")])
    filler = disk.folder / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(2 * LITTLE))

    with ModelServer() as server:
        full = on(disk, server, cwd=tmp_path)
        filler.unlink()
        mended = on(disk, server, cwd=tmp_path)

    assert full.returncode == 4
    assert "the disk is full" in full.stderr
    assert "Traceback" not in full.stderr
    assert report_of(mended)["status"] == "finished"
    assert len(server.log) == 1, "nothing was asked before it could be kept"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
def test_a_report_that_cannot_be_printed_is_all_that_is_lost(tmp_path: Path) -> None:
    write_tasks(tmp_path, [record("a")])
    arguments = ("run", "tasks.jsonl", "-m", "openai/x", "--json")

    with ModelServer() as server, Path("/dev/full").open("w") as device:
        lost = subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=environment(server),
            stdout=device,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        again = evalwright(server, *arguments, cwd=tmp_path)

    assert lost.returncode == 4
    assert len(lost.stderr.splitlines()) == 1
    assert report_of(again)["summary"]["reused"] == 1
    assert len(server.log) == 1
