"""What is wrong with a record, in words a person can act on.

This is the authority on the rules of contract A. It takes its time: `check` calls it only for
lines that its fast path could not vouch for. One issue a record: the first rule it breaks, in
the order of `vocabulary.RULES`; within a rule the first field, in the order of `FIELDS`.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from evalwright.lines import BadLine
from evalwright.nearest import nearest
from evalwright.spec.records.parse import BadJson, find_key, parse
from evalwright.types import Issue
from evalwright.vocabulary import (
    CATEGORIES,
    EXAMPLE_FIELDS,
    FIELDS,
    LEGAL,
    LETTERS,
    MAX_EXAMPLES,
    MAX_RAW_CHARACTERS,
    MAX_SAMPLES,
    MAX_TIMEOUT_S,
    METRIC_NAMES,
    POST_PROCESSES,
    REQUIRED,
)

VOCABULARIES = {"category": CATEGORIES, "metric_name": METRIC_NAMES, "post_process": POST_PROCESSES}
# Both open with a newline, so that the matcher can jump from line to line.
_MAY_OPEN = re.compile(r"\n[ \t]*[QqEe]").search
_MARKER = re.compile(r"\n[ \t]*(?:question|q|example(?:[ \t]*\d+)?):", re.IGNORECASE | re.ASCII)
_LONG_NUMBER = 10**15
_MAX_STRAYS = 16
_SPACE = re.compile(r"\s")
_OWN_FIELDS = "put what is your own under `metadata`"
_REST = "nothing after this was read"
_NOT_TEXT = {
    "too_long": ("bad_json", "the line is longer than 16 MiB"),
    "binary": ("bad_encoding", f"this is a binary file, not JSON Lines; {_REST}"),
    "utf-16": ("bad_encoding", f"this file is UTF-16, save it as UTF-8; {_REST}"),
}


class BrokenRule(NamedTuple):
    """A broken rule, before it is known where in a file it stands."""

    rule: str
    field: str | None
    detail: str
    key: str | None = None
    """The key to point at, where it is not the field itself."""


def explain(number: int, line: bytes) -> Issue | None:
    """The first rule that line `number` breaks; None for a blank line and for a good one."""
    if isinstance(line, BadLine):
        rule, detail = _NOT_TEXT[line.why]
        return make_issue(number, BrokenRule(rule, None, detail), line.head)
    if not line.strip():
        return None
    try:
        record = parse(line.decode())
    except UnicodeDecodeError as error:
        detail = f"byte 0x{line[error.start]:02x} at offset {error.start} is not UTF-8"
        fault = BrokenRule("bad_encoding", None, f"{detail}; save the file as UTF-8")
        return make_issue(number, fault, line, column=len(line[: error.start].decode()) + 1)
    except BadJson as error:
        fault = BrokenRule("bad_json", None, error.detail)
        return make_issue(number, fault, line, column=error.column)
    broken = find_broken_rule(record)
    task_id = record.get("task_id") if isinstance(record, dict) else None
    return broken and make_issue(number, broken, line, task_id=task_id)


def find_broken_rule(record: Any) -> BrokenRule | None:
    """The first rule that a decoded record breaks on its own; uniqueness is a file's business."""
    if not isinstance(record, Mapping):
        detail = f"a record must be a JSON object, this is {_describe(record)}"
        return BrokenRule("not_an_object", None, detail)
    return (
        _find_missing(record)
        or _find_unknown(record)
        or _find_bad_type(record)
        or _find_bad_value(record)
        or _find_few_shot_block(record)
        or _find_illegal(record)
    )


def duplicate_id(number: int, line: bytes, task_id: str, first: int) -> Issue:
    """The issue of a record whose id an earlier one has."""
    detail = f"`{_shorten(task_id)}` is already the id of line {first}; ids are unique in a file"
    fault = BrokenRule("duplicate_task_id", "task_id", detail)
    return make_issue(number, fault, line, task_id=task_id)


