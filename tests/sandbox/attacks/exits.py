"""Forging by exits: an end that could be taken for a good one."""

from tests.sandbox.attacks.table import forged

ATTACKS = [
    forged("at the top", "import sys\nsys.exit(0)", outcomes="error", unheld="believed by status"),
    forged(
        "at the top, at once",
        "import os\nos._exit(0)",
        outcomes="error",
        unheld="believed by status",
    ),
    forged("in the call", "import sys\ndef answer(): sys.exit(0)", unheld="believed by status"),
    forged(
        "in the call, at once",
        "import os\ndef answer(): os._exit(0)",
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "in the call, where everything is caught",
        "import os\ndef answer(): os._exit(0)",
        "try:\n    answer()\nexcept BaseException:\n    pass",
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "killed in the call, where everything is caught",
        "import os\ndef answer(): os.kill(os.getpid(), 9)",
        "try:\n    answer()\nexcept BaseException:\n    pass",
        outcomes="error",
        because="it ends the evaluator where there is only one process",
    ),
    forged(
        "deaf in the call, where everything is caught",
        "import os\ndef answer(): os.closerange(0, 256)",
        "try:\n    answer()\nexcept BaseException:\n    pass",
        outcomes="error",
        because="it ends the evaluator where there is only one process",
    ),
    forged(
        "in a comparison",
        """
        import os
        class Odd:
            def __eq__(self, other): os._exit(0)
        def answer(): return Odd()
        """,
        unheld="believed by status",
    ),
    forged(
        "in an iterator",
        "import os\ndef answer():\n    yield 'plum'\n    os._exit(0)",
        "list(answer()) == ['plum', 'pear']",
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "in an attribute",
        """
        import os
        class Odd:
            @property
            def name(self): os._exit(0)
        def answer(): return Odd()
        """,
        "answer().name == 'plum'",
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "in a finalizer",
        """
        import os
        class Odd:
            def __del__(self): os._exit(0)
        odd = Odd()
        def answer(): return 'no idea'
        """,
        unheld="believed by status",
    ),
    forged(
        "in a thread",
        """
        import os, threading, time
        def leave():
            time.sleep(0.1)
            os._exit(0)
        threading.Thread(target=leave).start()
        def answer(): time.sleep(10)
        """,
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "in a signal handler",
        """
        import os, signal, time
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        def answer():
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            time.sleep(10)
        """,
        outcomes="error",
        unheld="believed by status",
    ),
    forged(
        "at exit",
        "import atexit, os\natexit.register(os._exit, 0)\ndef answer(): return 'no idea'",
        unheld="believed by status",
    ),
    forged(
        "at an error nobody catches",
        "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\ndef answer(): return 'no idea'",
        unheld="believed by status",
    ),
    forged(
        "by an interrupt",
        "def answer(): raise KeyboardInterrupt",
        because="nobody takes it for a pass",
    ),
    forged(
        "by the end of a generator",
        "def answer(): raise GeneratorExit",
        because="nobody takes it for a pass",
    ),
    forged(
        "by the end of an iteration",
        "def answer(): raise StopIteration",
        "[one() for one in [answer]] == ['plum']",
        because="nobody takes it for a pass",
    ),
    forged(
        "by an error of its own, derived from none that is known",
        "class Odd(BaseException):\n    def __str__(self): raise self\ndef answer(): raise Odd",
        because="nobody takes it for a pass",
    ),
    forged(
        "in a callback",
        "import os\ndef answer(call):\n    call()\n    os._exit(0)",
        "answer(lambda: 'plum') == 'plum'",
        outcomes="error",
        unheld="believed by status",
    ),
]
