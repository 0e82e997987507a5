"""Leaks: what one candidate leaves for the next. The second must find nothing of the first.

`first` runs to its end, and then `second`: its `found()` says whether there is a trace of `first`.
"""

from textwrap import dedent

from msgspec import Struct


class Leak(Struct, frozen=True, kw_only=True):
    """A candidate that leaves a trace, and one that looks for it."""

    name: str
    first: str
    second: str


_LOOKING = """
import ctypes, os, sys
def is_open(number):
    try: os.fstat(number)
    except OSError: return False
    return True
def listed(folder):
    try: return os.listdir(folder)
    except OSError: return ()
def process_name():
    buffer = ctypes.create_string_buffer(16)
    ctypes.CDLL(None).prctl(16, buffer)
    return buffer.value
"""


def _leak(name: str, first: str, found: str) -> Leak:
    """`found` is an expression."""
    second = f"{_LOOKING}def found():\n    return {found}\n"
    return Leak(name=name, first=dedent(first).lstrip("\n"), second=second)


LEAKS = [
    _leak(
        "a file where it stood",
        "try: open(MARK, 'w').write('x')\nexcept OSError: pass",
        "os.path.exists(MARK)",
    ),
    _leak(
        "a file in /tmp",
        "try: open(f'/tmp/{MARK}', 'w').write('x')\nexcept OSError: pass",
        "os.path.exists(f'/tmp/{MARK}')",
    ),
    _leak(
        "a temporary file",
        """
        import tempfile
        try: tempfile.NamedTemporaryFile(prefix=MARK, delete=False)
        except OSError: pass
        """,
        "any(MARK in name for name in listed('/tmp'))",
    ),
    _leak(
        "a module, patched", "import math\nmath.floor = None", "__import__('math').floor is None"
    ),
    _leak("a module, added", "import sys\nsys.modules[MARK] = sys", "MARK in sys.modules"),
    _leak("a builtin", "import builtins\nbuiltins.vars = lambda *_: 0", "vars(os) == 0"),
    _leak("a variable", "secret_of_the_first = 1", "'secret_of_the_first' in globals()"),
    _leak("an environment", "import os\nos.environ[MARK] = 'x'", "MARK in os.environ"),
    _leak(
        "an environment in C",
        "import os\nos.putenv(MARK, 'x')",
        "ctypes.CDLL(None).getenv(MARK.encode()) != 0",
    ),
    _leak(
        "a working directory",
        "import os\nos.chdir('/')\nos.chdir(os.path.dirname(os.__file__))",
        "os.getcwd() == os.path.dirname(os.__file__)",
    ),
    _leak("a umask", "import os\nos.umask(0o123)", "os.umask(0o022) == 0o123"),
    _leak(
        "a limit",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (33, 33))",
        "__import__('resource').getrlimit(__import__('resource').RLIMIT_NOFILE)[0] == 33",
    ),
    _leak(
        "a signal handler",
        "import signal\nsignal.signal(signal.SIGUSR1, print)",
        "__import__('signal').getsignal(10) == print",
    ),
    _leak(
        "a blocked signal",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {10})",
        "10 in __import__('signal').pthread_sigmask(0, ())",
    ),
    _leak("a path", "import sys\nsys.path.append(MARK)", "MARK in sys.path"),
    _leak(
        "a limit of recursion",
        "import sys\nsys.setrecursionlimit(4321)",
        "sys.getrecursionlimit() == 4321",
    ),
    _leak(
        "a time zone",
        "import os, time\nos.environ['TZ'] = 'XYZ-5'\ntime.tzset()",
        "__import__('time').tzname[0] == 'XYZ'",
    ),
    _leak(
        "a seed",
        "import random\nrandom.seed(1)\nrandom.random()",
        "__import__('random').random() == 0.8474337369372327",
    ),
    _leak(
        "a thread",
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        """,
        "__import__('threading').active_count() > 1",
    ),
    _leak(
        "a tracer", "import sys\nsys.setprofile(lambda *_: None)", "sys.getprofile() is not None"
    ),
    _leak("a stream", "import sys\nsys.stdout = sys.stderr", "sys.stdout is sys.stderr"),
    _leak("a descriptor", "import os\nos.dup2(1, 50)", "is_open(50)"),
    _leak(
        "an input that does not wait",
        "import os\nos.set_blocking(0, False)",
        "not os.get_blocking(0)",
    ),
    _leak(
        "an output that does not wait",
        "import os\nos.set_blocking(1, False)",
        "not os.get_blocking(1)",
    ),
    _leak(
        "a warning filter",
        "import warnings\nwarnings.simplefilter('error', UserWarning)",
        "('error', None, UserWarning, None, 0) in __import__('warnings').filters",
    ),
    _leak(
        "a name of the process",
        "import ctypes\nctypes.CDLL(None).prctl(15, b'of-the-first')",
        "process_name() == b'of-the-first'",
    ),
    _leak(
        "an abstract socket",
        """
        import socket
        try:
            kept = socket.socketpair()[0]
            kept.bind('\\0' + MARK)
            __builtins__.kept = kept
        except (OSError, AttributeError, TypeError): pass
        """,
        "MARK in str(getattr(__builtins__, 'kept', ''))",
    ),
    _leak(
        "what the collector keeps",
        "import gc\ngc.garbage.append(MARK)",
        "MARK in __import__('gc').garbage",
    ),
    _leak("a hook", "import sys\nsys.excepthook = None", "sys.excepthook is None"),
    _leak("an importer", "import sys\nsys.meta_path.append(MARK)", "MARK in sys.meta_path"),
    _leak(
        "a compiled pattern",
        "import re\nre.compile('of the first')",
        "any('of the first' in str(key) for key in __import__('re')._cache)",
    ),
    _leak(
        "its memory",
        "import sys\nkept = [sys.intern('of the ' + str(n)) for n in range(99)]\nsys.kept = kept",
        "hasattr(sys, 'kept')",
    ),
]
