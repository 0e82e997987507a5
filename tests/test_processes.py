"""A child is held to its limits, and nothing of it stays."""

import asyncio
import os
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.living import ends, is_running, wait_until

from evalwright import processes
from evalwright.processes import Child, Ended, Launch

LIMITS = {
    "RLIMIT_CPU": 20,
    "RLIMIT_AS": 1024**3,
    "RLIMIT_FSIZE": 1024**2,
    "RLIMIT_NOFILE": 32,
}


def launch(
    folder: Path, body: str, *, arguments: tuple[bytes, ...] = (), timeout_s: float = 20.0
) -> Launch:
    script = folder / "script.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    script.write_text(f"import os, sys, time\ndef main(report, arguments):\n{lines}")
    return Launch(
        script=script,
        arguments=arguments,
        limits=LIMITS,
        timeout_s=timeout_s,
        max_output_bytes=1000,
        max_report_bytes=100,
    )


def run(
    folder: Path, body: str, *, arguments: tuple[bytes, ...] = (), timeout_s: float = 20.0
) -> Ended:
    return Child(launch(folder, body, arguments=arguments, timeout_s=timeout_s)).run()


def appears(link: Path) -> None:
    """Wait until it is there."""
    while not link.is_symlink():
        time.sleep(0.01)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_report_and_output_come_back_apart(tmp_path: Path) -> None:
    ended = run(tmp_path, "os.write(report, b'said')\nprint('out')\nprint('err', file=sys.stderr)")

    assert (ended.why, ended.status, ended.started) == ("exited", 0, True)
    assert ended.report == b"said"
    assert sorted(ended.output.split()) == [b"err", b"out"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="none"),
        pytest.param((b"",), id="an empty one"),
        pytest.param((b"a b\n\0\xff", b"", b"\n"), id="any bytes"),
        pytest.param((b"x" * 5_000_000,), id="more than a pipe holds"),
    ],
)
def test_arguments_arrive_as_they_are(tmp_path: Path, arguments: tuple[bytes, ...]) -> None:
    ended = run(tmp_path, "print([hash(a) for a in arguments])", arguments=arguments)
    again = run(tmp_path, f"print([hash(a) for a in {list(arguments)!r}])")

    assert (ended.status, ended.output) == (0, again.output)


def test_there_is_nothing_to_read_and_no_descriptor_to_find(tmp_path: Path) -> None:
    ended = run(tmp_path, "print(repr(sys.stdin.read()), len(os.listdir('/proc/self/fd')))")

    assert ended.output == b"'' 5\n"  # the standard three, the report, the listing itself


def test_the_environment_is_its_own(tmp_path: Path) -> None:
    ended = run(tmp_path, "print(*sorted(os.environ))\nprint(os.environ['TMPDIR'] == os.getcwd())")

    assert set(ended.output.decode().split()) == {*processes.ENVIRONMENT, "TMPDIR", "True"}


def test_it_leads_a_session_of_its_own(tmp_path: Path) -> None:
    ended = run(tmp_path, "print(os.getpid() == os.getsid(0) == os.getpgid(0))")

    assert ended.output == b"True\n"


def test_limits_are_set_before_the_script_runs_and_cannot_be_higher(tmp_path: Path) -> None:
    body = (
        "import resource as r\n"
        "for name in ('CPU', 'AS', 'FSIZE', 'NOFILE', 'CORE'):\n"
        "    print(*r.getrlimit(getattr(r, 'RLIMIT_' + name)))"
    )

    ended = run(tmp_path, body)

    assert ended.output.decode().splitlines() == [
        "20 21",
        f"{1024**3} {1024**3}",
        f"{1024**2} {1024**2}",
        "32 32",
        "0 0",
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param("os.write(1, b'x' * 1000)", "exited", id="output at its cap"),
        pytest.param("os.write(1, b'x' * 1001)", "output", id="output over its cap"),
        pytest.param("os.write(1, b'x' * 999)\nos.write(2, b'xx')", "output", id="both together"),
        pytest.param("while True: os.write(2, b'x' * 65536)", "output", id="output without end"),
        pytest.param("os.write(report, b'x' * 100)", "exited", id="report at its cap"),
        pytest.param("while True: os.write(report, b'x')", "report", id="report without end"),
    ],
)
def test_what_it_writes_is_bounded(tmp_path: Path, body: str, why: str) -> None:
    ended = run(tmp_path, body)

    assert ended.why == why
    assert len(ended.output) <= 1001
    assert len(ended.report) <= 101


def test_output_is_bounded_after_the_end_too(tmp_path: Path) -> None:
    # It leaves its group, so that nothing ends it but its own clock.
    body = (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    end = time.monotonic() + 1\n"
        "    while time.monotonic() < end: os.write(1, b'x')\n"
        "    os._exit(0)\n"
        "os._exit(0)"
    )

    assert len(run(tmp_path, body).output) <= 1001


def test_the_clock_starts_with_the_first_word(tmp_path: Path) -> None:
    ended = run(tmp_path, "time.sleep(1.6)\nos.write(report, b'ready')", timeout_s=1.5)

    assert ended.why == "exited"
    assert ended.duration_s < 1.5


