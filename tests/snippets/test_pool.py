"""An author's functions are called apart from the engine, and what breaks costs one call."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.living import ends, is_running
from tests.snippets.made import Made, call, told

from evalwright.errors import SnippetFailed
from evalwright.objects.names import list_names
from evalwright.snippets import process
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.process import SnippetSettings
from evalwright.snippets.sources import Source

DEFS = pytest.mark.parametrize("word", ["def", "async def"])


@DEFS
def test_calls_made_at_once_each_get_their_own(word: str) -> None:
    batch = [[number] for number in range(3000)]

    assert call(f"{word} f(x): return x * x", *batch) == [n * n for n in range(3000)]


def test_the_process_and_its_state_stay_from_call_to_call() -> None:
    async def work() -> list[Any]:
        async with Made("n = 0\ndef f():\n    global n\n    n += 1\n    return n") as made:
            return [*await made.f([], []), *await made.f([])]

    assert asyncio.run(work()) == [1, 2, 3]


def test_a_result_is_what_it_was_when_it_was_returned() -> None:
    text = "called = []\ndef f(x):\n    called.append(x)\n    return called"

    assert call(text, [0], [1], [2]) == [[0], [0, 1], [0, 1, 2]]


def test_nothing_is_started_before_it_is_needed() -> None:
    async def work() -> None:
        async with Made("def f(): return 1") as made:
            await asyncio.sleep(0)
            assert made.pids == []

    asyncio.run(work())


def test_slow_calls_are_spread_over_the_processes() -> None:
    async def work() -> set[int]:
        text = "import os, time\ndef f():\n    time.sleep(0.05)\n    return os.getpid()"
        pool = SnippetPool({"one": Source(text, "x.py")}, log=print, processes=2)
        pids = await asyncio.gather(*(pool.call("one:f", []) for _ in range(80)))
        await pool.close()
        return set(pids)

    assert len(asyncio.run(work())) == 2


def test_no_function_keeps_another_waiting() -> None:
    async def work() -> int:
        text = "import time\ndef f():\n    time.sleep(0.01)\ndef g(): return 1"
        pool = SnippetPool({"one": Source(text, "x.py")}, log=print, processes=1)
        busy = [asyncio.create_task(pool.call("one:f", [])) for _ in range(300)]
        await asyncio.sleep(0.3)
        await pool.call("one:g", [])
        left = sum(not task.done() for task in busy)
        await asyncio.gather(*busy)
        await pool.close()
        return left

    assert asyncio.run(work()) > 100


@pytest.mark.parametrize(
    ("body", "name", "message"),
    [
        pytest.param("raise ValueError('bad')", "ValueError", "bad", id="an error"),
        pytest.param("import sys; sys.exit(3)", "SystemExit", "3", id="an exit"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt", "", id="an interrupt"),
        pytest.param("deep()", "RecursionError", "maximum recursion depth", id="recursion"),
        pytest.param(
            "raise Odd", "Odd", "the exception cannot be printed", id="one that cannot be printed"
        ),
        pytest.param("raise ValueError('\\ud800')", "ValueError", "?", id="half a surrogate"),
        pytest.param("raise ValueError('x' * 10**6)", "ValueError", "xxx", id="a long message"),
        pytest.param("raise ExceptionGroup('g', [ValueError()])", "ExceptionGroup", "g", id="some"),
        pytest.param("raise BaseException('b')", "BaseException", "b", id="the base of all"),
        pytest.param("import asyncio; raise asyncio.CancelledError", "CancelledError", ""),
        pytest.param("[0] * 10**12", "MemoryError", "", id="all memory"),
    ],
)
@DEFS
def test_whatever_is_raised_costs_its_call(word: str, body: str, name: str, message: str) -> None:
    odd = "class Odd(Exception):\n    def __str__(self): raise ValueError\n"
    text = f"{odd}def deep(): deep()\n{word} f(*a):\n    if a: return 1\n    {body}"

    first, second = call(text, [], [0])

    assert isinstance(first, SnippetFailed)
    assert first.kind == name
    assert f"{name}: {message}" in str(first) if message else str(first).endswith(name)
    assert len(str(first)) <= 4100
    assert second == 1


def test_a_result_that_is_too_large_is_an_error() -> None:
    async def work() -> list[Any]:
        async with Made("def f(n): return 'x' * n", SnippetSettings(max_result_bytes=1000)) as made:
            return await made.f([1000], [1])

    first, second = asyncio.run(work())

    assert isinstance(first, SnippetFailed)
    assert (first.kind, second) == ("result", "x")
    assert "expected at most 1000 bytes of JSON, got 1002" in str(first)


def test_a_deep_result_is_an_error() -> None:
    text = "def f(n):\n    x = 0\n    for _ in range(n): x = [x]\n    return x"

    first, second = call(text, [10**5], [1])

    assert isinstance(first, SnippetFailed)
    assert (first.kind, second) == ("result", [0])


@DEFS
def test_a_hang_costs_its_call_and_the_rest_is_called(word: str) -> None:
    text = f"{word} f(x):\n    while x == 2: pass\n    return x"

    results = call(text, [0], [1], [2], [3], [4], timeout_s=0.5)

    assert told(results) == [0, 1, "timeout", 3, 4]
    assert results[2].message == "tasks/x.yaml:10 in f: ran longer than 0.5 s"
    assert "may take 0.5 s" in results[2].hint


def test_the_deadline_is_for_each_call() -> None:
    text = "import time\ndef f():\n    time.sleep(0.2)\n    return 1"

    assert call(text, [], [], [], [], timeout_s=0.6) == [1, 1, 1, 1]


def test_a_call_that_waits_for_ever_costs_itself_alone() -> None:
    text = "import asyncio\nasync def f(x):\n    await asyncio.sleep(60 * (x == 1))\n    return x"

    async def work() -> tuple[list[Any], bool]:
        async with Made(text) as made:
            await made.f([0])
            before = made.pids
            results = await made.f([0], [1], [2], timeout_s=0.3)
            return results, before == made.pids

    results, same = asyncio.run(work())

    assert told(results) == [0, "timeout", 2]
    assert results[1].message == "tasks/x.yaml:11 in f: ran longer than 0.3 s"
    assert same


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("os._exit(0)", "the process exited with status 0", id="a silent exit"),
        pytest.param("os.kill(os.getpid(), 9)", "the process was killed by SIGKILL", id="a kill"),
        pytest.param("os.kill(os.getpid(), 6)", "the process was killed by SIGABRT", id="a crash"),
    ],
)
@DEFS
def test_a_crash_costs_its_call_and_the_rest_is_called(word: str, body: str, message: str) -> None:
    text = f"import os\n{word} f(x):\n    if x == 1: {body}\n    return x"

    results = call(text, [0], [1], [2])

    assert told(results) == [0, "crashed", 2]
    assert results[1].message == f"tasks/x.yaml:11 in f: {message}"


def test_who_closed_the_connection_is_found_out() -> None:
    text = (
        "import os, time\ndef f(x):\n    if x == 1: os.closerange(3, 99)\n"
        "    if x == 5: time.sleep(0.4)\n    return x"
    )

    results = call(text, *([n] for n in range(20)))

    assert told(results) == [0, "crashed", *range(2, 20)]


def test_many_crashes_cost_themselves_alone() -> None:
    text = "import os\ndef f(x):\n    if x % 3 == 1: os._exit(1)\n    return x"

    results = call(text, *([n] for n in range(30)))

    assert told(results) == ["crashed" if n % 3 == 1 else n for n in range(30)]


def test_a_process_that_died_between_calls_costs_nothing() -> None:
    async def work() -> list[Any]:
        async with Made("def f(): return 1") as made:
            first = await made.f([])
            os.kill(made.pids[0], 9)
            await asyncio.sleep(0.1)
            return [*first, *await made.f([])]

    assert asyncio.run(work()) == [1, 1]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param("any(iter(int, 1))", "timeout", "ran longer than 0.5 s", id="hangs"),
        pytest.param("import os; os._exit(1)", "crashed", "exited with status 1", id="crashes"),
    ],
)
def test_a_source_that_takes_its_process_along_is_not_tried_again(
    text: str, kind: str, message: str, tmp_path: Path
) -> None:
    loads = tmp_path / "loads"

    async def work() -> list[Any]:
        counted = f"open({str(loads)!r}, 'ab', 0).write(b'x'); {text}"
        async with Made(counted, SnippetSettings(load_s=0.5)) as made:
            return await made.f([], []) + await made.f([], [])

    results = asyncio.run(work())

    assert told(results) == [kind] * 4
    assert message in str(results[0])
    assert str(results[0]).startswith("tasks/x.yaml:10: ")
    assert loads.read_bytes() == b"x"


@DEFS
def test_loading_has_its_own_time(word: str) -> None:
    text = f"import time\ntime.sleep(0.6)\n{word} f(): return 1"

    assert call(text, [], timeout_s=0.3) == [1]


def test_a_source_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "beside.py").write_text("VALUE = 7", encoding="utf-8")

    async def work() -> list[Any]:
        settings = SnippetSettings(directory=tmp_path)
        async with Made("import beside\ndef f(): return beside.VALUE", settings) as made:
            return await made.f([])

    assert asyncio.run(work()) == [7]


def test_the_real_package_comes_before_ours(tmp_path: Path) -> None:
    core = tmp_path / "latticeflow" / "core"
    core.mkdir(parents=True)
    (core.parent / "__init__.py").touch()
    (core / "__init__.py").touch()
    (core / "dtypes.py").write_text("SolverTrace = 'theirs'", encoding="utf-8")
    text = (
        "from latticeflow.core.dtypes import SolverTrace\n"
        "from latticeflow.assessment import dtypes\n"
        "def f(): return [SolverTrace, dtypes.SolverTrace.__name__]"
    )

    async def work() -> list[Any]:
        async with Made(text, SnippetSettings(directory=tmp_path), path="x.yaml") as made:
            return await made.f([])

    assert asyncio.run(work()) == [["theirs", "SolverTrace"]]


def test_authors_import_the_published_names_and_none_of_our_own() -> None:
    text = (
        "import latticeflow.core.dtypes as new, latticeflow.assessment.dtypes as old\n"
        "def f(): return [[n for n in dir(one) if n[0] != '_'] for one in (new, old)]"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.f([])

    ((new, old),) = asyncio.run(work())

    assert new == old == list_names("latticeflow.core.dtypes")
    assert {"Message", "ModelResponse", "SampleScore", "SolverOutput", "is_valid_key"} < {*new}
    assert not {"Record", "JsonModel", "wrap", "items_from", "make_message"} & {*new}


def test_annotations_are_not_evaluated_and_classes_still_read_them() -> None:
    text = (
        "from dataclasses import dataclass, field\n"
        "from latticeflow.core.experimental.scorers import ScorerBase\n"
        "@dataclass\nclass Point:\n    x: NotImported\n"
        "    tags: list[str] = field(default_factory=list)\n"
        "class Scorer(ScorerBase):\n    limit: int\n    name: Unknown | None = None\n"
        "    def compute_scores(self, sample): return {self.name: sample < self.limit}\n"
        "def f(sample: dict[str, Any], output: SolverOutput = None) -> Nothing:\n"
        "    return [Point(1).x, Point(1).tags, Scorer(limit=2, name='ok')(sample)]"
    )

    assert call(text, [1]) == [[1, [], {"ok": True}]]


def test_dates_in_a_result_become_text() -> None:
    text = "from datetime import datetime\ndef f(): return {'at': datetime(2026, 5, 12)}"

    assert call(text, []) == [{"at": "2026-05-12T00:00:00"}]


def test_a_name_that_does_not_exist_is_an_import_error() -> None:
    (failure,) = call("from latticeflow.core.dtypes import Foo\ndef f(): return 1", [])

    assert "cannot import name 'Foo' from 'latticeflow.core.dtypes'" in str(failure)
    (failure,) = call("import latticeflow.core.nothing\ndef f(): return 1", [])
    assert "No module named 'latticeflow.core.nothing'" in str(failure)


def test_another_interpreter_need_not_know_evalwright() -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    text = (
        "import importlib.util\nfrom latticeflow.core.dtypes import SolverTrace\n"
        "def f(): return [importlib.util.find_spec('evalwright') is None, SolverTrace.__name__]"
    )

    async def work() -> list[Any]:
        async with Made(text, SnippetSettings(python=base)) as made:
            return await made.f([])

    ((unknown, name),) = asyncio.run(work())

    assert name == "SolverTrace"
    assert unknown or base == sys.executable


@DEFS
def test_prints_go_to_the_log_with_the_authors_name(
    word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (
        f"import os, sys\nprint('loaded')\n{word} f():\n    print('out', flush=True)\n"
        "    print('\\ud800 é', file=sys.stderr)\n    os.write(1, b'raw\\xff\\n')\n"
        "    os.write(2, b'no end')\n    return sys.stdin.read()"
    )

    async def work() -> tuple[list[Any], list[str]]:
        async with Made(text) as made:
            return await made.f([]), made.log

    results, log = asyncio.run(work())

    assert results == [""]
    lines = ["loaded", "out", "\\ud800 é", "raw\ufffd", "no end"]
    assert log == [f"tasks/x.yaml: {line}" for line in lines]
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_prints_is_cut() -> None:
    most = process.MAX_LOG_BYTES

    async def work() -> tuple[list[Any], list[str]]:
        async with Made("def f(n):\n    print('x' * n)\n    return n") as made:
            return await made.f([4 * most]) + await made.f([3]), made.log

    results, log = asyncio.run(work())

    assert results == [4 * most, 3]
    assert [line.count("x") - 1 for line in log if "yaml" in line] == [most, 3]
    assert "the rest is dropped" in log[1]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[os.close(n) for n in (0, 1, 2)]", id="closed descriptors"),
        pytest.param("sys.stdout.close(); sys.stderr.close()", id="closed streams"),
        pytest.param("sys.stdout = sys.stderr = None", id="no streams"),
        pytest.param("os.write(1, b'{\"done\":[[1,9]]}\\n')", id="a forged answer"),
        pytest.param("os.read(0, 10)", id="stdin"),
        pytest.param("os.fork()", id="a copy that returns"),
        pytest.param("os.fork() or sys.exit(0)", id="a copy that exits"),
        pytest.param("os.fork() or time.sleep(60)", id="a copy that stays"),
        pytest.param("os.fork() or os.execv('/bin/sleep', ['sleep', '60'])", id="another program"),
        pytest.param("threading.Thread(target=time.sleep, args=[60]).start()", id="a thread"),
        pytest.param("signal.alarm(1); signal.signal(signal.SIGALRM, signal.SIG_IGN)", id="alarm"),
        pytest.param("sys.modules.clear()", id="no modules"),
    ],
)
@DEFS
def test_nothing_a_function_does_to_its_process_breaks_the_talk(word: str, body: str) -> None:
    imports = "import os, signal, sys, threading, time, warnings\nwarnings.simplefilter('ignore')"
    text = f"{imports}\n{word} f(x):\n    if x == 1: {body}\n    print(x)\n    return x"

    async def work() -> tuple[list[Any], list[str]]:
        async with Made(text) as made:
            return told(await made.f([1], [2]) + await made.f([3])), made.log

    results, log = asyncio.run(work())

    assert results[1:] == [2, 3]
    assert results[0] in (1, "OSError", "ValueError", "AttributeError")
    assert {"tasks/x.yaml: 2", "tasks/x.yaml: 3"} <= set(log)


@DEFS
def test_a_process_group_ends_with_its_pool(word: str) -> None:
    fork = "    pid = os.fork()\n    if not pid: time.sleep(60)\n"
    text = f"import os, time\n{word} f():\n{fork}    return [os.getpid(), pid]"

    (result,) = call(text, [])

    assert all(ends(pid) for pid in result)


@pytest.mark.parametrize("body", ["while True: pass", "os._exit(1)"])
def test_a_process_group_ends_with_its_process(tmp_path: Path, body: str) -> None:
    note = tmp_path / "pid"
    text = (
        "import os, time\ndef f():\n    pid = os.fork()\n    if not pid: time.sleep(60)\n"
        f"    open({str(note)!r}, 'w').write(str(pid))\n    {body}"
    )

    async def work() -> bool:
        async with Made(text) as made:
            await made.f([], timeout_s=0.5)
            return ends(int(note.read_text()))

    assert asyncio.run(work())


def test_the_environment_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")

    async def work() -> Any:
        settings = SnippetSettings(environment={"MY_TABLE": "here"})
        async with Made("import os\ndef f(): return dict(os.environ)", settings) as made:
            return (await made.f([]))[0]

    seen = asyncio.run(work())

    assert seen["MY_TABLE"] == "here"
    assert "PATH" in seen
    assert "sk-secret" not in seen.values()


@DEFS
def test_no_descriptor_of_the_engine_is_there(word: str) -> None:
    text = f"import os\n{word} f(): return sorted(int(n) for n in os.listdir('/proc/self/fd'))"

    (result,) = call(text, [])

    # Three streams, the socket, the log, the marks, the listing; a loop has three of its own.
    assert len(result) <= (7 if word == "def" else 10)


def test_limits_hold(tmp_path: Path) -> None:
    text = (
        "def f(what):\n"
        "    if what == 'memory': return len(bytearray(2 * 1024**3))\n"
        "    if what == 'files': return [open('/dev/null') for _ in range(30)]\n"
        "    if what == 'core':\n        import resource\n"
        "        return resource.getrlimit(resource.RLIMIT_CORE)[0]\n"
        "    import signal\n    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    with open('big', 'wb') as file: file.write(bytes(5000))"
    )
    settings = SnippetSettings(
        address_space_bytes=1024**3, file_bytes=1000, open_files=20, directory=tmp_path
    )

    async def work() -> list[Any]:
        async with Made(text, settings) as made:
            return await made.f(["memory"], ["files"], ["core"], ["file"])

    memory, files, core, file = asyncio.run(work())

    assert memory.kind == "MemoryError"
    assert "Too many open files" in str(files)
    assert core == 0
    assert "File too large" in str(file)


@pytest.mark.parametrize("body", ["return os.getpid()", "note()\n    while True: time.sleep(1)"])
def test_a_process_ends_when_its_engine_does(tmp_path: Path, body: str) -> None:
    note = tmp_path / "pid"
    text = (
        f"import os, time\ndef note(): open({str(note)!r}, 'w').write(str(os.getpid()))\n"
        f"def f():\n    note()\n    {body}"
    )
    script = f"""
