"""The filters of templates: the format's own, and Jinja's, each with its cost."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from jinja2 import Undefined
from jinja2.filters import FILTERS
from jinja2.utils import _PassArg, pass_context

from evalwright.templates.bounds import (
    MAX_RANGE,
    TooExpensive,
    WorkBudget,
    cost_of_joining,
    cost_of_replacing,
    percent,
    weight,
)

_MOST_INDENT = 1_000
_MOST_DIGITS = 100
_EXPANDED = 32


def _fromjson(_: WorkBudget, value: Any) -> Any:
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


def _json_escape(_: WorkBudget, value: Any) -> str:
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
        return re.sub(pattern, replace, str(value), count=count, flags=flags)
    except re.error as error:
        raise ValueError(f"`regex_replace`: {error}") from error


def _format(budget: WorkBudget, value: Any, *arguments: Any, **named: Any) -> Any:
    return percent(str(value), named or arguments, budget)


def _random(_: WorkBudget, value: Any) -> Any:
    """Always choose the same item of a list: a prompt must not change between runs."""
    values = list(value)
    if not values:
        raise ValueError("`random` expected a non-empty list")
    return values[crc32(repr(values).encode()) % len(values)]


def _center(budget: WorkBudget, value: Any, width: int = 80) -> str:
    budget.spend(width)
    return str(value).center(width)


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
    def before(_: WorkBudget, __: Any, number: Any = 0, *___: Any, **____: Any) -> None:
        _check(number, most, what)

    return before


def _before_join(budget: WorkBudget, value: Any, d: Any = "", *_: Any, **__: Any) -> None:
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
}
_BEFORE: dict[str, Callable[..., None]] = {
    "indent": _before_indent,
    "replace": _before_replace,
    "batch": _before_number(MAX_RANGE, "a number of parts"),
    "slice": _before_number(MAX_RANGE, "a number of parts"),
    "round": _before_number(_MOST_DIGITS, "a precision"),
    "join": _before_join,
    "sum": _before_sum,
}
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
    return filters


@pass_context
def _steps(context: Any, value: Any) -> Any:
    return context.budget.steps(value)


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
