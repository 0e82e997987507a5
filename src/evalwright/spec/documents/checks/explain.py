"""Explain pydantic's validation errors in terms of the author's data.

    unknown_key    unknown key `metrc`; expected `field`, `key`, `name`, `type`
    missing_key    `ground_truth` is missing
    wrong_type     expected `list`, got `str`
    bad_value      expected one of `score`, `qa`, got `scores`
    bad_key        expected ASCII letters, digits, `_` and `-`, got `my key`
    unknown_type   unknown type `strng_equals`; expected `bleu`, …
    bad_template   Jinja that does not compile, with the line
    bad_snippet    Python that does not compile, with the line
    unsupported    a valid part of the format that evalwright does not support: an agent platform
    misspelled_parameter   `temprature` is not a generation parameter; did you mean `temperature`?
    broken_plugin  `shortness` comes from acme-evals 1.0, which cannot be used: …

A value has at most one fault, even if several members of a union rejected it. A misspelled key is
not also reported as missing.
"""

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import Tag, ValidationError
from pydantic_core import ErrorDetails

from evalwright.components import LONGEST_KEY, Authored, ComponentUnion
from evalwright.generation_parameters import EXTRA
from evalwright.spec.documents.yaml.environment import ExpandedText
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    quote_names,
    type_name,
)

_LONGEST_SHOWN = 80
_MOST_EXPLAINED = 1000
"""Maximum number of errors reported per document."""
_KEY_LOCATION = "[key]"
"""Last step of the location of an error in the key of a mapping, not in its value."""
_LINE = re.compile(r"line (\d+): (.*)", re.DOTALL)
_QUOTED_NAME = re.compile(r"'([^']*)'")
_TYPE_ENDINGS = ("_type", "_parsing", "_from_float", "none_required")
_TYPES = {
    "string": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "list": "list",
    "tuple": "list",
    "set": "list",
    "dict": "dict",
    "mapping": "dict",
    "model": "dict",
    "none": "null",
}
"""Expected type, by prefix of pydantic's error types, such as `string_type`."""
_BOUNDS = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite_number": "a finite number",
    "string_too_short": "a string of at least {min_length} character{s}",
    "string_too_long": "a string of at most {max_length} character{s}",
    "too_short": "at least {min_length} item{s}",
    "too_long": "at most {max_length} item{s}",
}
_RULES = {"Snippet": "bad_snippet", "Template": "bad_template", "Native": "bad_template"}


class _Member(NamedTuple):
    """A member of a union."""

    kind: Any
    tag: str

    def names(self) -> set[Any]:
        """Names that pydantic may use for this member."""
        literals = {name for field in _fields(self.kind) for name in _tags(self.kind, field)}
        return {self.tag, getattr(self.kind, "__name__", ""), *literals} - {""}


class _ErrorSpot(NamedTuple):
    """The value that an error's location refers to."""

    path: FieldPath
    """Path in the data."""
    value: Any
    """Value at the path; None if it does not exist."""
    members: list[_Member]
    """Allowed values: classes, and the types of plain values."""
    around: list[_Member]
    """Classes of the enclosing value."""


def _find_spot(location: Sequence[str | int], top: Any, data: Any) -> _ErrorSpot:
    """Follow an error's location, which also contains names of union members, to the data."""
    path: list[str | int] = []
    value, members = data, list(_members(top))
    around: list[_Member] = []
    for number, step in enumerate(location):
        inside = [member for outer in members for member in _members_inside(outer.kind, step)]
        is_there = _has(value, step)
        # The tag of a member may also be the name of one of its fields.
        is_tag = isinstance(value, dict) and value.get("type") == step
        is_name = not inside and not (is_there and len(members) == 1)
        chosen = [member for member in members if len(members) > 1 and step in member.names()]
        if (is_tag or is_name) and chosen:
            members = chosen
            continue
        is_last = number == len(location) - 1
        if is_there or (inside and is_last):  # otherwise the name of a union member or a validator
            path.append(step)
            value = value[step] if is_there else None
            members, around = inside, members
    return _ErrorSpot(tuple(path), value, members, around)


