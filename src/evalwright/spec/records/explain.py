"""Explain the errors in a record in words that authors can act on.

This module defines the rules of task records. It is slow: `check` calls it only for lines that its
fast path did not accept. There is one issue per record: the first rule that it breaks, in the order
of `vocabulary.RULES`, and for that rule the first field, in the order of `FIELDS`. The other
problems of the record are in `also`, in the same order.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from evalwright.lines import BadLine
from evalwright.nearest import nearest
from evalwright.spec.records.few_shot import (
    count_opened_lines,
    find_answered_marker,
    has_few_shot_block,
)
from evalwright.spec.records.parse import BadJson, find_key, parse
from evalwright.types import Issue, OtherProblem
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
_OBJECT = (dict, Mapping)
_LIST = (list, tuple)
_ALL_FIELDS, _ALL_REQUIRED = frozenset(FIELDS), frozenset(REQUIRED)
_LONG_NUMBER = 10**15
_MAX_STRAYS = 16
_SYNONYMS = {
    **dict.fromkeys(("id", "key", "name", "sample_id"), "task_id"),
    **dict.fromkeys(("input", "instruction", "problem", "question", "text"), "prompt"),
    **dict.fromkeys(("answer", "answers", "expected", "label", "reference", "solution"), "targets"),
    **dict.fromkeys(("examples", "few_shot", "shots"), "few_shot_examples"),
}
"""Names of fields in other formats. They are recognized only if the field is missing."""
_SPACE = re.compile(r"\s")
_OWN_FIELDS = "put additional fields under `metadata`"
NOT_READ = "the rest was not read"
_NOT_TEXT = {
    "too_long": ("bad_json", "the line is longer than 16 MiB"),
    "binary": ("bad_encoding", f"this is a binary file, not JSON Lines; {NOT_READ}"),
    "utf-16": ("bad_encoding", f"this file is UTF-16, save it as UTF-8; {NOT_READ}"),
}


class BrokenRule(NamedTuple):
    """A broken rule without its place in the file."""

    rule: str
    field: str | None
    detail: str
    key: str | None = None
    """Key to point at, if it is not the field itself."""


def explain(number: int, line: bytes) -> Issue | None:
    """Return the issue of line `number`; None for a blank or valid line."""
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
    faults = find_broken_rules(record)
    if not faults:
        return None
    task_id = record.get("task_id") if isinstance(record, dict) else None
    return make_issue(number, faults[0], line, task_id=task_id, others=faults[1:])


def find_broken_rules(record: Any) -> list[BrokenRule]:
    """Return all rules that a decoded record breaks, except unique ids, which are checked per file.

    A rule is checked only if the fields that it needs are valid: a metric is not checked against an
    invalid category.
    """
    if not isinstance(record, _OBJECT):
        detail = f"a record must be a JSON object, not {_describe(record)}"
        return [BrokenRule("not_an_object", None, detail)]
    faults: list[BrokenRule] = []
    if not record.keys() >= _ALL_REQUIRED:
        faults += _find_missing(record)
    if not _ALL_FIELDS.issuperset(record):
        faults += _find_unknown(record, explained={fault.key for fault in faults})
    valid_fields: dict[str, Any] = {}
    for name, find_details in _TYPE_RULES.items():
        if name in record:
            value = record[name]
            details = find_details(value) if find_details else _text_details(name, value)
            if details:
                faults += [BrokenRule("bad_type", name, detail) for detail in details]
            else:
                valid_fields[name] = value
    return faults + _find_bad_values(valid_fields)


def _find_bad_values(valid_fields: dict[str, Any]) -> list[BrokenRule]:
    """Return invalid values of fields with valid types; drop invalid words."""
    faults: list[BrokenRule] = []
    for name, value in tuple(valid_fields.items()):
        if name in VOCABULARIES:
            if value not in VOCABULARIES[name]:
                faults.append(BrokenRule("bad_value", name, _not_in_vocabulary(name, value)))
                del valid_fields[name]
        elif name == "metadata":
            faults += [BrokenRule("bad_value", name, detail) for detail in _metadata_values(value)]
        elif detail := _value_detail(name, value, valid_fields):
            faults.append(BrokenRule("bad_value", name, detail))
    if "category" in valid_fields:
        faults += _find_few_shot_block(valid_fields)
        faults += _find_illegal(valid_fields)
    return faults


def duplicate_id(number: int, line: bytes, task_id: str, first: int) -> Issue:
    """Return the issue for a record with the id of an earlier record."""
    detail = (
        f"`{_shorten(task_id)}` is already the id of line {first}; ids must be unique in a file"
    )
    fault = BrokenRule("duplicate_task_id", "task_id", detail)
    return make_issue(number, fault, line, task_id=task_id)


def make_issue(
    number: int,
    fault: BrokenRule,
    line: bytes,
    *,
    column: int | None = None,
    task_id: Any = None,
    others: Sequence[BrokenRule] = (),
) -> Issue:
    """Locate a broken rule in a line: at the value of a field, or at an unknown key."""
    text = line.decode(errors="replace")
    return Issue(
        line=number,
        column=column or _find_column(fault, text),
        rule=fault.rule,
        field=fault.field,
        task_id=task_id if isinstance(task_id, str) else None,
        detail=fault.detail,
        raw=text.rstrip("\r\n")[:MAX_RAW_CHARACTERS],
        also=tuple([_make_problem(other, text) for other in others]),
    )


def _make_problem(fault: BrokenRule, text: str) -> OtherProblem:
    return OtherProblem(
        column=_find_column(fault, text), rule=fault.rule, field=fault.field, detail=fault.detail
    )


def _find_column(fault: BrokenRule, text: str) -> int | None:
    key = fault.key or (None if fault.rule == "missing_required" else fault.field)
    place = find_key(key, text) if key is not None else None
    if place is None:
        return None
    return place.key if fault.key or fault.rule == "unknown_field" else place.value


def explain_metadata(metadata: Mapping[str, Any]) -> str | None:
    """Return the error in `timeout_s` or `samples` of `metadata`; None if both are valid."""
    return next(iter(_metadata_types(metadata) or _metadata_values(metadata)), None)


def _find_missing(record: Mapping[Any, Any]) -> Iterator[BrokenRule]:
    missing = [name for name in REQUIRED if name not in record]
    keys = (key for key in record if isinstance(key, str) and key not in FIELDS)
    unknown_keys = [*islice(keys, _MAX_STRAYS)]
    for name in missing:
        detail = f"`{name}` is missing"
        synonyms = (key for key in unknown_keys if _SYNONYMS.get(key.casefold()) == name)
        unknown_key = nearest(name, unknown_keys) or next(synonyms, None)
        if unknown_key:
            detail += f", but there is `{_shorten(unknown_key)}`; did you mean `{name}`?"
        yield BrokenRule("missing_required", name, detail, unknown_key)


def _find_unknown(
    record: Mapping[str, Any], *, explained: Container[str | None]
) -> Iterator[BrokenRule]:
    """Yield the first unknown fields, except those that explain a missing field."""
    unknown = (key for key in map(str, record) if key not in FIELDS and key not in explained)
    for key in islice(unknown, _MAX_STRAYS):
        synonym = _SYNONYMS.get(key.casefold(), "")
        suggestion = nearest(key, FIELDS) or (synonym if synonym not in record else "")
        hint = f"did you mean `{suggestion}`?" if suggestion else _OWN_FIELDS
        detail = f"`{_shorten(key)}` is not a field of a record; {hint}"
        yield BrokenRule("unknown_field", key, detail)


def _text_details(name: str, value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return ()
    if name == "post_process" and isinstance(value, _LIST):
        return ("`post_process` must be one rule, not a list: rules cannot be combined",)
    return (f"`{name}` must be a string, not {_describe(value)}",)


def _targets_types(targets: Any) -> Sequence[str]:
    if not isinstance(targets, _LIST):
        return (f"`targets` must be a list of strings, not {_describe(targets)}",)
    wrong = [index for index, target in enumerate(targets) if not isinstance(target, str)]
    if not wrong:
        return ()
    count = f"; {len(wrong)} of {len(targets)} targets are not strings"
    others = count if len(wrong) > 1 else ""
    kind = _describe(targets[wrong[0]])
    return (f"`targets[{wrong[0]}]` must be a string, not {kind}{others}",)


def _examples_types(examples: Any) -> Sequence[str]:
    if not isinstance(examples, _LIST):
        return (f"`few_shot_examples` must be a list of objects, not {_describe(examples)}",)
    details = []
    for index, example in enumerate(examples):
        detail = _example_type(f"few_shot_examples[{index}]", example)
        if detail:
            details.append(detail)
        if len(details) == MAX_EXAMPLES:
            break
    return details


def _example_type(place: str, example: Any) -> str | None:
    if not isinstance(example, _OBJECT):
        kind = _describe(example)
        return f"`{place}` must be an object with `prompt` and `completion`, not {kind}"
    for key in EXAMPLE_FIELDS:
        if key not in example:
            return f"`{place}` has no `{key}`"
        if not isinstance(example[key], str):
            return f"`{place}.{key}` must be a string, not {_describe(example[key])}"
    if len(example) > len(EXAMPLE_FIELDS):
        unknown_key = next(key for key in map(str, example) if key not in EXAMPLE_FIELDS)
        return f"`{place}` may have only `prompt` and `completion`, not `{_shorten(unknown_key)}`"
    return None


def _metadata_types(metadata: Any) -> Sequence[str]:
    if not isinstance(metadata, _OBJECT):
        return (f"`metadata` must be an object, not {_describe(metadata)}",)
    details = []
    timeout, samples = metadata.get("timeout_s", 1), metadata.get("samples", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        details.append(
            f"`metadata.timeout_s` must be a number of seconds, not {_describe(timeout)}"
        )
    if isinstance(samples, bool) or not isinstance(samples, int):
        details.append(f"`metadata.samples` must be an integer, not {_describe(samples)}")
    bad_keys = [
        key for key in metadata if not isinstance(key, str)
    ]  # the record does not come from JSON
    if bad_keys:
        details.append(
            f"the keys of `metadata` must be strings, but one is {_describe(bad_keys[0])}"
        )
    return details


_TYPE_RULES: dict[str, Callable[[Any], Sequence[str]] | None] = {
    **dict.fromkeys(FIELDS),
    "targets": _targets_types,
    "few_shot_examples": _examples_types,
    "metadata": _metadata_types,
}
"""Type check per field, in the order of `FIELDS`; None for string fields."""


def _metadata_values(metadata: Mapping[str, Any]) -> Sequence[str]:
    details = []
    timeout, samples = metadata.get("timeout_s", 1), metadata.get("samples", 1)
    if not 0 < timeout <= MAX_TIMEOUT_S:
        legal = f"it must be above 0 and at most {MAX_TIMEOUT_S}"
        details.append(f"`metadata.timeout_s` is {_show_number(timeout)}; {legal}")
    if not 1 <= samples <= MAX_SAMPLES:
        legal = f"it must be between 1 and {MAX_SAMPLES}"
        details.append(f"`metadata.samples` is {_show_number(samples)}; {legal}")
    return details


def _value_detail(name: str, value: Any, record: Mapping[str, Any]) -> str | None:
    if name == "few_shot_examples":
        if len(value) > MAX_EXAMPLES:
            return f"{len(value)} few-shot examples; at most {MAX_EXAMPLES} are allowed"
    elif not value:
        return f"`{name}` is empty"
    elif name == "task_id":
        if space := _SPACE.search(value):
            return f"`task_id` has whitespace at character {space.start() + 1}; use `_` or `-`"
    elif name == "prompt":
        if value[-1].isspace():
            return f"`prompt` ends in whitespace ({value[-1]!r}); strip it on the right"
    elif name == "targets" and record.get("category") == "mcq":
        return _mcq_detail(value)
    return None


def _mcq_detail(targets: Any) -> str | None:
    if len(targets) != 1:
        return f"an mcq record must have exactly one target, not {len(targets)}"
    if len(targets[0]) != 1 or targets[0] not in LETTERS:
        return f"an mcq target must be a single letter A-E, not `{_shorten(targets[0])}`"
    return None


def _not_in_vocabulary(name: str, value: str) -> str:
    words = VOCABULARIES[name]
    suggestion = nearest(value, words)
    hint = f"; did you mean `{suggestion}`?" if suggestion else ""
    written = f"`{_shorten(value)}`" if value else "empty"
    return f"`{name}` is {written}; it must be one of {_quote(words)}{hint}"


def _find_few_shot_block(record: Mapping[str, Any]) -> Iterator[BrokenRule]:
    prompt = record.get("prompt", "")
    if record["category"] != "code_exec" and has_few_shot_block(prompt):
        yield BrokenRule("embedded_few_shot", "prompt", _few_shot_detail(prompt))


def _few_shot_detail(prompt: str) -> str:
    count = count_opened_lines(prompt)
    if count > 1:
        problem = f"{count} lines of the prompt start like examples (`Question:`, `Q:`, `Example:`)"
    else:
        problem = f"`{find_answered_marker(prompt)}:` occurs again after an answer in the prompt"
    return f"{problem}; move examples to `few_shot_examples`"


def _find_illegal(record: Mapping[str, Any]) -> Iterator[BrokenRule]:
    category = record["category"]
    legal = LEGAL[category]
    for rule, name, allowed in (
        ("illegal_metric", "metric_name", legal.metrics),
        ("illegal_post_process", "post_process", legal.post_processes),
    ):
        if name in record and record[name] not in allowed:
            detail = f"{category} records may not use `{record[name]}`, only {_quote(allowed)}"
            yield BrokenRule(rule, name, detail)


@cache
def _quote(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _shorten(word: str, limit: int = 60) -> str:
    return word if len(word) <= limit else f"{word[:limit]}…"


def _show_number(value: float) -> str:
    return "a very long number" if abs(value) >= _LONG_NUMBER else f"{value}"


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _show_number(value) if abs(value) >= _LONG_NUMBER else f"the number {value}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, _OBJECT):
        return "an object"
    return "a list" if isinstance(value, _LIST) else f"a `{type(value).__name__}`"
