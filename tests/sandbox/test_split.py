"""What an author may write in a target: split or in one process, the verdicts are the same.

A case is a program, then its targets: `>` before one that holds, `!` before one that is wrong.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import Verdicts
from evalwright.types import Execution, Program

MARKS = {"> ": True, "! ": False}


@contextmanager
def opened(verdicts: Verdicts, packages: Sequence[str] = ()) -> Iterator[Jailed]:
    try:
        jailed = Jailed(workers=1, verdicts=verdicts, packages=packages)
    except NoTier as error:
        pytest.skip(f"this machine cannot: {error}")
    try:
        yield jailed
    finally:
        asyncio.run(jailed.close())


@pytest.fixture(scope="module")
def split() -> Iterator[Jailed]:
    with opened("split") as jailed:
        yield jailed


@pytest.fixture(scope="module")
def together() -> Iterator[Jailed]:
    with opened("plain") as jailed:
        yield jailed


def parse(case: str) -> tuple[str, tuple[str, ...], tuple[bool, ...]]:
    """Source, targets, and which of them hold. What follows a target indented is its too."""
    source: list[str] = []
    targets: list[list[str]] = []
    holds: list[bool] = []
    for line in case.strip("\n").split("\n"):
        if line[:2] in MARKS:
            targets.append([line[2:]])
            holds.append(MARKS[line[:2]])
        elif targets:
            targets[-1].append(line[2:])
        else:
            source.append(line)
    return "\n".join(source), tuple("\n".join(lines) for lines in targets), tuple(holds)


def named(**groups: dict[str, str]) -> dict[str, str]:
    return {
        f"{group}: {name}": case for group, cases in groups.items() for name, case in cases.items()
    }


def judge(sandbox: Jailed, source: str, *targets: str) -> Execution:
    program = Program(source=source, targets=targets, timeout_s=20)
    return asyncio.run(sandbox.judge(program))


def check(sandbox: Jailed, case: str) -> None:
    source, targets, holds = parse(case)

    execution = judge(sandbox, source, *targets)

    wrong = f"target {holds.index(False) + 1} of {len(targets)}: "
    assert execution.targets == holds, execution.detail
    assert execution.outcome == "assertion_fail"
    assert execution.detail.startswith(wrong)


VALUES = {
    "scalars": """
def f(x): return x
> f(None) is None
> f(True) is True and f(0) == 0 and type(f(1)) is int
> f(1.5) == 1.5 and f(1j) == 1j and str(f(-0.0)) == "-0.0"
> f("a") == "a" and f(b"\\x00\\xff") == b"\\x00\\xff"
! f(1) == 2
""",
    "containers": """
def f(x): return x
> f([1, [2]]) == [1, [2]] and f((1,)) == (1,) and f({1, 2}) == {1, 2}
> f({"a": 1, 2: (3,)}) == {"a": 1, 2: (3,)}
> f(bytearray(b"a")) == bytearray(b"a") and f(frozenset({1})) == frozenset({1})
> f({(1, 2): {frozenset({1}): [b""]}}) == {(1, 2): {frozenset({1}): [b""]}}
> f(range(9, 0, -2)) == range(9, 0, -2)
> type(f((1,))) is tuple and isinstance(f([]), list)
! f([1]) == (1,)
""",
    "types by name": """
def kind(x): return type(x)
> kind(1) is int and kind([]) is list and kind("") == str
! kind(True) is int
""",
    "nan and infinity": """
def nan(): return float("nan")
def f(x): return x
> nan() != nan() and repr(nan()) == "nan"
> import math; assert math.isnan(nan())
> f(float("inf")) == float("inf") and f(-float("inf")) < 0
> f(complex(float("inf"), 1)).real == float("inf")
! nan() == nan()
""",
    "huge integers": """
def factorial(n): return 1 if n < 2 else n * factorial(n - 1)
def f(x): return x
> factorial(300) // factorial(299) == 300
> f(10**5000) == 10**5000 and f([-(10**400), 1]) == [-(10**400), 1]
> f({10**500: 10**500}) == {10**500: 10**500}
! factorial(300) == factorial(299)
""",
    "text of all kinds": """
