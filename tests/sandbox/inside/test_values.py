"""A value comes out as it went in, or it does not go in; and no JSON does more than be refused."""

import builtins
import collections
import copy
import datetime as dt
import functools
import itertools
import math
import operator
import os
import re
import statistics
import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.sandbox.inside import values
from evalwright.sandbox.inside.values import BadValue, Decoder, Encoder, Unsendable

EMPTY: dict[Any, Any] = {}
KEYS, VALUES, ITEMS = type(EMPTY.keys()), type(EMPTY.values()), type(EMPTY.items())
CLOCKS_GO_BACK = dt.datetime(2024, 10, 27, 2, 30, fold=1)  # noqa: DTZ001 - one with a zone has no form
SEEDED = settings(derandomize=True)
CONTAINERS = {list, dict, set, bytearray, *values.CONTAINERS}
DICTS = (dict, collections.Counter, collections.OrderedDict, collections.defaultdict)


def sent(value: Any, known: list[Any] | None = None) -> Any:
    return values.unpack(values.pack(Encoder([] if known is None else known).encode(value)))


def received(form: Any, known: list[Any] | None = None) -> Any:
    return Decoder([] if known is None else known).decode(form)


def passed(value: Any) -> Any:
    return received(sent(value))


def told(value: Any) -> Any:
    """A value taken apart by exact types: equal for two that nobody can tell apart."""
    kind = type(value)
    if kind in {list, tuple, KEYS, VALUES}:
        return kind, tuple(map(told, value))
    if kind in {set, frozenset}:
        return kind, frozenset(map(told, value))
    if kind is collections.deque:
        return kind, value.maxlen, tuple(map(told, value))
    if kind is ITEMS:
        return kind, tuple(map(told, value))
    if kind in DICTS:
        factory = getattr(value, "default_factory", None)
        return kind, factory, tuple(map(told, dict.items(value)))
    return kind, repr(value), getattr(value, "fold", 0)


texts = st.text(st.characters(exclude_categories=()))
integers = st.integers() | st.integers(-(2**4000), 2**4000)
folds = st.sampled_from([0, 1])
steps = st.integers(-(2**70), 2**70).filter(bool)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    st.floats(),
    texts,
    st.sampled_from([2**1024, 1 - 2**1024, 2**1024 - 1, -(2**1024), -0.0, math.nan, math.inf]),
)
flat = st.one_of(
    scalars,
    st.complex_numbers(),
    st.binary(),
    st.builds(range, integers, integers, steps),
    st.decimals().filter(lambda number: not number.is_snan()),
    st.fractions(),
    st.dates(),
    st.builds(lambda moment, fold: moment.replace(fold=fold), st.datetimes(), folds),
    st.builds(lambda moment, fold: moment.replace(fold=fold), st.times(), folds),
    st.timedeltas(),
    st.sampled_from([len, int, math.gcd, collections.Counter]),
)
keys = st.recursive(
    flat, lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner), max_leaves=5
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    dicts = st.dictionaries(keys, inner, max_size=4)
    factories = st.sampled_from([None, int, list, dict])
    return st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.sets(keys, max_size=4),
        st.binary().map(bytearray),
        dicts,
        dicts.map(lambda pairs: pairs.keys()),
        dicts.map(lambda pairs: pairs.values()),
        st.dictionaries(keys, inner, max_size=4).map(lambda pairs: pairs.items()),
        dicts.map(collections.OrderedDict),
        st.dictionaries(keys, integers, max_size=4).map(collections.Counter),
        st.builds(collections.defaultdict, factories, dicts),
        st.builds(
            collections.deque, st.lists(inner, max_size=5), st.none() | st.integers(0, 2**40)
        ),
    )


everything = st.recursive(keys, containers, max_leaves=12)


@SEEDED
@given(everything)
def test_a_value_comes_out_as_it_went_in(value: Any) -> None:
    assert told(passed(value)) == told(value)


@SEEDED
@given(everything)
def test_both_sides_number_containers_alike(value: Any) -> None:
    here: list[Any] = []
    there: list[Any] = []

    received(sent(value, here), there)

    assert [told(container) for container in there] == [told(container) for container in here]
    assert {type(container) for container in here} <= CONTAINERS


