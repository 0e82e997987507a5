"""What is this adapter's own: workers, their death, what a candidate finds around it, packages."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.living import descendants, is_running, wait_until

from evalwright.errors import UsageError
from evalwright.ports import Unverified
from evalwright.sandbox.jailed import Jailed, locate_packages
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS, SandboxSettings, SandboxWorker
from evalwright.types import Execution, Program

ADD = "def add(a, b):\n    return a + b\n"
HONEST = Program(source=ADD, targets=("add(2, 3) == 5",), timeout_s=20)
LOOP = Program(source="while True: pass", targets=("1",), timeout_s=30)


def make(tier: Any, **options: Any) -> Jailed:
    try:
        return Jailed(tier=tier, **options)
    except NoTier as error:
        pytest.skip(f"this machine cannot: {error}")


@pytest.fixture(params=TIERS, scope="module")
def jailed(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    sandbox = make(request.param, workers=1)
    yield sandbox
    asyncio.run(sandbox.close())


def judge(sandbox: Jailed, source: str, *targets: str, timeout_s: float = 20.0) -> Execution:
    program = Program(source=source, targets=targets, timeout_s=timeout_s)
    return asyncio.run(sandbox.judge(program))


def test_where_only_verified_verdicts_are_wanted_another_pass_raises(jailed: Jailed) -> None:
    sandbox = make(jailed.tier, workers=1, only_verified=True)
    source = "def part(): return 0.5\ndef f(): return part()"
    replaced = "part = lambda: 0.25\nassert f() == 0.25"

    try:
        with pytest.raises(Unverified, match=r"^not verified: target 1 of 1: .*`part`"):
            judge(sandbox, source, replaced)
        assert judge(sandbox, source, "f() < 1").outcome == "pass"
        assert judge(sandbox, source, "f() > 1").outcome == "assertion_fail"
    finally:
        asyncio.run(sandbox.close())


def test_an_object_of_the_candidate_is_not_compared_with_a_value_by_it(jailed: Jailed) -> None:
    source = "class Point:\n    def __eq__(self, other): return True\n"

    execution = judge(jailed, source, "1", "Point() == 4")

    assert (execution.outcome, execution.targets) == ("refused", (False, False))
    assert execution.detail.startswith("target 2 of 2 passes in the program's own process")
    assert "Point" in execution.detail


def test_the_environment_is_empty(jailed: Jailed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    sandbox = make(jailed.tier, workers=1)

    execution = judge(sandbox, "import os", "not os.environ", "dict(os.environb) == {}")

    asyncio.run(sandbox.close())
    assert execution.outcome == "pass"


def test_a_candidate_is_nobody(jailed: Jailed) -> None:
    source = "import os\ndef who(): return {*os.getresuid(), *os.getresgid(), *os.getgroups()}"
    theirs = {os.getuid(), os.getgid()} if os.getuid() and "landlock" in jailed.tier else set()

    execution = judge(jailed, source, f"who() and not who() & set(range(65_000)) - {theirs!r}")

    assert (execution.outcome, execution.detail) == ("pass", "")


@pytest.mark.parametrize("at", ["in the candidate", "between candidates"])
def test_a_worker_that_dies_is_replaced(jailed: Jailed, at: str) -> None:
    sandbox = make(jailed.tier, workers=1)
    (worker,) = sandbox.processes

    async def killed_once() -> Execution:
        program = Program(
            source="import time\ntime.sleep(0.5)\n" + ADD, targets=("add(1, 2) == 3",), timeout_s=20
        )
        task = asyncio.create_task(sandbox.judge(program))
        if at == "in the candidate":
            await asyncio.sleep(0.2)
        os.kill(worker, signal.SIGKILL)
        return await task

    execution = asyncio.run(killed_once())

    (successor,) = sandbox.processes
    asyncio.run(sandbox.close())
    assert execution.outcome == "pass"
    assert successor != worker


def test_a_candidate_whose_worker_dies_twice_is_an_error(jailed: Jailed) -> None:
    sandbox = make(jailed.tier, workers=1)

    async def killed_twice() -> Execution:
        task = asyncio.create_task(sandbox.judge(LOOP))
        seen: set[int] = set()
        while not task.done():
            for worker in set(sandbox.processes) - seen:
                await asyncio.sleep(0.3)
                seen.add(worker)
                os.kill(worker, signal.SIGKILL)
            await asyncio.sleep(0.01)
        return await task

    execution = asyncio.run(killed_twice())

    assert (execution.outcome, execution.targets) == ("error", (False,))
    assert execution.detail.startswith("its worker died twice")
    assert asyncio.run(sandbox.judge(HONEST)).outcome == "pass"
    asyncio.run(sandbox.close())


def test_nothing_outlives_the_sandbox(jailed: Jailed) -> None:
    sandbox = make(jailed.tier, workers=2)

    async def busy() -> None:
        tasks = [asyncio.create_task(sandbox.judge(LOOP)) for _ in range(2)]
        while len(running) < 2 * 3:  # each with its evaluator and its candidate
            await asyncio.sleep(0.05)
            running.clear()
            running.update(*(descendants(pid) for pid in sandbox.processes))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    running: set[int] = set()
    asyncio.run(busy())
    asyncio.run(sandbox.close())

    wait_until(lambda: not any(map(is_running, running)))


def test_nothing_outlives_one_that_was_forgotten(jailed: Jailed) -> None:
    sandbox = make(jailed.tier, workers=1)
    running = set().union(*(descendants(pid) for pid in sandbox.processes))

    del sandbox
    gc.collect()

    wait_until(lambda: not any(map(is_running, running)))


def test_nothing_outlives_an_engine_that_is_killed(jailed: Jailed) -> None:
    script = (
        "import asyncio\n"
        "from evalwright.sandbox.jailed import Jailed\n"
        "from evalwright.types import Program\n"
        f"sandbox = Jailed(tier={jailed.tier!r}, workers=1)\n"
        "print(*sandbox.processes, flush=True)\n"
        "loop = Program(source='while True: pass', targets=('1',), timeout_s=30)\n"
        "asyncio.run(sandbox.judge(loop))\n"
    )
    engine = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    worker = int(engine.stdout.readline())
    wait_until(lambda: len(descendants(worker)) >= 3)
    running = descendants(worker)

    engine.kill()
    engine.wait()
    engine.stdout.close()

    wait_until(lambda: not any(map(is_running, running)))


def test_a_cancelled_candidate_frees_its_worker(jailed: Jailed) -> None:
    async def cancel_and_go_on() -> Execution:
        task = asyncio.create_task(jailed.judge(LOOP))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await jailed.judge(HONEST)

    began = time.monotonic()

    assert asyncio.run(cancel_and_go_on()).outcome == "pass"
    assert time.monotonic() - began < LOOP.timeout_s / 2


def test_a_program_that_was_starved_runs_again(jailed: Jailed) -> None:
    """It waits until a moment that passes before the second try."""
    moment = time.time() + 1.5
    source = f"import time\nif time.time() < {moment}: time.sleep(1000)\ndef f(): return 1"

    execution = judge(jailed, source, "f() == 1", timeout_s=2)

    assert (execution.outcome, execution.verified, execution.wall_clock) == ("pass", True, False)


def test_a_program_that_waits_is_a_timeout_that_rests_on_wall_clock_time(jailed: Jailed) -> None:
    execution = judge(jailed, "import time\ntime.sleep(1000)", "True", timeout_s=0.2)

    assert (execution.outcome, execution.wall_clock) == ("timeout", True)
    assert "also alone, with little CPU time" in execution.detail


def test_descriptors_do_not_pile_up(jailed: Jailed) -> None:
    asyncio.run(jailed.judge(HONEST))
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(20):
        assert asyncio.run(jailed.judge(HONEST)).outcome == "pass"

    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_an_interpreter_that_is_not_there_is_no_tier() -> None:
    with pytest.raises(NoTier, match="/nonexistent/python: No such file"):
        Jailed(python="/nonexistent/python")


OTHERS = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3")) + [
    path for path in [Path("/usr/bin/python3")] if path.exists()
]


@pytest.mark.parametrize("python", OTHERS, ids=[str(path.parts[-3:]) for path in OTHERS])
def test_other_interpreters_do_too(jailed: Jailed, python: Path) -> None:
    told = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    found = subprocess.run(told, capture_output=True, text=True, check=True).stdout.split()
    if (int(found[0]), int(found[1])) < (3, 11):
        pytest.skip("older than 3.11")
    sandbox = make(jailed.tier, workers=1, python=str(python))

    execution = judge(
        sandbox,
        ADD + "import sys, sqlite3, hashlib, asyncio, decimal, zoneinfo",
        f"sys.version_info[:2] == ({', '.join(found)})",
        "add(1, 2) == 3",
        "add([1], [2]) == [1, 2]",
    )

    asyncio.run(sandbox.close())
    assert (execution.outcome, execution.detail) == ("pass", "")


def test_a_package_is_shown_when_asked_for(jailed: Jailed) -> None:
    sandbox = make(jailed.tier, workers=1, packages=["numpy"])
    source = "import numpy as np\ndef f(): return np.arange(4).reshape(2, 2).sum(axis=0).tolist()"

    execution = judge(sandbox, source, "f() == [2, 4]", "np.allclose(np.array([1.0]), 1.0)")

    asyncio.run(sandbox.close())
    assert (execution.outcome, execution.detail) == ("pass", "")


def test_what_lies_in_tmp_can_be_shown(jailed: Jailed, tmp_path: Path) -> None:
    """A package, here; an interpreter, for those who have theirs there."""
    (tmp_path / "mine.py").write_text("def five(): return 5\n")
    settings = SandboxSettings(tier=jailed.tier, packages={"mine": str(tmp_path / "mine.py")})  # type: ignore[arg-type]
    program = Program(
        source="import mine, tempfile\n"
        "def f(): return mine.five()\n"
        "def g():\n"
        "    try: return tempfile.TemporaryFile().write(b'four')\n"
        "    except FileNotFoundError: return 'nowhere'",
        targets=("f() == 5", "g() in (4, 'nowhere')"),
        timeout_s=20,
    )
    worker = SandboxWorker(settings)

    execution, _ = worker.judge(program, threading.Event())

    worker.close()
    assert execution.outcome == "pass"


def test_no_package_is_shown_otherwise(jailed: Jailed) -> None:
    execution = judge(jailed, "import numpy", "1")

    assert execution.detail == "ModuleNotFoundError: No module named 'numpy'"


IMPORTS = """\
import importlib, sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    try: importlib.import_module(name)
    except ImportError: continue
    print(name)
