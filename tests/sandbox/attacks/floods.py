"""Output: more of it than anyone wants."""

from typing import Any

from tests.sandbox.attacks.table import Attack, ends, held

from evalwright.vocabulary import MAX_OUTPUT_BYTES

_OVER = "output overflow"


def _overflows(name: str, source: str, **more: Any) -> Attack:
    return ends(name, source, "error", detail=_OVER, **more)


ATTACKS = [
    _overflows("stdout", "while True: print('x' * 1000)"),
    _overflows("stderr", "import sys\nwhile True: print('x' * 1000, file=sys.stderr)"),
    _overflows("both at once", "import os\nwhile True: os.write(1, b'x'); os.write(2, b'y' * 99)"),
    _overflows("random bytes", "import os\nwhile True: os.write(1, os.urandom(4096))"),
    _overflows("one huge write", "import sys\nsys.stdout.write('x' * 50_000_000)"),
    _overflows("empty lines", "while True: print(flush=True)"),
    _overflows(
        "a copy of the descriptor", "import os\nn = os.dup(1)\nwhile True: os.write(n, b'x' * 512)"
    ),
    _overflows(
        "from many threads",
        """
        import os, threading
        def flood():
            while True: os.write(1, b'x' * 1000)
        for _ in range(8): threading.Thread(target=flood, daemon=True).start()
        flood()
        """,
    ),
    _overflows(
        "by C alone",
        "import ctypes\nputs = ctypes.CDLL(None).puts\nwhile True: puts(b'x' * 4096)",
    ),
    _overflows(
        "tracebacks",
        """
        import faulthandler
        def f(n):
            while not n: faulthandler.dump_traceback()
            f(n - 1)
        f(90)
        """,
    ),
    _overflows(
        "without waiting for the reader",
        """
        import os
        os.set_blocking(1, False)
        while True:
            try: os.write(1, b'x' * 65536)
            except BlockingIOError: pass
        """,
    ),
    _overflows(
        "through a pipe made as large as can be",
        """
        import fcntl, os
        try: fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ
        except OSError: pass
        while True: os.write(1, b'x' * 65536)
        """,
    ),
    _overflows(
        "in a call, before the answer",
        "def f():\n    print('x' * 1_000_000, flush=True)\n    return 1\nf()",
    ),
    _overflows("one byte too many", f"import os\nos.write(1, b'x' * {MAX_OUTPUT_BYTES + 1})"),
    held(
        "just as much as is allowed",
        f"import os\nos.write(1, b'x' * {MAX_OUTPUT_BYTES})",
        ("True",),
        "pass",
        unheld="pass",
    ),
    held(
        "bytes that are no text",
        "import os\nos.write(1, bytes(range(256)) * 4)\nos.write(2, b'\\xff\\xfe\\x00' * 100)",
        ("True",),
        "pass",
        unheld="pass",
    ),
    ends(
        "an error message of a hundred megabytes",
        "raise ValueError('long ' * 20_000_000)",
        detail="ValueError: long long",
    ),
    ends(
        "a call that fails with a hundred megabytes",
        "def f(): raise ValueError('long ' * 20_000_000)",
        "assertion_fail",
        "f()",
    ),
    ends(
        "an exception whose name is a hundred megabytes",
        "raise type('x' * 100_000_000, (Exception,), {})",
    ),
]
