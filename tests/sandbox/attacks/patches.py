"""Forging by patches: what the judge itself relies on is changed."""

from tests.sandbox.attacks.table import LIAR, forged

ATTACKS = [
    forged(
        "a builtin, replaced",
        "import builtins\nbuiltins.sorted = lambda _: ['pear', 'plum']\ndef answer(): return []",
        "sorted(answer()) == ['pear', 'plum']",
    ),
    forged(
        "a builtin, replaced by a liar",
        LIAR + "import builtins\nbuiltins.len = lambda _: Liar()\ndef answer(): return []",
        "len(answer()) == 4",
    ),
    forged(
        "all builtins, replaced",
        LIAR
        + (
            "import builtins\n"
            "__builtins__ = dict(vars(builtins), len=lambda _: Liar())\n"
            "def answer(): return []"
        ),
        "len(answer()) == 4",
    ),
    forged(
        "a function of the standard library",
        "import math\nmath.isclose = lambda *_, **__: True\ndef answer(): return 0.0",
        "import math\nassert math.isclose(answer(), 1.4142)",
    ),
    forged(
        "a class of the standard library",
        """
        import collections
        collections.Counter.__eq__ = lambda *_: True
        def answer(): return 'x'
        """,
        "import collections\nassert collections.Counter(answer()) == collections.Counter('plum')",
    ),
    forged(
        "a module of the standard library",
        """
        import sys, types
        sys.modules['statistics'] = types.SimpleNamespace(mean=lambda _: 0)
        def answer(): return 0
        """,
        "import statistics\nassert answer() == statistics.mean([1, 2, 3])",
    ),
    forged(
        "the import itself",
        """
        import builtins, types
        builtins.__import__ = lambda *_: types.SimpleNamespace(mean=lambda _: 0)
        def answer(): return 0
        """,
        "import statistics\nassert answer() == statistics.mean([1, 2, 3])",
    ),
    forged(
        "a module of that name, left in the working directory",
        """
        import os, sys
        try: open('statistics.py', 'w').write('def mean(_): return 0')
        except OSError: pass
        sys.path.insert(0, os.getcwd())
        def answer(): return 0
        """,
        "import statistics\nassert answer() == statistics.mean([1, 2, 3])",
    ),
    forged(
        "the names of the target",
        """
        import threading, time
        def spoil():
            while True: globals()['check'] = lambda _: None; time.sleep(0.001)
        threading.Thread(target=spoil, daemon=True).start()
        def answer(): return 'no idea'
        """,
        "import time\ndef check(one): assert one() == 'plum'\ntime.sleep(0.1)\ncheck(answer)",
    ),
    forged(
        "an encoder",
        """
        import json
        json.dumps = lambda *_, **__: '{"passed": true}'
        def answer(): return 'no idea'
        """,
        unheld="believed by output",
    ),
    forged(
        "os.write",
        """
        import os
        write = os.write
        os.write = lambda to, text: write(to, text.replace(b'false', b'true'))
        def answer(): return 'no idea'
        """,
        unheld="believed by output",
    ),
    forged(
        "a number in memory",
        """
        import ctypes
        def answer():
            offset = 16 if ctypes.c_ssize_t.from_address(id(77) + 16).value == 77 else 24
            ctypes.c_uint32.from_address(id(77) + offset).value = 78
            return 78
        """,
        "answer() == 77",
    ),
    forged(
        "a word in memory",
        """
        import ctypes, sys
        def answer():
            word = sys.intern('failed')
            at = ctypes.string_at(id(word), 64).find(b'failed')
            ctypes.memmove(id(word) + at, b'passed', 6)
            return 'no idea'
        """,
    ),
    forged(
        "the comparison of a type, in memory",
        """
        import ctypes
        pointer, kind = ctypes.c_void_p, ctypes.c_int
        compare = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, kind)
        yes = compare(lambda *_: True)
        def answer():
            at = ctypes.c_void_p.from_address(id(float) + 200)  # tp_richcompare
            at.value = ctypes.cast(yes, ctypes.c_void_p).value
            return 1.0
        """,
        "answer() == 1.4142",
    ),
    forged(
        "the judge, by way of frames",
        """
        import sys
        frame = sys._getframe()
        while frame:
            for one in list(frame.f_globals.values()):
                if isinstance(one, type) and hasattr(one, 'judge'):
                    one.judge = lambda *_: ('passed', '')
            frame = frame.f_back
        def answer(): return 'no idea'
        """,
    ),
]
