"""An author's functions are called apart from the engine, and what breaks costs one call."""

import asyncio
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from tests.living import ends, is_running

from evalwright.processes import Limits
from evalwright.snippets import exchange
from evalwright.snippets.process import LIMITS, MAX_RESULT_BYTES, Settings
from evalwright.snippets.results import Frame, Result, Source
from evalwright.snippets.worker import Worker

TIMEOUT_S = 20.0


class Made:
    """A worker with one source, whose lines stand in a file from line 10 on, and its log."""

    def __init__(self, text: str, settings: Settings | None = None) -> None:
        self.log: list[str] = []
        self.worker = Worker({"one": Source(text, "tasks.yaml", 10)}, self.log.append, settings)

    async def f(self, *batch: Sequence[Any], timeout_s: float = TIMEOUT_S) -> list[Result]:
        """Call `f` with each list of arguments."""
        return await self.worker.call("one:f", batch, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.worker.close()

    @property
    def pid(self) -> int:
        assert self.worker._process is not None
        return self.worker._process.pid


def call(text: str, *batch: Sequence[Any], timeout_s: float = TIMEOUT_S) -> list[Result]:
    """Call `f` of a source in a worker of its own."""

    async def work() -> list[Result]:
        async with Made(text) as made:
            return await made.f(*batch, timeout_s=timeout_s)

    return asyncio.run(work())


def told(results: Sequence[Result]) -> list[Any]:
    """Values, and the kinds of errors."""
    return [each.error.kind if each.error else each.value for each in results]


@pytest.mark.parametrize(
    ("text", "arguments", "value"),
    [
        pytest.param("def f(a, b): return a + b", [1, 2], 3, id="arguments"),
        pytest.param("def f(): return None", [], None, id="none"),
        pytest.param("async def f(a): return a", [1], 1, id="a coroutine"),
        pytest.param(
            "import asyncio\nasync def f():\n await asyncio.sleep(0)\n return 1", [], 1, id="waits"
        ),
        pytest.param(
            "def f(x): return x", [{"é": ["👋\n", 1.5, True]}], {"é": ["👋\n", 1.5, True]}
        ),
        pytest.param("def f(x): return x != x", [math.nan], True, id="NaN goes in"),
        pytest.param("def f(x): return len(x)", ["\ud800"], 1, id="half a surrogate goes in"),
        pytest.param("def f(): return 10 ** 40", [], 10**40, id="a large number"),
        pytest.param("def f(): return (1, (2,))", [], [1, [2]], id="tuples are lists"),
        pytest.param("f = 'abc'.upper", [], "ABC", id="whatever is callable"),
        pytest.param("def f(n): return 'x' * n", [10**6], "x" * 10**6, id="a large result"),
        pytest.param("def f(x): return len(x)", ["x" * 10**7], 10**7, id="a large argument"),
        pytest.param("def f(x): import json; return json.__name__", [0], "json", id="imports"),
        pytest.param("def f(): return __name__ in __import__('sys').modules", [], True, id="name"),
        pytest.param("def f(): import msgspec; return 1", [], 1, id="the user's packages"),
    ],
)
def test_a_function_is_called(text: str, arguments: list[Any], value: Any) -> None:
    assert call(text, arguments) == [Result(value=value)]


def test_a_batch_is_answered_in_order() -> None:
    batch = [[number] for number in range(3000)]

    assert told(call("def f(x): return x * x", *batch)) == [n * n for n in range(3000)]


def test_an_empty_batch_starts_nothing() -> None:
    async def work() -> None:
        async with Made("def f(): return 1") as made:
            assert await made.f() == []
            assert made.worker._process is None

    asyncio.run(work())


def test_the_process_and_its_state_stay_from_batch_to_batch() -> None:
    async def work() -> list[Any]:
        async with Made("n = 0\ndef f():\n    global n\n    n += 1\n    return n") as made:
            return told([*await made.f([], []), *await made.f([])])

    assert asyncio.run(work()) == [1, 2, 3]


def test_sources_do_not_share_names() -> None:
    async def work() -> list[Any]:
        sources = {
            "a": Source("x = 1\ndef f(): return x", "a.py"),
            "b:c": Source("x = 2\ndef f(): return x", "b.py"),
        }
        async with Worker(sources, print) as worker:
            first = await worker.call("a:f", [[]], timeout_s=TIMEOUT_S)
            return told(first + await worker.call("b:c:f", [[]], timeout_s=TIMEOUT_S))

    assert asyncio.run(work()) == [1, 2]


def test_calls_made_at_once_take_turns() -> None:
    async def work() -> list[Any]:
        async with Made("def f(x): return x") as made:
            return await asyncio.gather(*(made.f([n], [n]) for n in range(20)))

    assert [told(results) for results in asyncio.run(work())] == [[n, n] for n in range(20)]


def test_an_exception_has_the_authors_lines() -> None:
    text = "import json\ndef f(x):\n    return g(x)\ndef g(x):\n    return json.loads(x)\n"

    (result,) = call(text, ["{"])

    assert result.error is not None
    assert (result.error.kind, result.error.type) == ("raised", "JSONDecodeError")
    assert result.error.frames == (Frame("tasks.yaml", 12, "f"), Frame("tasks.yaml", 14, "g"))
    assert str(result.error).startswith("tasks.yaml:14 in g: JSONDecodeError: Expecting property")


@pytest.mark.parametrize(
    ("body", "name", "message"),
    [
        pytest.param("raise ValueError('bad')", "ValueError", "bad", id="an error"),
        pytest.param("raise ValueError", "ValueError", "", id="no message"),
        pytest.param("import sys; sys.exit(3)", "SystemExit", "3", id="an exit"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt", "", id="an interrupt"),
        pytest.param("deep()", "RecursionError", "maximum recursion depth", id="recursion"),
        pytest.param("raise Odd", "Odd", "it cannot be printed", id="one that cannot be printed"),
        pytest.param("raise ValueError('\\ud800')", "ValueError", "?", id="half a surrogate"),
        pytest.param("raise ValueError('x' * 10**6)", "ValueError", "xxx", id="a long message"),
        pytest.param(
            "raise ExceptionGroup('g', [ValueError()])", "ExceptionGroup", "g", id="group"
        ),
        pytest.param("[0] * 10**12", "MemoryError", "", id="all memory"),
    ],
)
def test_whatever_is_raised_costs_its_call(body: str, name: str, message: str) -> None:
    odd = "class Odd(Exception):\n    def __str__(self): raise ValueError\n"
    text = f"{odd}def deep(): deep()\ndef f(*a):\n    if a: return 1\n    {body}"

    first, second = call(text, [], [0])

    assert first.error is not None
    assert (first.error.kind, first.error.type) == ("raised", name)
    assert first.error.message.startswith(message)
    assert len(first.error.message) <= 4000
    assert 1 <= len(first.error.frames) <= 20
    assert second == Result(value=1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("{'a': [1, {2, 3}]}", "expected JSON, got `set` - at `$.a[1]`", id="a set"),
        pytest.param("b''", "expected JSON, got `bytes` - at `$`", id="bytes"),
        pytest.param("{'a': float('nan')}", "expected a finite number, got `nan` - at `$.a`"),
        pytest.param("[-float('inf')]", "expected a finite number, got `-inf` - at `$[0]`"),
        pytest.param("{(1, 2): 3}", "expected a name, got a key of type `tuple` - at `$`"),
        pytest.param("['\\ud800']", "expected text, got half a surrogate - at `$[0]`"),
        pytest.param("object", "expected JSON, got `type` - at `$`", id="a class"),
        pytest.param("Fraction(1)", "expected JSON, got `fractions.Fraction` - at `$`"),
        pytest.param("{'n': 10 ** 5000}", "expected a number, got one too long - at `$.n`"),
        pytest.param("(x for x in 'ab')", "expected JSON, got `generator` - at `$`"),
    ],
)
def test_a_result_that_is_no_json_says_which_part(value: str, message: str) -> None:
    text = f"from fractions import Fraction\ndef f(*a): return 1 if a else {value}"

    first, second = call(text, [], [0])

    assert first.error is not None
    assert (first.error.kind, first.error.message) == ("result", message)
    assert second == Result(value=1)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = []; x.append(x); return x", id="one that holds itself"),
        pytest.param("x = 0\n    for _ in range(10**5): x = [x]\n    return x", id="a deep one"),
    ],
)
def test_a_result_without_end_is_an_error(body: str) -> None:
    first, second = call(f"def f(*a):\n    if a: return 1\n    {body}", [], [0])

    assert first.error is not None
    assert first.error.kind == "result"
    assert second == Result(value=1)