def make_issue(
    number: int, fault: BrokenRule, line: bytes, *, column: int | None = None, task_id: Any = None
) -> Issue:
    """Place a broken rule in its line: by default at the value of the field, or at a stray key."""
    text = line.decode(errors="replace")
    key = fault.key or fault.field
    if key is not None and (place := find_key(key, text)):
        column = place.key if fault.key or fault.rule == "unknown_field" else place.value
    return Issue(
        line=number,
        column=column,
        rule=fault.rule,
        field=fault.field,
        task_id=task_id if isinstance(task_id, str) else None,
        detail=fault.detail,
        raw=text.rstrip("\r\n")[:MAX_RAW_CHARACTERS],
    )


def has_few_shot_block(prompt: str) -> bool:
    """Whether two or more lines open with a few-shot marker."""
    return bool(_MAY_OPEN(prompt)) and len(_MARKER.findall("\n" + prompt)) > 1


def explain_metadata(metadata: Mapping[str, Any]) -> str | None:
    """What is wrong with the two entries of `metadata` that have a meaning."""
    return _metadata_type(metadata) or _metadata_value(metadata)


def _find_missing(record: Mapping[Any, Any]) -> BrokenRule | None:
    for name in REQUIRED:
        if name not in record:
            detail = f"`{name}` is missing"
            strays = (key for key in record if isinstance(key, str) and key not in FIELDS)
            stray = nearest(name, [*islice(strays, _MAX_STRAYS)])
            if stray:
                detail += f"; did you mean it by `{_shorten(stray)}`?"
            return BrokenRule("missing_required", name, detail, stray)
    return None


def _find_unknown(record: Mapping[str, Any]) -> BrokenRule | None:
    for key in map(str, record):
        if key not in FIELDS:
            suggestion = nearest(key, FIELDS)
            hint = f"did you mean `{suggestion}`?" if suggestion else _OWN_FIELDS
            detail = f"`{_shorten(key)}` is not a field of a record; {hint}"
            return BrokenRule("unknown_field", key, detail)
    return None


def _find_bad_type(record: Mapping[str, Any]) -> BrokenRule | None:
    for name in FIELDS:
        if name in record and (detail := _type_detail(name, record[name])):
            return BrokenRule("bad_type", name, detail)
    return None


def _type_detail(name: str, value: Any) -> str | None:
    if name == "targets":
        return _targets_type(value)
    if name == "few_shot_examples":
        return _examples_type(value)
    if name == "metadata":
        return _metadata_type(value)
    if name == "post_process" and isinstance(value, list | tuple):
        return "`post_process` is one rule, never a list: rules do not combine"
    if not isinstance(value, str):
        return f"`{name}` must be a string, it is {_describe(value)}"
    return None


def _targets_type(targets: Any) -> str | None:
    if not isinstance(targets, list | tuple):
        return f"`targets` must be a list of strings, it is {_describe(targets)}"
    for index, target in enumerate(targets):
        if not isinstance(target, str):
            return f"`targets[{index}]` must be a string, it is {_describe(target)}"
    return None


def _examples_type(examples: Any) -> str | None:
    if not isinstance(examples, list | tuple):
        return f"`few_shot_examples` must be a list of objects, it is {_describe(examples)}"
    for index, example in enumerate(examples):
        here = f"few_shot_examples[{index}]"
        if not isinstance(example, Mapping):
            kind = _describe(example)
            return f"`{here}` must be an object with `prompt` and `completion`, it is {kind}"
        for key in EXAMPLE_FIELDS:
            if key not in example:
                return f"`{here}` has no `{key}`"
            if not isinstance(example[key], str):
                return f"`{here}.{key}` must be a string, it is {_describe(example[key])}"
        for key in map(str, example):
            if key not in EXAMPLE_FIELDS:
                return f"`{here}` may have only `prompt` and `completion`, not `{_shorten(key)}`"
    return None


