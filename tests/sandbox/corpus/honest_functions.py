"""Honest programs about functions, exceptions, generators, closures, async and state."""

FUNCTIONS = r'''
def make_counter():
    n = 0
    def inc(by=1):
        nonlocal n
        n += by
        return n
    return inc
> c = make_counter(); assert c() == 1 and c(5) == 6 and make_counter()() == 1
---
def compose(*fs):
    def run(x):
        for f in reversed(fs): x = f(x)
        return x
    return run
> compose(lambda x: x + 1, lambda x: x * 2)(5) == 11 and compose()(3) == 3 and compose(str, abs)(-1) == "1"
---
import functools
def twice(f):
    @functools.wraps(f)
    def inner(*a, **k): return f(f(*a, **k))
    return inner
@twice
def inc(x):
    """Add one."""
    return x + 1
> inc(1) == 3 and inc.__name__ == "inc" and inc.__doc__ == "Add one."
> @twice
  def triple(x): return x * 3
  assert triple(2) == 18
---
def retry(times):
    def decorate(f):
        def inner(*a):
            for i in range(times):
                try: return f(*a)
                except ValueError:
                    if i == times - 1: raise
        return inner
    return decorate
> calls = []
  @retry(3)
  def flaky():
      calls.append(1)
      if len(calls) < 3: raise ValueError("no")
      return "ok"
  assert flaky() == "ok" and len(calls) == 3
> @retry(2)
  def always(): raise ValueError("bad")
  try: always()
  except ValueError as error: assert str(error) == "bad"
  else: assert False
---
def memoize(f):
    cache = {}
    def inner(n):
        if n not in cache: cache[n] = f(n)
        return cache[n]
    inner.cache = cache
    return inner
@memoize
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
> fib(30) == 832040 and fib.cache[5] == 5
---
def gen(n):
    for i in range(n): yield i * i
> list(gen(4)) == [0, 1, 4, 9] and sum(gen(3)) == 5 and max(gen(5)) == 16
> g = gen(2); assert next(g) == 0 and next(g) == 1 and next(g, "end") == "end"
---
def averager():
    total, n, avg = 0, 0, None
    while True:
        x = yield avg
        total += x; n += 1; avg = total / n
> g = averager(); next(g); assert g.send(10) == 10 and g.send(20) == 15; g.close()
---
def flatten(x):
    for item in x:
        if isinstance(item, list): yield from flatten(item)
        else: yield item
> list(flatten([1, [2, [3, [4]], 5]])) == [1, 2, 3, 4, 5]
---
def primes():
    found, n = [], 2
    while True:
        if all(n % p for p in found): found.append(n); yield n
        n += 1
> import itertools; assert list(itertools.islice(primes(), 5)) == [2, 3, 5, 7, 11]
> from itertools import takewhile; assert list(takewhile(lambda p: p < 10, primes())) == [2, 3, 5, 7]
---
def windows(xs, n): return [xs[i:i + n] for i in range(len(xs) - n + 1)]
> windows([1, 2, 3, 4], 2) == [[1, 2], [2, 3], [3, 4]] and windows("abc", 2) == ["ab", "bc"] and windows([], 1) == []
---
class ParseError(Exception):
    def __init__(self, line, text):
        super().__init__(f"line {line}: {text}")
        self.line, self.text = line, text
def parse(text):
    for n, line in enumerate(text.split("\n"), 1):
        if "=" not in line: raise ParseError(n, line)
    return dict(line.split("=", 1) for line in text.split("\n"))
> parse("a=1\nb=2") == {"a": "1", "b": "2"}
> try: parse("a=1\nbad")
  except ParseError as error: assert error.line == 2 and error.text == "bad" and str(error) == "line 2: bad"
  else: assert False
---
class AppError(Exception): pass
class NotFound(AppError, KeyError): pass
class Denied(AppError): code = 403
def fetch(k):
    if k == "x": raise Denied("no")
    if k != "a": raise NotFound(k)
    return 1
> fetch("a") == 1
> try: fetch("b")
  except KeyError as error: assert isinstance(error, NotFound) and isinstance(error, AppError)
  else: assert False
> try: fetch("x")
  except AppError as error: assert error.code == 403
  else: assert False
---
def chain(x):
    try: return 10 / x
    except ZeroDivisionError as error: raise ValueError("bad x") from error
> chain(5) == 2
> try: chain(0)
  except ValueError as error: assert isinstance(error.__cause__, ZeroDivisionError)
  else: assert False
---
def check(x):
    if not isinstance(x, int): raise TypeError(f"expected int, got {type(x).__name__}")
    if x < 0: raise ValueError("negative")
    return x
> check(1) == 1
> for bad, kind in (("a", TypeError), (-1, ValueError)):
      try: check(bad)
      except kind as error: assert str(error)
      else: assert False
> try: check("a")
  except TypeError as error: assert error.args == ("expected int, got str",)
---
log = []
def risky(x):
    try:
        if x: raise RuntimeError("x")
        return "ok"
    except RuntimeError: return "caught"
    else: return "never"
    finally: log.append(x)
> risky(0) == "ok" and risky(1) == "caught" and log == [0, 1]
---
def noted():
    error = ValueError("base")
    error.add_note("more")
    raise error
> try: noted()
  except ValueError as error: assert error.__notes__ == ["more"]
  else: assert False
---
import asyncio
async def double(x):
    await asyncio.sleep(0)
    return x * 2
async def all_of(xs): return await asyncio.gather(*map(double, xs))
> asyncio.run(double(4)) == 8 and asyncio.run(all_of([1, 2])) == [2, 4]
---
import asyncio
class Bucket:
    def __init__(self): self.lock, self.n = asyncio.Lock(), 0
    async def add(self, k):
        async with self.lock:
            old = self.n
            await asyncio.sleep(0)
            self.n = old + k
        return self.n
async def fill(k):
    b = Bucket()
    await asyncio.gather(*(b.add(1) for _ in range(k)))
    return b.n
> asyncio.run(fill(10)) == 10
---
import asyncio
async def ticker(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)
async def collect(n): return [i async for i in ticker(n)]
> asyncio.run(collect(3)) == [0, 1, 2]
---
import asyncio
async def worker(q, out):
    while True:
        x = await q.get()
        if x is None: return
        out.append(x * x)
async def run(xs):
    q, out = asyncio.Queue(), []
    for x in [*xs, None]: q.put_nowait(x)
    await worker(q, out)
    return out
> asyncio.run(run([1, 2, 3])) == [1, 4, 9]
---
import asyncio
async def slow(): await asyncio.sleep(10)
async def limited():
    try: await asyncio.wait_for(slow(), 0.01)
    except asyncio.TimeoutError: return "late"
> asyncio.run(limited()) == "late"
---
from contextlib import contextmanager
events = []
@contextmanager
def tag(name):
    events.append(f"<{name}>")
    try: yield name.upper()
    finally: events.append(f"</{name}>")
> with tag("b") as t: assert t == "B"
  assert events == ["<b>", "</b>"]
---
import random
def roll(seed, n):
    random.seed(seed)
    return [random.randint(1, 6) for _ in range(n)]
> roll(1, 5) == roll(1, 5) and len(roll(2, 10)) == 10 and all(1 <= x <= 6 for x in roll(3, 50))
---
import random
def shuffled(xs, seed):
    rng = random.Random(seed)
    ys = list(xs); rng.shuffle(ys)
    return ys
> sorted(shuffled(range(10), 5)) == list(range(10)) and shuffled("abc", 1) == shuffled("abc", 1)
---
def read_numbers():
    numbers = []
    while True:
        try: line = input()
        except EOFError: return numbers
        numbers.append(int(line))
> read_numbers() == []
---
def greet(name="world", *, punctuation="!"): return f"Hello, {name}{punctuation}"
> greet() == "Hello, world!" and greet("Bob", punctuation="?") == "Hello, Bob?"
> try: greet("a", "b")
  except TypeError: pass
  else: assert False
---
def stats(*xs, **options):
    result = {"n": len(xs), "sum": sum(xs)}
    if options.get("mean"): result["mean"] = sum(xs) / len(xs)
    return result
> stats(1, 2, 3) == {"n": 3, "sum": 6} and stats(2, 4, mean=True)["mean"] == 3
---
def sort_in_place(xs):
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]: xs[j], xs[j + 1] = xs[j + 1], xs[j]
> x = [3, 1, 2]; assert sort_in_place(x) is None and x == [1, 2, 3]
---
def merge(a, b): a.update(b); return a
> d = {"x": 1}; assert merge(d, {"y": 2}) == {"x": 1, "y": 2} and d == {"x": 1, "y": 2}
---
def append_to(x, xs=None):
    xs = [] if xs is None else xs
    xs.append(x)
    return xs
> append_to(1) == [1] and append_to(2) == [2]
> mine = [0]; assert append_to(1, mine) is mine and mine == [0, 1]
---
cache = {}
def lookup(k):
    if k not in cache: cache[k] = len(cache)
    return cache[k]
> lookup("a") == 0 and lookup("b") == 1 and lookup("a") == 0 and cache == {"a": 0, "b": 1}
---
counter = 0
def bump():
    global counter
    counter += 1
    return counter
> bump() == 1 and bump() == 2
> counter == 2
---
def fizz(n): return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else i for i in range(1, n + 1)]
> fizz(5) == [1, 2, "Fizz", 4, "Buzz"] and fizz(15)[-1] == "FizzBuzz"
---
def group(words):
    out = {}
    for w in words: out.setdefault("".join(sorted(w)), []).append(w)
    return sorted(out.values())
> group(["eat", "tea", "tan", "ate"]) == [["eat", "tea", "ate"], ["tan"]]
---
from collections import Counter, defaultdict, deque, OrderedDict
def count(text): return Counter(text.split())
def index(words):
    out = defaultdict(list)
    for i, w in enumerate(words): out[w].append(i)
    return out
def last(xs, n): return deque(xs, maxlen=n)
> count("a b a") == {"a": 2, "b": 1} and count("a b a").most_common(1) == [("a", 2)]
> index(["x", "y", "x"])["x"] == [0, 2] and list(last(range(10), 3)) == [7, 8, 9]
---
import itertools
def combos(xs, k): return list(itertools.combinations(xs, k))
def pairs(xs): return list(itertools.pairwise(xs))
def runs(s): return [(k, len(list(g))) for k, g in itertools.groupby(s)]
> combos([1, 2, 3], 2) == [(1, 2), (1, 3), (2, 3)] and pairs("abc") == [("a", "b"), ("b", "c")]
> runs("aabccc") == [("a", 2), ("b", 1), ("c", 3)]
---
import re
def emails(text): return re.findall(r"[\w.]+@[\w.]+\w", text)
def snake(name): return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
> emails("a@b.com, c.d@e.org.") == ["a@b.com", "c.d@e.org"] and snake("CamelCase") == "camel_case"
---
import json
def roundtrip(x): return json.loads(json.dumps(x))
def bad(text):
    try: json.loads(text)
    except json.JSONDecodeError as error: return error.pos
> roundtrip({"a": [1, 2.5, None, True]}) == {"a": [1, 2.5, None, True]} and bad("{") == 1
---
from datetime import date, timedelta, datetime
def next_week(d): return d + timedelta(days=7)
def parse(text): return datetime.strptime(text, "%Y-%m-%d")
> next_week(date(2024, 2, 26)) == date(2024, 3, 4) and parse("2024-01-02").year == 2024
> import datetime as dt; assert next_week(dt.date(2023, 12, 31)).isoformat() == "2024-01-07"
---
from decimal import Decimal
from fractions import Fraction
def price(x): return Decimal(x) * Decimal("1.19")
def half(x): return Fraction(x, 2)
> price("10") == 11.90 or str(price("10")) == "11.90"
> half(3) == Fraction(3, 2) and half(4) == 2
---
def apply_all(fs, x): return [f(x) for f in fs]
> apply_all([abs, str, lambda x: -x], -3) == [3, "-3", 3] and apply_all([], 1) == []
---
def filter_by(xs, *predicates): return [x for x in xs if all(p(x) for p in predicates)]
> filter_by(range(10), lambda x: x % 2, lambda x: x > 4) == [5, 7, 9]
---
def reduce(f, xs, start):
    for x in xs: start = f(start, x)
    return start
> reduce(lambda a, b: a + b, [1, 2, 3], 0) == 6 and reduce(max, [3, 9, 2], 0) == 9
---
def walk(tree, visit):
    visit(tree["v"])
    for c in tree.get("c", []): walk(c, visit)
> seen = []; walk({"v": 1, "c": [{"v": 2}, {"v": 3, "c": [{"v": 4}]}]}, seen.append); assert seen == [1, 2, 3, 4]
---
def with_log(f, log):
    def inner(*a):
        log.append(("call", a))
        r = f(*a)
        log.append(("return", r))
        return r
    return inner
> log = []; g = with_log(lambda x: x + 1, log); assert g(1) == 2 and log == [("call", (1,)), ("return", 2)]
---
def curry(f, n):
    def take(args): return f(*args) if len(args) == n else lambda x: take(args + [x])
    return take([])
> curry(lambda a, b, c: a + b * c, 3)(1)(2)(3) == 7
---
def pipeline(xs):
    evens = (x for x in xs if x % 2 == 0)
    return (x * x for x in evens)
> list(pipeline(range(6))) == [0, 4, 16] and next(pipeline([2])) == 4
---
def lines(it):
    for line in it:
        if line.strip(): yield line.strip()
> list(lines(iter([" a ", "", "b"]))) == ["a", "b"] and list(lines(x for x in ["q"])) == ["q"]
---
def dijkstra(graph, start):
    import heapq
    dist, heap = {start: 0}, [(0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        for v, w in graph.get(u, {}).items():
            if d + w < dist.get(v, float("inf")): dist[v] = d + w; heapq.heappush(heap, (d + w, v))
    return dist
> dijkstra({"a": {"b": 1, "c": 5}, "b": {"c": 2}}, "a") == {"a": 0, "b": 1, "c": 3}
---
def permutations(xs):
    if len(xs) <= 1: return [list(xs)]
    return [[x] + rest for i, x in enumerate(xs) for rest in permutations(xs[:i] + xs[i + 1:])]
> permutations([1, 2, 3])[0] == [1, 2, 3] and len(permutations([1, 2, 3, 4])) == 24
---
def hanoi(n, a="A", b="B", c="C"): return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
> hanoi(2) == [("A", "B"), ("A", "C"), ("B", "C")] and len(hanoi(5)) == 31
---
def solve(n):
    out = []
    def place(row, cols):
        if row == n: out.append(tuple(cols)); return
        for c in range(n):
            if all(c != k and abs(c - k) != row - r for r, k in enumerate(cols)): place(row + 1, cols + [c])
    place(0, [])
    return out
> len(solve(6)) == 4 and solve(4) == [(1, 3, 0, 2), (2, 0, 3, 1)]
---
def deep(n):
    x = []
    for _ in range(n): x = [x]
    return x
def depth(x):
    n = 0
    while x: x = x[0]; n += 1
    return n
> depth(deep(50)) == 50 and deep(2) == [[[]]]
---
import threading
def parallel(n):
    out, lock = [], threading.Lock()
    def work(i):
        with lock: out.append(i * i)
    ts = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return sorted(out)
> parallel(4) == [0, 1, 4, 9]
---
def show(x): print("value:", x)
> import io, contextlib
  out = io.StringIO()
  with contextlib.redirect_stdout(out): show(3)
  assert out.getvalue() == "value: 3\n"
---
import io
def count_lines(f): return sum(1 for _ in f)
def demo(): return count_lines(io.StringIO("a\nb\n"))
> demo() == 2
---
import sys
def total(): return sum(int(x) for x in sys.stdin.read().split())
> import io, sys
  sys.stdin = io.StringIO("1 2 3")
  assert total() == 6
---
import os
def home(): return os.environ.get("APP_HOME", "none")
> home() == "none"
> import os
  os.environ["APP_HOME"] = "/x"
  assert home() == "/x"
---
import random
def pick(): return random.random()
> import random
  random.seed(7); a = pick(); random.seed(7); assert pick() == a
---
def helper(): return "real"
def use(): return helper()
> use() == "real"
> helper = lambda: "fake"
  assert use() == "fake"
---
items = []
def view(): return items
def add(x): items.append(x)
> v = view(); add(1); add(2); assert v == [1, 2]
> view().append(3); assert view() == [1, 2, 3]
---
def same(x): return x
> a = [1]; assert same(a) is a
> def f(): return 1
  assert same(f) is f and same(f)() == 1
---
def swap(d): return {v: k for k, v in d.items()}
> swap({"a": 1}) == {1: "a"} and swap({}) == {}
---
def caesar(s, k): return "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.islower() else c for c in s)
> caesar("xyz!", 3) == "abc!" and caesar(caesar("hello", 5), -5) == "hello"
---
def roman(n):
    out = ""
    for v, s in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while n >= v: out += s; n -= v
    return out
> roman(1994) == "MCMXCIV" and roman(4) == "IV"
---
def bsearch(xs, t):
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < t: lo = mid + 1
        else: hi = mid
    return lo if lo < len(xs) and xs[lo] == t else -1
> bsearch([1, 3, 5], 3) == 1 and bsearch([], 1) == -1 and bsearch([1], 2) == -1
---
def transpose(m): return [list(r) for r in zip(*m)]
> transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]] and transpose([]) == []
---
def powerset(s):
    out = [set()]
    for x in sorted(s): out += [o | {x} for o in out]
    return out
> len(powerset({1, 2, 3})) == 8 and {1, 2} in powerset({1, 2, 3})
---
def freeze(xs): return frozenset(xs)
def view(d): return d.items()
> freeze([1, 1, 2]) == {1, 2} and ("a", 1) in view({"a": 1}) and b"ab" == bytes([97, 98])
---
def switch(x):
    match x:
        case {"type": "point", "x": x, "y": y}: return (x, y)
        case [first, *rest]: return first
        case str(): return "text"
        case _: return None
> switch({"type": "point", "x": 1, "y": 2}) == (1, 2) and switch([7, 8]) == 7 and switch("a") == "text" and switch(1) is None
---
def nested_default(d, *path, default=None):
    for p in path:
        try: d = d[p]
        except (KeyError, IndexError, TypeError): return default
    return d
> nested_default({"a": [{"b": 5}]}, "a", 0, "b") == 5 and nested_default({}, "x", default=0) == 0
---
import statistics, math
def summary(xs): return {"mean": statistics.mean(xs), "median": statistics.median(xs), "max": max(xs)}
def area(r): return math.pi * r * r
> summary([1, 2, 3, 10]) == {"mean": 4, "median": 2.5, "max": 10} and math.isclose(area(1), 3.141592653589793)
> abs(area(2) - 12.566370614359172) < 1e-9 and round(area(1), 2) == 3.14
---
def gcd(a, b):
    while b: a, b = b, a % b
    return a
def big(n): return 2 ** n
> gcd(12, 18) == 6 and big(2000) % 1000 == 376 and len(str(big(1000))) == 302
---
import functools
@functools.lru_cache(maxsize=None)
def collatz(n): return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)
> collatz(27) == 111 and collatz.cache_info().misses > 10
---
@__import__("functools").singledispatch
def kind(x): return "other"
@kind.register
def _(x: int): return "int"
@kind.register
def _(x: list): return "list"
> kind(1) == "int" and kind([1]) == "list" and kind("a") == "other"
---
def words(text, *, stop=frozenset({"a", "the"})): return [w for w in text.lower().split() if w not in stop]
> words("The cat a dog") == ["cat", "dog"] and words("x", stop={"x"}) == []
---
import textwrap, string
def wrap(s, n): return textwrap.wrap(s, n)
def is_pangram(s): return set(string.ascii_lowercase) <= set(s.lower())
> wrap("aa bb cc", 5) == ["aa bb", "cc"] and is_pangram("The quick brown fox jumps over the lazy dog")
---
def unique(xs):
    seen = set()
    return [x for x in xs if not (x in seen or seen.add(x))]
> unique([3, 1, 3, 2, 1]) == [3, 1, 2] and unique("hello") == ["h", "e", "l", "o"]
---
def callback(x, ok, err):
    try: return ok(10 / x)
    except ZeroDivisionError as error: return err(error)
> callback(2, lambda r: r + 1, lambda e: None) == 6
> callback(0, lambda r: r, lambda e: str(e)) == "division by zero"
---
def each(xs, f):
    for i, x in enumerate(xs):
        if f(x, i) is False: break
    return i
> seen = []
  assert each("abc", lambda x, i: seen.append((x, i))) == 2 and seen == [("a", 0), ("b", 1), ("c", 2)]
> each([1, 2, 3], lambda x, i: x < 2) == 1
---
def safe_div(a, b):
    try: return a / b
    except ZeroDivisionError: return float("inf")
    except TypeError as error: raise ValueError("numbers only") from error
> safe_div(1, 0) == float("inf") and safe_div(6, 3) == 2
> try: safe_div("a", 1)
  except ValueError: pass
  else: assert False
---
class Shared:
    log = []
def note(x): Shared.log.append(x); return len(Shared.log)
> note("a") == 1 and note("b") == 2 and Shared.log == ["a", "b"]
---
def rotate(xs, k): k %= len(xs) or 1; return xs[-k:] + xs[:-k]
> rotate([1, 2, 3], 1) == [3, 1, 2] and rotate([], 3) == [] and rotate("abc", 2) == "bca"
---
def lcs(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b): d[i + 1][j + 1] = d[i][j] + 1 if x == y else max(d[i][j + 1], d[i + 1][j])
    return d[-1][-1]
> lcs("ABCBDAB", "BDCABA") == 4 and lcs("", "a") == 0
---
def typed(x: int, y: "list[int]" = ()) -> int: return x + sum(y)
> typed(1, [2, 3]) == 6 and typed.__annotations__["x"] is int
> typed(2) == 2
'''