"""


def test_the_standard_library_is_there(jailed: Jailed) -> None:
    names = sorted(sys.stdlib_module_names - {"antigravity", "this", "idlelib", "turtledemo"})
    command = [sys.executable, "-c", IMPORTS, *names]
    here = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    groups = [here[start : start + 25] for start in range(0, len(here), 25)]

    executions = [
        judge(jailed, "".join(f"import {name}\n" for name in group), "1") for group in groups
    ]

    assert len(here) > 200
    assert [each.detail for each in executions if each.outcome != "pass"] == []


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of installed packages, each of which would betray that it was imported."""
    loud = "raise AssertionError('imported')"
    for name in ("paper", "scissors"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(loud)
    (tmp_path / "rock.py").write_text(loud)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "module.py").write_text(loud)
    information = tmp_path / "cutting_tools-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: Cutting.Tools\n")
    (information / "top_level.txt").write_text("scissors\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "ghost", ModuleType("ghost"))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "place"),
    [
        pytest.param("paper", "paper", id="a package is its directory"),
        pytest.param("rock", "rock.py", id="a module is its file"),
        pytest.param("bare", "bare", id="a namespace package"),
    ],
)
def test_a_package_is_found_and_not_imported(site: Path, name: str, place: str) -> None:
    assert locate_packages([name]) == {name: str(site / place)}
    assert name not in sys.modules