def f(x): return x
def upper(x): return x.upper()
> f("\\ud800") == "\\ud800" and f(["\\udfff"]) == ["\\udfff"]
> f("مرحبا") == "مرحبا" and f("مرحبا")[::-1] == "ابحرم"
> f("👩‍👩‍👧")[0] == "👩" and len(f("👍🏽")) == 2
> upper("straße") == "STRASSE" and f("\\x00\\u2028") == "\\x00\\u2028"
! len(f("👍🏽")) == 1
""",
    "dates": """
import datetime as dt
from datetime import date, timedelta
def tomorrow(day): return day + timedelta(days=1)
def christmas(year): return dt.datetime(year, 12, 25, tzinfo=dt.timezone.utc)
> tomorrow(date(2024, 2, 28)) == date(2024, 2, 29)
> tomorrow(dt.datetime(2024, 1, 1, 5)).hour == 5
> (tomorrow(date(2024, 1, 1)) - date(2024, 1, 1)).days == 1
> tomorrow(date(2024, 1, 1)) < date(2024, 1, 3)
> christmas(2024).isoformat() == "2024-12-25T00:00:00+00:00"
! tomorrow(date(2023, 2, 28)) == date(2023, 2, 28)
""",
    "decimals and fractions": """
from decimal import Decimal
from fractions import Fraction
def half(x): return x / 2
> half(Decimal("0.3")) == Decimal("0.15")
> half(Decimal(1)).quantize(Decimal("0.01")) == Decimal("0.50")
> str(half(Decimal("2.20"))) == "1.10" and half(Decimal("NaN")).is_nan()
> half(Fraction(1, 3)) + 1 == Fraction(7, 6)
! half(Decimal("0.1")) == 0.05
""",
    "Counter and deque": """
from collections import Counter, deque, defaultdict
def count(text): return Counter(text)
def turn(queue): queue.rotate(1); return queue
def group(words):
    found = defaultdict(list)
    for word in words: found[len(word)].append(word)
    return found
> count("aab") == Counter("aab") == {"a": 2, "b": 1}
> count("aab") - Counter("a") == Counter("ab") and count("a")["z"] == 0
> count("aab").most_common(1) == [("a", 2)] and isinstance(count(""), Counter)
> turn(deque([1, 2, 3])) == deque([3, 1, 2]) and turn(deque([1], 5)).maxlen == 5
> group(["a", "bb", "c"]) == {1: ["a", "c"], 2: ["bb"]} and group([])[7] == []
! count("aab") == Counter("abb")
""",
    "views of a dict": """
ages = {"a": 1, "b": 2}
def keys(): return ages.keys()
def items(): return ages.items()
def figures(): return ages.values()
> keys() == {"a", "b"} and keys() & {"a"} == {"a"} and "a" in keys()
> sorted(items()) == [("a", 1), ("b", 2)] and ("a", 1) in items()
> list(figures()) == [1, 2] and len(figures()) == 2 and dict(items()) == ages
! keys() == ["a", "b"]
""",
    "sets of tuples": """
def pairs(n): return {(a, b) for a in range(n) for b in range(a)}
def letters(words): return {frozenset(word) for word in words}
> pairs(3) == {(1, 0), (2, 0), (2, 1)} and (1, 0) in pairs(2)
> len(pairs(4) | {(9, 9)}) == 7
> letters(["ab", "ba"]) == {frozenset("ab")}
! pairs(3) == {(0, 1)}
""",
}

ARGUMENTS = {
    "a list changed in place": """
def push(x): x.append(9)
def turn(x): x[:] = x[::-1]
> x = [1]; push(x); push(x); assert x == [1, 9, 9]
> x = [1, 2]; y = x; assert turn(x) is None; assert y == [2, 1] and y is x
> (lambda x: (push(x), x)[1])([]) == [9]
! x = [1]; push(x); assert x == [1]
""",
    "a dict changed in place": """
def rename(d): d["new"] = d.pop("old")
def last(d): d["a"] = d.pop("a")
> d = {"old": 1}; rename(d); assert d == {"new": 1}
> d = {"a": 1, "b": 2}; last(d); assert list(d) == ["b", "a"]
! d = {"old": 1}; rename(d); assert "old" in d
""",
    "a set changed in place": """