def test_a_result_that_is_too_large_is_an_error() -> None:
    first, second = call("def f(n): return 'x' * n", [MAX_RESULT_BYTES + 1], [1])

    assert first.error is not None
    assert first.error.kind == "result"
    assert f"at most {MAX_RESULT_BYTES} are taken" in first.error.message
    assert second == Result(value="x")


def test_a_hang_costs_its_call_and_the_rest_is_called() -> None:
    text = "called = []\ndef f(x):\n    called.append(x)\n    while x == 2: pass\n    return called"

    results = call(text, [0], [1], [2], [3], [4], timeout_s=0.5)

    assert told(results) == [[0], [0, 1], "timeout", [3], [3, 4]]
    assert results[2].error is not None
    assert results[2].error.message == "ran longer than 0.5 s"


def test_the_deadline_is_for_each_call() -> None:
    text = "import time\ndef f():\n    time.sleep(0.2)\n    return 1"

    assert told(call(text, [], [], [], [], timeout_s=0.6)) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("os._exit(0)", "the process exited with status 0", id="a silent exit"),
        pytest.param("os.kill(os.getpid(), 9)", "the process was killed by SIGKILL", id="a kill"),
        pytest.param("os.kill(os.getpid(), 6)", "the process was killed by SIGABRT", id="a crash"),
        pytest.param(
            "os.closerange(3, 99)", "the process exited with status 1", id="all descriptors closed"
        ),
    ],
)
def test_a_crash_costs_its_call_and_the_rest_is_called(body: str, message: str) -> None:
    text = f"import os\ndef f(x):\n    if x == 1: {body}\n    return x"

    results = call(text, [0], [1], [2])

    assert told(results) == [0, "crashed", 2]
    assert results[1].error is not None
    assert results[1].error.message.startswith(message)