def _members(annotation: Any, metadata: Iterable[Any] = (), tag: str = "") -> Iterator[_Member]:
    if hasattr(annotation, "__metadata__"):
        annotation, metadata = annotation.__origin__, (*metadata, *annotation.__metadata__)
    for note in metadata:
        if isinstance(note, ComponentUnion):
            annotation = note.annotation()
        elif isinstance(note, Tag):
            tag = note.tag
    if hasattr(annotation, "__metadata__"):
        yield from _members(annotation, tag=tag)
    elif get_origin(annotation) in {Union, types.UnionType}:
        for choice in get_args(annotation):
            yield from _members(choice, tag=tag)
    elif annotation is not type(None):
        yield _Member(annotation, tag)


def _members_inside(kind: Any, step: str | int) -> Iterator[_Member]:
    origin = get_origin(kind)
    if isinstance(step, int) and origin in {list, tuple, set, frozenset}:
        yield from _members(get_args(kind)[0])
    elif isinstance(step, str) and origin is dict:
        yield from _members(get_args(kind)[1])
    elif field := _fields(kind).get(str(step)):
        yield from _members(field.annotation, field.metadata)


def _fields(kind: Any) -> dict[str, Any]:
    fields = getattr(kind, "model_fields", {})
    return {field.alias or name: field for name, field in fields.items()}


def _list_keys(members: list[_Member]) -> list[str]:
    return sorted({key for member in members for key in _fields(member.kind)})


def _tags(kind: Any, key: str) -> tuple[Any, ...]:
    field = _fields(kind).get(key)
    annotation = field.annotation if field is not None else None
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def explain_validation_error(error: ValidationError, top: Any, data: Any) -> list[Fault]:
    """Return all faults with their paths; `top` is the expected class of the data."""
    faults: dict[FieldPath, list[Fault]] = {}
    for details in error.errors(include_url=False)[:_MOST_EXPLAINED]:
        location = details["loc"]
        is_about_key = location[-1:] == (_KEY_LOCATION,)
        if is_about_key:
            spot = _find_spot(location[:-1], top, data)._replace(value=location[-2])
        else:
            spot = _find_spot(location, top, data)
        fault = _explain(details, spot)
        fault = fault._replace(at_key=fault.at_key or is_about_key)
        faults.setdefault(fault.path, []).append(fault)
    return _drop_secondary_faults([_merge_faults(several) for several in faults.values()])


def _drop_secondary_faults(faults: list[Fault]) -> list[Fault]:
    """Report a misspelled key only once, and not also as a missing key."""
    missing = [fault.path for fault in faults if fault.rule == "missing_key"]
    meant: set[FieldPath] = set()
    for number, fault in enumerate(faults):
        if fault.rule == "unknown_key":
            siblings = [str(path[-1]) for path in missing if path[:-1] == fault.path[:-1]]
            hint = fault.hint or did_you_mean(str(fault.path[-1]), siblings)
            faults[number] = fault._replace(hint=hint)
            meant |= {(*fault.path[:-1], name) for name in hint.split("`")[1:2]}
    return [
        fault
        for fault in faults
        if fault.rule != "missing_key"
        or not meant
        & {
            fault.path,
            (*fault.path[:-1], "connection_type"),
        }  # this key decides which keys are allowed
    ]


def _merge_faults(faults: list[Fault]) -> Fault:
    for fault in faults:
        if fault.rule != "wrong_type":
            return fault
    kinds = dict.fromkeys(fault.detail.split("`")[1] for fault in faults)
    _, _, got = faults[0].detail.rpartition(", got ")
    expected = " or ".join(f"`{kind}`" for kind in kinds)
    return faults[0]._replace(detail=f"expected {expected}, got {got}")


def _explain(error: ErrorDetails, spot: _ErrorSpot) -> Fault:
    kind, context = error["type"], error.get("ctx", {})
    expected = _TYPES.get(kind.partition("_")[0])
    if expected and kind.endswith(_TYPE_ENDINGS):
        return _wrong_type(expected, spot)
    if kind in _BOUNDS:
        several = context.get("min_length", context.get("max_length")) != 1
        bound = _BOUNDS[kind].format(**context, s="s" if several else "")
        return Fault(spot.path, "bad_value", f"expected {bound}, got {quote_value(spot.value)}")
    if kind in _SPECIAL:
        return _SPECIAL[kind](error, context, spot)
    return Fault(spot.path, "bad_value", f"{quote_value(spot.value)} is not allowed here")


