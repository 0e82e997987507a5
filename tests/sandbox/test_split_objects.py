"""What an author may write about classes, exceptions and coroutines: `test_split` has the rest."""

from collections.abc import Iterator

import pytest
from tests.sandbox.test_split import check, named, opened

from evalwright.sandbox.jailed import Jailed


@pytest.fixture(scope="module")
def split() -> Iterator[Jailed]:
    with opened("split") as jailed:
        yield jailed


@pytest.fixture(scope="module")
def together() -> Iterator[Jailed]:
    with opened("plain") as jailed:
        yield jailed


ACCOUNT = """
class Account:
    bank, opened = "A", 0
    def __init__(self, balance=0):
        self.balance = balance
        Account.opened += 1
    def pay(self, amount): self.balance += amount; return self
    @property
    def cents(self): return self.balance * 100
    @cents.setter
    def cents(self, cents): self.balance = cents // 100
    @classmethod
    def rich(cls): return cls(1000)
    @staticmethod
    def tax(amount): return amount // 5
    def __call__(self, amount): return self.balance >= amount
    def __bool__(self): return self.balance > 0
    def __str__(self): return f"{self.balance} EUR"
    def __repr__(self): return f"Account({self.balance})"
    def __format__(self, spec): return format(self.balance, spec)
class Savings(Account):
    def pay(self, amount): return super().pay(amount + 1)
def accounts(): return [Account(2), Account(1), Savings(3)]
def richer(account): account.balance *= 2
"""
SHELF = """
class Shelf:
    def __init__(self, *books): self.books = list(books)
    def __len__(self): return len(self.books)
    def __iter__(self): return iter(self.books)
    def __reversed__(self): return reversed(self.books)
    def __getitem__(self, at): return self.books[at]
    def __setitem__(self, at, book): self.books[at] = book
    def __delitem__(self, at): del self.books[at]
"""