def swap(s): s.add(1); s.discard(0)
def shout(b): b.extend(b"!")
> s = {0}; swap(s); assert s == {1}
> b = bytearray(b"a"); shout(b); assert b == b"a!"
! s = {0}; swap(s); assert s == {0, 1}
""",
    "something deep inside": """
def deep(d): d["a"]["b"].append(1)
def first(x): x[0].append(1)
> d = {"a": {"b": []}}; b = d["a"]["b"]; deep(d); assert b == [1] and d["a"]["b"] is b
> x = ([],); first(x); assert x == ([1],)
! x = [[], []]; first(x); assert x == [[1], [1]]
""",
    "one list under two names": """
def both(a, b): a.append(1); return b
def put(a, b): a.append(b)
> x = []; assert both(x, x) == [1]; assert x == [1]
> a, b = [], [1]; put(a, b); b.append(2); assert a == [[1, 2]] and a[0] is b
> a = []; put(a, a); assert a[0] is a
! assert both([], []) == [1]
""",
    "the same list returned": """
def same(x): return x
def head(x): return x[0]
def copied(x): return list(x)
> x = [1]; assert same(x) is x and same([x])[0] is x
> x = [[1]]; assert head(x) is x[0]
> x = [1]; assert copied(x) is not x and copied(x) == x
! x = [1]; assert copied(x) is x
""",
    "changed, and then raised": """
def f(x):
    x.append(1)
    raise ValueError(x)
> x = []
  try: f(x)
  except ValueError as error: assert x == [1] and error.args[0] is x
  else: assert False
! f([])
""",
    "keywords and stars": """
def f(a, /, b=2, *rest, c=3, **more): return a, b, rest, c, more
def add(**more): more["n"] = 1; return more
> f(1) == (1, 2, (), 3, {})
> f(*[1, 2, 3], c=4, **{"d": 5}) == (1, 2, (3,), 4, {"d": 5})
> d = {}; assert add(**d) == {"n": 1}; assert d == {}
! f(a=1)
""",
    "defaultdict and Counter": """
from collections import Counter, defaultdict, deque
def size(d): return len(d)
def kind(d): return type(d).__name__
def missing(d): return d["missing"]
> size(Counter("aab")) == 2 and kind(Counter()) == "Counter"
> missing(defaultdict(int)) == 0 and missing(defaultdict(lambda: 5)) == 5
> size(deque([1])) == 1 and kind(deque()) == "deque"
! missing({})
""",
}

CALLBACKS = {
    "a lambda": """
def apply(g, *args, **more): return g(*args, **more)
def same(g): return g
> apply(lambda x: x + 1, 1) == 2
> apply(lambda *a, **k: (a, k), 1, b=2) == ((1,), {"b": 2})
> g = lambda: 1; assert same(g) is g
! apply(lambda: False)
""",
    "a bound method": """
def each(g, xs): return [g(x) for x in xs]
> found = []; each(found.append, [1, 2]); assert found == [1, 2]
> each("<{}>".format, [1]) == ["<1>"] and each({"a": 1}.get, "ab") == [1, None]
> class Sum:
      total = 0
      def add(self, x): self.total += x
  adder = Sum(); each(adder.add, [1, 2]); assert adder.total == 3
! each(", ".join, ["ab"]) == ["ab"]
""",
    "builtins and operators": """
def apply(g, *args, **more): return g(*args, **more)
> apply(len, "ab") == 2 and apply(str.upper, "a") == "A" and apply(int, "7") == 7
> import operator; assert apply(operator.add, 1, 2) == 3
> import math; assert apply(math.sqrt, 4) == 2
> import functools; assert apply(functools.partial(pow, 2), 3) == 8
> apply(isinstance, 1, int) and apply(max, [1, 3, 2]) == 3 and apply(dict, a=1) == {"a": 1}
! apply(len, "ab") == 3
""",
    "keys to sort by": """
