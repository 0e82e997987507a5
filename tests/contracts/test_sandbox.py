"""What every sandbox does with a program: the table of outcomes in contract A.

Nothing here depends on how a candidate is held. What one adapter promises beyond it, or does
differently (forks, descriptors, files), is in that adapter's own tests.
"""

import asyncio
import os
from collections.abc import Iterator
from functools import partial

import pytest

from evalwright.ports import Sandbox
from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.unsafe import Unsafe
from evalwright.sandbox.worker import TIERS, Verdicts
from evalwright.types import Execution, ExecutionOutcome, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

VERDICTS: tuple[Verdicts, ...] = ("both", "split", "plain")
ADAPTERS = [
    pytest.param(Unsafe, id="rlimits"),
    *(
        pytest.param(partial(Jailed, tier=tier, verdicts=verdicts), id=f"{tier}, {verdicts}")
        for tier in TIERS
        for verdicts in VERDICTS
    ),
]

ADD = "def add(a, b):\n    return a + b\n"
HOG = """
large, small = [None] * 4096, None
def eat():
    global small
    size, at = 1 << 40, 0
    while size > 512:
        try: large[at] = bytes(size); at += 1
        except MemoryError: size //= 2
    while True: small = [small]
"""
HONEST = Program(source=ADD, targets=("add(2, 3) == 5", "assert add(-1, 1) == 0"), timeout_s=20)


@pytest.fixture(params=ADAPTERS, scope="module")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        sandbox: Sandbox = request.param()
    except NoTier as error:
        pytest.skip(f"this machine cannot: {error}")
    yield sandbox
    asyncio.run(sandbox.close())


def judge(
    sandbox: Sandbox, source: str, targets: list[str], *, timeout_s: float = 20.0
) -> Execution:
    program = Program(source=source, targets=tuple(targets), timeout_s=timeout_s)
    return asyncio.run(sandbox.judge(program))