CLASSES = {
    "attributes and methods": f"""{ACCOUNT}
> Account(1).balance == 1 and Account(1).pay(2).pay(3).balance == 6
> a = Account(1); a.balance = 5; assert a.pay(1).balance == 6
> a = Account(1); richer(a); assert a.balance == 2
> a = Account(1); pay = a.pay; a.balance = 9; assert pay(1).balance == 10
> a = Account(1); del a.balance; assert not hasattr(a, "balance")
> hasattr(Account(1), "pay") and getattr(Account(1), "nothing", 7) == 7
> vars(Account(1)) == {{"balance": 1}}
> try: Account(1).nothing
  except AttributeError as error: assert "nothing" in str(error)
  else: assert False
! Account(1).pay(2).balance == 2
""",
    "property, classmethod, staticmethod": f"""{ACCOUNT}
> Account(2).cents == 200 and Account.rich().balance == 1000
> a = Account(2); a.cents = 900; assert a.balance == 9
> Account.tax(10) == 2 and Account(0).tax(10) == 2
> Savings.rich().pay(1).balance == 1002
! Account(2).cents == 2
""",
    "inheritance": f"""{ACCOUNT}
> Savings(1).pay(1).balance == 3 and issubclass(Savings, Account)
> isinstance(Savings(1), Account) and isinstance(Account(1), (int, Account))
> not isinstance(Account(1), Savings) and not isinstance(1, Account)
! isinstance(Account(1), Savings)
""",
    "attributes of a class": f"""{ACCOUNT}
> before = Account.opened; Account(); Savings(); assert Account.opened == before + 2
> Account.bank = "B"; assert Savings(1).bank == "B"
> Account.double = lambda self: self.balance * 2
  assert Account(4).double() == 8 and Account.pay(Account(1), 1).balance == 2
> Account.__name__ == "Account" and callable(Account)
! Account.bank == "A"
""",
    "calls, truth and text": f"""{ACCOUNT}
> Account(5)(4) and not Account(5)(6) and callable(Account(1))
> bool(Account(1)) and not Account(0)
> str(Account(1)) == "1 EUR" and repr(Account(1)) == "Account(1)"
> f"{{Account(1)}} {{Account(1):>3}} {{Account(1)!r}} {{Account(1)!s}}" == "1   1 Account(1) 1 EUR"
> "%s" % Account(1) == "1 EUR" and str([Account(1)]) == "[Account(1)]"
! Account(0)
""",
    "objects in containers": f"""{ACCOUNT}
> [a.balance for a in accounts()] == [2, 1, 3]
> sorted(accounts(), key=lambda a: a.balance)[0].balance == 1
> max(accounts(), key=lambda a: a.balance).balance == 3
> a = Account(1); assert a in [a] and {{a: 1}}[a] == 1 and a == a
> Account(1) is not None and Account(1) != 1 and not Account(1) == 1
! Account(1) == 1
""",
    "len, iteration and items": f"""{SHELF}
> len(Shelf("a", "b")) == 2 and list(Shelf("a", "b")) == ["a", "b"]
> "a" in Shelf("a") and "b" not in Shelf("a")
> Shelf("a", "b")[-1] == "b" and list(reversed(Shelf("a", "b"))) == ["b", "a"]
> s = Shelf("a", "b"); s[0] = "c"; del s[1]; assert s.books == ["c"]
> first, *rest = Shelf(1, 2, 3); assert rest == [2, 3]
> sum(Shelf(1, 2)) == 3 and list(zip(Shelf(1, 2), "ab")) == [(1, "a"), (2, "b")]
> try: Shelf()[0]
  except IndexError: pass
  else: assert False
! list(Shelf(1, 2)) == [2, 1]
""",
    "context managers": """
from contextlib import contextmanager
log = []
class Door:
    def __enter__(self): log.append("in"); return self
    def __exit__(self, *error): log.append("out")
    def knock(self): return "who?"
@contextmanager
def lent(x):
    log.append("lent")
    try: yield x
    finally: log.append("back")
> with Door() as door: assert door.knock() == "who?"
> with lent(5) as five: assert five == 5
> log == ["in", "out", "lent", "back"]
> try:
      with Door(): 1 / 0
  except ZeroDivisionError: assert log[-1] == "out"
  else: assert False
! with Door(): 1 / 0
""",
    "copies": f"""{ACCOUNT}
> import copy; a = Account(1); b = copy.copy(a); b.balance = 2; assert a.balance == 1
> import copy; a = Account(1); b = copy.deepcopy(a); assert b.balance == 1
! import copy; a = Account(1); b = copy.copy(a); b.balance = 2; assert a.balance == 2
""",
    "linked nodes": """
class Node:
    def __init__(self, value, next=None): self.value, self.next = value, next
def values(node):
    while node:
        yield node.value
        node = node.next
def reverse(node):
    before = None
    while node: node.next, before, node = before, node, node.next
    return before
> list(values(reverse(Node(1, Node(2, Node(3)))))) == [3, 2, 1]
> n = Node(1); n.next = Node(5); assert list(values(n)) == [1, 5] and n.next.next is None
> def walk(node):
      while node:
          yield node.value
          node = node.next
  assert list(walk(Node(1, Node(2)))) == [1, 2] and reverse(None) is None
! list(values(reverse(Node(1, Node(2))))) == [1, 2]
""",
    "named tuples": """
from collections import namedtuple
from typing import NamedTuple
Point = namedtuple("Point", "x y")
class Pair(NamedTuple):
    a: int
    b: str = "z"
    def upper(self): return self.b.upper()
def width(point): return point.x
> Point(1, 2) == (1, 2) == Point(1, 2) and Point(1, 2).y == 2 and Point(1, 2)[0] == 1
> x, y = Point(1, 2); assert (x, y) == (1, 2) and width(Point(3, 4)) == 3
> Point(1, 2)._replace(x=5) == (5, 2) and Point(1, 2)._asdict() == {"x": 1, "y": 2}
> Pair(1).upper() == "Z" and Pair(1) == Pair(1, "z") and Point._fields == ("x", "y")
> isinstance(Point(1, 2), Point) and isinstance(Point(1, 2), tuple)
> repr(Point(1, 2)) == "Point(x=1, y=2)" and sorted([Point(2, 1), Point(1, 2)])[0].x == 1
! Point(1, 2) == (2, 1)
""",
    "dataclasses": """
from dataclasses import dataclass, field, asdict, astuple, replace
@dataclass
class Item:
    name: str
    price: int = 2
    tags: list = field(default_factory=list)
@dataclass(frozen=True)
class Fixed:
    a: int
> Item("a").price == 2 and Item("a").tags == [] and Item("a", tags=[1]).tags == [1]
> item = Item("a"); item.price = 3; assert item.price == 3
> repr(Item("a")) == "Item(name='a', price=2, tags=[])"
> asdict(Item("a")) == {"name": "a", "price": 2, "tags": []} and astuple(Item("a"))[1] == 2
> replace(Item("a"), price=9).price == 9
> try: Fixed(1).a = 2
  except AttributeError: pass
  else: assert False
! Item("a").price == 3
""",
    "enums": """
from enum import Enum, IntEnum
class Color(Enum):
    RED = 1
    BLUE = "b"
class Level(IntEnum):
    LOW = 1
    HIGH = 2
def pick(): return Color.RED
def is_red(color): return color is Color.RED
> Color.RED.value == 1 and pick().name == "RED" and pick() == Color.RED
> Color(1).name == "RED" and Color["BLUE"].value == "b" and is_red(Color.RED)
> [color.name for color in Color] == ["RED", "BLUE"] and len(Color) == 2
> str(Color.RED) == "Color.RED" and isinstance(pick(), Color) and {Color.RED: 1}[pick()] == 1
> Level.HIGH == 2 and Level.HIGH > Level.LOW and Level(2).name == "HIGH" and Level.HIGH + 1 == 3
> try: Color(9)
  except ValueError: pass
  else: assert False
! pick().name == "BLUE"
""",
    "subclasses of builtins": """
class Loud(str):
    def shout(self): return self.upper() + "!"
class Numbers(list):
    def total(self): return sum(self)
    @property
    def first(self): return self[0]
class Settings(dict):
    def __getattr__(self, name): return self[name]
    def __missing__(self, key): return key
> Loud("a").shout() == "A!" and Loud("a") == "a" and Loud("a") + "b" == "ab"
> Numbers([1, 2]).total() == 3 and Numbers([1, 2]) == [1, 2] and Numbers([1]).first == 1
> isinstance(Numbers(), list) and isinstance(Numbers(), Numbers) and len(Numbers([1])) == 1
> Settings(a=1) == {"a": 1} and Settings(a=1)["q"] == "q" and Settings(a=1).a == 1
! Loud("a") == "A"
""",
    "generators": """
def count(n):
    for i in range(n): yield i
def echo():
    said = None
    while True: said = yield said
def texts(): return map(str, [1, 2])
> list(count(3)) == [0, 1, 2] == list(count(3)) and sum(count(4)) == 6 and 2 in count(3)
> g = count(2); assert next(g) == 0; assert next(g) == 1; assert next(g, "end") == "end"
> try: next(count(0))
  except StopIteration: pass
  else: assert False
> g = echo(); next(g); assert g.send(5) == 5
> [a + b for a, b in zip(count(2), count(9))] == [0, 2]
> import itertools; assert list(itertools.islice(count(10**9), 2)) == [0, 1]
> list(texts()) == ["1", "2"] and " ".join(texts()) == "1 2"
! list(count(2)) == [1, 2]
""",
    "closures": """
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
def adders(): return [lambda x, i=i: x + i for i in range(3)]
> c, d = counter(), counter(); c(); assert c() == 2 and d() == 1
> [add(1) for add in adders()] == [1, 2, 3]
! counter()() == 2
""",
}