import asyncio, os, pathlib
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.sources import Source
async def work():
    pool = SnippetPool({{"one": Source({text!r}, "x.py")}}, log=print)
    task = asyncio.create_task(pool.call("one:f", []))
    while not pathlib.Path({str(note)!r}).exists():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    os._exit(0)
asyncio.run(work())
"""
    subprocess.run([sys.executable, "-c", script], check=True)

    assert ends(int(note.read_text()))


def test_a_hanging_call_that_is_cancelled_holds_up_no_other() -> None:
    async def work() -> list[Any]:
        async with Made("def f(x):\n    while x: pass\n    return x") as made:
            task = asyncio.create_task(made.f([1]))
            await asyncio.sleep(0.3)
            (pid,) = made.pids
            waiting = asyncio.create_task(made.f([0]))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_running(pid)
            return await waiting

    assert asyncio.run(work()) == [0]


@DEFS
def test_closing_ends_what_is_under_way(word: str) -> None:
    async def work() -> None:
        made = Made(f"{word} f():\n    while True: pass")
        task = asyncio.create_task(made.f([]))
        await asyncio.sleep(0.3)
        (pid,) = made.pids
        await made.pool.close()
        assert not is_running(pid)
        assert told(await task) == ["stopped"]

    asyncio.run(work())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(
            SnippetSettings(python="/nowhere/python"), "No such file", id="no interpreter"
        ),
        pytest.param(
            SnippetSettings(directory=Path("/nowhere")), "No such file", id="no directory"
        ),
        pytest.param(SnippetSettings(python="/bin/false"), "did not start", id="another program"),
        pytest.param(
            SnippetSettings(environment={"PYTHONHOME": "/nowhere"}),
            "did not start",
            id="a broken Python",
        ),
    ],
)
def test_a_process_that_does_not_start_is_an_error(settings: SnippetSettings, message: str) -> None:
    async def work() -> list[Any]:
        async with Made("def f(): return 1", settings) as made:
            return await made.f([])

    (failed,) = asyncio.run(work())

    assert isinstance(failed, SnippetFailed)
    assert (failed.kind, message in str(failed)) == ("crashed", True)


def test_an_argument_that_is_no_json_costs_its_call() -> None:
    first, second, third = call("def f(x): return len(x)", [[1]], [{1: object()}], ["\ud800"])

    assert (first, third) == (1, 1)
    assert isinstance(second, TypeError)


def test_no_descriptor_is_left_open() -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    call("def f(): return 1", [])
    before = opened()
    call("def f(x):\n    while x == 1: pass\n    return 1", [0], [1], [2], timeout_s=0.3)

    assert opened() == before
