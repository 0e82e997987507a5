"""What an author may write about what is the same, or changes: `test_split` has the rest."""

from collections.abc import Iterator

import pytest
from tests.sandbox.test_split import check, judge, named, opened

from evalwright.sandbox.jailed import Jailed


@pytest.fixture(scope="module")
def split() -> Iterator[Jailed]:
    with opened("split") as jailed:
        yield jailed


@pytest.fixture(scope="module")
def together() -> Iterator[Jailed]:
    with opened("plain") as jailed:
        yield jailed


IDENTITY = {
    "names in the body of a class": """
LIMIT = 3
sizes = [1, 2]
def double(n): return n * 2
def abs(n): return 99
> class A: top = LIMIT; both = double(LIMIT); all = [n for n in sizes]; size = abs(-4)
  assert (A.top, A.both, A.all) == (3, 6, [1, 2])
! class B: top = LIMIT
  assert B.top == 4
""",
    "objects": """
class A:
    def me(self): return self
class B(A): pass
def same(x): return x
> a = A(); assert same(a) is a and a.me() is a
> same(A) is A and same(A) == A and B.__bases__ == (A,)
> a = A(); assert a == same(a) and A() != A() and len({a, same(a), A()}) == 2
> a = A(); assert a in [A(), a] and {a: 1}[same(a)] == 1
! a = A(); assert same(a) is not a
""",
    "members of an enumeration": """
from enum import Enum
class Color(Enum):
    RED, BLUE = 1, 2
def pick(n): return Color(n)
> pick(1) is Color.RED and pick(1) == Color.RED and pick(1) != Color.BLUE
> pick(2) in (Color.RED, Color.BLUE) and {Color.RED: 1}[pick(1)] == 1
> pick(2).value == 2 and pick(2).name == "BLUE" and [c.name for c in Color] == ["RED", "BLUE"]
! pick(1) == Color.BLUE
""",
}
IN_PLACE = {
    "containers of the library": """
from collections import Counter, OrderedDict, defaultdict, deque
def count(words, into):
    for word in words: into[word] += 1
def push(queue): queue.append(1); queue.rotate(1)
def turn(order): order.move_to_end("a")
def same(x): return x
> c = Counter("a"); count("ab", c); assert c == Counter("aab") and same(c) is c
> d = defaultdict(int); count("aa", d); assert d == {"a": 2} and d["z"] == 0
> d = defaultdict(lambda: 5); count("a", d); assert d["a"] == 6
> q = deque([0]); push(q); assert list(q) == [1, 0]
> o = OrderedDict(a=1, b=2); turn(o); assert list(o) == ["b", "a"]
! c = Counter(); count("a", c); assert c == Counter()
""",
    "a class that is a list": """
class Stack(list):
    def push(self, x): self.append(x); return self
    def total(self): return sum(self)
class Config(dict):
    def __missing__(self, key): return f"no {key}"
    def set(self, key, value): self[key] = value
> s = Stack(); s.push(1).push(2); assert s == [1, 2] and len(s) == 2 and 2 in s
> s = Stack([3]); s.append(4); s[0] = 1; assert s.total() == 5 and s.pop() == 4 and s == [1]
> s = Stack([1]); s += [2]; assert s.total() == 3 and sorted(s, reverse=True) == [2, 1]
> c = Config(a=1); c.set("b", 2); assert c == {"a": 1, "b": 2} and c["z"] == "no z"
> c = Config(); c["k"] = 1; assert list(c.items()) == [("k", 1)] and "k" in c and c.get("q") is None
! s = Stack(); s.push(1); assert s == []
""",
}
VALUES = {
    "order, zones, slices": """
import datetime as dt
from collections import OrderedDict
def ordered(): return OrderedDict([("b", 1), ("a", 2)])
def noon(): return dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc)
def f(x): return x
class Row:
    def __getitem__(self, at): return list(range(10))[at]
> list(ordered()) == ["b", "a"] and ordered() == OrderedDict(b=1, a=2)
> noon() == dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc)
> f(noon()).utcoffset() == dt.timedelta(0)
> Row()[1:4] == [1, 2, 3] and Row()[::-5] == [9, 4]
> f(...) is ... and f(slice(1, 2)) == slice(1, 2) and f("\\ud83d\\ude00") == "\\ud83d\\ude00"
! list(ordered()) == ["a", "b"]
""",
}
EXCEPTIONS = {
    "a family of them": """
class Mine(Exception):
    def __init__(self, code, text=""): super().__init__(text); self.code = code
class Sub(Mine): pass
def fail(n): raise Sub(n, f"number {n}")
def give(): return ValueError("given")
def take(error): return f"{type(error).__name__}: {error}"
> try: fail(3)
  except Mine as error: assert error.code == 3 and str(error) == "number 3"
> issubclass(Sub, Mine) and issubclass(Mine, Exception) and not issubclass(Mine, Sub)
> Mine(1, "b").code == 1 and str(Mine(1, "b")) == "b"
> try: raise Sub(5, text="x")
  except Mine as error: assert error.code == 5 and isinstance(error, Sub)
> isinstance(give(), ValueError) and give().args == ("given",)
> take(KeyError("k")) == "KeyError: 'k'"
! try: fail(1)
  except Mine as error: assert error.code == 2
""",
    "through a callback, and of the library": """
import json
def safe(call):
    try: return call()
    except Exception as error: return f"{type(error).__name__}: {error}"
def parse(text): return json.loads(text)
> safe(lambda: 1 / 0) == "ZeroDivisionError: division by zero"
> safe(lambda: {}["k"]) == "KeyError: 'k'"
> try: parse("{")
  except json.JSONDecodeError as error: assert "Expecting" in str(error)
! safe(lambda: 1) == 2
""",
}
SURROUNDINGS = {
    "what is printed": """
def greet(name): print("hello", name); return 5
> import contextlib, io
  out = io.StringIO()
  with contextlib.redirect_stdout(out): assert greet("you") == 5
  assert out.getvalue() == "hello you\\n"
> greet("me") == 5
! import contextlib, io
  with contextlib.redirect_stdout(io.StringIO()) as out: greet("you")
  assert out.getvalue() == ""
""",
    "threads of a target": """
def double(x): return 2 * x
> from concurrent.futures import ThreadPoolExecutor
  with ThreadPoolExecutor(8) as pool:
      assert list(pool.map(double, range(50))) == [2 * n for n in range(50)]
! double(1) == 3
""",
    "the environment": """
import os
from os import environ
def read(name): return os.environ.get(name, "none") + environ.get(name, "")
def write(name, text): os.environ[name] = text
> read("A") == "none"
> import os
  os.environ["A"] = "x"; assert read("A") == "xx" and read("B") == "none"
> import os
  os.environ["A"] = "\u0645\u0631"; os.environ["B"] = ""; assert read("A") == "\u0645\u0631" * 2
  del os.environ["A"]; assert (read("A"), read("B")) == ("none", "")
> import os
  write("C", "c"); os.environ["D"] = "d"; assert (read("C"), read("D")) == ("cc", "dd")
! import os
  os.environ["A"] = "x"; assert read("A") == "none"
""",
    "what is typed in": """
import sys
def add(): return sum(int(line) for line in sys.stdin)
def greet(): return "hello " + input()
def rest(): return sys.stdin.read()
> import io, sys
  sys.stdin = io.StringIO("1\\n2\\n"); assert add() == 3
  sys.stdin = io.StringIO("\u0645\\nme\\nrest"); assert greet() == "hello \u0645"
  assert greet() == "hello me" and rest() == "rest" and rest() == ""
> import io
  from unittest.mock import patch
  with patch("sys.stdin", io.StringIO("skipped\\nyou")) as typed:
      typed.readline(); assert greet() == "hello you"
> rest() == ""
! import io, sys
  sys.stdin = io.StringIO("1"); assert add() == 2
""",
    "a seed": """
import random
from random import randint, shuffle
def roll(): return randint(1, 10**9)
def mix(values): shuffle(values); return values
def draw(seed): return random.Random(seed).random()
> import random
  random.seed(1); a = roll(); random.seed(1); b = roll(); assert a == b != roll()
> import random
  random.seed(1); x = random.randint(1, 10**9); random.seed(1); assert roll() == x
> from random import Random
  import random
  random.seed(2); values = [1, 2, 3, 4]; Random(2).shuffle(values)
  assert mix([1, 2, 3, 4]) == values
> import random
  random.seed(3); state = random.getstate(); a = roll()
  random.setstate(state); assert roll() == a and draw(3) == draw(3)
! import random
  random.seed(1); a = roll(); random.seed(2); assert roll() == a
""",
    "documentation": '''
def f():
    """Says five."""
    return 5
class A: "A class."
> f.__doc__ == "Says five." and f.__name__ == "f" and A.__doc__ == "A class."
! f() == 6
''',
}
CASES = named(
    identity=IDENTITY,
    in_place=IN_PLACE,
    values=VALUES,
    exceptions=EXCEPTIONS,
    surroundings=SURROUNDINGS,
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_split_says_what_one_process_says(split: Jailed, together: Jailed, case: str) -> None:
    check(split, case)
    check(together, case)


@pytest.mark.parametrize(
    ("source", "target", "detail"),
    [
        pytest.param(
            "class A: pass",
            "class B(A): pass",
            "a class of `A` cannot have a subclass here",
            id="a class of the target's from one of the candidate's",
        ),
        pytest.param(
            "def f(): return 'x' * (9 << 20)",
            "len(f()) == 9 << 20",
            "the program's answer cannot be passed: a value of more than 8 MiB",
            id="too large an answer",
        ),
        pytest.param(
            "def f(file): return file.read()",
            "import io\nassert f(io.StringIO('a')) == 'a'",
            "a `StringIO` cannot be passed to the program",
            id="a file",
        ),
    ],
)
def test_what_the_split_cannot_judge_is_an_error(
    split: Jailed, source: str, target: str, detail: str
) -> None:
    execution = judge(split, source, target)

    assert execution.outcome == "error"
    assert detail in execution.detail
