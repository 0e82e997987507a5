"""What declared types mean: check a value against one, or wrap JSON in the classes of one.

    check(3, str)                    ValueError: expected `str`, got `int`
    check({"role": "user"}, Message) a `Message`, or a ValueError that names its field
    wrapper_of(list[Message])        a function that wraps a JSON list, or None: nothing to wrap

Annotations are resolved when they are first needed. One that cannot be resolved allows any value.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from .record import Record, Records, wrap

REQUIRED: Any = object()
"""The default of a field that must be given."""

_MAX_QUOTED = 80
_MAX_MEMBERS = 4
_NUMBERS = {float: (int, float), int: (int,)}


class Fields(dict[str, Any]):
    """The declared fields of a class: names with their defaults, in their order."""

    def __init__(self, owner: type, inherited: Fields | None = None) -> None:
        super().__init__(inherited or {})
        self.annotations: dict[str, tuple[Any, str]] = (
            {**inherited.annotations} if inherited else {}
        )
        """What was written, and the module that it was written in."""
        for name, annotation in vars(owner).get("__annotations__", {}).items():
            if name.startswith("_") or "ClassVar" in str(annotation):
                continue
            self[name] = vars(owner).get(name, REQUIRED)
            self.annotations[name] = annotation, owner.__module__

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The type of each field."""
        return {name: _resolve(*declared) for name, declared in self.annotations.items()}

    @cached_property
    def wrappers(self) -> dict[str, Callable[[Any], Any]]:
        """For each field whose type has classes of ours: the function that wraps its JSON."""
        wrappers = {name: wrapper_of(hint) for name, hint in self.hints.items()}
        return {name: wrap for name, wrap in wrappers.items() if wrap is not None}

    @cached_property
    def constants(self) -> dict[str, Any]:
        """Fields that have one legal value, such as `type`: they are always part of the JSON."""
        return {
            name: self[name]
            for name, hint in self.hints.items()
            if get_origin(hint) is Literal and self[name] is not REQUIRED
        }

    def default(self, name: str) -> Any:
        """The default of a field; a list or dict is a new one each time."""
        default = self[name]
        return type(default)(default) if isinstance(default, list | dict) else default

    def check(self, owner: str, given: Mapping[str, Any], *, keep_unknown: bool) -> dict[str, Any]:
        """The values as their declared types; ValueError lists all that is wrong with them."""
        problems = (
            [] if keep_unknown else [_refuse(name, self, owner) for name in given.keys() - self]
        )
        values = {**self.constants, **given}
        for name, default in self.items():
            if name not in values:
                if default is REQUIRED:
                    wanted = type_name(self.hints[name])
                    problems.append(f"missing required field `{name}`: expected `{wanted}`")
                continue
            if values[name] is None and isinstance(default, list | dict):
                del values[name]
                continue
            try:
                values[name] = check(values[name], self.hints[name], name)
            except ValueError as error:
                problems.append(str(error))
        if problems:
            raise ValueError(f"{owner}: {'; '.join(problems)}")
        return values


def _refuse(name: str, known: Iterable[str], owner: str) -> str:
    fields = ", ".join(f"`{field}`" for field in known) or "no fields"
    advice = f"`{owner}.model_validate({{…}})` keeps other fields"
    return f"unknown field `{name}`: expected {fields}; {advice}"


def _resolve(annotation: Any, module: str) -> Any:
    if not isinstance(annotation, str):
        return annotation
    names = vars(sys.modules[module]) if module in sys.modules else {}
    try:
        return eval(annotation, dict(names), dict(vars(typing)))  # noqa: S307 - what was written as code
    except (AttributeError, NameError, SyntaxError, TypeError):
        return Any


def check(value: Any, hint: Any, path: str = "") -> Any:
    """The value as that type, or ValueError. JSON becomes the classes that are asked for."""
    if hint is Any:
        return value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _check_union(value, arguments, path)
    if origin is Literal:
        if value in arguments:
            return value
    elif origin is list and isinstance(value, list | tuple):
        return [check(each, arguments[0], f"{path}[{n}]") for n, each in enumerate(value)]
    elif origin in {dict, Mapping} and isinstance(value, Mapping):
        key, inner = arguments
        return {check(k, key, path): check(v, inner, f"{path}.{k}") for k, v in value.items()}
    elif origin in {list, dict, Mapping}:
        pass
    elif not isinstance(hint, type) or isinstance(value, _NUMBERS.get(hint, hint)):
        return value
    elif (converted := _convert(value, hint, path)) is not None:
        return converted
    raise ValueError(f"expected `{type_name(hint)}`, got {_describe(value)} - at `{path}`")