def sort(xs, key=None): return sorted(xs, key=key)
> sort([3, 1, 2], key=lambda x: -x) == [3, 2, 1]
> sort(["b", "A"], key=str.lower) == ["A", "b"] and sort(["aa", "b"], key=len) == ["b", "aa"]
! sort(["b", "A"]) == ["b", "A"]
""",
    "to and fro": """
def f(g): return g() + 1
def compose(*functions):
    def composed(x):
        for function in reversed(functions): x = function(x)
        return x
    return composed
> f(lambda: f(lambda: 2)) == 4
> compose(lambda x: x + 1, lambda x: x * 2)(3) == 7 and compose(str, len)([1]) == "1"
> compose(compose(lambda x: x + 1), compose())(1) == 2
! f(lambda: f(lambda: 2)) == 3
""",
    "a decorator": """
def memo(function):
    found = {}
    def remembered(x):
        if x not in found: found[x] = function(x)
        return found[x]
    remembered.found = found
    return remembered
> calls = []
  @memo
  def square(x):
      calls.append(x)
      return x * x
  assert square(2) == square(2) == 4 and calls == [2] and square.found == {2: 4}
! calls == [2, 2]
""",
    "exceptions on their way through": """
def apply(g): return g()
def safe(g):
    try: return g()
    except KeyError: return "key"
    except ValueError: return "value"
> safe(lambda: {}[1]) == "key" and safe(lambda: int("x")) == "value"
> try: apply(lambda: 1 / 0)
  except ZeroDivisionError: pass
  else: assert False
! safe(lambda: 1 / 0)
""",
    "arguments changed by the callback": """
def run(g):
    x = [1]
    g(x)
    return x
> run(lambda x: x.append(2)) == [1, 2]
> def count():
      n = 0
      def step(x):
          nonlocal n
          n += 1
      run(step); run(step)
      return n
  assert count() == 2
! run(lambda x: x.clear()) == [1]
""",
    "iterators": """
def take(items, n): return [next(items) for _ in range(n)]
def doubled(items):
    for item in items: yield item * 2
> def naturals():
      n = 0
      while True:
          yield n
          n += 1
  assert take(naturals(), 3) == [0, 1, 2]
> items = iter([1, 2, 3]); assert take(items, 2) == [1, 2]; assert next(items) == 3
> list(doubled(x for x in [1, 2])) == [2, 4] and list(doubled(map(int, "12"))) == [2, 4]
> import itertools; assert take(doubled(itertools.count()), 3) == [0, 2, 4]
! take(iter([1, 2]), 2) == [2, 1]
""",
    "from threads of the program": """
from concurrent.futures import ThreadPoolExecutor
def spread(g, xs):
    with ThreadPoolExecutor(4) as pool: return list(pool.map(g, xs))
> spread(lambda x: x * x, range(40)) == [x * x for x in range(40)]
! spread(lambda x: x, range(3)) == [0, 1]
""",
}

NAMES = {
    "globals of the program": """
count, NAME = 0, "x"
items, seen = [], set()
def step():
    global count
    count += 1
    return count
def add(x): items.append(x); seen.add(x)
def reset():
    global items
    items = []
> count == 0 and NAME == "x"
> step(); step(); assert count == 2
> add(1); assert items == [1] and seen == {1}
> reset(); assert items == []
! items == [1]
""",
    "globals changed by a target": """
items, settings, seen, grid = [], {"a": 1}, set(), [[0, 0]]
def size(): return len(items), len(seen)
def setting(): return settings["a"]
def corner(): return grid[0][0]
> items.append(2); seen.add(3); assert size() == (1, 1)
> settings["a"] = 5; assert setting() == 5
> grid[0][0] = 7; assert corner() == 7
> x = items; x.append(1); assert items == [2, 1]
> items += [5]; assert size() == (3, 1)
> items.clear(); assert size() == (0, 1)
! setting() == 1
""",
    "from candidate import": """
def add(a, b): return a + b
SIZE = 3
> from candidate import add as plus, SIZE; assert plus(1, 2) == SIZE
> import candidate; assert candidate.add(1, 2) == candidate.SIZE == 3
> import candidate; assert hasattr(candidate, "add") and not hasattr(candidate, "nothing")
> import sys; assert sys.modules["candidate"].add(1, 1) == 2
! from candidate import nothing
""",
    "modules": """