def test_after_the_deadline_it_is_killed(tmp_path: Path) -> None:
    ended = run(tmp_path, "os.write(report, b'ready')\ntime.sleep(1000)", timeout_s=0.3)

    assert (ended.why, ended.status) == ("timeout", -signal.SIGKILL)
    # The promise is 0.3 s; the rest is for a machine that has something else to do.
    assert 0.3 <= ended.duration_s < 0.3 + 30


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("raise ValueError('why')", id="raises"),
        pytest.param("print('ValueError: why')\nsys.exit(1)", id="exits"),
        pytest.param("os.close(report)\nraise ValueError('why')", id="closes its report"),
    ],
)
def test_one_that_never_said_a_word_did_not_start(tmp_path: Path, body: str) -> None:
    ended = run(tmp_path, body)

    assert (ended.why, ended.started, ended.status) == ("exited", False, 1)
    assert b"ValueError: why" in ended.output


def test_one_that_takes_for_ever_to_start_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "START_S", 0.3)

    ended = run(tmp_path, "time.sleep(1000)")

    assert (ended.why, ended.started, ended.duration_s) == ("timeout", False, 0.0)


def test_an_interpreter_that_is_not_there_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "nowhere"))
    before = open_descriptors()

    with pytest.raises(FileNotFoundError):
        run(tmp_path, "pass")

    assert open_descriptors() == before


def test_descriptors_are_closed_and_the_child_is_reaped(tmp_path: Path) -> None:
    before = open_descriptors()

    ended = run(tmp_path, "print(os.getpid())")

    assert open_descriptors() == before
    assert not Path("/proc", ended.output.decode().strip()).exists()


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("os._exit(3)", id="exits"),
        pytest.param(
            "os.close(report)\ntime.sleep(0.1)\nos._exit(3)", id="closes its report first"
        ),
    ],
)
@pytest.mark.parametrize("waitid", [True, False], ids=["with waitid", "without waitid"])
def test_its_end_is_seen_though_a_copy_holds_the_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, *, waitid: bool
) -> None:
    if not waitid:
        monkeypatch.delattr(os, "waitid")
    body = (
        "os.write(report, b'ready')\n"
        "copy = os.fork()\n"
        "if copy == 0: time.sleep(1000)\n"
        "print(copy, flush=True)\n"
    )

    ended = run(tmp_path, body + ending)

    assert (ended.why, ended.status) == ("exited", 3)
    assert ended.duration_s < 10
    assert ends(int(ended.output))


def test_it_can_be_stopped_from_another_thread(tmp_path: Path) -> None:
    child = Child(launch(tmp_path, "os.write(report, b'ready')\ntime.sleep(1000)"))
    threading.Timer(0.2, child.stop).start()

    ended = child.run()

    assert (ended.why, ended.status) == ("stopped", -signal.SIGKILL)


def test_it_can_be_stopped_before_it_starts(tmp_path: Path) -> None:
    child = Child(launch(tmp_path, "time.sleep(1000)"))
    child.stop()

    assert child.run().why == "stopped"


def test_a_cancelled_run_returns_when_the_child_is_gone(tmp_path: Path) -> None:
    seen = tmp_path / "pid"
    body = f"os.symlink(str(os.getpid()), {str(seen)!r})\ntime.sleep(1000)"

    async def run_and_cancel() -> None:
        with ThreadPoolExecutor(1) as threads:
            task = asyncio.create_task(processes.run(launch(tmp_path, body), threads))
            await asyncio.to_thread(appears, seen)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_running(int(seen.readlink().name))

    asyncio.run(run_and_cancel())


FILLINGS = {
    "nothing": "pass",
    "files": "for n in range(50): open(str(n), 'w').close()",
    "closed directories": (
        "os.makedirs('a/b/c')\nopen('a/b/c/file', 'w').close()\n"
        "for path in ('a/b/c', 'a/b', 'a'): os.chmod(path, 0)"
    ),
    "a closed working directory": "os.mkdir('a')\nos.chmod('.', 0)",
    "a path too long for any call": (
        "for _ in range(1200):\n    os.mkdir('deep' * 5)\n    os.chdir('deep' * 5)"
    ),
    "links": "os.symlink('/', 'root')\nos.symlink('nowhere', 'broken')\nos.symlink('.', 'self')",
    "a pipe and a name that is no text": "os.mkfifo('pipe')\nos.mkdir(b'\\xff\\n')",
    "names that look like ours": "os.mkdir('0')\nos.mkdir('0/1')\nos.mkdir('1')",
    "nothing, for it is gone": "os.rmdir(os.getcwd())",
}


@pytest.mark.parametrize("filling", FILLINGS.values(), ids=FILLINGS.keys())
def test_its_directory_is_deleted_with_everything_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filling: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    ended = run(tmp_path, filling)

    assert (ended.status, ended.output) == (0, b"")
    assert list(temporary.iterdir()) == []


def test_what_a_link_points_to_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    outside.chmod(0o500)

    run(tmp_path, f"os.symlink({str(outside)!r}, 'link')")

    assert (outside / "file").exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_a_process_that_is_exiting_is_told_from_one_that_runs() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not processes.is_exiting(process.pid)

        process.kill()

        # Not reaped, so its entry in /proc stays.
        wait_until(lambda: processes.is_exiting(process.pid))
    assert not processes.is_exiting(process.pid)
