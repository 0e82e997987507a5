"""Read the verdict from a judge's reply. Many formats are accepted; prose is never interpreted.

A reply has a verdict if one of these is a label, or a number on the scale, after quotes, markdown,
brackets and final punctuation are removed. They are removed step by step, because a label may
itself contain such marks (`C#`, `(A)`).

    correct                          the whole reply
    {"prediction": "correct", …}     a known key of a JSON object, in a fence or in text
    … correct                        the last line that is not empty
    Verdict: correct                 a line named verdict, score, label, answer or rating

Any other reply raises `NoVerdict`, a failure that names a rule and quotes the reply. Examples are a
label inside a sentence, two different verdicts (lines that contain only a label count here), and a
JSON object or a named line that the judge copied from the answer it was shown. If the author of the
task specified the place of the verdict, `chosen_places` reads the reply.

A model's `<think>` block is not part of its reply.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, NamedTuple, TypeVar

from evalwright.scorers.judging.markup import (
    has_words,
    parse_named_line,
    remove_direction_marks,
    remove_end_tokens,
    remove_fences,
    strip_levels,
)
from evalwright.scorers.judging.shown_text import ShownText

Value = TypeVar("Value")

_MOST_CHARACTERS = 200_000
_MOST_QUOTED = 500
_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
_END_OF_THINKING = "</think>"
_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_PLACEHOLDER = "{}"
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
_NOTHING_SHOWN = ShownText()


def _make_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs) and any(fields[name] != value for name, value in pairs):
        raise ValueError("duplicate key with different values")
    return fields


_STRICT_KEYS = json.JSONDecoder(object_pairs_hook=_make_dict, strict=False)


class UnreadableReply(ValueError):
    """Raised when a rule rejects a reply or a value in it."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(why)
        self.rule = rule


class NoVerdict(ValueError):
    """Raised for a reply without a verdict; the message has the rule, the reason and the reply."""

    def __init__(self, why: str, reply: str, *, rule: str = "", hint: str = "") -> None:
        text = reply[: 2 * _MOST_QUOTED].strip()
        if len(text) > _MOST_QUOTED:
            text = f"{text[:_MOST_QUOTED]}…"
        quoted = f"; its reply: {text}" if text else ""
        named = f" (rule `{rule}`)" if rule else ""
        self.why = f"{why}{quoted}"
        super().__init__(f"the judge gave no verdict{named}: {self.why}")
        self.rule = rule
        self.hint = hint


class VerdictReader(ABC, Generic[Value]):
    """Defines what counts as a verdict: labels, numbers, or any short text."""

    keys: tuple[str, ...]
    """Keys of a JSON object that may contain the verdict; the first one present must contain it."""
    fallback_keys: tuple[str, ...] = ()
    """Keys to read if none of `keys` exists; they may also contain something else."""
    expected: str
    """Description of a valid verdict, for error messages."""
    reads_bare_lines = True
    """Whether a line without a name can be distinguished from prose."""

    @abstractmethod
    def parse_text(self, text: str) -> Value | None:
        """Interpret the whole text as a verdict; return None or raise ValueError if invalid."""

    @abstractmethod
    def parse_json(self, value: Any) -> Value:
        """Interpret a JSON value as a verdict, or raise ValueError."""

    def is_final(self, verdict: Value) -> bool:
        """Whether further text cannot change the verdict."""
        del verdict
        return False


class ParsedReply(NamedTuple, Generic[Value]):
    """A verdict and the JSON object that contained it."""

    value: Value
    rule: str
    """The rule that accepted the verdict."""
    fields: dict[str, Any]
    is_complete: bool
    """Whether no further text could have changed the verdict."""

    @property
    def is_json(self) -> bool:
        """Whether the verdict was in a JSON object."""
        return self.rule == "json"


class JsonObject(NamedTuple):
    """A JSON object in a reply and its position."""

    start: int
    end: int
    fields: dict[str, Any]


class LineVerdict(NamedTuple, Generic[Value]):
    """A line of a reply that contains a verdict."""

    line: str
    value: Value
    is_named: bool
    is_last: bool