def test_a_package_that_is_imported_already_is_found_too() -> None:
    assert locate_packages(["msgspec"]) == {
        "msgspec": str(Path(sys.modules["msgspec"].__path__[0]))
    }


@pytest.mark.parametrize("name", ["json", "sys", "_thread", "zoneinfo"])
def test_the_standard_library_needs_no_place(name: str) -> None:
    assert locate_packages([name]) == {}


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        pytest.param(
            "wellspring", "package `wellspring` is not installed", sys.executable, id="not there"
        ),
        pytest.param(
            "cutting-tools",
            "package `cutting-tools` is imported under a different name",
            "name it as `import` does: `scissors`",
            id="the name of the distribution",
        ),
        pytest.param(
            "cutting_tools",
            "package `cutting_tools` is imported under a different name",
            "name it as `import` does: `scissors`",
            id="the name of the distribution, as a word",
        ),
        pytest.param(
            "paper.fold", "`paper.fold` is part of a package", "`paper`", id="a module inside"
        ),
        pytest.param("", "package `` is not installed", "", id="nothing"),
        pytest.param("../etc", "package `../etc` is not installed", "", id="a path"),
        pytest.param("ghost", "package `ghost` is not installed", "", id="only in memory"),
    ],
)
@pytest.mark.usefixtures("site")
def test_a_mistake_is_explained(name: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        locate_packages([name])

    assert caught.value.message == message
    assert hint in caught.value.hint
    assert "paper" not in sys.modules


def test_all_mistakes_are_named_at_once(site: Path) -> None:
    del site
    with pytest.raises(UsageError, match=r"`wellspring`.*; .*`cutting-tools`") as caught:
        locate_packages(["paper", "wellspring", "cutting-tools"])

    assert "`scissors`" in caught.value.hint


def test_a_package_in_two_places_is_refused(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    del site
    other = tmp_path_factory.mktemp("other")
    (other / "bare").mkdir()
    monkeypatch.syspath_prepend(other)

    with pytest.raises(UsageError, match="`bare` is spread over 2 directories"):
        locate_packages(["bare"])
