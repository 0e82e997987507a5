"""Explain pydantic's validation errors in terms of the author's data.

    unknown_key    unknown key `metrc`; expected `field`, `key`, `name`, `type`
    missing_key    `ground_truth` is missing
    wrong_type     expected `list`, got `str`
    bad_value      expected one of `score`, `qa`, got `scores`
    bad_key        expected letters, digits, `_` and `-`, got `my key`
    unknown_type   `strng_equals` is no type known here; expected `bleu`, …
    bad_template   Jinja that does not compile, at its line
    bad_snippet    Python that does not compile, at its line
    broken_plugin  `shortness` comes from acme-evals 1.0, which cannot be used: …
    unsupported    a legal part of the format that is not supported: a vendor's synthesizers

A value has one fault, however many members of a union refused it. A misspelt key is not reported as
missing as well.

pydantic reports a location as a tuple of keys that also names members of unions (`scorers`, 0,
`bleu`, `value`). `find_spot` walks it along the data and the classes to tell the two apart.
"""

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from evalwright.components import LONGEST_KEY, Authored, ComponentUnion, Snippet
from evalwright.spec.documents.yaml.environment import ExpandedText
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    did_you_mean,
    quote_names,
    type_name,
)

_LONGEST_SHOWN = 80
_LINE = re.compile(r"line (\d+): (.*)", re.DOTALL)
_TYPES = {
    "string_type": "str",
    "string_sub_type": "str",
    "int_type": "int",
    "int_parsing": "int",
    "int_from_float": "int",
    "float_type": "float",
    "float_parsing": "float",
    "bool_type": "bool",
    "bool_parsing": "bool",
    "list_type": "list",
    "tuple_type": "list",
    "set_type": "list",
    "dict_type": "dict",
    "mapping_type": "dict",
    "model_type": "dict",
    "model_attributes_type": "dict",
    "none_required": "null",
}
_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda known: f"a number above {known['gt']}",
    "greater_than_equal": lambda known: f"a number from {known['ge']} up",
    "less_than": lambda known: f"a number below {known['lt']}",
    "less_than_equal": lambda known: f"a number up to {known['le']}",
    "multiple_of": lambda known: f"a multiple of {known['multiple_of']}",
    "finite_number": lambda _: "a finite number",
    "string_too_short": lambda known: f"a text of at least {_count(known['min_length'])}",
    "string_too_long": lambda known: f"a text of at most {_count(known['max_length'])}",
    "too_short": lambda known: f"at least {_items(known['min_length'])}",
    "too_long": lambda known: f"at most {_items(known['max_length'])}",
}


class ErrorSpot(NamedTuple):
    """Where an error leads to."""

    path: FieldPath
    """In the data."""
    value: Any
    """What stands there; None where nothing does."""
    kinds: list[Any]
    """What may stand there: classes, and the types of plain values."""
    around: list[Any]
    """The classes of what it stands in."""


def find_spot(location: Sequence[str | int], top: Any, data: Any) -> ErrorSpot:
    """Follow pydantic's way through the data."""
    path: list[str | int] = []
    here, kinds = data, list(_members(top))
    around: list[Any] = []
    for number, step in enumerate(location):
        inside = list(_inside(kinds, step))
        there = _has(here, step)
        # A member's tag may be the name of one of its fields, too.
        tagged = isinstance(here, dict) and here.get("type") == step
        plain = not inside and not (there and len(kinds) == 1)
        if (tagged or plain) and (chosen := _chosen(kinds, step)):
            kinds = chosen
            continue
        last = number == len(location) - 1
        if not there and not (inside and last):
            continue  # the name of a union's member, or of a validator
        path.append(step)
        here = here[step] if there else None
        kinds, around = inside, kinds
    return ErrorSpot(tuple(path), here, kinds, around)


def list_fields(kinds: list[Any]) -> list[str]:
    """Every key that the classes have."""
    found: dict[str, None] = {}
    for kind in _classes(kinds):
        found.update(dict.fromkeys(_fields(kind)))
    return list(found)


