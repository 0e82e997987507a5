"""Hash a function: equal hashes mean that it computes the same.

Covered:      its source, its default values, what it closes over, and the functions and plain
              values of its module that it names, directly or not.
Not covered:  other modules, and objects outside the function. If these change, so may the results:
              increase `version`, or use `fresh=True`.

A function that closes over an object (a client, a lock, an open file) has no stable hash.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from textwrap import dedent
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (bool, int, float, str, type(None))


class NoIdentity(ValueError):
    """A function whose results cannot be reused, because nothing shows when it changes."""


def hash_function(function: Callable[..., Any]) -> str:
    """Return the hash; `NoIdentity` says why there is none."""
    digest = blake2b(digest_size=16)
    for part in _describe(function, name_of(function), set()):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class of a callable object."""
    if isinstance(function, partial):
        return name_of(function.func)
    name = getattr(function, "__name__", "") or type(function).__name__
    return "lambda" if name == "<lambda>" else str(name)


def _describe(value: Any, where: str, seen: set[int]) -> Iterator[str]:
    """Yield strings that differ if the value does."""
    if id(value) in seen:
        return
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, list | tuple | set | frozenset | Mapping):
        seen.add(id(value))
        yield from _describe_container(value, where, seen)
    elif isinstance(value, partial):
        seen.add(id(value))
        yield from _describe(value.func, where, seen)
        yield from _describe([value.args, value.keywords], f"the arguments of `{where}`", seen)
    elif isinstance(value, MethodType):
        yield from _describe(value.__func__, where, seen)
        yield from _describe(value.__self__, where, seen)
    elif isinstance(value, FunctionType):
        seen.add(id(value))
        yield from _describe_function(value, seen)
    elif isinstance(value, type):
        seen.add(id(value))
        yield _source(value, f"{value.__module__}.{value.__qualname__}")
    elif callable(value) and not inspect.isbuiltin(value):
        seen.add(id(value))
        yield from _describe(type(value), where, seen)
        yield from _describe(vars(value), f"an attribute of `{name_of(value)}`", seen)
    elif inspect.isbuiltin(value) or inspect.ismodule(value):
        yield str(getattr(value, "__qualname__", value.__name__))
    else:
        raise NoIdentity(f"{where} is a `{type(value).__name__}`, which may change unnoticed")


def _describe_container(value: Any, where: str, seen: set[int]) -> Iterator[str]:
    yield type(value).__name__
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield repr(key)
            yield from _describe(each, where, seen)
        return
    items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
    for each in items:
        yield from _describe(each, where, seen)


def _describe_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    name = name_of(function)
    yield _source(function, json.dumps(_describe_code(function.__code__)))
    yield from _describe(function.__defaults__, f"a default value of `{name}`", seen)
    yield from _describe(function.__kwdefaults__, f"a default value of `{name}`", seen)
    names = inspect.getclosurevars(function)
    for free, value in sorted(names.nonlocals.items()):
        yield free
        yield from _describe(value, f"`{free}`, which `{name}` closes over,", seen)
    for free, value in sorted(names.globals.items()):
        if _is_own(value, function.__module__):
            yield free
            yield from _describe(value, f"`{free}`, which `{name}` reads,", seen)


def _is_own(value: Any, module: str) -> bool:
    """Whether a global is a plain value, or a function or a class of the same module."""
    if isinstance(value, FunctionType | type):
        return value.__module__ == module
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_own(each, module) for each in value)
    if isinstance(value, Mapping):
        return all(_is_own(each, module) for each in value.values())
    return isinstance(value, _PLAIN)


def _source(value: Any, otherwise: str) -> str:
    try:
        return dedent(inspect.getsource(value))
    except (OSError, TypeError):  # typed at a prompt, or without its source
        return otherwise


def _describe_code(code: CodeType) -> list[Any]:
    constants = [
        _describe_code(each) if isinstance(each, CodeType) else repr(each)
        for each in code.co_consts
    ]
    return [code.co_code.hex(), constants, list(code.co_names), list(code.co_varnames)]
