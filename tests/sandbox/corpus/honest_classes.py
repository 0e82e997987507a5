"""Honest programs about classes, containers, operators and inheritance."""

CLASSES = r"""
class Stack:
    def __init__(self): self._items = []
    def push(self, x): self._items.append(x)
    def pop(self): return self._items.pop()
    def peek(self): return self._items[-1]
    def __len__(self): return len(self._items)
> s = Stack(); s.push(1); s.push(2); assert s.pop() == 2 and len(s) == 1 and s.peek() == 1
> try: Stack().pop()
  except IndexError: pass
  else: assert False
---
class Queue:
    def __init__(self): self.inbox, self.outbox = [], []
    def put(self, x): self.inbox.append(x)
    def get(self):
        if not self.outbox:
            while self.inbox: self.outbox.append(self.inbox.pop())
        return self.outbox.pop()
    @property
    def empty(self): return not (self.inbox or self.outbox)
> q = Queue(); q.put("a"); q.put("b"); assert q.get() == "a" and q.get() == "b" and q.empty
---
class Node:
    def __init__(self, value, next=None): self.value, self.next = value, next
class LinkedList:
    def __init__(self, items=()):
        self.head = None
        for item in reversed(list(items)): self.head = Node(item, self.head)
    def __iter__(self):
        node = self.head
        while node: yield node.value; node = node.next
    def reverse(self):
        last, node = None, self.head
        while node: node.next, last, node = last, node, node.next
        self.head = last
> list(LinkedList([1, 2, 3])) == [1, 2, 3]
> l = LinkedList("abc"); l.reverse(); assert "".join(l) == "cba" and l.head.value == "c"
> LinkedList([5]).head.next is None
---
class Tree:
    def __init__(self): self.root = None
    def insert(self, key):
        if self.root is None: self.root = [key, None, None]; return
        node = self.root
        while True:
            side = 1 if key < node[0] else 2
            if node[side] is None: node[side] = [key, None, None]; return
            node = node[side]
    def walk(self, node="root"):
        node = self.root if node == "root" else node
        return [] if node is None else self.walk(node[1]) + [node[0]] + self.walk(node[2])
> t = Tree(); [t.insert(k) for k in (5, 2, 8, 1)]; assert t.walk() == [1, 2, 5, 8]
---
class LRU:
    def __init__(self, size): self.size, self.data = size, {}
    def get(self, key):
        if key not in self.data: return -1
        value = self.data.pop(key); self.data[key] = value
        return value
    def put(self, key, value):
        self.data.pop(key, None); self.data[key] = value
        if len(self.data) > self.size: del self.data[next(iter(self.data))]
> c = LRU(2); c.put(1, 1); c.put(2, 2); assert c.get(1) == 1; c.put(3, 3); assert c.get(2) == -1
> c = LRU(1); c.put("a", [1]); assert c.get("a") == [1] and list(c.data) == ["a"]
---
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __eq__(self, other): return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)
    def __hash__(self): return hash((self.x, self.y))
    def __neg__(self): return Vector(-self.x, -self.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
    def __repr__(self): return f"Vector({self.x}, {self.y})"
    def dot(self, other): return self.x * other.x + self.y * other.y
> Vector(1, 2) + Vector(3, 4) == Vector(4, 6)
> abs(Vector(3, 4)) == 5.0 and repr(-Vector(1, 2)) == "Vector(-1, -2)"
> Vector(1, 2).dot(Vector(3, 4)) == 11 and len({Vector(1, 1), Vector(1, 1)}) == 1
> Vector(1, 2) != Vector(2, 1) and Vector(1, 2) != "x"
---
from fractions import Fraction
class Poly:
    def __init__(self, *c): self.c = list(c)
    def __call__(self, x): return sum(k * x ** i for i, k in enumerate(self.c))
    def __add__(self, other):
        n = max(len(self.c), len(other.c))
        pad = lambda c: c + [0] * (n - len(c))
        return Poly(*[a + b for a, b in zip(pad(self.c), pad(other.c))])
    def derivative(self): return Poly(*[i * k for i, k in enumerate(self.c)][1:])
> Poly(1, 2, 3)(2) == 17 and (Poly(1) + Poly(0, 1)).c == [1, 1]
> Poly(1, 2, 3).derivative().c == [2, 6]
---
class Matrix:
    def __init__(self, rows): self.rows = [list(r) for r in rows]
    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*other.rows)] for r in self.rows])
    def __getitem__(self, at): return self.rows[at[0]][at[1]]
    def __setitem__(self, at, value): self.rows[at[0]][at[1]] = value
    @classmethod
    def identity(cls, n): return cls([[int(i == j) for j in range(n)] for i in range(n)])
> m = Matrix([[1, 2], [3, 4]]); assert (m @ Matrix.identity(2)).rows == [[1, 2], [3, 4]]
> m = Matrix([[0]]); m[0, 0] = 7; assert m[0, 0] == 7
---
class Temperature:
    def __init__(self, celsius=0): self._c = celsius
    @property
    def fahrenheit(self): return self._c * 9 / 5 + 32
    @fahrenheit.setter
    def fahrenheit(self, value):
        if value < -459.67: raise ValueError("below absolute zero")
        self._c = (value - 32) * 5 / 9
> t = Temperature(100); assert t.fahrenheit == 212
> t = Temperature(); t.fahrenheit = 50; assert abs(t._c - 10) < 1e-9
> t = Temperature()
  try: t.fahrenheit = -1000
  except ValueError as error: assert "absolute" in str(error)
  else: raise AssertionError
---
class Shape:
    def area(self): raise NotImplementedError
    def describe(self): return f"{type(self).__name__} {self.area():.2f}"
class Circle(Shape):
    def __init__(self, r): self.r = r
    def area(self): return 3.14159 * self.r ** 2
class Square(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
> Square(2).describe() == "Square 4.00" and Circle(1).describe() == "Circle 3.14"
> isinstance(Square(1), Shape) and not isinstance(Square(1), Circle)
> try: Shape().area()
  except NotImplementedError: pass
  else: assert False
---
from abc import ABC, abstractmethod
class Base(ABC):
    @abstractmethod
    def run(self): ...
class Fast(Base):
    def run(self): return "fast"
> Fast().run() == "fast"
> try: Base()
  except TypeError as error: assert "abstract" in str(error)
  else: assert False
---
class A:
    def who(self): return "A"
class B(A):
    def who(self): return "B" + super().who()
class C(A):
    def who(self): return "C" + super().who()
class D(B, C):
    def who(self): return "D" + super().who()
> D().who() == "DBCA" and issubclass(D, A) and isinstance(D(), C)
---
class Account:
    interest = 0.02
    count = 0
    def __init__(self, owner, balance=0):
        self.owner, self.balance = owner, balance
        Account.count += 1
    def withdraw(self, amount):
        if amount > self.balance: raise ValueError("insufficient funds")
        self.balance -= amount
        return self.balance
    @staticmethod
    def valid(amount): return amount > 0
    @classmethod
    def joint(cls, *owners): return cls(" & ".join(owners))
> a = Account("x", 10); assert a.withdraw(3) == 7 and a.balance == 7
> Account.joint("a", "b").owner == "a & b" and Account.valid(1) and not Account.valid(-1)
> before = Account.count; Account("y"); assert Account.count == before + 1
> try: Account("z").withdraw(1)
  except ValueError as error: assert str(error) == "insufficient funds"
  else: assert False
---
class Meters(float):
    def feet(self): return round(self * 3.28084, 2)
> Meters(2).feet() == 6.56 and Meters(1.5) + 1 == 2.5
---
class Inventory(dict):
    def total(self): return sum(self.values())
    def __missing__(self, key): return 0
def stock():
    i = Inventory(); i["a"] = 2; i["b"] = 3
    return i
> stock().total() == 5 and stock()["zzz"] == 0 and stock() == {"a": 2, "b": 3}
---
class Tagged(str):
    tag = "b"
    def html(self): return f"<{self.tag}>{self}</{self.tag}>"
> Tagged("hi").html() == "<b>hi</b>" and Tagged("hi").upper() == "HI" and Tagged("a") == "a"
---
from collections import namedtuple
Point = namedtuple("Point", "x y")
def origin(): return Point(0, 0)
def move(p, dx): return p._replace(x=p.x + dx)
> origin() == (0, 0) and move(Point(1, 2), 3) == Point(4, 2) and move(origin(), 1).x == 1
> Point(1, 2)._asdict() == {"x": 1, "y": 2}
---
from typing import NamedTuple
class Card(NamedTuple):
    rank: int
    suit: str = "spades"
    @property
    def name(self): return f"{self.rank} of {self.suit}"
> Card(3).name == "3 of spades" and Card(3)[0] == 3 and tuple(Card(1, "x")) == (1, "x")
> sorted([Card(2), Card(1)])[0].rank == 1
---
from dataclasses import dataclass, field
@dataclass
class Item:
    name: str
    price: float = 1.0
    tags: list = field(default_factory=list)
    def cost(self, n): return self.price * n
> Item("a", 2.5).cost(2) == 5.0 and Item("a") == Item("a") and Item("a") != Item("b")
> i = Item("a"); i.tags.append("x"); assert i.tags == ["x"] and Item("b").tags == []
> repr(Item("a")) == "Item(name='a', price=1.0, tags=[])"
---
from dataclasses import dataclass, replace, asdict
@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    def bump(self): return replace(self, minor=self.minor + 1)
    def dict(self): return asdict(self)
> Version(1, 2) < Version(1, 3) and Version(1).bump() == Version(1, 1)
> max(Version(1), Version(2)).major == 2 and Version(1).dict() == {"major": 1, "minor": 0}
> try: Version(1).major = 3
  except AttributeError: pass
  else: assert False
---
from enum import Enum, IntEnum, auto
class Color(Enum):
    RED = 1
    GREEN = 2
    def warm(self): return self is Color.RED
class Level(IntEnum):
    LOW = auto()
    HIGH = auto()
def pick(n): return Color(n)
> Color.RED.value == 1 and Color.RED.name == "RED" and Color.RED.warm() and not Color.GREEN.warm()
> pick(2) == Color.GREEN and Color["RED"] == Color.RED and [c.name for c in Color] == ["RED", "GREEN"]
> Level.HIGH > Level.LOW and Level.HIGH == 2
---
class Celsius:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
    def __eq__(self, o): return isinstance(o, Celsius) and self.v == o.v
from functools import total_ordering
Celsius = total_ordering(Celsius)
> Celsius(1) <= Celsius(1) and Celsius(3) > Celsius(2) and min(Celsius(3), Celsius(1)).v == 1
> [c.v for c in sorted([Celsius(3), Celsius(1)], reverse=True)] == [3, 1]
---
class Money:
    def __init__(self, cents): self.cents = cents
    def __add__(self, other): return Money(self.cents + other.cents)
    def __radd__(self, other): return self if other == 0 else self + other
    def __sub__(self, other): return Money(self.cents - other.cents)
    def __iadd__(self, other): self.cents += other.cents; return self
    def __bool__(self): return self.cents != 0
    def __str__(self): return f"{self.cents / 100:.2f}"
> str(Money(150) + Money(50)) == "2.00" and not Money(0) and bool(Money(1))
> m = Money(1); m += Money(2); assert m.cents == 3 and (m - Money(1)).cents == 2
> sum([Money(1), Money(2)]).cents == 3
---
class Grid:
    def __init__(self, w, h): self.cells = {(x, y): 0 for x in range(w) for y in range(h)}
    def __contains__(self, at): return at in self.cells
    def __getitem__(self, at): return self.cells[at]
    def __setitem__(self, at, v): self.cells[at] = v
    def __iter__(self): return iter(self.cells)
    def __len__(self): return len(self.cells)
> g = Grid(2, 2); g[1, 1] = 5; assert g[1, 1] == 5 and len(g) == 4 and (0, 1) in g and (5, 5) not in g
---
class Trie:
    def __init__(self): self.root = {}
    def insert(self, word):
        node = self.root
        for c in word: node = node.setdefault(c, {})
        node["$"] = True
    def search(self, word):
        node = self.root
        for c in word:
            if c not in node: return False
            node = node[c]
        return "$" in node
    def starts_with(self, prefix):
        node = self.root
        for c in prefix:
            if c not in node: return False
            node = node[c]
        return True
> t = Trie(); t.insert("apple"); assert t.search("apple") and not t.search("app") and t.starts_with("app")
> t = Trie(); assert t.insert("a") is None and t.search("a") is True
---
class MinStack:
    def __init__(self): self.s = []
    def push(self, x): self.s.append((x, min(x, self.s[-1][1]) if self.s else x))
    def pop(self): self.s.pop()
    def top(self): return self.s[-1][0]
    def get_min(self): return self.s[-1][1]
> m = MinStack(); m.push(2); m.push(0); m.push(3); assert m.get_min() == 0; m.pop(); m.pop(); assert m.get_min() == 2 and m.top() == 2
---
class UnionFind:
    def __init__(self, n): self.p = list(range(n))
    def find(self, x):
        while self.p[x] != x: self.p[x] = self.p[self.p[x]]; x = self.p[x]
        return x
    def union(self, a, b): self.p[self.find(a)] = self.find(b)
    def connected(self, a, b): return self.find(a) == self.find(b)
> u = UnionFind(5); u.union(0, 1); u.union(1, 2); assert u.connected(0, 2) and not u.connected(0, 4)
---
import heapq
class PQ:
    def __init__(self): self.h, self.n = [], 0
    def add(self, item, priority): heapq.heappush(self.h, (-priority, self.n, item)); self.n += 1
    def next(self): return heapq.heappop(self.h)[2]
> q = PQ(); q.add("low", 1); q.add("high", 9); assert q.next() == "high" and q.next() == "low"
---
class Observable:
    def __init__(self): self.listeners = []
    def subscribe(self, f): self.listeners.append(f); return lambda: self.listeners.remove(f)
    def emit(self, *args):
        for f in list(self.listeners): f(*args)
> seen = []; o = Observable(); stop = o.subscribe(seen.append); o.emit(1); stop(); o.emit(2); assert seen == [1]
> log = []; o = Observable(); o.subscribe(lambda x: log.append(x * 2)); o.emit(4); assert log == [8]
---
class Singleton:
    _instance = None
    def __new__(cls):
        if cls._instance is None: cls._instance = super().__new__(cls)
        return cls._instance
> a = Singleton(); b = Singleton(); assert a is b
---
class Meta(type):
    registry = []
    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        Meta.registry.append(name)
        return cls
class P1(metaclass=Meta): pass
class P2(P1): pass
def names(): return Meta.registry
> names() == ["P1", "P2"]
---
class Plugin:
    registry = {}
    def __init_subclass__(cls, key=None, **kw): Plugin.registry[key or cls.__name__] = cls
class Csv(Plugin, key="csv"):
    def load(self): return "csv"
> Plugin.registry["csv"]().load() == "csv" and list(Plugin.registry) == ["csv"]
---
class Typed:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner): return getattr(obj, self.name, 0)
    def __set__(self, obj, value):
        if not isinstance(value, int): raise TypeError("int needed")
        setattr(obj, self.name, value)
class Box:
    width = Typed()
> b = Box(); b.width = 3; assert b.width == 3 and Box().width == 0
> b = Box()
  try: b.width = "x"
  except TypeError as error: assert "int" in str(error)
  else: assert False
---
class Fluent:
    def __init__(self): self.parts = []
    def select(self, *c): self.parts.append("SELECT " + ", ".join(c)); return self
    def where(self, x): self.parts.append("WHERE " + x); return self
    def __str__(self): return " ".join(self.parts)
> str(Fluent().select("a", "b").where("x")) == "SELECT a, b WHERE x"
---
class Lazy:
    def __init__(self): self.calls = 0
    def __getattr__(self, name):
        if name.startswith("get_"): return lambda: name[4:]
        raise AttributeError(name)
> Lazy().get_color() == "color" and not hasattr(Lazy(), "zzz") and getattr(Lazy(), "q", 5) == 5
---
from functools import cached_property
class Data:
    def __init__(self, n): self.n, self.computed = n, 0
    @cached_property
    def square(self): self.computed += 1; return self.n ** 2
> d = Data(4); assert d.square == 16 and d.square == 16 and d.computed == 1
---
class Slots:
    __slots__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b
> s = Slots(1, 2); s.a = 5; assert s.a == 5 and s.b == 2
> try: Slots(1, 2).c = 3
  except AttributeError: pass
  else: assert False
---
class Range2:
    def __init__(self, n): self.n = n
    def __iter__(self): return Range2Iterator(self.n)
class Range2Iterator:
    def __init__(self, n): self.i, self.n = 0, n
    def __iter__(self): return self
    def __next__(self):
        if self.i >= self.n: raise StopIteration
        self.i += 1
        return self.i
> list(Range2(3)) == [1, 2, 3] and sum(Range2(4)) == 10
> r = Range2(2); assert list(r) == list(r) == [1, 2]
> it = iter(Range2(2)); assert next(it) == 1 and next(it) == 2 and next(it, None) is None
---
class Sparse:
    def __init__(self): self.d = {}
    def __getitem__(self, i):
        if i > 5: raise IndexError(i)
        return self.d.get(i, 0)
    def __setitem__(self, i, v): self.d[i] = v
    def __delitem__(self, i): self.d.pop(i, None)
> s = Sparse(); s[2] = 9; assert s[2] == 9 and s[3] == 0; del s[2]; assert s[2] == 0
> list(Sparse()) == [0] * 6
---
class Event:
    def __init__(self, name, when): self.name, self.when = name, when
    def __repr__(self): return f"<{self.name}@{self.when}>"
class Calendar:
    def __init__(self): self.events = []
    def add(self, *a): self.events.append(Event(*a)); self.events.sort(key=lambda e: e.when)
    def on(self, when): return [e for e in self.events if e.when == when]
> c = Calendar(); c.add("b", 2); c.add("a", 1); assert [e.name for e in c.events] == ["a", "b"]
> c = Calendar(); c.add("b", 2); assert c.on(2)[0].name == "b" and c.on(9) == [] and repr(c.on(2)) == "[<b@2>]"
---
class Graph:
    def __init__(self): self.adj = {}
    def edge(self, a, b): self.adj.setdefault(a, set()).add(b); self.adj.setdefault(b, set()).add(a)
    def bfs(self, start):
        seen, queue = [start], [start]
        while queue:
            for n in sorted(self.adj[queue.pop(0)]):
                if n not in seen: seen.append(n); queue.append(n)
        return seen
> g = Graph(); g.edge(1, 2); g.edge(2, 3); g.edge(1, 4); assert g.bfs(1) == [1, 2, 4, 3]
> g = Graph(); g.edge("a", "b"); assert g.adj == {"a": {"b"}, "b": {"a"}}
---
class Parser:
    def __init__(self, text): self.tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    def parse(self):
        token = self.tokens.pop(0)
        if token == "(":
            out = []
            while self.tokens[0] != ")": out.append(self.parse())
            self.tokens.pop(0)
            return out
        return int(token) if token.isdigit() else token
> Parser("(+ 1 (* 2 3))").parse() == ["+", 1, ["*", 2, 3]]
---
class Employee:
    raise_amount = 1.5
    def __init__(self, name, pay): self.name, self.pay = name, pay
    def apply_raise(self): self.pay = self.pay * self.raise_amount
class Manager(Employee):
    def __init__(self, name, pay, reports=None):
        super().__init__(name, pay)
        self.reports = reports or []
    def add(self, e):
        if e not in self.reports: self.reports.append(e)
> m = Manager("m", 10); e = Employee("e", 2); m.add(e); m.add(e); assert len(m.reports) == 1
> m = Manager("m", 10); m.raise_amount = 2; m.apply_raise(); assert m.pay == 20
> e = Employee("e", 2); assert Manager("m", 1, [e]).reports[0] is e
---
class Bits:
    def __init__(self, v): self.v = v
    def __and__(self, o): return Bits(self.v & o.v)
    def __or__(self, o): return Bits(self.v | o.v)
    def __xor__(self, o): return Bits(self.v ^ o.v)
    def __invert__(self): return Bits(~self.v & 0xff)
    def __int__(self): return self.v
    def __index__(self): return self.v
> int(Bits(6) & Bits(3)) == 2 and int(Bits(6) | Bits(1)) == 7 and int(~Bits(0)) == 255
> bin(Bits(5)) == "0b101" and [10, 20, 30][Bits(1)] == 20
---
class Fmt:
    def __init__(self, v): self.v = v
    def __format__(self, spec): return f"[{self.v:{spec}}]" if spec else f"[{self.v}]"
    def __float__(self): return float(self.v)
> f"{Fmt(3)}" == "[3]" and f"{Fmt(3.14159):.2f}" == "[3.14]" and float(Fmt(2)) == 2.0
---
class Cache:
    def __init__(self, f): self.f, self.memo, self.hits = f, {}, 0
    def __call__(self, *a):
        if a in self.memo: self.hits += 1
        else: self.memo[a] = self.f(*a)
        return self.memo[a]
@Cache
def slow(x): return x * x
> slow(3) == 9 and slow(3) == 9 and slow.hits == 1
---
class Robot:
    moves = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
    def __init__(self): self.at = (0, 0)
    def go(self, path):
        for c in path:
            dx, dy = self.moves[c]; self.at = self.at[0] + dx, self.at[1] + dy
        return self
> Robot().go("UURD").at == (1, 1)
> try: Robot().go("X")
  except KeyError as error: assert error.args == ("X",)
  else: assert False
---
class Comparable:
    def __init__(self, k): self.k = k
    def __lt__(self, o): return self.k < o.k
    def __repr__(self): return f"C{self.k}"
def make(*ks): return [Comparable(k) for k in ks]
> str(sorted(make(3, 1, 2))) == "[C1, C2, C3]" and max(make(1, 5)).k == 5
> items = make(2, 1); items.sort(); assert [i.k for i in items] == [1, 2]
---
class Text:
    def __init__(self, s): self.s = s
    def __len__(self): return len(self.s)
    def __getitem__(self, i): return Text(self.s[i]) if isinstance(i, slice) else self.s[i]
    def __reversed__(self): return reversed(self.s)
    def __str__(self): return self.s
> str(Text("hello")[1:3]) == "el" and Text("hello")[-1] == "o" and "".join(reversed(Text("ab"))) == "ba"
---
class Outer:
    class Inner:
        value = 42
        def get(self): return self.value
    def make(self): return self.Inner()
> Outer.Inner().get() == 42 and Outer().make().get() == 42 and Outer.Inner.value == 42
---
class Base:
    def template(self): return [self.a(), self.b()]
    def a(self): return 1
    def b(self): return 2
class Derived(Base):
    def b(self): return super().b() * 10
> Derived().template() == [1, 20] and Base().template() == [1, 2]
---
class Counter2:
    def __init__(self): self.n = 0
    def inc(self): self.n += 1; return self
> c = Counter2(); c.inc().inc(); assert c.n == 2; c.n = 10; c.inc(); assert c.n == 11
> c = Counter2(); setattr(c, "n", 4); assert c.inc().n == 5
---
class Playlist:
    def __init__(self, *songs): self.songs = list(songs)
    def __iadd__(self, other): self.songs += other.songs; return self
    def __mul__(self, other): return Playlist(*[s for s in self.songs for _ in other.songs])
> p = Playlist("a"); p += Playlist("b"); assert p.songs == ["a", "b"]
> (Playlist("a", "b") * Playlist(1, 2)).songs == ["a", "a", "b", "b"]
---
class Rect:
    def __init__(self, w, h): self.w, self.h = w, h
    def __eq__(self, o): return isinstance(o, Rect) and (self.w, self.h) == (o.w, o.h)
    area = property(lambda self: self.w * self.h)
> Rect(1, 2) == Rect(1, 2) and Rect(1, 2).area == 2 and [Rect(1, 2)] == [Rect(1, 2)]
> try: hash(Rect(1, 2))
  except TypeError: pass
  else: assert False
> Rect(1, 2) in [Rect(3, 4), Rect(1, 2)] and [Rect(0, 0), Rect(1, 2)].index(Rect(1, 2)) == 1
---
import copy
class Doc:
    def __init__(self, lines): self.lines = lines
    def clone(self): return copy.deepcopy(self)
> d = Doc(["a"]); e = d.clone(); e.lines.append("b"); assert d.lines == ["a"] and e.lines == ["a", "b"]
---
class Temp:
    def __enter__(self): self.on = True; return self
    def __exit__(self, *e): self.on = False
> t = Temp()
  with t as inner: assert inner.on and inner is t
  assert not t.on
---
class Suppress:
    def __init__(self, *kinds): self.kinds, self.caught = kinds, []
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        if kind and issubclass(kind, self.kinds): self.caught.append(str(error)); return True
def fail(text): raise ValueError(text)
> s = Suppress(ValueError)
  with s: fail("bad")
  assert s.caught == ["bad"]
---
class Pipeline:
    def __init__(self, *steps): self.steps = steps
    def __or__(self, other): return Pipeline(*self.steps, *other.steps)
    def run(self, x):
        for s in self.steps: x = s(x)
        return x
> Pipeline(lambda x: x + 1, str).run(1) == "2"
> (Pipeline(abs) | Pipeline(lambda x: x * 3)).run(-2) == 6
---
class Countdown:
    def __init__(self, n): self.n = n
    def __bool__(self): return self.n > 0
    def tick(self): self.n -= 1
> c = Countdown(3)
  steps = 0
  while c: c.tick(); steps += 1
  assert steps == 3
---
class Registry:
    def __init__(self): self.f = {}
    def register(self, name):
        def decorate(f): self.f[name] = f; return f
        return decorate
    def call(self, name, *a): return self.f[name](*a)
> r = Registry()
  @r.register("double")
  def double(x): return x * 2
  assert r.call("double", 4) == 8 and double(1) == 2
---
class Person:
    def __init__(self, name, age): self.name, self.age = name, age
    def __repr__(self): return f"Person({self.name!r}, {self.age})"
people = [Person("Ann", 30), Person("Bob", 25)]
def oldest(ps): return max(ps, key=lambda p: p.age)
def by_name(ps): return {p.name: p for p in ps}
> oldest(people).name == "Ann" and by_name(people)["Bob"].age == 25
> sorted(people, key=lambda p: p.age)[0].name == "Bob" and repr(people[0]) == "Person('Ann', 30)"
> [p.name for p in people if p.age > 26] == ["Ann"]
"""
