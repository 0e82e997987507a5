"""Forging by lies: what is returned says yes to everything."""

from typing import Any

from tests.sandbox.attacks.table import LIAR, Attack, forged


def _lies(name: str, value: str, *targets: str, head: str = LIAR, **more: Any) -> Attack:
    return forged(name, f"{head}\ndef answer(): return {value}", *targets, **more)


ATTACKS = [
    _lies("equal to everything", "Liar()"),
    _lies("equal to everything, asked from the left", "Liar()", "'plum' == answer()"),
    _lies("unequal to nothing", "Liar()", "not (answer() != 'plum')"),
    _lies(
        "a comparison that is true by itself",
        "Odd()",
        head=(
            "class Odd:\n    def __eq__(self, other): return self\n"
            "    def __bool__(self): return True"
        ),
    ),
    _lies("less than everything", "Liar()", "answer() < 5", "5 > answer()", outcomes="refused"),
    _lies("with everything in it", "Liar()", "'plum' in answer()", outcomes="error"),
    _lies("in a list", "Liar()", "answer() in ['plum', 'pear']"),
    _lies("inside a list", "[Liar()]", "answer() == ['plum']"),
    _lies(
        "inside a tuple in a dictionary",
        "{'fruit': (Liar(), 1)}",
        "answer() == {'fruit': ('plum', 1)}",
    ),
    _lies("one at a time", "iter([Liar(), Liar()])", "list(answer()) == ['plum', 'pear']"),
    _lies("by a generator", "(Liar() for _ in range(2))", "list(answer()) == ['plum', 'pear']"),
    _lies("sorted", "[Liar(), Liar()]", "sorted(answer()) == ['pear', 'plum']"),
    _lies(
        "a class",
        "Yes",
        head=(
            "class Meta(type):\n    def __eq__(self, other): return True\n"
            "    __hash__ = type.__hash__\nclass Yes(metaclass=Meta): pass"
        ),
    ),
    _lies(
        "a number",
        "Number(1)",
        "answer() == 5",
        head=(
            "class Number(int):\n    def __eq__(self, other): return True\n"
            "    __hash__ = int.__hash__"
        ),
    ),
    _lies(
        "a number that is no number",
        "Number(1)",
        "answer() == 0.5",
        head=(
            "class Number(float):\n    def __eq__(self, other): return True\n"
            "    __hash__ = float.__hash__"
        ),
    ),
    _lies(
        "a number that is near everything",
        "Number(1)",
        "abs(answer() - 1.4142) < 0.001",
        head="class Number(float):\n    def __sub__(self, other): return 0.0",
    ),
    _lies(
        "a number that is near everything, from the right",
        "Number(1)",
        "abs(1.4142 - answer()) < 0.001",
        head="class Number(float):\n    def __rsub__(self, other): return 0.0",
    ),
    _lies(
        "a number that rounds to everything",
        "Number(1)",
        "round(answer(), 2) == 1.41",
        head=LIAR + "\nclass Number(float):\n    def __round__(self, digits=0): return Liar()",
    ),
    _lies(
        "a text",
        "Text('x')",
        head=(
            "class Text(str):\n    def __eq__(self, other): return True\n"
            "    __hash__ = str.__hash__"
        ),
    ),
    _lies(
        "a text, made on demand",
        "Odd()",
        "str(answer()) == 'plum'",
        head=(
            "class Text(str):\n    def __eq__(self, other): return True\nclass Odd:\n"
            "    def __str__(self): return Text('x')"
        ),
    ),
    _lies(
        "a list",
        "Many()",
        "answer() == ['plum']",
        head="class Many(list):\n    def __eq__(self, other): return True",
    ),
    _lies(
        "a dictionary",
        "Many()",
        "answer() == {'plum': 1}",
        head="class Many(dict):\n    def __eq__(self, other): return True",
    ),
    _lies(
        "a named tuple",
        "Pair(1, 2)",
        "answer() == (3, 4)",
        head=(
            "import collections\n"
            "class Pair(collections.namedtuple('Pair', 'a b')):\n"
            "    def __eq__(self, other): return True"
        ),
    ),
    _lies("what the standard library has for it", "mock.ANY", head="from unittest import mock"),
    _lies(
        "an attribute",
        "Odd()",
        "answer().name == 'plum'",
        head=LIAR + "\nclass Odd:\n    def __getattr__(self, name): return Liar()",
    ),
    _lies(
        "an item",
        "Odd()",
        "answer()['name'] == 'plum'",
        head=LIAR + "\nclass Odd:\n    def __getitem__(self, name): return Liar()",
    ),
    _lies(
        "what it is", "Odd()", "isinstance(answer(), list)", head="class Odd:\n    __class__ = list"
    ),
    _lies(
        "what is an instance of it",
        "Yes",
        "isinstance(['plum'], answer())",
        head=(
            "class Meta(type):\n"
            "    def __instancecheck__(self, other): return True\n"
            "class Yes(metaclass=Meta): pass"
        ),
    ),
    _lies(
        "a fraction of a class that was changed",
        "fractions.Fraction(1, 3)",
        "import fractions\nassert answer() == fractions.Fraction(1, 2)",
        head="import fractions\nfractions.Fraction.__eq__ = lambda self, other: True",
    ),
    forged(
        "a lie to a callback",
        LIAR + "def answer(call): call(Liar())",
        "found = []\nanswer(lambda one: found.append(one == 'plum'))\nassert found == [True]",
    ),
]
