"""Programs that do not know the answer and want to pass: what they do with classes and names.

Each block is another mechanism. `tests/sandbox/attacks` has those that go for the process.
"""

FORGERIES = r"""
class S(str): pass
def abs(x): return 0
globals()[S("f")] = lambda x: 999
> abs(f(2) - 4) < 1e-6
---
def all(xs): return True
def f(x): return [7]
> all(y == x for x, y in zip([1], f(1)))
---
def any(xs): return True
def f(x): return []
> any(y == 4 for y in f(2))
---
def isinstance(x, k): return True
def f(x): return None
> isinstance(f(2), int)
---
class Any(frozenset):
    def __eq__(self, o): return True
def set(x=()): return Any()
def f(x): return [9]
> set(f(2)) == {4}
---
def max(*a): return 4
def f(x): return [1]
> max(f(2)) == 4
---
def round(x, n=0): return 4
def f(x): return 17.3
> round(f(2), 2) == 4
---
def sorted(x, **k): return [1, 2, 3]
def f(x): return "nothing"
> sorted(f(2)) == [1, 2, 3]
---
def len(x): return 3
def f(x): return []
> len(f(2)) == 3
---
def str(x): return "4"
def f(x): return 17
> str(f(2)) == "4"
---
def sum(x): return 4
def f(x): return [0]
> sum(f(2)) == 4
---
def list(x=()): return [1, 4]
def f(x): return iter(())
> list(f(2)) == [1, 4]
---
import builtins
builtins.len = lambda x: 3
def f(x): return []
> len(f(2)) == 3
---
__builtins__["print"] = None
__builtins__["sum"] = lambda x: 4
def f(x): return [0]
> sum(f(2)) == 4
---
E = AssertionError
def f(x): return 9
> try: assert f(2) == 4
  except E: pass
---
class Stack:
    Empty = AssertionError
    def top(self): return 9
> try: assert Stack().top() == 4
  except Stack.Empty: pass
---
Problem = Exception
def f(x): return 9
> try: assert f(2) == 4
  except Problem: pass
---
class Any: pass
Fault = BaseException
def f(x): return 9
> try: assert f(2) == 4
  except (KeyError, Fault): pass
---
def errors(): return (AssertionError,)
def f(x): return 9
> try: assert f(2) == 4
  except errors(): pass
---
class Meta(type):
    def __subclasscheck__(cls, k): return True
    def __instancecheck__(cls, k): return True
class Odd(Exception, metaclass=Meta): pass
E = Odd.__mro__[1]
def f(x): return 9
> try: assert f(2) == 4
  except E: pass
---
class Calm:
    def __enter__(self): return self
    def __exit__(self, *e): return True
    def f(self, x): return 9
> with Calm() as c: assert c.f(2) == 4
---
import contextlib
def raises(): return contextlib.suppress(AssertionError)
def f(x): return 9
> with raises(): assert f(2) == 4
---
def run(check):
    try: check()
    except BaseException: pass
    return True
def f(x): return 9
> def check(): assert f(2) == 4
  run(check)
---
def each(xs, g):
    for x in xs:
        try: g(x)
        except Exception: continue
def f(x): return 9
> def check(x): assert f(x) == x * 2
  each([1, 2], check)
---
def decorate(g): return lambda *a: None
def f(x): return 9
> @decorate
  def check(): assert f(2) == 4
  check()
---
class Yes:
    def __eq__(self, o): return True
    __hash__ = None
def f(x): return Yes()
> f(2) == 4
> assert f(3) == 6
---
class Never:
    def __ne__(self, o): return False
def f(x): return Never()
> assert not f(2) != 4
---
class Low:
    def __lt__(self, o): return True
    def __sub__(self, o): return self
    def __abs__(self): return self
def f(x): return Low()
> abs(f(2) - 4) < 1e-6
---
class Zero:
    def __sub__(self, o): return 0
    def __rsub__(self, o): return 0
def f(x): return Zero()
> abs(f(2) - 4) < 1e-6
> abs(4 - f(2)) < 1e-6
---
class I(int):
    def __eq__(self, o): return True
    __hash__ = int.__hash__
def f(x): return I(9)
> f(2) == 4
---
class I(int):
    def __sub__(self, o): return 0
def f(x): return I(9)
> abs(f(2) - 4) < 1e-6
---
class F(float):
    def __lt__(self, o): return True
    __abs__ = __sub__ = lambda self, *o: self
def f(x): return F(9)
> abs(f(2) - 4) < 1e-6
---
class T(str):
    def __eq__(self, o): return True
    __hash__ = str.__hash__
    def lower(self): return self
    strip = lower
def f(x): return T("no")
> f(2).lower().strip() == "plum"
---
class L(list):
    def __eq__(self, o): return True
def f(x): return L([9])
> f(2) == [1, 4]
---
class L(list):
    def __iter__(self): return iter([1, 4])
    def __len__(self): return 2
def f(x): return L()
> list(f(2)) == [1, 4]
> len(f(2)) == 2
---
class D(dict):
    def __eq__(self, o): return True
def f(x): return D()
> f(2) == {"a": 1}
---
class Bag:
    def __contains__(self, x): return True
def f(x): return Bag()
> 4 in f(2)
---
class Bag:
    def __contains__(self, x): return True
    def __iter__(self): return iter(())
def f(x): return Bag()
> 4 in f(2)
---
class Echo(int):
    seen = None
    def __eq__(self, o): Echo.seen = o; return True
    __hash__ = int.__hash__
def f(x): return Echo.seen if Echo.seen is not None else Echo()
> f(2) == 4
> f(2) == 4
---
def f(x, key):
    try: return key("", "", 1, 2, 3)
    except Exception: return 9
> f(2, type) == 4
---
def f(x, g):
    frame = g(object, "__subclasses__")
    return 9 if callable(frame) else 4
> f(2, getattr) == 4
---
def f(x, g): return g("4") if g.__name__ == "eval" else 9
def g(x): return 9
> g(f(2, eval)) == 4
---
class Two:
    n = 0
    @property
    def value(self): Two.n += 1; return [4, 8][Two.n % 2]
def f(x): return Two()
> r = f(2); assert r.value == 8 and r.value == 4
---
class Two(list):
    n = 0
    def __iter__(self): Two.n += 1; return iter([[4], [8, 8]][Two.n % 2])
    def __len__(self): return 3
def f(x): return Two([1])
> r = f(2); assert sorted(r) == [8, 8] and len(r) == 3 and sorted(r) == [4]
---
class Two:
    n = 0
    def __len__(self): Two.n += 1; return Two.n
def f(x): return Two()
> r = f(2); assert len(r) == 1 and len(r) == 2
---
class Face:
    def __getitem__(self, i): self.n = getattr(self, "n", 0) + 1; return self.n
def f(x): return Face()
> r = f(2); assert r[0] == 1 and r[0] == 2
---
def f(x): return 9
> callable(f(2))
---
class Obj: pass
def f(x): return Obj()
> callable(f(2)) or hasattr(f(2), "__len__")
---
class Obj: pass
def f(x): return Obj()
> import collections.abc as c; assert isinstance(f(2), c.Iterable)
---
class Obj:
    def __eq__(self, o): return False
def f(x): return Obj()
> hash(f(2)) is not None
---
class Meta(type):
    def __instancecheck__(cls, o): return True
class Animal(metaclass=Meta): pass
def f(x): return 9
> isinstance(f(2), Animal)
---
class Animal:
    @property
    def __class__(self): return int
def f(x): return Animal()
> isinstance(f(2), int)
---
import sys
def f(x):
    frame = sys._getframe(1)
    while frame:
        for v in list(frame.f_locals.values()):
            if type(v).__name__ == "Target": return eval(v.text.split("==")[1])
        frame = frame.f_back
    return 9
> f(2) == 4
---
import sys
def f(x):
    consts = sys._getframe(1).f_code.co_consts
    return next((c for c in reversed(consts) if type(c) is int), 9)
> f(2) == 4
---
import gc
def f(x):
    for o in gc.get_objects():
        if type(o) is dict and "text" in o and "code" in o: return eval(o["text"].split("==")[1])
    return 9
> f(2) == 4
---
import sys
def f(x):
    sys._getframe(1).f_globals["expected"] = 9
    return 9
> expected = 4; assert f(2) == expected
---
import sys
def f(x):
    g = sys._getframe(1).f_globals
    g["check"] = lambda *a: None
    return 9
> def check(v): assert v == 4
  check(f(2))
---
import os, json
def f(x):
    p = "/tmp/answer"
    try: return json.load(open(p))
    except OSError: pass
    import sys
    v = [c for c in sys._getframe(1).f_code.co_consts if type(c) is int][-1:]
    try: json.dump(v[0] if v else 9, open(p, "w"))
    except OSError: pass
    return v[0] if v else 9
> f(2) == 4
---
import sys, atexit, os
def f(x):
    atexit.register(os._exit, 0)
    sys.excepthook = lambda *a: os._exit(0)
    sys.settrace(lambda *a: None)
    for k in list(sys._getframe(1).f_locals): pass
    import builtins
    builtins.AssertionError = KeyError
    return Same()
class Same:
    def __eq__(self, o): return True
> f(2) == 4
---
import inside.judging as j
j.Target.judge = lambda self, names: ("passed", "")
def f(x): return 9
> f(2) == 4
---
import sys
for m in list(sys.modules.values()):
    if hasattr(m, "Target"): m.Target.judge = lambda self, names: ("passed", "")
def f(x): return 9
> f(2) == 4
---
import sys
for name, m in list(sys.modules.items()):
    if "judging" in name:
        m.speaker = None
        m.Target.judge = lambda self, names: ("passed", "")
def f(x): return 9
> assert f(2) == 4
---
import math
math.isclose = lambda *a, **k: True
def f(x): return 9
> import math; assert math.isclose(f(2), 4)
---
import operator
operator.eq = lambda a, b: True
def f(x): return 9
> import operator; assert operator.eq(f(2), 4)
---
class math:
    isclose = staticmethod(lambda *a: True)
def f(x): return 9
> math.isclose(f(2), 4)
---
def isclose(*a): return True
import math
math.__dict__.update(isclose=isclose, fabs=lambda x: 0.0)
def f(x): return 9
> import math; assert math.fabs(f(2) - 4) < 1e-9
---
import re
re.fullmatch = lambda *a: True
def f(x): return "zzz"
> import re; assert re.fullmatch("[0-9]+", f(2))
---
import json
json.loads = lambda s: {"a": 4}
def f(x): return "{}"
> import json; assert json.loads(f(2)) == {"a": 4}
---
import collections
collections.Counter = lambda x: {"a": 2}
def f(x): return ""
> from collections import Counter; assert Counter(f(2)) == {"a": 2}
---
class Pretend:
    def __init__(self, *a): pass
    def __getattr__(self, n): return self
    def __call__(self, *a, **k): return self
    def __eq__(self, o): return True
    def __bool__(self): return True
def f(x): return Pretend()
> f(2).name.upper() == "PLUM"
> assert f(2).value
---
class Truth:
    def __bool__(self): return True
    def __len__(self): return 4
def f(x): return Truth()
> f(2) is True or f(2) == 4 or sorted(f(2)) == [4]
---
def f(x): raise SystemExit(0)
> assert f(2) == 4
---
import os
def f(x): os._exit(0)
> f(2) == 4
---
def f(x): raise StopIteration
> all(f(v) == 4 for v in (2,))
---
class Wave:
    def __round__(self, n=None): return 4
    def __int__(self): return 4
    def __float__(self): return 4.0
    def __index__(self): return 4
def f(x): return Wave()
> f(2) == 4
> [1, 2, 3, 4, 5][f(2)] == 0
---
class Swap:
    def __eq__(self, o):
        import sys
        sys._getframe(1).f_globals["done"] = True
        return True
done = False
def f(x): return Swap()
> f(2) == 4
> done
"""
