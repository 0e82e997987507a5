"""The filters of templates: the format's own, and Jinja's, each with its cost."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from jinja2 import Undefined
from jinja2.filters import FILTERS
from jinja2.tests import TESTS
from jinja2.utils import _PassArg, pass_context

from evalwright.templates.bounds import (
    MAX_RANGE,
    OBJECT,
    TooExpensive,
    WorkBudget,
    check_operands,
    cost_of_comparing,
    cost_of_joining,
    cost_of_replacing,
    cost_of_searching,
    limited_pattern,
    percent,
    pieces_cost,
    striptags_cost,
    weight,
)

_MOST_INDENT = 1_000
_MOST_DIGITS = 100
_EXPANDED = 32


def _fromjson(budget: WorkBudget, value: Any) -> Any:
    if isinstance(value, str):
        budget.spend(len(value) + OBJECT // 2 * sum(map(value.count, ",:[{")))
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"`fromjson` expected JSON: {error}") from error


def _tojson(budget: WorkBudget, value: Any, indent: int | None = None) -> str:
    _check(indent or 0, _MOST_INDENT, "an indent")
    if isinstance(value, str) and hasattr(value, "to_json"):  # an answer's text is an object too
        value = value.to_json()
    budget.spend(weight(value, budget.left) * (1 + (indent or 0)))
    return json.dumps(value, default=_as_json, indent=indent, ensure_ascii=False)


def _as_json(value: Any) -> Any:
    to_json = getattr(value, "to_json", None)
    if callable(to_json) and not isinstance(value, Undefined):
        return to_json()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | range) or hasattr(value, "__next__"):
        return list(value)
    if isinstance(value, Undefined):
        str(value)  # says what is not there
    raise TypeError(f"`tojson` has no JSON for `{type(value).__name__}`")


def _json_escape(budget: WorkBudget, value: Any) -> str:
    budget.spend(3 * weight(str(value), budget.left))
    return json.dumps(str(value), ensure_ascii=False)[1:-1]


def _zip(_: WorkBudget, value: Any, *others: Any) -> list[tuple[Any, ...]]:
    return list(zip(value, *others, strict=False))


def _merge(_: WorkBudget, value: Any, *others: Any) -> dict[Any, Any]:
    merged = dict(value)
    for other in others:
        merged.update(other)
    return merged


def _regex_replace(  # noqa: PLR0913, PLR0917 - the format's own signature
    budget: WorkBudget,
    value: Any,
    pattern: str,
    repl: str,
    multiline: bool = False,  # noqa: FBT001, FBT002
    ignorecase: bool = False,  # noqa: FBT001, FBT002
    count: int = 0,
) -> str:
    def replace(match: re.Match[str]) -> str:
        if "\\" not in repl:
            budget.spend(len(repl))
            return repl
        budget.spend(_EXPANDED * len(repl))  # it is read again for every match
        text = match.expand(repl)
        budget.spend(len(text))
        return text

    flags = (re.MULTILINE if multiline else 0) | (re.IGNORECASE if ignorecase else 0)
    try:
        with limited_pattern():
            return re.sub(pattern, replace, str(value), count=count, flags=flags)
    except re.error as error:
        raise ValueError(f"`regex_replace`: {error}") from error


def _format(budget: WorkBudget, value: Any, *arguments: Any, **named: Any) -> Any:
    return percent(str(value), named or arguments, budget)


def _random(budget: WorkBudget, value: Any) -> Any:
    """Always choose the same item of a list: a prompt must not change between runs."""
    budget.pay_for(value)
    values = list(value)
    if not values:
        raise ValueError("`random` expected a non-empty list")
    return values[crc32(repr(values).encode()) % len(values)]


def _center(budget: WorkBudget, value: Any, width: int = 80) -> str:
    text = str(value)
    budget.spend(abs(width) * (1 if text.isascii() else 4))
    return text.center(width)


def _wordcount(_: WorkBudget, value: Any) -> int:
    return sum(1 for _ in _WORD.finditer(str(value)))


_WORD = re.compile(r"\w+")
_LONG_WORD = re.compile(r"\S+")


def _check(number: Any, most: int, what: str) -> None:
    if isinstance(number, int) and abs(number) > most:
        raise TooExpensive(f"{what} is at most {most:,} here, got {number:,}")


def _before_indent(budget: WorkBudget, value: Any, width: Any = 4, *_: Any, **__: Any) -> None:
    size = width if isinstance(width, int) else len(width)
    _check(size, _MOST_INDENT, "an indent")
    budget.spend((str(value).count("\n") + 1) * size)


def _before_replace(budget: WorkBudget, value: Any, old: Any, new: Any, *_: Any) -> None:
    budget.spend(cost_of_replacing(str(value), str(old), str(new)))


def _before_number(most: int, what: str) -> Callable[..., None]:
    def before(budget: WorkBudget, value: Any, *arguments: Any, **named: Any) -> None:
        for number in (*arguments, *named.values()):
            _check(number, most, what)
        _before_objects(budget, value)

    return before


def _before_objects(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    if hasattr(value, "__len__"):  # an object per item
        budget.spend(OBJECT * len(value))


def _before_items(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    if isinstance(value, str):  # each character is an object
        budget.spend(OBJECT * len(value))


def _before_attribute(budget: WorkBudget, value: Any, *arguments: Any, **named: Any) -> None:
    _before_items(budget, value)
    if hasattr(value, "__len__"):
        texts = [text for text in (*arguments, *named.values()) if isinstance(text, str)]
        parts = sum(text.count(".") + text.count(",") for text in texts)
        budget.spend(len(value) * parts * OBJECT)


def _before_groupby(
    budget: WorkBudget, value: Any, attribute: Any, default: Any = None, *more: Any, **named: Any
) -> None:
    _before_attribute(budget, value, attribute, default, *more, **named)
    _before_objects(budget, value)
    if hasattr(value, "__len__"):  # each item without the attribute gets a copy in lower case
        budget.spend(len(value) * weight(default, budget.left))


def _before_words(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    budget.spend(OBJECT // 2 * len(str(value)))


def _before_pprint(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    budget.spend(OBJECT * weight(value, budget.left))


def _before_escape(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    if isinstance(value, str):
        budget.spend(len(value) + 4 * sum(map(value.count, "&<>'\"")))


def _before_striptags(budget: WorkBudget, value: Any, *_: Any, **__: Any) -> None:
    budget.spend(striptags_cost(str(value)))


def _before_wordwrap(
    budget: WorkBudget, value: Any, width: int = 79, *arguments: Any, **named: Any
) -> None:
    text = str(value)
    lines = 2 * len(text) // max(width, 1) + text.count("\n") + 1
    longest = _longest_word(text)
    breaks = max((len(each) for each in (*arguments, *named.values()) if _is_text(each)), default=1)
    budget.spend(OBJECT // 2 * len(text) + longest * longest // max(width, 1) + lines * breaks)


def _before_urlize(budget: WorkBudget, value: Any, *arguments: Any, **named: Any) -> None:
    text = str(value)
    added = sum(weight(each, budget.left) for each in (*arguments, *named.values()))
    longest = _longest_word(text)
    budget.spend(2 * OBJECT * len(text) + longest * longest + pieces_cost(text) * (added + 1))


def _longest_word(text: str) -> int:
    return max((match.end() - match.start() for match in _LONG_WORD.finditer(text)), default=0)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _before_join(
    budget: WorkBudget, value: Any, d: Any = "", *arguments: Any, **named: Any
) -> None:
    _before_attribute(budget, value, *arguments, **named)
    budget.spend(cost_of_joining(str(d), value, budget))


def _before_sum(budget: WorkBudget, value: Any, attribute: Any = None, start: Any = 0) -> None:
    del attribute
    if not isinstance(start, int | float):  # each addition copies all that was there before
        budget.spend(len(value) * weight(value, budget.left))


OWN: dict[str, Callable[..., Any]] = {
    "fromjson": _fromjson,
    "tojson": _tojson,
    "json_escape": _json_escape,
    "zip": _zip,
    "merge": _merge,
    "regex_replace": _regex_replace,
    "format": _format,
    "random": _random,
    "center": _center,
    "wordcount": _wordcount,
}
_BEFORE: dict[str, Callable[..., None]] = {
    "indent": _before_indent,
    "replace": _before_replace,
    "batch": _before_number(MAX_RANGE, "a number of parts"),
    "slice": _before_number(MAX_RANGE, "a number of parts"),
    "round": _before_number(_MOST_DIGITS, "a precision"),
    "groupby": _before_groupby,
    "map": _before_attribute,
    "sort": _before_attribute,
    "unique": _before_attribute,
    "min": _before_attribute,
    "max": _before_attribute,
    "selectattr": _before_attribute,
    "rejectattr": _before_attribute,
    "list": _before_items,
    "select": _before_items,
    "reject": _before_items,
    "zip": _before_objects,
    "items": _before_objects,
    "dictsort": _before_objects,
    "title": _before_words,
    "pprint": _before_pprint,
    "e": _before_escape,
    "escape": _before_escape,
    "forceescape": _before_escape,
    "xmlattr": _before_pprint,
    "striptags": _before_striptags,
    "wordwrap": _before_wordwrap,
    "urlize": _before_urlize,
    "join": _before_join,
    "sum": _before_sum,
}
BLOCK = " block"
"""The filter around the text of a block: `{% set x %}…{% endset %}`."""
STEPS = " steps"
"""The filter around the iterable of a loop. Templates cannot use its name."""


def paid_filters() -> dict[str, Callable[..., Any]]:
    """Return every filter by name. All take the context, so the compiler runs none."""
    filters = {
        name: _paid(name, function, _FIRST[_PassArg.from_obj(function)])
        for name, function in FILTERS.items()
    }
    filters |= {name: _paid(name, function, _budget) for name, function in OWN.items()}
    filters[STEPS] = _steps
    filters[BLOCK] = _block
    return filters


@pass_context
def _steps(context: Any, value: Any) -> Any:
    return context.budget.steps(value)


@pass_context
def _block(context: Any, value: Any) -> Any:
    return context.budget.pay_for(value)


def paid_tests() -> dict[str, Callable[..., Any]]:
    """Return every test by name; those that compare or print values cost work."""
    tests: dict[str, Any] = TESTS
    return {name: _paid_test(name, function) for name, function in tests.items()}


def _paid_test(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if _PassArg.from_obj(function) is not None:  # looks up a name, and compares nothing
        return function

    def call(context: Any, value: Any, *arguments: Any) -> Any:
        budget: WorkBudget = context.budget
        if name == "in":
            budget.spend(sum(cost_of_searching(value, each, budget) for each in arguments))
        elif name in {"upper", "lower"}:
            budget.pay_for(value)
        else:
            check_operands(value, arguments[0] if arguments else None)
            budget.spend(sum(cost_of_comparing(value, each, budget) for each in arguments))
        return function(value, *arguments)

    call.__name__ = name
    return pass_context(call)


def _budget(context: Any) -> tuple[Any, ...]:
    return (context.budget,)


_FIRST: dict[_PassArg | None, Callable[[Any], tuple[Any, ...]]] = {
    _PassArg.context: lambda context: (context,),
    _PassArg.eval_context: lambda context: (context.eval_ctx,),
    _PassArg.environment: lambda context: (context.environment,),
    None: lambda _: (),
}
"""Return what Jinja passes to a filter before the value."""


def _paid(
    name: str, function: Callable[..., Any], first: Callable[[Any], tuple[Any, ...]]
) -> Callable[..., Any]:
    before = _BEFORE.get(name)

    def call(context: Any, value: Any, *arguments: Any, **named: Any) -> Any:
        budget: WorkBudget = context.budget
        if hasattr(value, "__next__"):  # an iterator could not be weighed and still be used
            value = list(budget.steps(value))
        if before is not None:
            before(budget, value, *arguments, **named)
        return budget.pay_for(function(*first(context), value, *arguments, **named))

    call.__name__ = name
    return pass_context(call)