def _convert(value: Any, hint: type, path: str) -> Any:
    if issubclass(hint, Enum):
        return next((member for member in hint if member.value == value), None)
    if hint is datetime and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    if (validate := getattr(hint, "model_validate", None)) and isinstance(value, Mapping):
        try:
            return validate(value)
        except ValueError as error:
            raise ValueError(f"{error} - at `{path}`") from None
    return None


def _check_union(value: Any, members: tuple[Any, ...], path: str) -> Any:
    classes = [member for member in members if isinstance(member, type) and member is not Any]
    if isinstance(value, tuple(classes)):
        return value
    tag = value.get("type") if isinstance(value, Mapping) else None
    if isinstance(tag, str) and (tagged := _classes_by_type(classes).get(tag)):
        return check(value, tagged, path)
    problems = []
    for member in members:
        if member is Any:
            continue
        try:
            return check(value, member, path)
        except ValueError as error:
            problems.append(str(error))
    if Any in members:
        return value
    candidates = [member for member in members if member is not NoneType]
    if len(candidates) == 1:
        raise ValueError(problems[0])
    raise ValueError(f"expected `{_join_names(members)}`, got {_describe(value)} - at `{path}`")


def _classes_by_type(classes: Iterable[type]) -> dict[Any, type]:
    """Classes of ours by the value of their `type`; the first where several share one."""
    tagged: dict[Any, type] = {}
    for member in classes:
        fields = getattr(member, "_fields", None)
        if isinstance(fields, Fields) and "type" in fields.hints:
            for tag in get_args(fields.hints["type"]):
                tagged.setdefault(tag, member)
    return tagged


def wrapper_of(hint: Any) -> Callable[[Any], Any] | None:
    """The function that wraps JSON of that type, without a check; None for types not of ours."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _union_wrapper(arguments)
    if isinstance(hint, type) and (from_json := getattr(hint, "from_json", None)):
        return lambda value: from_json(value) if type(value) is dict else wrap(value)
    return _container_wrapper(hint)


def _container_wrapper(hint: Any) -> Callable[[Any], Any] | None:
    origin, arguments = get_origin(hint), get_args(hint)
    inner = wrapper_of(arguments[-1]) if origin in {list, dict} else None
    if inner is None:
        return None
    if origin is list:
        return lambda value: Records(map(inner, value)) if type(value) is list else wrap(value)
    return lambda value: (
        Record({key: inner(each) for key, each in value.items()})
        if type(value) is dict
        else wrap(value)
    )


def _union_wrapper(members: tuple[Any, ...]) -> Callable[[Any], Any] | None:
    classes = [each for each in members if isinstance(each, type) and hasattr(each, "from_json")]
    containers = {
        get_origin(each): wrapper for each in members if (wrapper := _container_wrapper(each))
    }
    if not classes and not containers:
        return None
    tagged = _classes_by_type(classes)
    untagged: Any = classes[0] if classes and not tagged else None

    def wrap_member(value: Any) -> Any:
        if type(value) is dict:
            tag = value.get("type")
            chosen = tagged.get(tag, untagged) if isinstance(tag, str) else untagged
            if chosen:
                return chosen.from_json(value)
        return containers.get(type(value), wrap)(value)

    return wrap_member


@cache
def type_name(hint: Any) -> str:
    """A type as an author writes it."""
    if hint in {None, NoneType}:
        return "None"
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _join_names(arguments)
    if origin is Literal:
        return " | ".join(repr(value) for value in arguments)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " | ".join(repr(member.value) for member in hint)
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join(map(type_name, arguments))}]" if arguments else name


def _join_names(members: tuple[Any, ...]) -> str:
    more = [] if len(members) <= _MAX_MEMBERS else ["…"]
    return " | ".join([*map(type_name, members[:_MAX_MEMBERS]), *more])


def _describe(value: Any) -> str:
    if isinstance(value, str):
        text = repr(value)
        return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
    return f"`{type(value).__name__}`"