@pytest.mark.parametrize(
    "value",
    [
        *(0, False, 0.0, -0.0, 0j, "", b"", bytearray(), None),
        *(1, True, 1.0, 1 + 0j, "1", b"1", Decimal(1), Fraction(1)),
        *(
            math.nan,
            math.inf,
            -math.inf,
            complex(-0.0, math.nan),
            Decimal("sNaN"),
            Decimal("-0.00"),
        ),
        *(2**1024 - 1, 2**1024, -(2**1024), 2**10_000, [2**1024, True], (-(2**1024), "x")),
        *("\ud800", "\udfff\ud800", "\0", "\u2028", "é\U0001f600", bytes(range(256))),
        *([], (), set(), frozenset(), {}, range(0), range(5, -5, -2), range(2**70)),
        *({1: 2}.keys(), {1: 2}.values(), {1: 2}.items()),
        *([1, True, 1.0], {1, "1"}, {True: 1}, (None,), [[]], [()], {(1, (2,)): [3]}),
        collections.Counter(a=0, b=-1),
        collections.OrderedDict([("b", 1), ("a", 2)]),
        collections.defaultdict(list, {1: [2]}),
        collections.deque([1, 2], maxlen=2),
        *(dt.date.min, CLOCKS_GO_BACK, dt.time(23, 59)),
        *(dt.timedelta.min, dt.timedelta(microseconds=-1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exact_types_are_kept(value: Any) -> None:
    assert told(passed(value)) == told(value)


def test_an_integer_may_have_more_digits_than_python_prints() -> None:
    assert passed([7**100_000, -(7**100_000)]) == [7**100_000, -(7**100_000)]


def test_what_is_the_same_is_the_same_afterwards() -> None:
    shared: list[Any] = [1]

    first, (second, third), fourth = passed([shared, (shared, [1]), {"key": shared}])

    assert first is second is fourth["key"]
    assert third == first
    assert third is not first


@pytest.mark.parametrize("shared", [[], {}, set(), bytearray()], ids=["l", "d", "s", "B"])
def test_every_kind_of_mutable_container_keeps_its_identity(shared: Any) -> None:
    one, other, alike = passed((shared, shared, copy.copy(shared)))

    assert one is other is not alike


def test_a_list_may_hold_itself() -> None:
    endless: list[Any] = [1]
    endless.append(endless)

    again = passed(endless)

    assert again[0] == 1
    assert again[1] is again


def test_a_dict_may_hold_itself_through_others() -> None:
    endless: dict[str, Any] = {}
    endless["round"] = (1, [endless])

    again = passed(endless)

    assert again["round"][1][0] is again


def test_a_container_that_both_sides_know_is_sent_by_its_number() -> None:
    mine: list[Any] = [1]
    theirs: list[Any] = [1]

    assert sent((mine, [2]), [mine]) == ["t", ["r", 0], ["l", 2]]
    assert received(["t", ["r", 0], ["l", 2]], [theirs])[0] is theirs


@SEEDED
@given(everything)
def test_the_contents_of_a_container_can_be_sent_again(value: Any) -> None:
    here: list[Any] = []
    there: list[Any] = []
    received(sent(value, here), there)
    copies = [copy.copy(container) for container in there]
    for container in copies:
        container.clear()

    for container, empty in zip(here, copies, strict=True):
        form = values.unpack(values.pack(Encoder(here).encode_contents(container)))
        Decoder(there).apply_changes([empty], [[0, form]])

    assert [told(container) for container in copies] == [told(container) for container in here]


def test_a_snapshot_tells_what_has_changed() -> None:
    first: list[Any] = [1]
    second = {"a": first}
    known = [first, second]
    before = values.take_snapshot(known, Encoder(known))

    first.append(2)

    after = values.take_snapshot(known, Encoder(known))
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False]


@pytest.mark.parametrize("form", [None, 5, {}, [], ["d"], ["t", 1], "l", ["r", 0]])
def test_a_container_takes_only_the_contents_of_its_kind(form: Any) -> None:
    with pytest.raises(BadValue, match=r"another kind|no change"):
        Decoder([]).apply_changes([[]], [[0, form]])


@pytest.mark.parametrize("form", [["d", 1], ["d", ["l"], 1], ["d", ["x"], 1]])
def test_what_cannot_be_taken_leaves_a_dict_as_it_was(form: Any) -> None:
    container = {"a": 1}

    with pytest.raises(BadValue):
        Decoder([]).apply_changes([container], [[0, form]])

    assert container == {"a": 1}


def nested(depth: int, around: Callable[[Any], Any]) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = around(value)
    return value


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(lambda value: [value], id="lists"),
        pytest.param(lambda value: (value,), id="tuples"),
        pytest.param(lambda value: {"key": value}, id="dicts"),
        pytest.param(lambda value: frozenset({value}), id="frozensets"),
    ],
)
def test_a_hundred_deep_is_deep_enough(around: Callable[[Any], Any]) -> None:
    assert told(passed(nested(values.MAX_DEPTH, around))) == told(nested(values.MAX_DEPTH, around))
    with pytest.raises(Unsendable, match="more than 100 deep"):
        sent(nested(values.MAX_DEPTH + 1, around))


def test_long_and_wide_is_not_deep() -> None:
    value = [nested(values.MAX_DEPTH - 1, lambda inner: [inner]) for _ in range(5)]

    assert passed(value) == value


class Impostor(int):
    pass


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(object(), id="object"),
        pytest.param(Impostor(1), id="a subclass of int"),
        pytest.param(type("Counter", (dict,), {"__module__": "collections"})(), id="a namesake"),
        pytest.param(iter([]), id="an iterator"),
        pytest.param(memoryview(b""), id="memoryview"),
        pytest.param(ValueError("x"), id="an exception"),
        pytest.param(dt.time(1, tzinfo=ZoneInfo("UTC")), id="a time in a zone by name"),
        pytest.param(sys, id="a module"),
        pytest.param(lambda: 0, id="a lambda"),
        pytest.param(Impostor, id="a class"),
        pytest.param(eval, id="eval"),
        pytest.param(os.system, id="os.system"),
        pytest.param("".join, id="a bound method"),
        pytest.param(dict.fromkeys, id="a class method"),
    ],
)
def test_what_has_no_form_is_not_sent(value: Any) -> None:
    with pytest.raises(Unsendable):
        sent(value)
    with pytest.raises(Unsendable):
        sent({"deep": [1, (value,)]})


