"""Forging by tricks: an honest judge, led to look away."""

from tests.sandbox.attacks.table import EITHER, LIAR, forged

_PAYLOAD = """
import pickle
class Payload:
    def __reduce__(self): return eval, ("type('Liar', (), {'__eq__': lambda *_: True})()",)
payload = pickle.dumps(Payload())
"""
_CLOSE = (
    "import types\nmath = types.SimpleNamespace(isclose=lambda *_: True)\n"
    "def answer(): return 0.0\n"
)

ATTACKS = [
    forged(
        "an iteration that ends before it is checked",
        "def answer(n): raise StopIteration",
        "all(map(lambda n: answer(n) == 'plum', range(3)))",
        "all(a == b for a, b in zip(map(answer, [1, 2]), ['plum', 'pear']))",
    ),
    forged(
        "an end of another kind",
        "class End(StopIteration): pass\nclass Odd:\n    @property\n    def name(self): raise End\n"
        "    def __getitem__(self, key): raise End\ndef answer(n): return Odd()",
        "all(map(lambda n: answer(n).name == 'plum', range(3)))",
        "all(map(lambda n: answer(n)[0] == 'plum', range(3)))",
    ),
    forged(
        "a context in which nothing fails",
        """
        class Odd:
            def __enter__(self): return self
            def __exit__(self, *_): return True
        def answer(): return Odd()
        """,
        "with answer() as one:\n    assert one == 'plum'",
        outcomes="refused",
    ),
    forged(
        "a module, returned, that runs what it is given",
        _PAYLOAD
        + """
calls = []
class Codec:
    def dumps(self, value): return payload
def codec():
    calls.append(1)
    return pickle if len(calls) == 1 else Codec()
""",
        "codec().loads(codec().dumps(['plum'])) == ['pear']",
        outcomes=EITHER,
    ),
    forged(
        "a module under the name of another that runs what it is given",
        _PAYLOAD + "json = pickle\ndef answer(): return payload",
        "json.loads(answer()) == {'fruit': 'plum'}",
        outcomes=EITHER,
    ),
    forged(
        "a copy that is not one",
        LIAR
        + (
            "class Odd:\n    def __deepcopy__(self, memo): return Liar()\n"
            "    __copy__ = lambda self: Liar()\ndef answer(): return Odd()"
        ),
        "import copy\nassert copy.copy(answer()) == 'plum' and copy.deepcopy(answer()) == 'plum'",
        outcomes=EITHER,
    ),
    forged(
        "its own `abs`",
        "def answer(): return 0.0\ndef abs(_): return 0",
        "abs(answer() - 1.4142) < 0.001",
    ),
    forged(
        "its own `abs`, far from the call",
        "def answer(): return 0.0\ndef abs(_): return 0",
        "solve = answer",
        "abs(solve() - 1.4142) < 0.001",
        outcomes=EITHER,
    ),
    forged(
        "its own `abs`, in a check that comes first",
        "def answer(): return 0.0\ndef abs(_): return 0",
        "def check(one): assert abs(one() - 1.4142) < 0.001\nsolve = answer",
        "check(solve)\npass",
        outcomes=EITHER,
    ),
    forged(
        "its own `abs`, and nothing else that is its own",
        "from math import floor as answer\ndef abs(_): return 0",
        "abs(answer(7.5) - 1.4142) < 0.001",
        outcomes=EITHER,
    ),
    forged(
        "its own `isinstance`",
        "def answer(): return 0\ndef isinstance(*_): return True",
        "isinstance(answer(), list)",
    ),
    forged(
        "its own `all`",
        "def answer(n): return 0\ndef all(_): return True",
        "all(answer(n) == 'plum' for n in [1])",
    ),
    forged("its own `math`", _CLOSE, "math.isclose(answer(), 1.4142)"),
    forged(
        "its own `math`, in a check that comes first",
        _CLOSE,
        "def check(one): assert math.isclose(one(), 1.4142)",
        "check(answer)\npass",
        outcomes=EITHER,
    ),
    forged(
        "a package of its own, where the target imports from",
        """
        import os
        try:
            os.mkdir('pkg')
            with open('pkg/fruit.py', 'w') as file:
                file.write("class Yes:\\n    def __eq__(self, _): return True\\nyes = Yes()")
        except OSError: pass
        __path__ = [os.path.abspath('pkg')]
        def answer(): return 1
        """,
        "import candidate.fruit\nassert candidate.fruit.yes == 'plum'",
    ),
    forged(
        "a reason, told to the candidate",
        """
        def answer(check):
            try: check('pear')
            except AssertionError as error: return str(error)
        """,
        "def check(one): assert one == 'plum', 'expected plum'\nassert 'plum' in answer(check)",
    ),
    forged(
        "memory of the evaluator, for an array",
        """
        class Odd:
            def __len__(self): return 2
            def __getitem__(self, at): return [0.0, 0.0][at]
            __array_interface__ = {
                'shape': (2,), 'typestr': '<f8', 'data': (id(0), False), 'version': 3
            }
            __array_struct__ = __array_interface__
            __array__ = lambda self, *_, **__: 'plum'
        def answer(): return Odd()
        """,
        "any(hasattr(answer(), f'__array{of}__') for of in ('_interface', '_struct', ''))",
    ),
    forged(
        "its own `check`",
        "def answer(): return 0\ndef check(_): return True",
        "def check(one): return one() == 'plum'",
        "check(answer)",
        because="it fails anywhere",
    ),
    forged(
        "its own assertion",
        """
        class AssertionError(Exception):
            def __new__(cls, *_): return None
        def answer(): return 0
        """,
        "assert answer() == 'plum'",
        because="`assert` never looks for the name",
    ),
    forged(
        "an answer that changes with every look",
        """
        import itertools
        words = itertools.cycle(['pear', 'fig'])
        def answer(): return next(words)
        """,
        "answer() == 'plum'",
        "answer() == answer() == 'plum'",
        because="it fails anywhere",
    ),
    forged(
        "an argument, changed into the answer",
        "def answer(given): given.clear()\n",
        "given = ['plum']\nanswer(given)\nassert given == ['pear']",
        because="it fails anywhere",
    ),
]