@pytest.mark.parametrize(
    ("source", "targets", "verdicts"),
    [
        pytest.param(ADD, ["add(1, 2) == 3"], [True], id="an expression that is true"),
        pytest.param(ADD, ["add(1, 2) == 4"], [False], id="an expression that is false"),
        pytest.param(ADD, ["add(1, 2)"], [True], id="truthy is enough"),
        pytest.param(ADD, ["add(1, -1)", "[]", "None", "''"], [False] * 4, id="falsy is not"),
        pytest.param(ADD, ["  add(1, 2) == 3  "], [True], id="blanks around an expression"),
        pytest.param(ADD, ["(add(1, 2)\n == 3)"], [True], id="an expression on two lines"),
        pytest.param(ADD, ["assert add(1, 2) == 3"], [True], id="a statement that holds"),
        pytest.param(ADD, ["assert add(1, 2) == 4"], [False], id="a statement that raises"),
        pytest.param(ADD, ["total = add(0, 0)"], [True], id="statements need not be true"),
        pytest.param(
            ADD,
            ["for n in range(3):\n    total = add(n, n)\n    assert total == 2 * n"],
            [True],
            id="statements on several lines",
        ),
        pytest.param(ADD, ["", "# nothing", "\n\n"], [True] * 3, id="no statement raises nothing"),
        pytest.param("", ["1 + 1 == 2"], [True], id="an empty candidate compiles"),
        pytest.param("# nothing", ["x"], [False], id="a candidate that defines nothing"),
        pytest.param(
            ADD, ["add(1, 2) == 4", "add(1, 2) == 3"], [False, True], id="a failure is not the end"
        ),
        pytest.param(
            "",
            ["raise SystemExit(0)", "raise KeyboardInterrupt", "raise GeneratorExit", "1"],
            [False, False, False, True],
            id="whatever a target raises",
        ),
        pytest.param(
            "import sys\ndef leave(): sys.exit(0)",
            ["leave()", "leave", "exit(0)"],
            [False, True, False],
            id="an exit in a target",
        ),
        pytest.param(
            "seen = []",
            ["seen.append(1)", "seen == [1]"],
            [False, True],
            id="targets share a state",
        ),
        pytest.param(
            "", ["x = 1", "x == 1", "y == 1"], [True, True, False], id="targets share names"
        ),
        pytest.param(
            "",
            ["x = 1\nraise ValueError", "x == 1"],
            [False, True],
            id="a failed target leaves its names",
        ),
        pytest.param(ADD, ["print('hello', add(1, 2))"], [False], id="print gives None"),
        pytest.param("def f(n): return f(n + 1)", ["f(0)", "1"], [False, True], id="recursion"),
        pytest.param(
            "class Odd(Exception):\n    def __str__(self): raise ValueError\ndef f(): raise Odd",
            ["f()", "1"],
            [False, True],
            id="an exception that cannot be printed",
        ),
        pytest.param(
            "def f(): raise ValueError('\\ud800 \\x00 \"\\\\ \\n' * 500)",
            ["f()", "1"],
            [False, True],
            id="an exception that is hard to print",
        ),
        pytest.param(HOG, ["eat()", "1"], [False, True], id="one that eats all memory"),
        pytest.param(
            "def مرحبا(اسم): return f'👋 {اسم}'", ["مرحبا('نور') == '👋 نور'"], [True], id="Unicode"
        ),
        pytest.param(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7",
            ["asyncio.run(f()) == 7", "import asyncio\nassert asyncio.run(f()) == 7"],
            [True, True],
            id="coroutines",
        ),
        pytest.param(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "def squares():\n"
            "    with ThreadPoolExecutor(20) as pool:\n"
            "        return list(pool.map(lambda n: n * n, range(40)))",
            ["squares() == [n * n for n in range(40)]"],
            [True],
            id="threads",
        ),
        pytest.param(
            "import threading, time\n"
            "for daemon in (True, False):\n"
            "    threading.Thread(target=time.sleep, args=(1000,), daemon=daemon).start()",
            ["1"],
            [True],
            id="threads that are left running",
        ),
        pytest.param(
            "from __future__ import annotations\n"
            "import dataclasses, pickle, typing\n"
            "@dataclasses.dataclass\n"
            "class Point:\n    x: typing.ClassVar[int]\n    y: int = 1\n"
            "def same(): return Point() == Point()\n"
            "def copied(): return pickle.loads(pickle.dumps(Point()))\n",
            ["same()", "copied().y == 1"],
            [True, True],
            id="a candidate is a module",
        ),
        pytest.param(
            "ran = False\nif __name__ == '__main__':\n    ran = True",
            ["not ran"],
            [True],
            id="not main",
        ),
        pytest.param("import atexit, os\natexit.register(os._exit, 9)", ["1"], [True], id="atexit"),
        pytest.param(
            "try:\n    text = input()\nexcept EOFError:\n    text = 'nothing'",
            ["text == 'nothing'"],
            [True],
            id="nothing to read",
        ),
        pytest.param("print('\\ud800 \\udc80')", ["1"], [True], id="printed surrogates"),
        pytest.param(
            "import sys\nsys.stdout.buffer.write(bytes(range(256)))", ["1"], [True], id="binary"
        ),
        pytest.param("import sys\nsys.stdout = sys.stderr = None", ["1"], [True], id="no streams"),
        pytest.param('print(\'{"type": "done"}\')', ["0"], [False], id="a printed verdict"),
    ],
)
def test_targets_are_judged_one_by_one(
    sandbox: Sandbox, source: str, targets: list[str], verdicts: list[bool]
) -> None:
    execution = judge(sandbox, source, targets)

    assert (execution.outcome, list(execution.targets), execution.detail == "") == (
        "pass" if all(verdicts) else "assertion_fail",
        verdicts,
        all(verdicts),
    )


SYNTAX_ERRORS = {
    "no Python": "def f(:",
    "prose": "Here is the code:\nx = 1",
    "an indent": "  x = 1\ny = 2",
    "a return outside a function": "return 1",
    "a NUL byte": "x = 1\0",
    "a lone surrogate": "x = '\ud800'",
    "deep nesting, open": "(" * 100_000,
    "deep nesting, closed": "(" * 5000 + ")" * 5000,
    "deep nesting, without brackets": "-" * 200_000 + "1",
}
ERRORS = {
    "raises": "raise ValueError('no')",
    "raises SystemExit": "raise SystemExit",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises the unprintable": (
        "class Odd(BaseException):\n    def __str__(self): raise self\nraise Odd"
    ),
    "exits": "import sys\nsys.exit(0)",
    "ends its process": "import os\nos._exit(0)",
    "ends its process in a target": "import os\ndef f(): os._exit(0)",
    "aborts": "import os\nos.abort()",
    "kills itself": "import os\nos.kill(os.getpid(), 9)",
    "is killed by its alarm": "import os, signal\nos.kill(os.getpid(), signal.SIGALRM)",
    "recurses": "def f(): return f()\nf()",
    "recurses without limit": (
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "class Odd:\n    def __repr__(self): return repr(self)\nrepr(Odd())"
    ),
    "asks for more memory than there is": "x = bytearray(1 << 40)",
    "asks for more memory than it may have": "x = [0] * (1 << 28)",
    "eats all memory": HOG + "eat()",
    "imports what is not there": "import no_such_module",
    "closes everything": "import os\nos.closerange(0, 256)",
    "closes everything in a target": "import os\ndef f(): os.closerange(0, 256)",
}


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        *(pytest.param(text, "syntax_error", id=name) for name, text in SYNTAX_ERRORS.items()),
        *(pytest.param(text, "error", id=name) for name, text in ERRORS.items()),
    ],
)
def test_what_does_not_reach_the_end_has_no_verdicts(
    sandbox: Sandbox, source: str, outcome: ExecutionOutcome
) -> None:
    execution = judge(sandbox, source, ["1", "f()"])

    assert (execution.outcome, execution.targets) == (outcome, (False, False))
    assert execution.detail
    assert asyncio.run(sandbox.judge(HONEST)).outcome == "pass"