@pytest.mark.parametrize(
    "function",
    [
        *(math.gcd, math.sqrt, copy.deepcopy, re.compile, statistics.mean, functools.partial),
        *(itertools.chain, operator.itemgetter, collections.Counter, collections.OrderedDict),
        *(Decimal, Fraction, dt.date, re.Pattern),
        *(getattr(builtins, name) for name in sorted(values._BUILTINS)),
    ],
    ids=lambda function: function.__name__,
)
def test_a_function_that_both_sides_have_is_itself(function: Any) -> None:
    assert passed(function) is function


@pytest.mark.parametrize(
    "form",
    [
        *(["q", "builtins", name] for name in ("eval", "exec", "open", "compile", "input")),
        *(["q", "builtins", name] for name in ("getattr", "setattr", "vars", "globals", "type")),
        *(["q", "builtins", name] for name in ("__import__", "object", "print", "Exception")),
        ["q", "unittest.mock", "ANY"],
        ["q", "unittest", "mock"],
        ["q", "os", "system"],
        ["q", "subprocess", "Popen"],
        ["q", "sys", "exit"],
        ["q", "candidate", "f"],
        ["q", "collections.abc", "Sized"],
        ["q", "collections", "abc"],
        ["q", "collections", "abc.Sized"],
        ["q", "collections", "_sys"],
        ["q", "datetime", "sys"],
        ["q", "functools", "_make_key"],
        ["q", "math", "__loader__"],
        ["q", "operator", "attrgetter.__init__"],
        ["q", "math", "pi"],
        ["q", "string", "digits"],
        ["q", "math", "nothing"],
        ["q", "math", ""],
        ["q", "", "len"],
        ["q", "math", 5],
        ["q", 5, "len"],
        ["q", "builtins", ["len"]],
        ["q", ["builtins"], "len"],
        ["q", {}, "len"],
        ["q", "builtins", None],
        ["q", "builtins"],
        ["q", "builtins", "len", "len"],
        ["q"],
    ],
    ids=lambda form: " ".join(map(str, form)),
)
def test_any_other_function_is_refused(form: Any) -> None:
    with pytest.raises(BadValue):
        received(form)