FAILING = """
class Broken(Exception): pass
class Coded(ValueError):
    def __init__(self, code, text): super().__init__(text); self.code = code
class Wordy(Exception):
    def __str__(self): return "in other words"
def bad(): raise ValueError("bad", 1)
def key(): return {}["k"]
def broken(): raise Broken("b")
def coded(): raise Coded(42, "c")
def wordy(): raise Wordy
def asserted(): assert False, "no good"
def chained():
    try: key()
    except KeyError as error: raise Broken("chained") from error
def unfinished(): raise NotImplementedError
def leave(): raise SystemExit(3)
"""

EXCEPTIONS = {
    "of the builtins": f"""{FAILING}
> try: bad()
  except ValueError as error: assert error.args == ("bad", 1)
  else: assert False
> try: key()
  except KeyError as error: assert str(error) == "'k'" and error.args == ("k",)
  else: assert False
> try: bad(1)
  except TypeError as error: assert "bad()" in str(error)
  else: assert False
> try: unfinished()
  except (KeyError, NotImplementedError): pass
  else: assert False
> try: leave()
  except SystemExit as error: assert error.code == 3
  else: assert False
! bad()
""",
    "an assertion": f"""{FAILING}
> try: asserted()
  except AssertionError as error: assert str(error) == "no good"
  else: assert False
! asserted()
""",
    "a class of its own, by name": f"""{FAILING}
> try: broken()
  except Broken as error: assert str(error) == "b" and error.args == ("b",)
  else: assert False
> try: broken()
  except Exception as error: assert type(error) is Broken and repr(error) == "Broken('b')"
  else: assert False
> import contextlib
  with contextlib.suppress(Broken): broken()
> try: wordy()
  except Wordy as error: assert str(error) == "in other words"
  else: assert False
! try: broken()
  except Coded: pass
""",
    "a class of its own, by base": f"""{FAILING}
> try: coded()
  except ValueError as error: assert error.code == 42 and str(error) == "c"
  else: assert False
> issubclass(Coded, ValueError) and not issubclass(Broken, ValueError)
> try: coded()
  except Coded as error: assert error.code == 42 and error.args == ("c",)
  else: assert False
! try: broken()
  except ValueError: pass
""",
    "raised from another": f"""{FAILING}
> try: chained()
  except Broken as error: assert str(error) == "chained"
  else: assert False
! try: chained()
  except KeyError: pass
""",
}

ASYNC = {
    "asyncio": """
import asyncio
async def f(x):
    await asyncio.sleep(0.001)
    return x + 1
async def bad(): raise ValueError("late")
class Client:
    async def get(self): return 7
> asyncio.run(f(1)) == 2 and asyncio.run(Client().get()) == 7
> async def main(): return await asyncio.gather(f(1), f(2))
  assert asyncio.run(main()) == [2, 3]
> async def main(): return await asyncio.create_task(f(1)), await asyncio.wait_for(f(2), 5)
  assert asyncio.run(main()) == (2, 3)
> try: asyncio.run(bad())
  except ValueError as error: assert str(error) == "late"
  else: assert False
! asyncio.run(f(1)) == 1
""",
}
CASES = named(classes=CLASSES, exceptions=EXCEPTIONS, coroutines=ASYNC)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_split(split: Jailed, case: str) -> None:
    check(split, case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_in_one_process(together: Jailed, case: str) -> None:
    check(together, case)