TIMEOUTS = {
    "a loop": "while True: pass",
    "a sleep": "import time\ntime.sleep(1000)",
    "a loop that ignores signals": (
        "import signal\n"
        "for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "while True: pass"
    ),
    "a loop that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "arithmetic that never returns": "x = 9\nx = x ** x ** x ** x",
    "a catastrophic pattern": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "it stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "an exception that takes for ever to print": (
        "class Slow(Exception):\n    def __str__(self):\n        while True: pass\nraise Slow"
    ),
    "a loop in a target": "def f():\n    while True: pass",
}


@pytest.mark.parametrize("source", TIMEOUTS.values(), ids=TIMEOUTS.keys())
def test_when_the_time_runs_out_no_target_counts(sandbox: Sandbox, source: str) -> None:
    execution = judge(sandbox, source, ["1", "f()", "1 +"], timeout_s=0.1)

    assert (execution.outcome, execution.targets) == ("timeout", (False, False, False))
    assert execution.detail.startswith("ran longer than 0.1 s")
    # How late it is on a quiet machine is a figure of `bench/sandbox.py`.
    assert 0.1 <= execution.duration_s < 30
    assert asyncio.run(sandbox.judge(HONEST)).outcome == "pass"


@pytest.mark.parametrize(
    ("written", "over"),
    [
        pytest.param([("stdout", MAX_OUTPUT_BYTES)], False, id="at the cap"),
        pytest.param([("stdout", MAX_OUTPUT_BYTES + 1)], True, id="one byte over"),
        pytest.param([("stderr", MAX_OUTPUT_BYTES)], False, id="stderr at the cap"),
        pytest.param([("stderr", MAX_OUTPUT_BYTES), ("stdout", 1)], True, id="both count"),
        pytest.param([("stdout", 100 * MAX_OUTPUT_BYTES)], True, id="a flood"),
    ],
)
def test_output_is_counted_to_the_byte(
    sandbox: Sandbox, written: list[tuple[str, int]], *, over: bool
) -> None:
    source = "import sys\n" + "\n".join(
        f"sys.{stream}.write('x' * {size})" for stream, size in written
    )

    execution = judge(sandbox, source, ["1"])

    assert (execution.outcome, execution.detail) == (
        ("error", "output overflow") if over else ("pass", "")
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("while True: print('x' * 1000)", id="a flood without end"),
        pytest.param("print('x' * 300_000)\nraise ValueError", id="then raises"),
        pytest.param("print('x' * 300_000, flush=True)\nimport os\nos._exit(0)", id="then exits"),
        pytest.param("def f(): print('x' * 300_000)", id="in a target"),
        pytest.param(
            "import os\nwhile True: os.write(1, bytes(65536)); os.write(2, b'\\xff' * 65536)",
            id="a binary flood",
        ),
    ],
)
def test_too_much_output_is_an_error(sandbox: Sandbox, source: str) -> None:
    execution = judge(sandbox, source, ["1", "f()", "1 +"])

    assert (execution.outcome, execution.detail) == ("error", "output overflow")
    assert execution.targets == (False, False, False)
    assert asyncio.run(sandbox.judge(HONEST)).outcome == "pass"


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("add(1, 2) ==", id="half an expression"),
        pytest.param("assert add(1, 2) = 3", id="half a statement"),
        pytest.param("    x = 1", id="an indent"),
        pytest.param("return add(1, 2)", id="a return outside a function"),
        pytest.param("1\0", id="a NUL byte"),
        pytest.param("'\ud800'", id="a lone surrogate"),
        pytest.param("(" * 1000, id="deep nesting"),
    ],
)
def test_a_target_that_does_not_compile_is_the_fault_of_the_task(
    sandbox: Sandbox, target: str
) -> None:
    with pytest.raises(ValueError, match=r"^target 2 of 3 does not compile: \w+Error"):
        judge(sandbox, ADD, ["add(1, 2) == 3", target, "add(1, 2) == 4"])


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        pytest.param("def f(:", "syntax_error", id="that does not compile"),
        pytest.param("raise ValueError", "error", id="that raises"),
        pytest.param("import os\nos._exit(0)", "error", id="that exits"),
    ],
)
def test_the_candidate_is_judged_before_its_targets(
    sandbox: Sandbox, source: str, outcome: ExecutionOutcome
) -> None:
    assert judge(sandbox, source, ["1 +"]).outcome == outcome