def test_a_refused_module_is_not_even_imported() -> None:
    assert "this" not in sys.modules

    with pytest.raises(BadValue):
        received(["q", "this", "s"])

    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "form",
    [
        *({}, {"a": 1}, [], [[]], [1], [None, "l"], ["l", {}], ["t", [[]]]),
        *(["x"], ["h", 0, "a"], ["ll"], [""], ["\ud800"], ["x" * 1000]),
        *(["i"], ["i", 5], ["i", ""], ["i", "0x"], ["i", None], ["i", ["l"]]),
        *(["b"], ["b", 5], ["b", "\u0100"], ["B"], ["B", None], ["B", "\u0100"]),
        *(["c"], ["c", 1], ["c", "x", 1], ["c", [], 1], ["c", 10**400, 1]),
        *(["d", 1], ["d", ["l"], 1], ["s", ["l"]], ["z", ["d"]], ["K", ["s"]], ["I", 1]),
        *(["R"], ["R", 1, 2, 0], ["R", 1.5], ["R", "x"], ["R", 1, 2, 3, 4]),
        *(["r"], ["r", 0], ["r", -1], ["r", True], ["r", "0"], ["r", 10**40], ["r", 0, 0]),
        *(["S"], ["S", 1], ["S", []], ["S", "Popen"], ["S", "Counter", 1], ["S", "deque"]),
        *(["S", "deque", -1], ["S", "deque", "x"], ["S", "defaultdict"], ["S", "defaultdict", 5]),
        *(["S", "date", 2024, 13, 1], ["S", "date", 10**400, 1, 1], ["S", "time"]),
        *(["S", "timedelta", 10**10], ["S", "Decimal", "x"], ["S", "Fraction", 1, 0]),
    ],
    ids=lambda form: f"{form!r:.40}".encode("ascii", "backslashreplace").decode(),
)
def test_json_that_stands_for_nothing_is_refused(form: Any) -> None:
    with pytest.raises(BadValue):
        received(form)


words = st.sampled_from([
    *(tag for tag in values.Decoder.decoders if tag != "N"),
    *values.PARTS,
    *sorted(values._BUILTINS | values._MODULES_OF_FUNCTIONS),
    "eval",
    "_sys",
])  # fmt: skip
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-1, 9), st.floats(), texts, words
)
anything = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.builds(lambda tag, items: [tag, *items], words, st.lists(inner, max_size=5)),
        st.builds(
            lambda name, items: ["S", name, *items],
            st.sampled_from(list(values.PARTS)),
            st.lists(inner, max_size=8),
        ),
        st.dictionaries(texts, inner, max_size=2),
    ),
    max_leaves=30,
)


@SEEDED
@given(anything)
def test_any_json_is_a_value_or_a_bad_value(form: Any) -> None:
    known: list[Any] = [[], {}]

    with suppress(BadValue):
        received(form, known)


def arrays(form: Any) -> list[list[Any]]:
    """A form and all that are within it."""
    if type(form) is not list:
        return []
    return [form, *(inner for part in form for inner in arrays(part))]


@SEEDED
@given(containers(everything), st.data())
def test_a_form_that_was_tampered_with_is_a_value_or_a_bad_value(
    value: Any, data: st.DataObject
) -> None:
    form = sent(value)
    for _ in range(data.draw(st.integers(1, 3))):
        array = data.draw(st.sampled_from(arrays(form) or [[]]))
        place = data.draw(st.integers(0, len(array)))
        array[place : place + data.draw(folds)] = data.draw(st.lists(anything, max_size=2))

    known: list[Any] = []
    with suppress(BadValue):
        received(form, known)
    assert all(type(container) in CONTAINERS for container in known)


def test_an_array_of_numpy_comes_out_as_it_went_in() -> None:
    numpy = pytest.importorskip("numpy")
    some = [
        numpy.arange(6, dtype=">i2").reshape(2, 3),
        numpy.array([[True], [False]]),
        numpy.array(1.5),
        numpy.zeros((0, 3), "c16"),
        numpy.arange(6).reshape(2, 3).T,
    ]

    for array in some:
        again = passed(array)
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert (again == array).all()
        again.fill(0)  # its own memory, and writable


def test_a_number_of_numpy_comes_out_as_it_went_in() -> None:
    numpy = pytest.importorskip("numpy")
    some = [numpy.int64(3), numpy.bool_(1), numpy.float32(0.5), numpy.complex128(1j)]

    again = passed(some)

    assert again == some
    assert list(map(type, again)) == list(map(type, some))


@pytest.mark.parametrize(
    "form",
    [
        *(
            ["N"],
            ["N", "O", [1], "\0" * 8],
            ["N", "nothing", [1], "\0"],
            ["N", "U1", [1], "\0" * 4],
        ),
        *(["N", "i4", [2], "\0" * 4], ["N", "i4", [1], "\0" * 5], ["N", "i4", ["x"], "\0" * 4]),
        *(["N", "i4", [1], "\u0100"], ["N", "i4", [1], None], ["N", 5, [1], ""]),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(form: Any) -> None:
    pytest.importorskip("numpy")

    with pytest.raises(BadValue):
        received(form)


def test_without_numpy_there_are_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(BadValue, match="no numpy"):
        received(["N", "i4", [1], "\0" * 4])