import math, collections, json, re
import datetime as dt
from math import sqrt, pi
from collections import Counter
def area(r): return pi * r**2
> math.isclose(area(1), math.pi) and sqrt(4) == 2 and pi == math.pi
> collections.deque([1])[0] == 1 and Counter("a")["a"] == 1
> dt.date(2020, 1, 1).year == 2020 and json.loads("[1]") == [1]
> re.match("a+", "aab").group() == "aa"
! math.isclose(area(2), 2 * pi)
""",
    "functions of modules": """
from functools import reduce, lru_cache
from itertools import permutations
from copy import deepcopy
from typing import Optional
@lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
> fib(30) == 832040 and fib.cache_info().hits > 0 and fib.cache_clear() is None
> reduce(lambda a, b: a + b, [1, 2]) == 3 and deepcopy([[1]]) == [[1]]
> list(permutations([1, 2])) == [(1, 2), (2, 1)]
! fib(10) == 54
""",
    "a function called like a builtin": """
def sum(xs):
    total = 0
    for x in xs: total += x
    return total * 10
> sum([1, 2]) == 30 and sum(x for x in [1]) == 10
! sum([1, 2]) == 3
""",
    "a builtin redefined for its own use": """
def print(*args): pass
def input(): return "3"
def f(): print("quiet"); return int(input())
> f() == 3
! f() == 4
""",
    "names made later": """
def prepare():
    global ready
    ready = 5
> try: ready
  except NameError: pass
  else: assert False
> prepare(); assert ready == 5
> ready == 5
! ready == 6
""",
    "helpers of the targets": """
def f(x): return x + 1
> def helper(x): return f(x) * 2
  assert helper(1) == 4
> helper(2) == 6
> n = 3; assert f(n) == 4
> n == 3 and [f(i) for i in range(n)] == [1, 2, 3] and {i: f(i) for i in [n]} == {3: 4}
> def outer():
      def inner(): return f(0)
      return inner()
  assert outer() == 1
> (lambda x: f(x))(1) == 2 and all(f(i) == i + 1 for i in range(5))
> def check(candidate): assert candidate(1) == 2
  check(f)
> list(map(f, [1, 2])) == [2, 3] and sorted([3, 1], key=f) == [1, 3]
> "f" in globals() and f.__name__ == "f" and callable(f) and eval("f(1)") == 2
! helper(3) == 9
""",
    "a class of tests": """
def f(x): return x + 1
> import unittest
  class Tests(unittest.TestCase):
      def test(self): self.assertEqual(f(1), 2)
      def wrong(self): self.assertEqual(f(1), 3)
  Tests("test").debug()
! Tests("wrong").debug()
""",
    "a name that both have": """
def helper(x): return x
def f(x): return helper(x) + 1
> helper(1) == 1
> def helper(x): return x * 100
  assert helper(1) == 100
> helper(2) == 200
! helper(2) == 2
""",
}

CASES = named(values=VALUES, arguments=ARGUMENTS, callbacks=CALLBACKS, names=NAMES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_split(split: Jailed, case: str) -> None:
    check(split, case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_in_one_process(together: Jailed, case: str) -> None:
    check(together, case)


POINT = """
class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
    def __lt__(self, other): return self.x < other.x
    def __add__(self, other): return Point(self.x + getattr(other, "x", 0))
    def __contains__(self, x): return x == self.x
class Calm:
    def __enter__(self): return self
    def __exit__(self, *error): return True