def _members(annotation: Any, tag: str = "") -> Iterator[Any]:
    """The annotation's own alternatives, without None; each with its tag if it has one."""
    if hasattr(annotation, "__metadata__"):
        yield from _annotated(annotation.__origin__, annotation.__metadata__, tag)
    elif get_origin(annotation) in {Union, types.UnionType}:
        for one in get_args(annotation):
            yield from _members(one, tag)
    elif annotation is not type(None):
        yield _Tagged(annotation, tag) if tag else annotation


def _annotated(annotation: Any, metadata: Sequence[Any], tag: str = "") -> Iterator[Any]:
    """The alternatives of what stands in `Annotated` or in a field."""
    for each in metadata:
        if isinstance(each, ComponentUnion):
            annotation = each.annotation()
        elif isinstance(each, Tag):
            tag = each.tag
    yield from _members(annotation, tag)


class _Tagged(NamedTuple):
    kind: Any
    tag: str


def _bare(kind: Any) -> Any:
    return kind.kind if isinstance(kind, _Tagged) else kind


def _classes(kinds: list[Any]) -> list[type[BaseModel]]:
    bare = (_bare(kind) for kind in kinds)
    return [kind for kind in bare if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _fields(kind: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _inside(kinds: list[Any], step: str | int) -> Iterator[Any]:
    """What stands behind a key or a number of these."""
    for kind in kinds:
        bare = _bare(kind)
        origin = get_origin(bare)
        if isinstance(step, int) and origin in {list, tuple, set, frozenset}:
            yield from _members(get_args(bare)[0])
        elif isinstance(step, str) and origin is dict:
            yield from _members(get_args(bare)[1])
    for one in _classes(kinds):
        if field := _fields(one).get(str(step)):
            yield from _annotated(field.annotation, field.metadata)


def _chosen(kinds: list[Any], step: str | int) -> list[Any]:
    """The members of a union that pydantic calls by this name."""
    return [kind for kind in kinds if len(kinds) > 1 and step in _member_names(kind)]


def _member_names(kind: Any) -> set[Any]:
    bare = _bare(kind)
    found = {kind.tag} if isinstance(kind, _Tagged) else set()
    found.add(getattr(bare, "__name__", ""))
    for one in _classes([bare]):
        for field in one.model_fields.values():
            if get_origin(field.annotation) is Literal:
                found.update(get_args(field.annotation))
    return found


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def explain_validation_error(error: ValidationError, top: Any, data: Any) -> list[Fault]:
    """Every mistake, at its path; `top` is the class that the data should be of."""
    found: dict[FieldPath, list[Fault]] = {}
    for one in error.errors(include_url=False):
        fault = _fault(one, find_spot(one["loc"], top, data))
        found.setdefault(fault.path, []).append(fault)
    return _without_echoes([_one_of(several) for several in found.values()])


def _without_echoes(faults: list[Fault]) -> list[Fault]:
    """A misspelt key is one mistake: what it stands for is not missing too."""
    missing = [fault.path for fault in faults if fault.rule == "missing_key"]
    faults = [_with_hint(one, missing) if one.rule == "unknown_key" else one for one in faults]
    meant = {_meant(fault) for fault in faults if fault.rule == "unknown_key"}
    return [
        one
        for one in faults
        if one.rule != "missing_key"
        or not meant & {one.path, (*one.path[:-1], "connection_type")}  # that decides on the keys
    ]


def _with_hint(unknown: Fault, missing: list[FieldPath]) -> Fault:
    """Where no legal key is near, one that is missing may be."""
    if unknown.hint:
        return unknown
    beside = [str(path[-1]) for path in missing if path[:-1] == unknown.path[:-1]]
    return unknown._replace(hint=did_you_mean(str(unknown.path[-1]), beside))


def _meant(unknown: Fault) -> FieldPath:
    named = unknown.hint.split("`")
    return (*unknown.path[:-1], named[1]) if len(named) > 1 else ()


def _one_of(faults: list[Fault]) -> Fault:
    """The fault of a value that several members of a union refused."""
    special = [fault for fault in faults if fault.rule != "wrong_type"]
    if special:
        return special[0]
    kinds = dict.fromkeys(fault.detail.split("`")[1] for fault in faults)
    _, _, got = faults[0].detail.rpartition(", got ")
    return faults[0]._replace(detail=f"expected {' or '.join(map(_quoted, kinds))}, got {got}")


def _fault(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    kind = error["type"]
    context: Mapping[str, Any] = error.get("ctx", {})
    if expected := _TYPES.get(kind):
        return _wrong_type(expected, spot)
    if say := _SENTENCES.get(kind):
        return Fault(
            spot.path, "bad_value", f"expected {say(context)}, got {quote_value(spot.value)}"
        )
    if special := _SPECIAL.get(kind):
        return special(error, spot)
    return Fault(spot.path, "bad_value", f"{quote_value(spot.value)} is no legal value here")


def _count(characters: int) -> str:
    return f"{characters} character{'s'[: characters != 1]}"


def _items(count: int) -> str:
    return f"{count} item{'s'[: count != 1]}"


def _wrong_type(expected: str, spot: ErrorSpot) -> Fault:
    got = type_name(spot.value)
    hint = ""
    if spot.value is None:
        hint = "leave the key out, or write a value behind it"
    elif expected == "str" and isinstance(spot.value, bool | int | float):
        hint = f'put it in quotes: "{spot.value}"'
    elif expected == "list" and isinstance(spot.value, str | dict):
        hint = "a list has its items in brackets, or on lines that begin with `- `"
    elif expected == "dict" and isinstance(spot.value, str):
        hint = _mapping_of(spot)
    return Fault(spot.path, "wrong_type", f"expected `{expected}`, got `{got}`", hint)


def _mapping_of(spot: ErrorSpot) -> str:
    """What to write where somebody named a thing, in place of describing it."""
    for kind in spot.kinds:
        fields = getattr(kind, "model_fields", {})
        if spot.value in _tags(kind, "type"):
            return f"write `{{type: {spot.value}, …}}`"
        needed = {name for name, field in fields.items() if field.is_required()}
        if "key" in fields and needed <= {"key"} and "type" not in fields:
            return f"write `{{key: {spot.value}}}`"
    return ""


def _unknown_key(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    del error
    return unknown_key_fault(spot.path, sorted(list_fields(spot.around)))


def unknown_key_fault(path: FieldPath, known: Sequence[str]) -> Fault:
    """The fault of the key at a path, which is none of the known ones."""
    key = str(path[-1])
    detail = f"unknown key `{key}`; expected {quote_names(known)}"
    return Fault(path, "unknown_key", detail, did_you_mean(key, list(known)), at_key=True)


def _missing_key(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    key = str(error["loc"][-1])
    path = spot.path if spot.path and spot.path[-1] == key else (*spot.path, key)
    return Fault(path, "missing_key", f"`{key}` is missing")


def _one_of_few(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    names = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
    detail = f"expected {_one_of_the(names)}, got {quote_value(spot.value)}"
    hint = did_you_mean(spot.value, names) if isinstance(spot.value, str) else ""
    return Fault(spot.path, "bad_value", detail, hint)


def _one_of_the(names: list[str]) -> str:
    return (
        f"one of {quote_names(names)}" if len(names) > 1 else quote_names(names) or "another value"
    )


def _literals(kind: Any) -> Iterable[Any]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _pattern(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    pattern = str(error.get("ctx", {}).get("pattern", ""))
    extra = ", `$`" if "$]" in pattern else ""
    if "a-zA-Z0-9_" in pattern:
        detail = (
            f"expected a key of 1 to {LONGEST_KEY} letters, digits{extra}, `_` and `-`, "
            f"got {quote_value(spot.value)}"
        )
        suggestion = re.sub(r"[^a-zA-Z0-9_-]+", "_", str(spot.value)).strip("_")
        hint = f"`{suggestion}` would do" if suggestion else ""
        return Fault(spot.path, "bad_key", detail, hint)
    detail = f"expected a text like `{pattern}`, got {quote_value(spot.value)}"
    return Fault(spot.path, "bad_value", detail)


def _unknown_type(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    context = error.get("ctx", {})
    name = str(context.get("discriminator", "'type'")).strip("'")
    field = name if name.isidentifier() else "type"
    tag = str(context.get("tag", ""))
    path = (*spot.path, field)
    known = re.findall(r"'([^']*)'", str(context.get("expected_tags", "")))
    detail = f"`{tag}` is no {field} known here; expected {quote_names(known)}"
    return Fault(path, "unknown_type", detail, did_you_mean(tag, known))


def _no_type(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    name = str(error.get("ctx", {}).get("discriminator", "'type'")).strip("'")
    if not isinstance(spot.value, dict):
        return _wrong_type("dict", spot)
    field = name if name.isidentifier() else "type"
    for key in spot.value:
        if key not in list_fields(spot.kinds) and (hint := did_you_mean(str(key), [field])):
            detail = f"unknown key `{key}`, and `{field}` is missing"
            return Fault((*spot.path, key), "unknown_key", detail, hint, at_key=True)
    known = sorted({str(one) for kind in spot.kinds for one in _tags(kind, field)})
    hint = f"one of {quote_names(known)}" if known else ""
    return Fault((*spot.path, field), "missing_key", f"`{field}` is missing", hint)


def _tags(kind: Any, field: str) -> Iterable[Any]:
    fields = getattr(kind, "model_fields", {})
    return _literals(fields[field].annotation) if field in fields else ()


def _said(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    """A validator's own words; of a template or a snippet, at the line they name."""
    cause = error.get("ctx", {}).get("error")
    words = str(cause) if cause is not None else f"{quote_value(spot.value)} is no legal value here"
    words = " ".join(words.split())
    rule = _rule_of(spot)
    if rule != "bad_value" and not isinstance(spot.value, str):
        return _wrong_type("str", spot)
    place = _LINE.match(words)
    if rule == "bad_value" or place is None:
        return Fault(spot.path, "bad_value", words)
    # Both count as the author's file does, where it is known which one that is.
    known = isinstance(spot.value, Authored) and spot.value.line
    return Fault(spot.path, rule, place[2], line=int(place[1]) if known else 0)


def _unknown_connection(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    """A connection has its type under another name, and may leave it out."""
    path = (*spot.path, "connection_type")
    known = list(error.get("ctx", {})["known"])
    tag = str(error.get("ctx", {})["tag"])
    detail = f"`{tag}` is no connection_type known here; expected {quote_names(known)}"
    return Fault(path, "unknown_type", detail, did_you_mean(tag, known))


def _not_here(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    """A validator's own words about what is legal, and what to use in its place."""
    return Fault(spot.path, "unsupported", error["msg"])


def _broken_plugin(error: ErrorDetails, spot: ErrorSpot) -> Fault:
    """A type whose plugin is installed and cannot be used."""
    context = error.get("ctx", {})
    path = (*spot.path, "type") if isinstance(spot.value, dict) else spot.path
    return Fault(path, "broken_plugin", context["failure"], context["hint"])


def _rule_of(spot: ErrorSpot) -> str:
    names = {getattr(kind, "__name__", "") for kind in spot.kinds}
    if Snippet.__name__ in names:
        return "bad_snippet"
    return "bad_template" if names & {"Template", "Native"} else "bad_value"


def quote_value(value: Any) -> str:
    """A value as a message quotes it: short, on one line."""
    if isinstance(value, ExpandedText):
        return f"what `{value.variable}` stands for"
    if isinstance(value, str):
        text = " ".join(value.split())
        if not text:
            return "an empty text"
        return _quoted(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
    if isinstance(value, list | dict):
        if not value:
            return f"an empty `{type_name(value)}`"
        return f"a `{type_name(value)}` of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "`null`", True: "`true`", False: "`false`"}[value]
    return _quoted(value)


def _quoted(text: Any) -> str:
    return f"`{text}`"


_SPECIAL: dict[str, Callable[[ErrorDetails, ErrorSpot], Fault]] = {
    "missing": _missing_key,
    "extra_forbidden": _unknown_key,
    "literal_error": _one_of_few,
    "enum": _one_of_few,
    "string_pattern_mismatch": _pattern,
    "union_tag_invalid": _unknown_type,
    "union_tag_not_found": _no_type,
    "unsupported": _not_here,
    "broken_plugin": _broken_plugin,
    "unknown_connection": _unknown_connection,
    "value_error": _said,
    "assertion_error": _said,
}
