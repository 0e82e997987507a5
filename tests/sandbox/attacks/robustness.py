"""Robustness: what is rude without being clever. It costs the candidate only."""

from msgspec.structs import replace
from tests.sandbox.attacks.table import Attack, ends

from evalwright.types import ExecutionOutcome


def _reads(name: str, source: str, outcome: ExecutionOutcome, *targets: str) -> Attack:
    """A source that is hard to read; taken as it is."""
    return ends(name, source, outcome, *targets, bare=True)


SOURCES = [
    _reads("a NUL byte", "x = 1\0", "syntax_error"),
    _reads("a lone surrogate", "x = '\ud800'", "syntax_error"),
    _reads("a lone surrogate in a comment", "x = 1 # \udcff", "syntax_error"),
    _reads("five megabytes", "# x = 1\n" * 625_000 + "x = 1", "pass", "x == 1"),
    _reads(
        "one line of five megabytes", "x = '" + "y" * 5_000_000 + "'", "pass", "len(x) == 5_000_000"
    ),
    _reads("a mark of byte order", "\ufeffx = 1", "syntax_error"),
    _reads("another encoding", "# -*- coding: latin-1 -*-\nx = 'é'", "pass", "x == 'é'"),
    _reads(
        "an encoding that does not exist", "# -*- coding: none-such -*-\nx = 1", "pass", "x == 1"
    ),
    _reads("line ends of Windows", "def f():\r\n    return 1\r\n", "pass", "f() == 1"),
    _reads("line ends of old", "x = 1\ry = 2\r", "pass", "y == 2"),
    _reads("tabs and blanks, mixed", "if 1:\n\tx = 1\n        y = 2\n", "syntax_error"),
    _reads("a form feed", "\fx = 1\n\f", "pass", "x == 1"),
    _reads("brackets without end", "(" * 200_000, "syntax_error"),
    _reads("a deep expression", "x = " + "-" * 100_000 + "1", "syntax_error"),
    _reads("deep blocks", "".join(" " * n + "if 1:\n" for n in range(200)), "syntax_error"),
    _reads("a number of many digits", "x = " + "9" * 100_000, "syntax_error"),
    _reads("a name in other letters", "ﬁ = 1", "pass", "fi == 1"),
    _reads("text that runs backwards", "x = 1 # \u202e == y\n", "pass", "x == 1"),
    _reads("nothing", "", "pass"),
]

DEATHS = [
    ends("a segmentation fault", "import ctypes\nctypes.string_at(0)"),
    ends(
        "a segmentation fault in a call",
        "import ctypes\ndef f(): ctypes.string_at(0)",
        "error",
        "f()",
    ),
    ends("an abort", "import os\nos.abort()"),
    ends("a fatal error of Python", "import ctypes\nctypes.pythonapi.Py_FatalError(b'over')"),
    ends("an illegal instruction", "import os, signal\nsignal.raise_signal(signal.SIGILL)"),
    ends(
        "every signal at once",
        """
        import os, signal
        for number in signal.valid_signals():
            if number not in (17, 18, 19, 20, 21, 22, 23, 28):
                signal.signal(number, signal.SIG_DFL) if number != 9 else 0
                os.kill(os.getpid(), number)
        """,
    ),
    ends("a kill", "import os\nos.kill(os.getpid(), 9)"),
    ends("recursion", "def f(): return f()\nf()", detail="RecursionError"),
    ends(
        "recursion without limit",
        """
        import sys
        sys.setrecursionlimit(10**9)
        class Odd:
            def __repr__(self): return repr(self)
        repr(Odd())
        """,
    ),
    ends(
        "recursion in C",
        "import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
    ),
    ends("every descriptor, closed", "import os\nos.closerange(0, 4096)"),
    ends(
        "every descriptor, closed in a call",
        "import os\ndef f(): os.closerange(0, 4096)",
        "error",
        "f()",
    ),
    ends(
        "every descriptor, led to nowhere",
        """
        import os
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(60):
            if number != null: os.dup2(null, number)
        """,
        "error",
    ),
    ends("its own code, overwritten", "import ctypes\nctypes.memset(id(int), 0, 400)\nint('1')"),
    ends(
        "an exit by a watchdog",
        """
        import faulthandler, time
        faulthandler.dump_traceback_later(0.05, exit=True)
        time.sleep(10)
        """,
    ),
    ends(
        "no more memory for itself",
        """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
        x = bytes(1 << 22)
        """,
    ),
]

MESSES = [
    ends("no modules", "import sys\nsys.modules.clear()", "pass"),
    ends(
        "no modules, and a call",
        "import sys\nsys.modules.clear()\ndef f(): return [1]",
        "pass",
        "f() == [1]",
        because="the target would need them",
    ),
    ends(
        "no builtins",
        """
        import builtins
        for name in list(vars(builtins)):
            if name != 'delattr': delattr(builtins, name)
        """,
        ("pass", "error"),
        because="the judge would need them",
    ),
    ends(
        "no streams",
        "import sys\nsys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None",
        "pass",
    ),
    ends(
        "streams that raise",
        """
        import sys
        class Odd:
            def __getattr__(self, name): raise ValueError
        sys.stdout = sys.stderr = Odd()
        """,
        "pass",
    ),
    ends("streams that are closed", "import sys\nsys.stdout.close()\nsys.stderr.close()", "pass"),
    ends("no paths", "import sys\nsys.path = sys.meta_path = sys.path_hooks = None", "pass"),
    ends("every warning an error", "import warnings\nwarnings.simplefilter('error')", "pass"),
    ends(
        "a low limit of recursion",
        "import sys\nsys.setrecursionlimit(30)\ndef f(): return 1",
        ("pass", "error"),
        "f() == 1",
        because="the judge would need more",
    ),
    ends("no collector", "import gc\ngc.disable()\ngc.freeze()", "pass"),
    ends(
        "threads left running",
        """
        import threading, time
        for daemon in (True, False):
            threading.Thread(target=time.sleep, args=(1000,), daemon=daemon).start()
        """,
        "pass",
    ),
    ends(
        "a working directory that is gone",
        """
        import os
        try:
            os.mkdir('x')
            os.chdir('x')
            os.rmdir('../x')
        except OSError: pass
        """,
        "pass",
    ),
    ends(
        "no descriptors left",
        "import os\ntry:\n    while True: os.dup(1)\nexcept OSError: pass\ndef f(): return 1",
        "pass",
        "f() == 1",
    ),
    ends(
        "no descriptors allowed",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\ndef f(): return 1",
        "pass",
        "f() == 1",
    ),
    ends(
        "a module that is not one",
        """
        import sys
        class Odd(type(sys)):
            def __getattribute__(self, name): raise ValueError
        sys.modules['candidate'].__class__ = Odd
        """,
        ("error", "pass"),
    ),
    ends(
        "handlers for every signal",
        """
        import signal
        for number in set(signal.Signals) - {9, 19}:
            signal.signal(number, print)
        """,
        "pass",
    ),
    ends(
        "a lock on imports",
        "import _imp\n_imp.acquire_lock()\ndef f(): return 1",
        "pass",
        "f() == 1",
    ),
    ends(
        "its own filter of system calls",
        "import ctypes\nctypes.CDLL(None).prctl(22, 1)",
        ("error", "timeout", "pass"),
        because="nothing of it could be ended",
    ),
]


def _named(kind: str, attacks: list[Attack]) -> list[Attack]:
    return [replace(attack, name=f"{kind}: {attack.name}") for attack in attacks]


ATTACKS = [
    *_named("a source", SOURCES),
    *_named("a death", DEATHS),
    *_named("a mess", MESSES),
]