def same(x): return x
"""
OWN_CODE = (
    "and a value would run the program's own code; compare what its methods and attributes return"
)
REFUSED = {
    "Point(1) + 1": f"`+` between an object of class `Point` {OWN_CODE}",
    "1 in Point(1)": f"`in` between an object of class `Point` {OWN_CODE}",
    "with Calm(): 1 / 0": "a `with` block of a `Calm` swallows an error of the target",
    "class Mine: pass\nsame(Mine())": "a `Mine` cannot be passed to the program",
    "class Mine: pass\nsame([{1: Mine()}])": "a `Mine` cannot be passed to the program",
    "class Mine(list): pass\nsame(Mine())": "a `Mine` cannot be passed to the program",
    "same('x' * 8 * 1024**2)": "more than 8 MiB cannot be passed to the program",
    "x = []\nfor _ in range(101): x = [x]\nsame(x)": (
        "nested more than 100 deep cannot be passed to the program"
    ),
    "try: Point(1) + 1\nexcept TypeError: pass": (
        f"`+` between an object of class `Point` {OWN_CODE}"
    ),
}


@pytest.mark.parametrize("target", REFUSED)
def test_the_split_refuses(split: Jailed, together: Jailed, target: str) -> None:
    refused = judge(split, POINT, "same(1) == 1", target)
    judged = judge(together, POINT, "same(1) == 1", target)

    assert (refused.outcome, refused.targets) == ("error", (False, False))
    assert refused.detail == f"target 2 of 2: {REFUSED[target]}"
    assert (judged.outcome, judged.detail) == ("pass", "")


@pytest.mark.parametrize(
    "target",
    [
        "Point(1) == Point(1)",
        "Point(1) != Point(2)",
        "[Point(1)] == [Point(1)]",
        "Point(1) in [Point(2), Point(1)]",
        "Point(1) < Point(2)",
        "sorted([Point(2), Point(1)])[0].x == 1",
        "(Point(1) + Point(2)).x == 3",
    ],
)
def test_operators_between_objects_of_the_program_are_the_programs(
    split: Jailed, target: str
) -> None:
    assert judge(split, POINT, target).outcome == "pass"
    assert judge(split, POINT, f"not ({target})").outcome == "assertion_fail"


def test_up_to_the_limits(split: Jailed) -> None:
    deep = "x = []\nfor _ in range(90): x = [x]\nassert same(x) == x"

    execution = judge(split, POINT, "len(same('x' * 7 * 1024**2)) == 7 * 1024**2", deep)

    assert (execution.outcome, execution.detail) == ("pass", "")


@pytest.mark.parametrize("name", ["split", "together"])
def test_what_calls_print_is_output(split: Jailed, together: Jailed, name: str) -> None:
    source = "def f(x):\n    print('called with', x)\n    return x\nprint('begun')"

    execution = judge({"split": split, "together": together}[name], source, "f(1) == 1", "f('ب')")

    assert execution.outcome == "pass"
    assert execution.output == "begun\ncalled with 1\ncalled with ب\n"


NUMPY = """
import numpy as np
from numpy import array
def f(x): return x
def mean(x): return np.mean(x)
def square(): return np.arange(4).reshape(2, 2)
def turned(): return np.asfortranarray(np.arange(6).reshape(2, 3))
def names(): return np.array(["a", "b"])
def above(a, least): return a[a > least]
> np.array_equal(square(), [[0, 1], [2, 3]])
> mean([1, 2, 3]) == 2.0 and isinstance(mean(np.array([1, 2])), float)
> square().shape == (2, 2) and square().dtype == np.int64 and square()[1, 0] == 2
> (square() == np.array([[0, 1], [2, 3]])).all() and square().T.tolist() == [[0, 2], [1, 3]]
> np.testing.assert_allclose(square() @ np.eye(2), square()) is None
> turned().tolist() == [[0, 1, 2], [3, 4, 5]] and above(array([1, 2, 3]), 1).tolist() == [2, 3]
> f(np.array([1.5], dtype=np.float32)).dtype == np.float32 and f(np.zeros((0, 3))).shape == (0, 3)
> f({"a": np.ones(2)})["a"].sum() == 2 and f(np.float32(1.5)) == 1.5 and f(np.array(5)) == 5
> np.isnan(f(np.nan)) and f(np.array([1j]))[0] == 1j and names().tolist() == ["a", "b"]
> f(lambda a: a + 1)(np.ones(1))[0] == 2
! np.array_equal(square(), [[0, 1], [2, 4]])
"""


@pytest.mark.skipif(find_spec("numpy") is None, reason="numpy is not installed")
@pytest.mark.parametrize("verdicts", ["split", "plain"])
def test_arrays(verdicts: Verdicts) -> None:
    with opened(verdicts, packages=["numpy"]) as sandbox:
        check(sandbox, NUMPY)