def _wrong_type(expected: str, spot: _ErrorSpot) -> Fault:
    hint = ""
    if spot.value is None:
        hint = "remove the key, or write a value after it"
    elif expected == "str" and isinstance(spot.value, bool | int | float):
        hint = f'put it in quotes: "{spot.value}"'
    elif expected == "list" and isinstance(spot.value, str | dict):
        hint = "write list items in brackets, or on lines that start with `- `"
    elif expected == "dict" and isinstance(spot.value, str):
        hint = _suggest_mapping(spot)
    detail = f"expected `{expected}`, got `{type_name(spot.value)}`"
    return Fault(spot.path, "wrong_type", detail, hint)


def _suggest_mapping(spot: _ErrorSpot) -> str:
    """Return a hint for a name that was written instead of a mapping."""
    for kind, _ in spot.members:
        fields = _fields(kind)
        if spot.value in _tags(kind, "type"):
            return f"write `{{type: {spot.value}, …}}`"
        needed = {name for name, field in fields.items() if field.is_required()}
        if "key" in fields and needed <= {"key"} and "type" not in fields:
            return f"write `{{key: {spot.value}}}`"
    return ""


def unknown_key_fault(path: FieldPath, known: Sequence[str]) -> Fault:
    """Return the fault for the unknown key at a path."""
    key = str(path[-1])
    detail = f"unknown key `{key}`; expected {quote_names(known)}"
    return Fault(path, "unknown_key", detail, did_you_mean(key, list(known)), at_key=True)


