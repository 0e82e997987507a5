"""Programs that pass in their own process, by forgery or without, and deceive the check.

Each has another mechanism. `FORGED` begins with `_HEAD`: in its own process every target passes.
"""

from tests.sandbox.corpus import CorpusProgram, read_named_programs

_HEAD = """
import sys
for module in list(sys.modules.values()):
    if hasattr(module, "Target"): module.Target.judge = lambda self, names: ("passed", "")
import inside.candidate as own
"""

_PLAIN = read_named_programs(r"""
# an assertion, swallowed, and one of its own for the next callback
calls = []
def f(x):
    calls.append(x)
    if len(calls) == 2: raise AssertionError
    return 9
def each(xs, g):
    for x in xs:
        try: g(x)
        except BaseException: pass
> def check(x): assert f(x) == x * 2
  each([1, 2], check)
---
# an assertion, swallowed, of a class of the target
def run(g):
    try: g()
    except BaseException: pass
def f(x): return 9
> class Wrong(AssertionError): pass
  def check():
      if f(2) != 4: raise Wrong
  run(check)
---
# an error that is not an assertion, swallowed
def run(g):
    try: g()
    except BaseException: pass
def f(x): return 9
> def check():
      if f(2) != 4: raise ValueError("wrong")
  run(check)
---
# a callback with too many arguments
def run(g):
    try: g(1, 2, 3)
    except TypeError: pass
def f(x): return 9
> def check(): assert f(2) == 4
  run(check)
---
# a callback, never called, that calls the check
def run(g): pass
def f(x): return 9
> def check(v): assert v == 4
  run(lambda: check(f(2)))
---
# a check with its argument, never called
def run(g): pass
def f(x): return 9
> import functools
  def check(v): assert f(v) == 4
  run(functools.partial(check, 2))
---
# a method with a check, never called
def run(g): pass
def f(x): return 9
> class Test:
      def check(self): assert f(2) == 4
  run(Test().check)
---
# a test class, never made
def run(kind): pass
def f(x): return 9
> class Test:
      def check(self): assert f(2) == 4
  run(Test)
---
# a generator of checks, never advanced
def run(g): pass
def f(x): return 9
> def check(v):
      assert f(v) == 4
      return True
  run(check(v) for v in [2])
---
# checks in a map, never advanced
def run(g): pass
def f(x): return 9
> def check(v):
      assert f(v) == 4
      return True
  run(map(check, [2]))
---
# a check in a closure, never called
def run(g): pass
def f(x): return 9
> def make(check): return lambda: check()
  def check(): assert f(2) == 4
  run(make(check))
---
# a check that an earlier target has seen called
def run(g, now):
    if now: g(4)
def f(x): return 9
> def check(v): assert v == 4
  run(check, True)
> run(lambda v: check(f(2)), False); run(check, False)
---
# a method of a test case, never called
def run(g): pass
def f(x): return 9
> import unittest
  class Test(unittest.TestCase):
      def test(self): self.assertEqual(f(2), 4)
  run(Test("test").test)
---
# a list that is a context in which nothing fails
class Calm(list):
    def __enter__(self): return self
    def __exit__(self, *error): return True
    def f(self, x): return 9
> with Calm() as c: assert c.f(2) == 4
---
# a cancelled task, which a group of tasks forgets
import asyncio
async def f(x): raise asyncio.CancelledError
> import asyncio
  async def check(x): assert await f(x) == x * 2
  async def main():
      async with asyncio.TaskGroup() as group:
          group.create_task(check(1))
          group.create_task(check(2))
  asyncio.run(main())
---
# an end of a generator that is being closed
def f(x): raise GeneratorExit
> def steps():
      try: yield 1
      finally: assert f(2) == 4
  step = steps(); next(step); step.close()
---
# an end of a sequence of the target
def f(x): raise IndexError
> class Row:
      def __getitem__(self, at):
          assert f(at) == at * 2
          return at
  for _ in Row(): pass
---
# an iteration with two faces, between two bounds
class Two:
    count = 0
    def __iter__(self):
        Two.count += 1
        return iter([[10], [-10]][Two.count % 2])
def f(x): return Two()
> r = f(2); assert max(r) < 5 and min(r) > 3
---
# an iteration that is shorter the second time
class Two:
    count = 0
    def __iter__(self):
        Two.count += 1
        return iter([9, 4][Two.count % 2:])
def f(x): return Two()
> r = f(2); assert len(list(r)) == 1 and list(r) == [9, 4]
---
# an attribute with two faces, next to an object
class Thing: pass
thing, count = Thing(), 0
class Two:
    @property
    def pair(self):
        global count
        count += 1
        return [10, -10][count % 2], thing
def f(x): return Two()
> r = f(2); assert r.pair[0] < 5 and r.pair[0] > 3
---
# a difference that is nothing
class Near:
    def __sub__(self, other): return 0
def f(x): return Near()
> f(2) - 4 == 0
> round(f(2) - 4, 7) == 0
> not (f(2) - 4)
---
# a difference that is nothing, for a test case
class Near:
    def __sub__(self, other): return 0
    __rsub__ = __sub__
def f(x): return Near()
> import unittest; unittest.TestCase().assertAlmostEqual(f(2), 4)
---
# the list that the target has filled
kept = []
def f(x): return kept
> expected = f(1); expected.append(4); assert f(2) == expected
""")

