"""Time: what never ends by itself. All of it must end at the deadline, and leave nothing."""

from tests.sandbox.attacks.table import hangs, held

ATTACKS = [
    hangs(
        "a loop that ignores every signal",
        """
        import signal
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True: pass
        """,
    ),
    hangs(
        "a loop that blocks every signal",
        """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True: pass
        """,
    ),
    hangs("a power tower", "x = 9\nx ** x ** x"),
    hangs("a catastrophic pattern", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')"),
    hangs("a sum in C that never looks up", "import itertools\nsum(itertools.repeat(1))"),
    hangs(
        "digits without end",
        "import sys\nsys.set_int_max_str_digits(0)\nstr(1 << 40_000_000)",
    ),
    hangs(
        "a dictionary of collisions",
        "step = 2**61 - 1\nlots = {n * step: n for n in range(1, 100_000)}",
    ),
    hangs("a sleep", "import time\ntime.sleep(1000)"),
    hangs("a lock taken twice", "import threading\nlock = threading.Lock()\nwith lock, lock: pass"),
    hangs("a read of a pipe that nobody writes to", "import os\nos.read(os.pipe()[0], 1)"),
    hangs(
        "a read of a socket that nobody writes to",
        "import socket\none, other = socket.socketpair()\none.recv(1)",
    ),
    hangs("a poll of nothing", "import select\nselect.poll().poll()"),
    hangs("a wait for a signal", "import signal\nsignal.pause()"),
    hangs(
        "a loop that catches everything",
        """
        while True:
            try:
                while True: pass
            except BaseException: pass
        """,
    ),
    hangs(
        "an alarm that rings for ever",
        """
        import signal, time
        def ring(*_):
            while True: time.sleep(1)
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        signal.pause()
        """,
    ),
    hangs(
        "a thread that never lets go of the interpreter",
        """
        import sys, threading
        sys.setswitchinterval(1e9)
        def spin():
            while True: pass
        threading.Thread(target=spin).start()
        """,
    ),
    hangs("a call that never returns", "def f():\n    while True: pass", "f()"),
    hangs(
        "the second call never returns",
        "calls = []\ndef f():\n    calls.append(1)\n    while len(calls) > 1: pass\n    return 1",
        "f() == 1",
        "f() == 1",
    ),
    hangs(
        "an exception that takes for ever to print",
        "class Slow(Exception):\n    def __str__(self):\n        while True: pass\nraise Slow",
    ),
    hangs(
        "a descriptor that takes for ever to ask",
        """
        class Slow:
            @property
            def value(self):
                while True: pass
        def f(): return Slow()
        """,
        "f().value == 1",
    ),
    hangs(
        "a tracer that never returns",
        """
        import sys
        def trace(*_):
            while True: pass
        sys.settrace(trace)
        def f(): return 1
        f()
        """,
    ),
    hangs(
        "a finalizer that never returns",
        "class Slow:\n    def __del__(self):\n        while True: pass\nSlow()",
    ),
    hangs(
        "a callback that is called for ever",
        "def f(call):\n    while True: call(1)",
        "f(lambda n: n + 1)",
    ),
    hangs(
        "an import that never ends",
        """
        import sys
        class Finder:
            def find_spec(self, *_):
                while True: pass
        sys.meta_path.insert(0, Finder())
        import nothing_of_this_name
        """,
    ),
    hangs(
        "it stops itself",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    ),
    hangs(
        "it stops itself in a call",
        "import signal\ndef f(): signal.raise_signal(signal.SIGSTOP)",
        "f() is None",
    ),
    hangs("it prints slowly, for ever", "import time\nwhile True: print(1); time.sleep(0.05)"),
    held(
        "an iterator without end",
        "import itertools\ndef f(): return itertools.count()",
        ("list(f()) == []",),
        "timeout",
        timeout_s=0.3,
        because="fills the memory",
    ),
    hangs(
        "a signal that will not be waited for at the deadline",
        """
        import ctypes
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG: live on without the parent
        while True: pass
        """,
    ),
]
