"""What is this adapter's own: processes, descriptors, files, and what it does not hold."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

import pytest
from tests.living import ends, is_running

from evalwright.sandbox import unsafe
from evalwright.sandbox.unsafe import Unsafe
from evalwright.types import Execution, Program


def judge(source: str, *targets: str, timeout_s: float = 20.0) -> Execution:
    program = Program(source=source, targets=targets, timeout_s=timeout_s)
    return asyncio.run(Unsafe().judge(program))


def appear(paths: list[Path]) -> None:
    """Wait until all are there."""
    while not all(path.exists() for path in paths):
        time.sleep(0.01)


def test_it_says_what_it_is() -> None:
    assert (Unsafe.tier, Unsafe.verified) == ("rlimits", False)


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        pytest.param("class Yes:\n    def __eq__(self, other): return True", ["Yes() == 3"]),
        pytest.param("import builtins\nbuiltins.sum = lambda numbers: 3", ["sum([1, 1]) == 3"]),
    ],
)
def test_a_candidate_can_forge_its_verdict_which_is_why_it_is_not_verified(
    source: str, targets: list[str]
) -> None:
    assert judge(source, *targets).outcome == "pass"


FORK = (
    "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(1000)\nprint(pid, flush=True)\n"
)


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        pytest.param("", "pass", id="passes"),
        pytest.param("raise ValueError", "error", id="raises"),
        pytest.param("os._exit(0)", "error", id="exits"),
        pytest.param("os.kill(os.getpid(), 9)", "error", id="is killed"),
    ],
)
def test_a_child_left_asleep_with_the_pipes_delays_nothing_and_is_killed(
    ending: str, outcome: str
) -> None:
    execution = judge(FORK + ending, "1")

    assert execution.outcome == outcome
    assert execution.duration_s < 10
    assert ends(int(execution.output))


def test_a_program_that_was_starved_runs_again() -> None:
    """It waits until a moment that passes before the second try."""
    moment = time.time() + 1.5
    source = f"import time\nif time.time() < {moment}: time.sleep(1000)"

    assert judge(source, "True", timeout_s=2).outcome == "pass"


def test_a_program_that_waits_is_a_timeout_that_rests_on_wall_clock_time() -> None:
    execution = judge("import time\ntime.sleep(1000)", "True", timeout_s=0.2)

    assert (execution.outcome, execution.wall_clock) == ("timeout", True)


def test_on_a_timeout_the_children_are_killed_too() -> None:
    execution = judge(FORK + "time.sleep(1000)", "1", timeout_s=0.5)

    assert execution.outcome == "timeout"
    assert ends(int(execution.output))


def test_a_copy_of_the_candidate_has_no_say() -> None:
    execution = judge("import os\nos.fork()\nos.fork()", "1", "0")

    assert (execution.outcome, execution.targets) == ("assertion_fail", (True, False))


def test_another_program_in_its_place_reports_nothing() -> None:
    source = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'pass'])"

    assert judge(source, "1").outcome == "error"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(b"garbage\n", id="garbage"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b'{"x": ' + b"[" * 5000 + b"\n", id="deep"),
        pytest.param(b'{"type": "target", "outcome": "passed", "detail": ""}\n', id="one too many"),
        pytest.param(b'{"type": "done", "nonce": "guessed"}\n', id="an end that is none"),
        pytest.param(b"\n" * 100_000, id="a flood"),
    ],
)
def test_writing_to_every_descriptor_gains_nothing(written: bytes) -> None:
    source = (
        "import os\n"
        "for number in range(3, 64):\n"
        f"    try: os.write(number, {written!r})\n"
        "    except OSError: pass"
    )

    execution = judge(source, "1")

    assert (execution.outcome, execution.targets) == ("error", (False,))


def test_the_working_directory_is_empty_writable_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = (
        "import os, pathlib, tempfile\n"
        "before = os.listdir()\n"
        "pathlib.Path('kept').write_text('x')\n"
        "pathlib.Path(tempfile.mkdtemp(), 'kept').write_text('x')\n"
        "os.makedirs('closed/inner')\n"
        "os.chmod('closed', 0)"
    )

    execution = judge(source, "before == []")

    assert execution.outcome == "pass"
    assert list(tmp_path.iterdir()) == []


def test_descriptors_of_the_harness_are_closed(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003 - it takes no keyword

        execution = judge("import os\nprint(os.listdir('/proc/self/fd'))", "1")

    assert str(file.name) not in execution.output
    assert len(execution.output.split()) == 5  # the standard three, the report, the listing itself


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param(
            "import os\nnames = set()\n"
            "def f():\n    for n in range(100): names.add(os.open('/dev/null', os.O_RDONLY))",
            "try: f()\nexcept OSError: assert len(names) < 64\nelse: assert 0",
            id="open files",
        ),
        pytest.param(
            "def f(): open('large', 'wb').write(bytes(17 * 1024**2))",
            "try: f()\nexcept OSError: pass\nelse: assert 0",
            id="size of a file",
        ),
        pytest.param(
            "import resource",
            "resource.getrlimit(resource.RLIMIT_CPU)[0] == 21 > 20",
            id="CPU time, a second behind the clock",
        ),
        pytest.param("import resource", "resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)"),
        pytest.param("import signal", "signal.alarm(0) > 20", id="the life of an orphan"),
    ],
)
def test_limits_are_set(source: str, target: str) -> None:
    assert judge(source, target).detail == ""


def test_time_of_the_processor_is_time() -> None:
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)"

    assert judge(source, "1").outcome == "timeout"


def test_sets_have_the_same_order_every_time() -> None:
    source = "print(*{str(n) for n in range(100)})"

    assert judge(source, "1").output == judge(source, "1").output


def test_a_cancelled_call_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pids = [tmp_path / "0.pid", tmp_path / "1.pid"]
    sandbox = Unsafe(workers=2)

    async def judge_and_cancel() -> None:
        sleepers = [
            Program(
                source="import os, time\n"
                f"open({str(path) + '.part'!r}, 'w').write(str(os.getpid()))\n"
                f"os.rename({str(path) + '.part'!r}, {str(path)!r})\n"
                "time.sleep(1000)",
                targets=("1",),
                timeout_s=30,
            )
            for path in (*pids, tmp_path / "whose turn never comes")
        ]
        tasks = [asyncio.create_task(sandbox.judge(sleeper)) for sleeper in sleepers]
        await asyncio.to_thread(appear, pids)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [asyncio.CancelledError] * 3

    asyncio.run(judge_and_cancel())

    assert not any(is_running(int(path.read_text())) for path in pids)
    assert sorted(tmp_path.iterdir()) == pids


def test_one_sandbox_serves_several_event_loops() -> None:
    sandbox = Unsafe(workers=1)
    program = Program(source="", targets=("1",), timeout_s=20)

    async def judge_all() -> set[str]:
        return {e.outcome for e in await asyncio.gather(*map(sandbox.judge, [program] * 4))}

    assert asyncio.run(judge_all()) | asyncio.run(judge_all()) == {"pass"}


def test_an_evaluator_that_does_not_start_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('no libraries')")
    monkeypatch.setattr(unsafe, "_SCRIPT", broken)

    with pytest.raises(ChildProcessError, match="did not start: RuntimeError: no libraries"):
        judge("", "1")