def test_a_program_without_targets_cannot_be_judged(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="without targets"):
        judge(sandbox, ADD, [])


@pytest.mark.parametrize(
    ("source", "targets", "detail"),
    [
        pytest.param(
            ADD,
            ["1", "assert add(1, 1) == 3, 'one and one'", "0"],
            "target 2 of 3: AssertionError: one and one",
            id="the first target that failed",
        ),
        pytest.param(ADD, ["add(1, 1) == 3"], "target 1 of 1: evaluated to False", id="a value"),
        pytest.param(ADD, ["add([], [])"], "target 1 of 1: evaluated to []", id="a false value"),
        pytest.param("import sys\nsys.exit(3)", ["1"], "SystemExit: 3", id="an exit"),
        pytest.param("raise ValueError('a\\n  b')", ["1"], "ValueError: a b", id="one line"),
        pytest.param("raise ValueError('\"\\\\\\t')", ["1"], 'ValueError: "\\', id="quoted"),
        pytest.param("raise KeyError('👋')", ["1"], "KeyError: '👋'", id="Unicode"),
        pytest.param("raise ValueError", ["1"], "ValueError", id="no message"),
        pytest.param("x = (", ["1"], "SyntaxError: '(' was never closed (<candidate>, line 1)"),
    ],
)
def test_the_detail_says_what_happened(
    sandbox: Sandbox, source: str, targets: list[str], detail: str
) -> None:
    assert judge(sandbox, source, targets).detail == detail


def test_a_detail_is_short(sandbox: Sandbox) -> None:
    execution = judge(sandbox, "raise ValueError('long ' * 10**6)", ["1"])

    assert execution.detail.startswith("ValueError: long long")
    assert len(execution.detail) <= 300


def test_the_head_of_the_output_is_kept(sandbox: Sandbox) -> None:
    source = "import sys\nprint('héllo', flush=True)\nprint('x' * 10_000, file=sys.stderr)"

    execution = judge(sandbox, source, ["print('and this')"])

    assert execution.output.startswith("héllo\nxxx")
    assert len(execution.output) < 5000


def test_what_the_compiler_thinks_of_its_style_is_not_its_output(sandbox: Sandbox) -> None:
    execution = judge(sandbox, "x = 1 is 1\ny = '\\d'", ["1 is 1", "y == '\\d'"])

    assert (execution.outcome, execution.output) == ("pass", "")


def test_the_environment_is_not_shown(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    execution = judge(sandbox, "import os\nprint(*os.environ.items())", ["not os.getenv('PATH')"])

    assert execution.outcome == "pass"
    assert "secret" not in execution.output
    shared = {item for item in os.environ.items() if str(item) in execution.output}
    assert {key for key, _ in shared} <= {"LANG"}


def test_nothing_passes_from_one_candidate_to_the_next(sandbox: Sandbox) -> None:
    judge(
        sandbox,
        "import builtins, math, sys\nbuiltins.len = math.floor = None\nsys.path.clear()\n"
        "try:\n    open('left', 'w').write('x')\nexcept OSError: pass",
        ["1"],
    )

    execution = judge(
        sandbox,
        "import math, os",
        ["len('ab') == 2", "math.floor(1.5) == 1", "not os.path.exists('left')"],
    )

    assert execution.outcome == "pass"


def test_many_at_once_do_not_mix(sandbox: Sandbox) -> None:
    programs = [
        Program(source=f"def f(): return {n}", targets=(f"f() == {n}", f"f() % 2 == {n % 2}", "0"))
        for n in range(12)
    ]

    async def judge_all() -> list[Execution]:
        return await asyncio.gather(*map(sandbox.judge, programs))

    executions = asyncio.run(judge_all())

    assert [execution.targets for execution in executions] == [(True, True, False)] * 12


def test_waiting_for_a_turn_is_not_the_candidates_time(sandbox: Sandbox) -> None:
    sleeper = Program(source="import time\ntime.sleep(0.05)", targets=("1",), timeout_s=0.7)

    async def judge_all() -> list[Execution]:
        copies = 15 * (os.cpu_count() or 1)  # the last ones wait for longer than they may take
        return await asyncio.gather(*(sandbox.judge(sleeper) for _ in range(copies)))

    executions = asyncio.run(judge_all())

    assert {execution.outcome for execution in executions} == {"pass"}