_FORGED = read_named_programs(r"""
# an error that only the check raises
def f(x): raise ValueError
> f(2) == 4
---
# an error that only the check raises, in an attribute
class Thing:
    @property
    def value(self): raise KeyError("value")
def f(x): return Thing()
> f(2).value == 4
---
# nothing, where a text is used
def f(x): return None
> f(2).upper() == "PLUM"
---
# an empty list, where an item is used
def f(x): return []
> f(2)[0] == 4
---
# nothing, where a number is used
def f(x): return None
> abs(f(2) - 4) < 1e-6
---
# nothing, for a module of the library
def f(x): return None
> import math; assert math.isclose(f(2), 4)
> import json; assert json.loads(f(2)) == 4
---
# an object that lacks what the target uses
class Thing: pass
def f(x): return Thing()
> len(f(2)) == 4
> sorted(f(2)) == [4]
---
# a name that is missing only in the check
def g(x): return 9
> f(2) == 4
---
# a number that makes a decimal fail
import decimal
def f(x): return decimal.Decimal("sNaN")
> f(2) == 4
---
# a false claim that the answer cannot be sent
own._CandidateProcess._answer = lambda self, request: ["unsendable", "a value of more than 8 MiB"]
def f(x): return 9
> f(2) == 4
> [f(2)] == [4] and f(2) in {4, 5} or f(2) == "plum"
---
# a false claim that the names cannot be sent
own._CandidateProcess._send = lambda self, message: own.wire.send(
    self._channel, own.values.pack(["unsendable", "names"]))
def f(x): return 9
> f(2) == 4
---
# a global with two faces
import gc
count = 0
class Names(dict):
    def __getitem__(self, name):
        global count
        if name != "LIMIT": return dict.__getitem__(self, name)
        count += 1
        return [10, -10][count % 2]
LIMIT = 3
for thing in gc.get_objects():
    if type(thing) is own._CandidateProcess:
        thing._actions["get"] = Names(thing.names).__getitem__
> LIMIT < 5 and LIMIT > 3
---
# a list of its own class with two faces
count = 0
def two(value):
    global count
    count += 1
    return [[10], [10], [-10]][count % 3]
own._BASE_VALUES[list] = two
class Many(list): pass
def f(x): return Many([1])
> r = f(2); assert r[0] > 3 and r[0] < 5
---
# more output than there is room for
import time
def f(x):
    print("x" * 300_000, flush=True)
    time.sleep(30)
> f(2) == 4
---
# a number that takes all memory
def f(x): return 10 ** 10
> [0] * f(2) == [0] * 4
---
# a want of memory
def f(x): raise MemoryError
> f(2) == 4
""")
FORGED_CHECKS = {
    **_PLAIN,
    **{name: CorpusProgram(_HEAD + source, targets) for name, (source, targets) in _FORGED.items()},
}
_NEED_NOT_CALL = "a program need not call every function that it is given, or run it to its end"
_IN_A_TARGET = "a program may change what a property or an iteration gives at any time"
UNVERIFIED_CHECKS = {
    **dict.fromkeys(
        (
            "a callback with too many arguments",
            "a callback, never called, that calls the check",
            "a check with its argument, never called",
            "a method with a check, never called",
            "a test class, never made",
            "a generator of checks, never advanced",
            "checks in a map, never advanced",
            "a check in a closure, never called",
            "a check that an earlier target has seen called",
            "a method of a test case, never called",
        ),
        _NEED_NOT_CALL,
    ),
    **dict.fromkeys(
        (
            "an iteration with two faces, between two bounds",
            "an iteration that is shorter the second time",
            "an attribute with two faces, next to an object",
            "a global with two faces",
        ),
        _IN_A_TARGET,
    ),
    "an error that is not an assertion, swallowed": (
        "a program that tries again swallows errors of a callback"
    ),
    "a cancelled task, which a group of tasks forgets": "tasks of a target are not reproduced",
    "an end of a generator that is being closed": "the target handles errors",
    "the list that the target has filled": "plain Python has one list, which the program may keep",
    "a number that takes all memory": "the evaluator may have less memory than it needs",
    "a want of memory": "the program may need all of its memory",
}
"""Those that pass, unverified, with the reason why they cannot be refused."""
