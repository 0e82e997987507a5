"""What the decorators of functions share: names, versions, parameters and arguments.

    @ew.scorer
    @ew.metric(name="spread", version=2, percent=90)

A decorated function can be called as before. Increase `version` if a change that evalwright cannot
see changes its results. All other keywords are parameters, which are passed to the function.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from secrets import token_hex
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from evalwright.errors import UsageError
from evalwright.functions.identity import NoIdentity, hash_function, name_of

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
AnyFunction = Callable[..., Any]


class NamedFunction(Protocol):
    """A function of the author."""

    @property
    def __name__(self) -> str:
        """Its name in reports, unless the decorator gives it one."""


class FunctionKind(Struct, frozen=True, kw_only=True):
    """A kind of component that a function can be."""

    noun: str
    arguments: tuple[str, ...]
    """The arguments that it may take."""
    rule: str
    """What it takes, in words."""

    @property
    def attribute(self) -> str:
        """Where a decorated function keeps its decoration."""
        return f"evalwright_{self.noun}"


class Decoration(NamedTuple):
    """What a decorator was given."""

    name: str
    version: int = 1
    parameters: Mapping[str, object] = {}
    by: str = ""
    """The groups of a metric; empty for none."""


class ReadFunction(NamedTuple):
    """A function, ready to be called as a component."""

    call: AnyFunction
    """The function with its parameters."""
    name: str
    takes: tuple[str, ...]
    """The arguments that it takes, in order."""
    identity: str
    """Hash of the function, its version and its parameters."""
    why_not_reused: str
    """Why its results cannot be reused; empty if they can."""
    by: str = ""
    """The groups of a metric; empty for none."""


def decorate(kind: FunctionKind, function: AnyFunction, decoration: Decoration) -> None:
    """Mark a function as a component; `UsageError` if it takes other arguments."""
    decoration = decoration._replace(name=decoration.name or name_of(function))
    _find_arguments(kind, function, decoration)
    setattr(function, kind.attribute, decoration)


def read_function(kind: FunctionKind, function: AnyFunction) -> ReadFunction:
    """Return a function as its decorator, if it has one, describes it."""
    decoration = getattr(function, kind.attribute, None) or Decoration(name_of(function))
    takes = _find_arguments(kind, function, decoration)
    call = partial(function, **decoration.parameters) if decoration.parameters else function
    try:
        identity, why = f"{decoration.version} {hash_function(call)}", ""
    except NoIdentity as error:
        identity, why = token_hex(8), str(error)
    return ReadFunction(call, decoration.name, takes, identity, why, decoration.by)


def is_decorated(kind: FunctionKind, value: object) -> bool:
    """Whether a value is a function with this decorator."""
    return isinstance(getattr(value, kind.attribute, None), Decoration)


def returns_type(function: AnyFunction) -> str:
    """Return the name of the annotated result: `dict` for `-> dict[str, float]`."""
    try:
        returns = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return ""
    name = returns if isinstance(returns, str) else getattr(returns, "__name__", "")
    return str(name).partition("[")[0].rpartition(".")[2]


async def call_in_thread(function: AnyFunction, *arguments: Any) -> Any:
    """Call a function without blocking other samples: one that is not async runs in a thread."""
    if is_async(function):
        return await function(*arguments)
    returned = await asyncio.to_thread(function, *arguments)
    return await returned if inspect.isawaitable(returned) else returned


def is_async(function: AnyFunction) -> bool:
    """Whether a function, or the `__call__` of an object, is async."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async `__call__`
    )


def _find_arguments(
    kind: FunctionKind, function: AnyFunction, decoration: Decoration
) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a builtin
        return kind.arguments[:2]
    required = [
        each.name
        for each in parameters.values()
        if each.default is each.empty
        and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
        and each.name not in decoration.parameters
    ]
    named = [name for name in parameters if name in kind.arguments]
    unknown = [name for name in required if name not in kind.arguments]
    missing = [name for name in decoration.parameters if name not in parameters]
    if unknown or missing or not named:
        problem = "takes no argument"
        if unknown:
            problem = f"takes `{unknown[0]}`, which it is not given"
        elif missing:
            problem = f"does not take `{missing[0]}`"
        raise UsageError(
            f"the {kind.noun} `{decoration.name}` {problem}",
            hint=f"a {kind.noun} takes {kind.rule}; other parameters are set with "
            f"`@ew.{kind.noun}(NAME=VALUE)`",
        )
    return tuple(named)