def read_verdict(
    reply: str, reader: VerdictReader[Value], *, shown: ShownText = _NOTHING_SHOWN
) -> ParsedReply[Value]:
    """Return the only verdict in a reply or raise `NoVerdict`; `shown` is text it may quote."""
    text = final_text(reply, shown)
    with convert_errors(reply):
        verdict = parse_value(remove_fences(remove_direction_marks(text)).strip(), reader)
        if verdict is not None:
            return ParsedReply(verdict, "whole_reply", {}, is_complete=reader.is_final(verdict))
        return _read_parts(text, reader, shown)


@contextmanager
def convert_errors(reply: str) -> Iterator[None]:
    """Convert `UnreadableReply` into a `NoVerdict` that quotes the reply."""
    try:
        yield
    except UnreadableReply as error:
        raise NoVerdict(str(error), reply, rule=error.rule) from None


def final_text(reply: str, shown: ShownText = _NOTHING_SHOWN) -> str:
    """Return the reply without thinking and end tokens; raise `NoVerdict` if nothing is left."""
    text = remove_end_tokens(_remove_thinking(reply, shown)).strip()
    if len(text) > _MOST_CHARACTERS:
        why = f"its reply has more than {_MOST_CHARACTERS:,} characters"
        raise NoVerdict(why, reply, rule="too_long")
    if not remove_direction_marks(text).strip():
        raise NoVerdict("its reply is empty", reply, rule="empty")
    return text


def _remove_thinking(reply: str, shown: ShownText) -> str:
    """Return the text after a model's thinking; some servers send only the closing tag."""
    if start := _THINKING.match(reply):
        _, end, text = reply.rpartition(f"</{start[1]}>")
        if not end:
            raise NoVerdict("its thinking block is not closed", reply, rule="open_thinking")
        return text
    if _END_OF_THINKING not in reply or shown.has_mark(_END_OF_THINKING):
        return reply  # the judge may be quoting the tag
    parts = reply.split(_END_OF_THINKING)
    for number in reversed(range(1, len(parts))):
        before, after = parts[number - 1], parts[number]
        spaces = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
        if any("\n" in space for space in spaces):  # the tag begins or ends a line
            return _END_OF_THINKING.join(parts[number:])
    return reply


def parse_value(text: str, reader: VerdictReader[Value]) -> Value | None:
    """Return the verdict in a text after removing markup, or None."""
    for level in strip_levels(text):
        if (value := reader.parse_text(level)) is not None:
            return value
    return None


def _read_parts(text: str, reader: VerdictReader[Value], shown: ShownText) -> ParsedReply[Value]:
    objects, has_broken_json = find_objects(text)
    judging = list(read_objects(objects, reader))
    outside = remove_objects(text, [item for item, _ in judging])
    lines = [*_read_lines(remove_fences(remove_direction_marks(outside)), reader)]
    if not judging and not any(line.is_named or line.is_last for line in lines):
        if has_broken_json or objects:
            raise json_error(reader, has_broken_json=has_broken_json)
        raise UnreadableReply("no_verdict", f"expected {reader.expected}")
    verdicts = [value for _, values in judging for value in values]
    verdicts += [line.value for line in lines]
    refuse_conflict(verdicts)
    is_alone = not has_words(outside) if judging else len(outside.strip().splitlines()) == 1
    if not is_alone:
        refuse_quotation(
            shown,
            objects=[text[item.start : item.end] for item, _ in judging],
            lines=[line.line for line in lines if line.is_named],
        )
    fields = judging[-1][0].fields if judging else {}
    line_rule = "named_line" if any(line.is_named for line in lines) else "last_line"
    return ParsedReply(
        verdicts[0],
        "json" if judging else line_rule,
        fields,
        is_complete=is_alone and (bool(judging) or reader.is_final(verdicts[0])),
    )


