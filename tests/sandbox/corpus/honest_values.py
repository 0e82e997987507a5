"""Values of every kind that an honest program may return, pass to a callback, raise or keep."""

HEAD = r"""import collections,decimal,fractions,datetime,zoneinfo,array,re,types,functools,typing,enum,weakref,itertools,json,asyncio,abc,dataclasses,operator,uuid,pathlib,io,contextlib,string,random,math,queue,threading
from collections import *
class L(list):
    def __hash__(self): return 1
class D(dict):
    def __missing__(self,k): return k
class S(str): pass
class I(int): pass
class FS(frozenset): pass
class T(tuple): pass
class B(bytes): pass
class BA(bytearray): pass
class X:
    def __getattr__(self,n): return self
class R:
    def __eq__(self,o): raise ValueError
    def __len__(self): raise ValueError
    def __hash__(self): raise ValueError
class Odd:
    __slots__=('__weakref__',)
class M(type):
    def __hash__(c): return 7
    def __eq__(c,o): return c is o
class C(metaclass=M): pass
class CC:
    @property
    def __class__(self): return int
class F(enum.Flag):
    A=1;B=2
class IF(enum.IntFlag):
    A=1;B=2
class SE(str,enum.Enum):
    A='a'
class UD(UserDict): pass
class G(typing.Generic[typing.TypeVar('Q')]): pass
class E1(KeyError,AttributeError): pass
class E2(OSError): pass
class E3(UnicodeDecodeError): pass
class E4(SystemExit): pass
class E5(StopIteration): pass
class E6(ExceptionGroup): pass
class E7(asyncio.CancelledError): pass
class E8(Exception):
    def __init__(self,a,*,b): self.a=a;self.b=b
class E9(Exception):
    def __str__(self): raise ValueError
class EA(Exception,abc.ABC): pass
class EB(json.JSONDecodeError): pass
class EC(decimal.DecimalException): pass
class ED(KeyboardInterrupt): pass
class EE(type('Mix',(),{}),ValueError): pass
@dataclasses.dataclass(slots=True,frozen=True)
class DC:
    a:int=1
NT=namedtuple('NT','a b')
class TD(typing.TypedDict): a:int
def gen():
    yield 1
def cyc():
    d={};d['d']=d;l=[d];l.append(l);return l
"""
VALUES = r"""
Counter({(1,2):3})
defaultdict(lambda: 3,{'a':1})
OrderedDict(a=1)
{(1,2):{frozenset({1})}}
decimal.Decimal('NaN')
decimal.Decimal('sNaN')
datetime.datetime.now(datetime.timezone.utc)
datetime.datetime.now(zoneinfo.ZoneInfo('UTC'))
fractions.Fraction(1,3)
array.array('i',[1])
memoryview(b'ab')
re.match('a','a')
gen()
NT(1,2)
DC()
{DC():1}
F.A^F.B
IF.A^IF.B
SE.A
{SE.A:1}
functools.partial(int,base=2)
functools.lru_cache(len)
property(len)
classmethod(len)
math
types.SimpleNamespace(a=1)
types.MappingProxyType({'a':1})
ChainMap({'a':1})
UD(a=1)
range(10**30)
complex('nan')
...
NotImplemented
int
L
C
{C:1}
{C,L}
list[int]
typing.Optional[int]
G[int]
typing.TypeVar('T')
D(a=1)
{L([1])}
{L([1]):2}
{(L([1]),)}
frozenset({L([1])})
L([L([1])])
S('a')
{S('a'):1,'b':2}
I(5)
{I(5),6}
FS({1})
{FS({1})}
T((1,[2]))
B(b'a')
BA(b'a')
X()
[X()]
R()
[R()]
Odd()
weakref.ref(Odd)
CC()
{float('nan'):1}
cyc()
{1:'a',True:'b'}
'a\ud800'
b'\xff'*1000
10**5000
-10**400
1e400
-0.0
slice(1,None)
{}.keys()
{1:2}.items()
{1:2}.values()
{'a':[1]}.items()
uuid.uuid4()
pathlib.PurePath('a')
io.StringIO('a')
contextlib.nullcontext()
itertools.count()
operator.itemgetter(1)
string.Template('a')
random.Random(1)
queue.Queue()
threading.Lock()
deque([1],maxlen=3)
deque([deque()])
(lambda: 1)
len
[].append
str.upper
object()
type
super(L)
iter([])
zip([1],[2])
map(len,[])
enumerate([])
reversed([1])
E1('x')
E2(2,'no')
E3('utf-8',b'a',0,1,'r')
E4(3)
E5(1)
E6('g',[ValueError()])
ExceptionGroup('g',[E1('a')])
E7()
E8(1,b=2)
E9()
EA()
EB('m','d',0)
EC()
ED()
EE('x')
OSError(2,'no')
UnicodeDecodeError('utf-8',b'a',0,1,'r')
json.JSONDecodeError('m','d',0)
E1
E6
EE
ValueError
StopIteration(3)
asyncio.TimeoutError()
KeyError({1:[2]})
{1,(2,frozenset({3}))}
TD(a=1)
Warning('x')
bytearray(b'x')
[None,True,1.5]
datetime.timedelta(1)
datetime.time(1,fold=1)
datetime.date.min
datetime.timezone(datetime.timedelta(hours=1),'X')
asyncio.sleep(0)
(x for x in [1])
dict.fromkeys('ab')
{**D(a=1)}
defaultdict(list)
defaultdict(D)
Counter
Counter('ab').items()
OrderedDict(a=1).keys()
NT
NT._fields
[NT(1,L())]
""".strip().split("\n")
WAYS = {
    "returned": ("def f(n): return make(n)", "f({0}); assert True"),
    "passed to a callback": (
        "def f(n, call): return call(make(n))",
        "f({0}, lambda value: 1); assert True",
    ),
    "raised": (
        (
            "def f(n):\n    error = make(n)\n"
            "    kind = error if isinstance(error, type) else type(error)\n"
            "    if issubclass(kind, BaseException): raise error"
        ),
        "try: f({0})\nexcept BaseException: pass",
    ),
    "kept as a global": (
        "for n in range(len(makers)):\n    globals()[f'kept_{n}'] = make(n)",
        "(kept_{0}, 1)[1] == 1",
    ),
}
