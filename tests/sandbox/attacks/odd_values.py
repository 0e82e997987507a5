"""Odd values: what is hard to carry from one process to another. It costs the candidate only."""

from typing import Any

from tests.sandbox.attacks.table import Attack, held

from evalwright.types import ExecutionOutcome


def _returns(
    name: str, source: str, target: str, *outcomes: ExecutionOutcome, **more: Any
) -> Attack:
    """A value that is hard to carry."""
    return held(name, source, (target,), outcomes, **more)


ATTACKS = [
    _returns(
        "a hundred megabytes",
        "def f(): return 'x' * 100_000_000",
        "len(f()) == 1",
        "error",
        because="it is only large",
    ),
    _returns(
        "just over eight megabytes",
        "def f(): return 'x' * (8 * 1024**2)",
        "len(f()) == 1",
        "error",
        because="it is only large",
    ),
    _returns(
        "a million lists",
        "def f(): return [[]] * 1_000_000",
        "f() == 1",
        "assertion_fail",
        because="it is only large",
    ),
    _returns(
        "a list a million deep",
        "def f():\n    x = []\n    for _ in range(1_000_000): x = [x]\n    return x",
        "f() == 1",
        "assertion_fail",
        because="it is only deep",
    ),
    _returns(
        "a dictionary ten thousand deep",
        "def f():\n    x = {}\n    for _ in range(10_000): x = {1: x}\n    return x",
        "f() == 1",
        "assertion_fail",
        because="it is only deep",
    ),
    _returns(
        "a list of itself",
        "def f():\n    x = []\n    x.append(x)\n    return x",
        "f() == 1",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "a dictionary of itself",
        "def f():\n    x = {}\n    x[1] = x\n    return x",
        "f() == 1",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "a billion laughs",
        "def f():\n    x = ['ha']\n    for _ in range(40): x = [x, x]\n    return x",
        "f() == 1",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "a number of a million digits",
        "def f(): return 1 << 4_000_000",
        "f() == 1",
        "assertion_fail",
        because="it is only large",
    ),
    _returns(
        "no number, and infinity",
        "def f(): return [float('nan'), float('inf'), -float('inf')]",
        "f()[1] == float('inf') and f()[0] != f()[0]",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "a lone surrogate",
        "def f(): return '\\ud800\\0\\udcff'",
        "f() == '\\ud800\\0\\udcff'",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "a set of everything",
        "def f(): return {1, 1.5, 'x', b'x', None, (1, frozenset({2})), 1j}",
        "len(f()) == 7",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "a key that cannot be one",
        "class Odd(list): __hash__ = lambda self: 1\ndef f(): return {Odd(): 1}",
        "f() == {}",
        "error",
        because="it is only odd",
    ),
    _returns(
        "a module",
        "import os\ndef f(): return os",
        "f() == 'plum'",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "an object that answers to everything",
        """
        class Odd:
            def __getattr__(self, name): return self
            def __call__(self, *_): return self
        def f(): return Odd()
        """,
        "f().x.y().z == 'plum'",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "an object that raises at everything",
        """
        class Odd:
            def __getattribute__(self, name): raise ValueError(name)
            __repr__ = __hash__ = __eq__ = __bool__ = None
        def f(): return Odd()
        """,
        "f() == 'plum'",
        "assertion_fail",
        because="it is only odd",
    ),
    _returns(
        "a class whose name is no name",
        "Odd = type('x' * 1_000_000 + '\\ud800\\n', (), {})\ndef f(): return Odd()",
        "f() == 'plum'",
        "error",
        because="it is only odd",
    ),
    _returns(
        "names without end",
        "globals().update({f'name_{n}': n for n in range(200_000)})\ndef f(): return 1",
        "f() == 1",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "a name that is no text",
        "globals()[1] = 2\nglobals()[None] = 3\ndef f(): return 1",
        "f() == 1",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "a constant of a hundred megabytes",
        "x = 'y' * 100_000_000\ndef f(): return 1",
        "f() == 1",
        "pass",
        because="it is only large",
    ),
    _returns(
        "arguments of many kinds, and keywords",
        "def f(*args, **kwargs): return args, kwargs",
        "f(1, *['x'], y={2: (3,)}) == ((1, 'x'), {'y': {2: (3,)}})",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "an answer while it is asked something else",
        "def f(n, call):\n    return 0 if n == 0 else 1 + call(n - 1)",
        "def g(n): return f(n, g)\nassert g(20) == 20",
        "pass",
        because="nothing is wrong with it",
    ),
    _returns(
        "questions and answers without end",
        "def f(call): return call()",
        "def g(): return f(g)\ng()",
        "assertion_fail",
        because="nothing ends it",
    ),
    _returns(
        "an error whose text raises",
        "class Odd(Exception):\n    def __str__(self): raise ValueError\ndef f(): raise Odd",
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
    _returns(
        "an error whose text is none",
        "class Odd(Exception):\n    def __str__(self): return None\ndef f(): raise Odd",
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
    _returns(
        "an error whose text exits",
        "import os\nclass Odd(Exception):\n    def __str__(self): os._exit(0)\ndef f(): raise Odd",
        "f()",
        "error",
        because="it ends the evaluator where there is only one process",
    ),
    _returns(
        "an error that is its own cause",
        "def f():\n    error = ValueError(1)\n    error.__cause__ = error\n    raise error",
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
    _returns(
        "an error group a thousand deep",
        """
        def f():
            error = ValueError(1)
            for _ in range(1000): error = ExceptionGroup('x', [error])
            raise error
        """,
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
    _returns(
        "an error that is no error",
        "def f(): raise 1",
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
    _returns(
        "an error whose class cannot be named",
        """
        class Meta(type):
            def __getattribute__(self, name): raise ValueError
        class Odd(Exception, metaclass=Meta): pass
        def f(): raise Odd
        """,
        "f()",
        "assertion_fail",
        because="it fails anywhere",
    ),
]
