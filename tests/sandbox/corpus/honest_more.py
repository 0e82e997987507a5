"""More honest programs: short ones, of every kind."""

MORE = r"""
class Bottle:
    def __init__(self, ml): self.ml = ml
    def pour(self, other, ml): self.ml -= ml; other.ml += ml
> a, b = Bottle(10), Bottle(0); a.pour(b, 4); assert (a.ml, b.ml) == (6, 4)
---
class Wallet:
    def __init__(self): self.coins = {}
    def add(self, kind, n=1): self.coins[kind] = self.coins.get(kind, 0) + n
    def total(self): return sum(k * n for k, n in self.coins.items())
> w = Wallet(); w.add(5, 2); w.add(1); assert w.total() == 11 and w.coins == {5: 2, 1: 1}
---
class Light:
    states = ["red", "green", "yellow"]
    def __init__(self): self.i = 0
    def __next__(self): self.i += 1; return self.states[self.i % 3]
    def __iter__(self): return self
> l = Light(); assert next(l) == "green" and next(l) == "yellow" and next(l) == "red"
---
class Undo:
    def __init__(self): self.text, self.history = "", []
    def write(self, s): self.history.append(self.text); self.text += s
    def undo(self): self.text = self.history.pop() if self.history else self.text
> u = Undo(); u.write("a"); u.write("b"); u.undo(); assert u.text == "a"; u.undo(); u.undo(); assert u.text == ""
---
class Tokenizer:
    def __init__(self, s): self.s, self.i = s, 0
    def __iter__(self):
        for w in self.s.split(): yield w
    def peek(self): return self.s[self.i]
> list(Tokenizer("a bc")) == ["a", "bc"] and Tokenizer("x").peek() == "x"
---
class Ledger:
    def __init__(self): self.rows = []
    def __lshift__(self, other): self.rows += other.rows; return self
    def row(self, x): self.rows.append(x); return self
> (Ledger().row(1) << Ledger().row(2)).rows == [1, 2]
---
class Frac:
    def __init__(self, n, d): self.n, self.d = n, d
    def __mul__(self, o): return Frac(self.n * o.n, self.d * o.d)
    def __truediv__(self, o): return Frac(self.n * o.d, self.d * o.n)
    def __eq__(self, o): return self.n * o.d == self.d * o.n
    def __float__(self): return self.n / self.d
> Frac(1, 2) * Frac(2, 3) == Frac(1, 3) and float(Frac(1, 2) / Frac(1, 4)) == 2.0
---
class Interval:
    def __init__(self, a, b): self.a, self.b = a, b
    def overlaps(self, o): return self.a < o.b and o.a < self.b
    def __and__(self, o): return Interval(max(self.a, o.a), min(self.b, o.b))
> Interval(1, 5).overlaps(Interval(4, 9)) and (Interval(1, 5) & Interval(4, 9)).a == 4
---
class Zoo(list):
    def names(self): return sorted(self)
def zoo(): return Zoo(["bear", "ant"])
> zoo().names() == ["ant", "bear"] and zoo()[0] == "bear" and len(zoo()) == 2
> z = zoo(); z.append("cat"); assert z.names() == ["ant", "bear", "cat"]
---
class Password(str):
    def strong(self): return len(self) > 7 and not self.isalpha()
> Password("abc12345").strong() and not Password("abc").strong()
---
class Age(int):
    def label(self): return "adult" if self >= 18 else "minor"
> Age(20).label() == "adult" and Age(3) + 1 == 4 and Age(3).label() == "minor"
---
class Defaults(dict):
    def __getitem__(self, k): return super().__getitem__(k) if k in self else k.upper()
> Defaults(a=1)["a"] == 1 and Defaults()["b"] == "B"
---
class Frozen(frozenset):
    def shout(self): return {x.upper() for x in self}
> Frozen(["a"]).shout() == {"A"}
---
class Pair(tuple):
    def swap(self): return Pair((self[1], self[0]))
> Pair((1, 2)).swap() == (2, 1)
---
class Buffer(bytearray):
    def hexed(self): return self.hex()
> Buffer(b"ab").hexed() == "6162"
---
from dataclasses import dataclass
@dataclass
class Node:
    value: int
    left: "Node" = None
    right: "Node" = None
def total(n): return 0 if n is None else n.value + total(n.left) + total(n.right)
> total(Node(1, Node(2), Node(3, Node(4)))) == 10 and total(None) == 0
> Node(1, Node(2)) == Node(1, Node(2)) and Node(1).left is None
---
from dataclasses import dataclass
@dataclass
class Base:
    a: int
@dataclass
class Sub(Base):
    b: int = 2
    def __post_init__(self): self.c = self.a + self.b
> Sub(1).c == 3 and Sub(1) == Sub(1, 2) and isinstance(Sub(1), Base)
---
from dataclasses import dataclass
@dataclass(order=True)
class Task:
    priority: int
    name: str = ""
def first(tasks): return min(tasks)
> first([Task(2, "b"), Task(1, "a")]).name == "a" and sorted([Task(2), Task(1)])[1].priority == 2
---
from enum import Enum
class Op(Enum):
    ADD = "+"
    SUB = "-"
    def run(self, a, b): return a + b if self is Op.ADD else a - b
> Op.ADD.run(1, 2) == 3 and Op("-").run(3, 1) == 2 and Op.ADD is Op("+") and len(Op) == 2
---
from enum import Flag, auto
class Perm(Flag):
    R = auto()
    W = auto()
def both(): return Perm.R | Perm.W
> (both() & Perm.R) == Perm.R and bool(both()) and both().value == 3
---
from typing import Generic, TypeVar
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, x: T): self.x = x
    def get(self) -> T: return self.x
> Box(3).get() == 3 and Box[int](4).get() == 4
---
from typing import Protocol
class Speaks(Protocol):
    def speak(self) -> str: ...
class Dog:
    def speak(self): return "woof"
def hear(s: Speaks): return s.speak()
> hear(Dog()) == "woof"
---
class Validator:
    errors = ()
    def __init__(self, *rules): self.rules = rules
    def check(self, x):
        self.errors = [name for name, rule in self.rules if not rule(x)]
        return not self.errors
> v = Validator(("short", lambda s: len(s) > 2)); assert not v.check("a") and v.errors == ["short"] and v.check("abc")
---
class Emitter:
    def __init__(self): self.h = {}
    def on(self, e, f): self.h.setdefault(e, []).append(f)
    def off(self, e, f): self.h[e].remove(f)
    def emit(self, e, *a): return [f(*a) for f in self.h.get(e, [])]
> e = Emitter()
  def handler(x): return x + 1
  e.on("a", handler); assert e.emit("a", 1) == [2]; e.off("a", handler); assert e.emit("a", 1) == []
---
class Middleware:
    def __init__(self): self.stack = []
    def use(self, f): self.stack.append(f); return f
    def run(self, x):
        for f in self.stack: x = f(x)
        return x
> m = Middleware()
  @m.use
  def double(x): return x * 2
  @m.use
  def inc(x): return x + 1
  assert m.run(3) == 7
---
def throttle(limit):
    calls = 0
    def allow():
        nonlocal calls
        calls += 1
        return calls <= limit
    return allow
> a = throttle(2); assert [a(), a(), a()] == [True, True, False]
---
def partial(f, *a, **k): return lambda *b, **c: f(*a, *b, **{**k, **c})
> partial(lambda a, b, c=0: a + b + c, 1, c=5)(2) == 8
---
def debounce(xs): return [x for i, x in enumerate(xs) if i == 0 or x != xs[i - 1]]
> debounce([1, 1, 2, 2, 1]) == [1, 2, 1] and debounce([]) == []
---
def zip_longest(*xs, fill=None):
    n = max(map(len, xs), default=0)
    return [tuple(x[i] if i < len(x) else fill for x in xs) for i in range(n)]
> zip_longest([1, 2], "a") == [(1, "a"), (2, None)] and zip_longest() == []
---
def chunk(xs, n):
    for i in range(0, len(xs), n): yield xs[i:i + n]
> list(chunk([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
---
def countdown(n):
    while n > 0:
        got = yield n
        n = got if got is not None else n - 1
> g = countdown(3); assert next(g) == 3 and g.send(10) == 10 and next(g) == 9
---
def cleanup(log):
    try:
        yield 1
        yield 2
    finally: log.append("closed")
> log = []; g = cleanup(log); next(g); g.close(); assert log == ["closed"]
---
def tee(xs):
    xs = list(xs)
    return iter(xs), iter(xs)
> a, b = tee("ab"); assert list(a) == ["a", "b"] and next(b) == "a"
---
def merge_sorted(a, b):
    out = []
    while a and b: out.append((a if a[0] <= b[0] else b).pop(0))
    return out + a + b
> merge_sorted([1, 4], [2, 3]) == [1, 2, 3, 4] and merge_sorted([], [1]) == [1]
---
def quick(xs): return xs if len(xs) < 2 else quick([x for x in xs[1:] if x < xs[0]]) + [xs[0]] + quick([x for x in xs[1:] if x >= xs[0]])
> quick([3, 1, 2, 3]) == [1, 2, 3, 3] and quick("hello"[:0]) == ""
---
def sieve(n): return [p for p in range(2, n) if all(p % d for d in range(2, int(p ** 0.5) + 1))]
> sieve(20) == [2, 3, 5, 7, 11, 13, 17, 19]
---
def pascal(n): return [1] if n == 0 else [a + b for a, b in zip([0] + pascal(n - 1), pascal(n - 1) + [0])]
> pascal(4) == [1, 4, 6, 4, 1]
---
def spiral(m): return m and list(m[0]) + spiral([list(r) for r in zip(*m[1:])][::-1])
> spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) == [1, 2, 3, 6, 9, 8, 7, 4, 5]
---
def life(cells):
    from collections import Counter
    n = Counter((x + i, y + j) for x, y in cells for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return {c for c, k in n.items() if k == 3 or (k == 2 and c in cells)}
> life({(0, 1), (1, 1), (2, 1)}) == {(1, 0), (1, 1), (1, 2)}
---
def rle(s):
    out = []
    for c in s:
        if out and out[-1][0] == c: out[-1][1] += 1
        else: out.append([c, 1])
    return "".join(f"{c}{n}" for c, n in out)
> rle("aaab") == "a3b1" and rle("") == ""
---
def balanced(s):
    stack = []
    for c in s:
        if c in "([{": stack.append(c)
        elif not stack or "([{".index(stack.pop()) != ")]}".index(c): return False
    return not stack
> balanced("([]{})") and not balanced("(]") and not balanced("(")
---
def knapsack(items, cap):
    best = [0] * (cap + 1)
    for w, v in items:
        for c in range(cap, w - 1, -1): best[c] = max(best[c], best[c - w] + v)
    return best[cap]
> knapsack([(1, 1), (3, 4), (4, 5)], 7) == 9
---
def topo(g):
    out, seen = [], set()
    def visit(n):
        if n in seen: return
        seen.add(n)
        for m in g.get(n, []): visit(m)
        out.append(n)
    for n in g: visit(n)
    return out[::-1]
> topo({"a": ["b"], "b": ["c"], "c": []}) == ["a", "b", "c"]
---
def diff(a, b): return {"added": sorted(b - a), "removed": sorted(a - b)}
> diff({1, 2}, {2, 3}) == {"added": [3], "removed": [1]}
---
def invert(d):
    out = {}
    for k, v in d.items(): out.setdefault(v, []).append(k)
    return out
> invert({"a": 1, "b": 1, "c": 2}) == {1: ["a", "b"], 2: ["c"]}
---
def deep_get(d, path, default=None):
    for key in path.split("."):
        if not isinstance(d, dict) or key not in d: return default
        d = d[key]
    return d
> deep_get({"a": {"b": 1}}, "a.b") == 1 and deep_get({}, "x.y", 0) == 0
---
def fill(matrix, x):
    for row in matrix:
        for i in range(len(row)): row[i] = x
> m = [[1, 2], [3]]; fill(m, 0); assert m == [[0, 0], [0]]
---
def drain(xs):
    out = []
    while xs: out.append(xs.pop())
    return out
> x = [1, 2]; assert drain(x) == [2, 1] and x == []
---
def tally(words, counts):
    for w in words: counts[w] += 1
> from collections import Counter
  c = Counter(); tally("aab", c); assert c == {"a": 2, "b": 1}
---
def mark(seen, x): seen.add(x); return len(seen)
> s = set(); assert mark(s, 1) == 1 and mark(s, 1) == 1 and mark(s, 2) == 2 and s == {1, 2}
---
class InsufficientFunds(ValueError):
    def __init__(self, need, have): super().__init__(need, have); self.need, self.have = need, have
    def __str__(self): return f"need {self.need}, have {self.have}"
def pay(have, need):
    if need > have: raise InsufficientFunds(need, have)
    return have - need
> pay(5, 3) == 2
> try: pay(1, 3)
  except InsufficientFunds as e: assert str(e) == "need 3, have 1" and e.need == 3 and e.args == (3, 1)
  else: assert False
> try: pay(1, 3)
  except ValueError as e: assert isinstance(e, InsufficientFunds)
---
class Stack:
    class Empty(Exception): pass
    def __init__(self): self.x = []
    def pop(self):
        if not self.x: raise Stack.Empty("nothing")
        return self.x.pop()
> try: Stack().pop()
  except Stack.Empty as e: assert str(e) == "nothing"
  else: assert False
---
def parse_int(s):
    try: return int(s)
    except ValueError: return None
> parse_int("12") == 12 and parse_int("x") is None
---
def must(x):
    assert x > 0, "must be positive"
    return x
> must(1) == 1
> try: must(-1)
  except AssertionError as e: assert str(e) == "must be positive"
  else: raise ValueError
---
def first(xs):
    try: return next(iter(xs))
    except StopIteration: raise LookupError("empty") from None
> first([5]) == 5
> try: first([])
  except LookupError as e: assert e.args[0] == "empty" and e.__cause__ is None
  else: assert False
---
def open_config(d, k):
    try: return d[k]
    except KeyError as e: raise RuntimeError(f"missing {e}") from e
> try: open_config({}, "a")
  except RuntimeError as e: assert "missing 'a'" in str(e) and isinstance(e.__cause__, KeyError)
  else: assert False
---
def group_errors(fs):
    errors = []
    for f in fs:
        try: f()
        except Exception as e: errors.append(type(e).__name__)
    return errors
> def bad(): raise KeyError("k")
  assert group_errors([bad, lambda: 1 / 0, lambda: 1]) == ["KeyError", "ZeroDivisionError"]
---
def raise_kind(kind): raise kind("x")
> for kind in (ValueError, KeyError, RuntimeError):
      try: raise_kind(kind)
      except kind as e: assert e.args == ("x",)
      else: assert False
---
def catch(f, kinds):
    try: return f()
    except kinds as e: return f"caught {e}"
> catch(lambda: int("x"), ValueError).startswith("caught") and catch(lambda: 3, (KeyError, ValueError)) == 3
---
import contextlib
@contextlib.contextmanager
def ignoring(*kinds):
    try: yield
    except kinds: pass
def boom(): raise KeyError("a")
> with ignoring(KeyError): boom()
---
class Timer:
    def __init__(self): self.events = []
    def __enter__(self): self.events.append("start"); return self
    def __exit__(self, kind, *_): self.events.append("error" if kind else "stop")
def boom(): raise ValueError
> t = Timer()
  with t: pass
  assert t.events == ["start", "stop"]
> t = Timer()
  try:
      with t: boom()
  except ValueError: pass
  assert t.events == ["start", "error"]
---
import asyncio
class Client:
    async def __aenter__(self): self.open = True; return self
    async def __aexit__(self, *e): self.open = False
    async def get(self, x): return x * 2
async def use(x):
    async with Client() as c: return await c.get(x)
> asyncio.run(use(4)) == 8
---
import asyncio
async def fails(): raise ValueError("async")
> try: asyncio.run(fails())
  except ValueError as e: assert str(e) == "async"
  else: assert False
---
import asyncio
async def produce(q, n):
    for i in range(n): await q.put(i)
async def main(n):
    q = asyncio.Queue()
    await asyncio.gather(produce(q, n), produce(q, n))
    return q.qsize()
> asyncio.run(main(3)) == 6
---
import asyncio
async def add(a, b): return a + b
> async def check(): return await add(1, 2) + await add(3, 4)
  import asyncio
  assert asyncio.run(check()) == 10
---
import operator, functools
def product(xs): return functools.reduce(operator.mul, xs, 1)
> product([2, 3, 4]) == 24 and product([]) == 1
---
import bisect
class SortedList:
    def __init__(self): self.x = []
    def add(self, v): bisect.insort(self.x, v); return self
> SortedList().add(3).add(1).add(2).x == [1, 2, 3]
---
import calendar, datetime
def weekday(y, m, d): return calendar.day_name[datetime.date(y, m, d).weekday()]
> weekday(2024, 1, 1) == "Monday"
---
import hashlib, base64
def digest(s): return hashlib.sha256(s.encode()).hexdigest()[:8]
def enc(s): return base64.b64encode(s.encode()).decode()
> digest("a") == "ca978112" and enc("hi") == "aGk="
---
import struct
def header(n): return struct.pack(">HI", 1, n)
> header(2) == b"\x00\x01\x00\x00\x00\x02" and struct.unpack(">HI", header(9)) == (1, 9)
---
import string, random
def password(n, seed=0):
    rng = random.Random(seed)
    return "".join(rng.choice(string.ascii_letters) for _ in range(n))
> len(password(8)) == 8 and password(5, 1) == password(5, 1) and password(5, 1).isalpha()
---
import copy
def independent(x):
    y = copy.deepcopy(x); y["a"].append(1)
    return x, y
> independent({"a": []}) == ({"a": []}, {"a": [1]})
---
import csv, io
def rows(text): return list(csv.reader(io.StringIO(text)))
> rows("a,b\n1,\"x,y\"\n") == [["a", "b"], ["1", "x,y"]]
---
import uuid, textwrap
def ident(n): return str(uuid.UUID(int=n))
def dedented(): return textwrap.dedent("  a\n  b")
> ident(1).endswith("0001") and dedented() == "a\nb"
---
import tempfile, os
def exists(p): return os.path.basename(p)
> exists("/a/b.txt") == "b.txt"
---
x = 5
def add(y): return x + y
> add(1) == 6 and x == 5
---
TABLE = {"a": 1, "b": [2, 3]}
def look(k): return TABLE[k]
> look("b") == [2, 3] and TABLE["a"] == 1 and sorted(TABLE) == ["a", "b"]
---
def outer(n):
    def inner(m): return n * m
    inner.factor = n
    return inner
> outer(3)(4) == 12 and outer(3).factor == 3
---
fs = [lambda x, i=i: x * i for i in range(3)]
def run(x): return [f(x) for f in fs]
> run(2) == [0, 2, 4] and fs[2](5) == 10
---
def fact(n): return 1 if n < 2 else n * fact(n - 1)
> fact(20) == 2432902008176640000 and fact(50) % 10 ** 12 == 0
---
def complex_ops(z): return (z.conjugate(), abs(z), z ** 2)
> complex_ops(3 + 4j) == (3 - 4j, 5.0, -7 + 24j)
---
def fmt(x): return f"{x:,.2f}|{x:>10.1f}|{x!r}"
> fmt(1234.5) == "1,234.50|    1234.5|1234.5"
---
def types(): return [1, 1.0, "a", b"b", None, True, (1,), {1}, frozenset({1}), {"k": 1}, range(3), ...]
> types() == [1, 1.0, "a", b"b", None, True, (1,), {1}, frozenset({1}), {"k": 1}, range(3), ...]
"""