def _unknown_key(_: ErrorDetails, __: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    fault = unknown_key_fault(spot.path, _list_keys(spot.around))
    return fault if fault.hint else fault._replace(hint=_suggest_part(spot))


def _suggest_part(spot: _ErrorSpot) -> str:
    """Return a hint for a key of a part that was written next to the part, such as `source`."""
    key = spot.path[-1]
    parts = {
        name
        for member in spot.around
        for name in _fields(member.kind)
        if any(key in _fields(inner.kind) for inner in _members_inside(member.kind, name))
    }
    return f"write it in `{parts.pop()}`" if len(parts) == 1 else ""


def _missing_key(error: ErrorDetails, _: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    key = str(error["loc"][-1])
    path = spot.path if spot.path and spot.path[-1] == key else (*spot.path, key)
    return Fault(path, "missing_key", f"`{key}` is missing")


def _wrong_choice(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    names = _QUOTED_NAME.findall(str(context.get("expected", "")))
    expected = quote_names(names) or "a different value"
    several = "one of " if len(names) > 1 else ""
    detail = f"expected {several}{expected}, got {quote_value(spot.value)}"
    hint = did_you_mean(spot.value, names) if isinstance(spot.value, str) else ""
    return Fault(spot.path, "bad_value", detail, hint)


def _wrong_pattern(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    pattern = str(context.get("pattern", ""))
    got = quote_value(spot.value)
    if "a-zA-Z0-9_" not in pattern:
        return Fault(spot.path, "bad_value", f"expected text that matches `{pattern}`, got {got}")
    extra = ", `$`" if "$]" in pattern else ""
    characters = f"ASCII letters, digits{extra}, `_` and `-`"
    suggestion = re.sub(r"[^a-zA-Z0-9_-]+", "_", str(spot.value)).strip("_")
    hint = f"write `{suggestion}`" if suggestion else ""
    detail = f"expected a key of 1 to {LONGEST_KEY} {characters}, got {got}"
    return Fault(spot.path, "bad_key", detail, hint)


def _type_field(context: Mapping[str, Any]) -> str:
    name = str(context.get("discriminator", "")).strip("'")
    return name if name.isidentifier() else "type"


def _unknown_type(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    tag = str(context.get("tag", ""))
    field = _type_field(context)
    known = _QUOTED_NAME.findall(str(context.get("expected_tags", "")))
    if "known" in context:  # for a connection
        field, known = "connection_type", list(context["known"])
    detail = f"unknown {field} `{tag}`; expected {quote_names(known)}"
    return Fault((*spot.path, field), "unknown_type", detail, did_you_mean(tag, known))


def _missing_type(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    if not isinstance(spot.value, dict):
        return _wrong_type("dict", spot)
    field = _type_field(context)
    for key in spot.value:
        if key not in _list_keys(spot.members) and (hint := did_you_mean(str(key), [field])):
            detail = f"unknown key `{key}`, and `{field}` is missing"
            return Fault((*spot.path, key), "unknown_key", detail, hint, at_key=True)
    known = sorted({str(tag) for kind, _ in spot.members for tag in _tags(kind, field)})
    hint = f"expected one of {quote_names(known)}" if known else ""
    return Fault((*spot.path, field), "missing_key", f"`{field}` is missing", hint)


def _rejected_value(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    """Return a validator's message; for templates and snippets, at the line in the message."""
    cause = context.get("error", f"{quote_value(spot.value)} is not allowed here")
    words = " ".join(str(cause).split())
    # A tagged member is one of several allowed members; its message mentions this.
    names = [getattr(kind, "__name__", "") for kind, tag in spot.members if not tag]
    rule = next((_RULES[name] for name in names if name in _RULES), "bad_value")
    if rule != "bad_value" and not isinstance(spot.value, str):
        return _wrong_type("str", spot)
    place = _LINE.match(words)
    if rule == "bad_value" or place is None:
        return Fault(spot.path, "bad_value", words)
    # Lines and columns refer to the author's file, if it is known.
    known = isinstance(spot.value, Authored) and spot.value.line
    line = int(place[1]) if known else 0
    return Fault(spot.path, rule, place[2], at_key=bool(line), line=line)


def _broken_plugin(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    path = (*spot.path, "type") if isinstance(spot.value, dict) else spot.path
    return Fault(path, "broken_plugin", context["failure"], context["hint"])


def misspelled_parameter_fault(path: FieldPath, name: str, meant: str) -> Fault:
    """Return the fault for a misspelled generation parameter at a path."""
    detail = f"`{name}` is not a generation parameter; did you mean `{meant}`?"
    hint = f"`{EXTRA}{name}` sends it unchanged"
    return Fault(path, "misspelled_parameter", detail, hint)


def _misspelled_parameter(_: ErrorDetails, context: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    return misspelled_parameter_fault(spot.path, context["name"], context["meant"])


def _unsupported_type(error: ErrorDetails, _: Mapping[str, Any], spot: _ErrorSpot) -> Fault:
    return Fault(spot.path, "unsupported", error["msg"])


_SPECIAL: dict[str, Callable[[ErrorDetails, Mapping[str, Any], _ErrorSpot], Fault]] = {
    "missing": _missing_key,
    "extra_forbidden": _unknown_key,
    "literal_error": _wrong_choice,
    "enum": _wrong_choice,
    "string_pattern_mismatch": _wrong_pattern,
    "union_tag_invalid": _unknown_type,
    "union_tag_not_found": _missing_type,
    "broken_plugin": _broken_plugin,
    "misspelled_parameter": _misspelled_parameter,
    "unknown_connection": _unknown_type,
    "unsupported": _unsupported_type,
    "value_error": _rejected_value,
    "assertion_error": _rejected_value,
}


def quote_value(value: Any) -> str:
    """Quote a value for a message: short, on one line."""
    if isinstance(value, ExpandedText):
        return f"the value of `{value.variable}`"
    if isinstance(value, str):
        text = " ".join(value.split())
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        return f"`{shown}`" if shown else "an empty string"
    if isinstance(value, list | dict):
        kind = type_name(value)
        return f"a `{kind}` of {len(value)}" if value else f"an empty `{kind}`"
    if value is None or isinstance(value, bool):
        return {None: "`null`", True: "`true`", False: "`false`"}[value]
    return f"`{value}`"