def test_a_process_that_died_between_batches_costs_nothing() -> None:
    async def work() -> list[Any]:
        async with Made("def f(): return 1") as made:
            first = await made.f([])
            os.kill(made.pid, 9)
            await asyncio.sleep(0.1)
            return told(first + await made.f([]))

    assert asyncio.run(work()) == [1, 1]


@pytest.mark.parametrize(
    ("text", "message", "frames"),
    [
        pytest.param("def f(:", "SyntaxError", ("tasks.yaml:10 in <module>",), id="syntax"),
        pytest.param("\n\n1 / 0", "ZeroDivisionError", ("tasks.yaml:12 in <module>",), id="raises"),
        pytest.param("import nowhere", "ModuleNotFoundError", ("tasks.yaml:10 in <module>",)),
        pytest.param("def g(): pass", "NameError: tasks.yaml defines no function `f`", ()),
        pytest.param(
            "f = 1", "NameError: tasks.yaml defines no function `f`", (), id="no function"
        ),
        pytest.param("x = '\0'", "SyntaxError", None, id="a NUL"),
    ],
)
def test_a_source_that_cannot_be_loaded(
    text: str, message: str, frames: tuple[str, ...] | None
) -> None:
    results = call(text, [], [])

    assert told(results) == ["loading", "loading"]
    assert results[0].error is not None
    assert message in str(results[0].error)
    if frames is not None:
        assert tuple(map(str, results[0].error.frames)) == frames


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("while True: pass", "timeout", id="hangs"),
        pytest.param("import os; os._exit(1)", "crashed", id="crashes"),
    ],
)
def test_a_source_that_takes_its_process_along_is_not_tried_again(text: str, kind: str) -> None:
    async def work() -> tuple[list[Any], float]:
        async with Made(text, Settings(load_s=0.5)) as made:
            first = await made.f([], [])
            begun = time.monotonic()
            return told(first + await made.f([], [])), time.monotonic() - begun

    kinds, took = asyncio.run(work())

    assert kinds == [kind] * 4
    assert took < 0.5