def refuse_conflict(verdicts: Sequence[Any]) -> None:
    """Raise `UnreadableReply` if the verdicts differ."""
    for verdict in verdicts:
        if verdict != verdicts[0]:
            both = f"{_spell(verdicts[0])} and {_spell(verdict)}"
            raise UnreadableReply("two_verdicts", f"two verdicts, {both}")


def refuse_quotation(
    shown: ShownText, *, objects: Sequence[str] = (), lines: Sequence[str] = ()
) -> None:
    """Raise `UnreadableReply` if an object or a line is copied from what the judge was shown."""
    if any(map(shown.has_object, dict.fromkeys(objects))) or any(map(shown.has_line, lines)):
        raise quotation_error()


def quotation_error() -> UnreadableReply:
    """Return the error for a verdict that the judge may have copied."""
    return UnreadableReply("quotation", "its verdict may be quoted from the text it was shown")


def json_error(reader: VerdictReader[Any], *, has_broken_json: bool) -> UnreadableReply:
    """Return the error for a reply whose JSON has no verdict."""
    if has_broken_json:
        return UnreadableReply(
            "broken_json", "its JSON is incomplete, invalid, or has a duplicate key"
        )
    return UnreadableReply("json_key", f"its JSON has no `{reader.keys[0]}`")


def find_objects(text: str) -> tuple[list[JsonObject], bool]:
    """Return the outermost JSON objects before any broken one, and whether one is broken."""
    objects: list[JsonObject] = []
    for fields, start, end in find_json(text, _OBJECT_START, _STRICT_KEYS):
        if fields is None:
            return objects, True
        objects.append(JsonObject(start, end, fields))
    return objects, False


def read_objects(
    objects: Sequence[JsonObject], reader: VerdictReader[Value]
) -> Iterator[tuple[JsonObject, list[Value]]]:
    """Yield the objects that have a known key, with their verdicts."""
    for item in objects:
        if values := _read_fields(item.fields, reader):
            yield item, values


def remove_objects(text: str, objects: Sequence[JsonObject]) -> str:
    """Return the text with a placeholder for each object."""
    starts = [item.start for item in objects]
    ends = [item.end for item in objects]
    pieces = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    return _PLACEHOLDER.join(pieces)


def find_json(
    text: str, opening: re.Pattern[str] = _OPENING, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[Any, int, int]]:
    """Yield each outermost JSON object or list with its start and end; None for a broken one."""
    end = 0
    while match := opening.search(text, end):
        start = match.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = None, start + 1
        yield value, start, end


def _read_fields(fields: dict[str, Any], reader: VerdictReader[Value]) -> list[Value]:
    """Return the verdicts in an object; ValueError if its main key contains something else."""
    values = _values_under(fields, reader.keys)
    verdicts = [_parse_value(values[0], reader)] if values else []
    for value in values[1:] if values else _values_under(fields, reader.fallback_keys):
        with suppress(ValueError):
            verdicts.append(_parse_value(value, reader))
    return verdicts


def _values_under(fields: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """Return the values of these keys, in the order of `keys`, ignoring case."""
    folded = [(name.strip().casefold(), value) for name, value in fields.items()]
    return [value for key in keys for name, value in folded if name == key]


def _parse_value(value: Any, reader: VerdictReader[Value]) -> Value:
    verdict = parse_value(value, reader) if isinstance(value, str) else None
    return reader.parse_json(value) if verdict is None else verdict


def _read_lines(text: str, reader: VerdictReader[Value]) -> Iterator[LineVerdict[Value]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        value = _read_bare_line(line, reader, is_last=is_last) if reader.reads_bare_lines else None
        named = parse_named_line(line) if value is None else None
        if named is not None and (is_last or not line.startswith(">")):
            value = parse_value(named, reader)
        if value is not None:
            yield LineVerdict(line, value, is_named=named is not None, is_last=is_last)


def _read_bare_line(line: str, reader: VerdictReader[Value], *, is_last: bool) -> Value | None:
    """Return the verdict in a line; an invalid verdict is an error only on the last line."""
    try:
        return parse_value(line, reader)
    except ValueError:
        if is_last:
            raise
        return None


def _spell(value: Any) -> str:
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