def _metadata_type(metadata: Any) -> str | None:
    if not isinstance(metadata, Mapping):
        return f"`metadata` must be an object, it is {_describe(metadata)}"
    timeout, samples = metadata.get("timeout_s", 1), metadata.get("samples", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        return f"`metadata.timeout_s` must be a number of seconds, it is {_describe(timeout)}"
    if isinstance(samples, bool) or not isinstance(samples, int):
        return f"`metadata.samples` must be a whole number, it is {_describe(samples)}"
    for key in metadata:  # a record that was never JSON may have other keys
        if not isinstance(key, str):
            return f"the keys of `metadata` must be strings, one is {_describe(key)}"
    return None


def _metadata_value(metadata: Mapping[str, Any]) -> str | None:
    timeout, samples = metadata.get("timeout_s", 1), metadata.get("samples", 1)
    if not 0 < timeout <= MAX_TIMEOUT_S:
        legal = f"it must be above 0 and at most {MAX_TIMEOUT_S}"
        return f"`metadata.timeout_s` is {_show_number(timeout)}; {legal}"
    if not 1 <= samples <= MAX_SAMPLES:
        legal = f"it must be between 1 and {MAX_SAMPLES}"
        return f"`metadata.samples` is {_show_number(samples)}; {legal}"
    return None


def _find_bad_value(record: Mapping[str, Any]) -> BrokenRule | None:
    for name in FIELDS:
        if name in record and (detail := _value_detail(name, record)):
            return BrokenRule("bad_value", name, detail)
    return None


def _value_detail(name: str, record: Mapping[str, Any]) -> str | None:
    value = record[name]
    if name in VOCABULARIES:
        return None if value in VOCABULARIES[name] else _not_in_vocabulary(name, value)
    if name == "metadata":
        return _metadata_value(value)
    if name == "few_shot_examples":
        too_many = f"{len(value)} few-shot examples; at most {MAX_EXAMPLES} are allowed"
        return too_many if len(value) > MAX_EXAMPLES else None
    if not value:
        return f"`{name}` is empty"
    if name == "task_id" and (space := _SPACE.search(value)):
        return f"`task_id` has whitespace at character {space.start() + 1}; use `_` or `-`"
    if name == "prompt" and value[-1].isspace():
        return f"`prompt` ends in whitespace ({value[-1]!r}); strip it on the right"
    return _mcq_detail(value) if name == "targets" and record["category"] == "mcq" else None


def _mcq_detail(targets: Any) -> str | None:
    if len(targets) != 1:
        return f"an mcq record has exactly one target, this has {len(targets)}"
    if len(targets[0]) != 1 or targets[0] not in LETTERS:
        return f"an mcq target is a single letter A-E, this is `{_shorten(targets[0])}`"
    return None


def _not_in_vocabulary(name: str, value: str) -> str:
    words = VOCABULARIES[name]
    suggestion = nearest(value, words)
    hint = f"; did you mean `{suggestion}`?" if suggestion else ""
    written = f"`{_shorten(value)}`" if value else "empty"
    return f"`{name}` is {written}; it must be one of {_quote(words)}{hint}"


def _find_few_shot_block(record: Mapping[str, Any]) -> BrokenRule | None:
    if record["category"] == "code_exec" or not has_few_shot_block(record["prompt"]):
        return None
    count = len(_MARKER.findall("\n" + record["prompt"]))
    detail = (
        f"{count} lines of the prompt open like examples (`Question:`, `Q:`, `Example:`); "
        "put examples into `few_shot_examples`"
    )
    return BrokenRule("embedded_few_shot", "prompt", detail)


def _find_illegal(record: Mapping[str, Any]) -> BrokenRule | None:
    category = record["category"]
    legal = LEGAL[category]
    for rule, name, allowed in (
        ("illegal_metric", "metric_name", legal.metrics),
        ("illegal_post_process", "post_process", legal.post_processes),
    ):
        if record[name] not in allowed:
            detail = f"{category} records may not use `{record[name]}`, only {_quote(allowed)}"
            return BrokenRule(rule, name, detail)
    return None


def _quote(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _shorten(word: str, limit: int = 60) -> str:
    return word if len(word) <= limit else f"{word[:limit]}…"


def _show_number(value: float) -> str:
    """A number, unless its digits would fill the message."""
    return "a number of many digits" if abs(value) >= _LONG_NUMBER else f"{value}"


def _describe(value: Any) -> str:
    """The JSON name of a value's type, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _show_number(value) if abs(value) >= _LONG_NUMBER else f"the number {value}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a `{type(value).__name__}`"