def test_loading_has_its_own_time() -> None:
    assert told(call("import time\ntime.sleep(0.6)\ndef f(): return 1", [], timeout_s=0.3)) == [1]


def test_prints_go_to_the_log_and_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    text = (
        "import os, sys\nprint('loaded')\ndef f():\n    print('out', flush=True)\n"
        "    print('\\ud800 é', file=sys.stderr)\n    os.write(1, b'raw\\xff\\n')\n"
        "    os.write(2, b'no end')\n    return sys.stdin.read()"
    )

    async def work() -> tuple[list[Result], list[str]]:
        async with Made(text) as made:
            return await made.f([]), made.log

    results, log = asyncio.run(work())

    assert results == [Result(value="")]
    assert log == ["loaded", "out", "\\ud800 é", "raw\ufffd", "no end"]
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_prints_is_cut() -> None:
    async def work() -> tuple[list[Result], list[str]]:
        async with Made("def f(n):\n    print('x' * n)\n    return n") as made:
            return await made.f([4 * exchange.MAX_LOG_BYTES]) + await made.f([3]), made.log

    results, log = asyncio.run(work())

    assert told(results) == [4 * exchange.MAX_LOG_BYTES, 3]
    assert [len(line) for line in log if line.startswith("x")] == [exchange.MAX_LOG_BYTES, 3]
    assert "the rest is dropped" in log[1]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[os.close(n) for n in (0, 1, 2)]", id="closed descriptors"),
        pytest.param("sys.stdout.close(); sys.stderr.close()", id="closed streams"),
        pytest.param("sys.stdout = sys.stderr = None", id="no streams"),
        pytest.param('os.write(1, b\'{"type": "value", "value": 9}\\n\')', id="a forged answer"),
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
def test_nothing_a_function_does_to_its_process_breaks_the_talk(body: str) -> None:
    imports = "import os, signal, sys, threading, time, warnings\nwarnings.simplefilter('ignore')"
    text = f"{imports}\ndef f(x):\n    if x == 1: {body}\n    print(x)\n    return x"

    async def work() -> tuple[list[Any], list[str]]:
        async with Made(text) as made:
            return told(await made.f([1], [2]) + await made.f([3])), made.log

    results, log = asyncio.run(work())

    assert results[1:] == [2, 3]
    assert results[0] in (1, "raised")
    assert {"2", "3"} <= set(log)


def test_a_process_group_ends_with_its_worker() -> None:
    fork = "    pid = os.fork()\n    if not pid: time.sleep(60)\n"
    text = f"import os, time\ndef f():\n{fork}    return [os.getpid(), pid]"

    (result,) = call(text, [])

    assert all(ends(pid) for pid in result.value)


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
        settings = Settings(environment={"MY_TABLE": "here"})
        async with Made("import os\ndef f(): return dict(os.environ)", settings) as made:
            return (await made.f([]))[0].value

    seen = asyncio.run(work())

    assert seen["MY_TABLE"] == "here"
    assert "PATH" in seen
    assert "sk-secret" not in seen.values()


def test_no_descriptor_of_the_engine_is_there() -> None:
    text = "import os\ndef f(): return sorted(int(n) for n in os.listdir('/proc/self/fd'))"

    (result,) = call(text, [])

    assert len(result.value) <= 6  # three streams, the socket, the log, and the listing itself


def test_limits_hold(tmp_path: Path) -> None:
    limits = Limits(cpu_s=1, address_space_bytes=1024**3, file_bytes=1000, open_files=20)
    text = (
        "def f(what):\n"
        "    if what == 'memory': return len(bytearray(2 * 1024**3))\n"
        "    if what == 'files': return [open('/dev/null') for _ in range(30)]\n"
        "    if what == 'core':\n        import resource\n"
        "        return resource.getrlimit(resource.RLIMIT_CORE)[0]\n"
        "    import signal\n    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    with open('big', 'wb') as file: file.write(bytes(5000))"
    )

    async def work() -> list[Result]:
        async with Made(text, Settings(limits=limits, directory=tmp_path)) as made:
            return await made.f(["memory"], ["files"], ["core"], ["file"])

    memory, files, core, file = asyncio.run(work())

    assert memory.error is not None
    assert memory.error.type == "MemoryError"
    assert files.error is not None
    assert "Too many open files" in files.error.message
    assert core == Result(value=0)
    assert file.error is not None
    assert "File too large" in file.error.message


def test_cpu_time_is_limited_behind_the_deadline() -> None:
    text = "import resource\ndef f(): return resource.getrlimit(resource.RLIMIT_CPU)[0]"
    cores = os.cpu_count() or 1

    (result,) = call(text, [], timeout_s=10)

    assert 10 * cores < result.value <= (10 + LIMITS.cpu_s + 5) * cores


def test_a_worker_that_is_left_alone_ends_when_its_engine_does(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"""
import asyncio, os
from evalwright.snippets.worker import Source, Worker
source = Source("import os\\ndef f(): return os.getpid()", "x.py")
async def work():
    worker = Worker({{"one": source}}, print)
    (result,) = await worker.call("one:f", [[]], timeout_s=20)
    open({str(note)!r}, "w").write(str(result.value))
    os._exit(0)
asyncio.run(work())
"""
    subprocess.run([sys.executable, "-c", script], check=True)

    assert ends(int(note.read_text()))


def test_a_cancelled_call_is_ended_first() -> None:
    async def work() -> list[Any]:
        async with Made("def f(x):\n    while x: pass\n    return x") as made:
            task = asyncio.create_task(made.f([1]))
            waiting = asyncio.create_task(made.f([0]))
            while made.worker._process is None:  # noqa: ASYNC110 - a thread makes it
                await asyncio.sleep(0.01)
            pid = made.pid
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_running(pid)
            return told(await waiting)

    assert asyncio.run(work()) == [0]


def test_closing_ends_what_is_under_way() -> None:
    async def work() -> None:
        made = Made("def f():\n    while True: pass")
        task = asyncio.create_task(made.f([]))
        while made.worker._process is None:  # noqa: ASYNC110 - a thread makes it
            await asyncio.sleep(0.01)
        pid = made.pid
        await made.worker.close()
        await made.worker.close()
        assert not is_running(pid)
        with pytest.raises(ChildProcessError, match="stopped"):
            await task
        with pytest.raises(RuntimeError, match="closed"):
            await made.f([])

    asyncio.run(work())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(Settings(python="/nowhere/python"), "No such file", id="no interpreter"),
        pytest.param(Settings(directory=Path("/nowhere")), "No such file", id="no directory"),
        pytest.param(Settings(python="/bin/false"), "did not start", id="another program"),
        pytest.param(
            Settings(environment={"PYTHONHOME": "/nowhere"}), "did not start", id="a broken Python"
        ),
    ],
)
def test_a_process_that_does_not_start_is_an_error(settings: Settings, message: str) -> None:
    async def work() -> None:
        async with Made("def f(): return 1", settings) as made:
            await made.f([])

    with pytest.raises(ChildProcessError, match=message):
        asyncio.run(work())


def test_mistakes_of_the_caller_are_the_callers() -> None:
    async def work() -> None:
        async with Made("def f(x): return x") as made:
            with pytest.raises(KeyError, match="there is no source `two`"):
                await made.worker.call("two:f", [[]], timeout_s=1)
            with pytest.raises(TypeError, match="not JSON serializable"):
                await made.f([{1}])
            assert told(await made.f([1])) == [1]

    asyncio.run(work())


def test_no_descriptor_is_left_open() -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    call("def f(): return 1", [])
    before = opened()
    call("def f(x):\n    while x == 1: pass\n    return 1", [0], [1], [2], timeout_s=0.3)

    assert opened() == before
