"""Read the verdict of a judge's reply: tolerant of form, never guessed from prose.

A reply has a verdict if one of these is a label, or a number on the scale, once quotes, markdown,
brackets and final punctuation are removed (a label may have marks of its own, as `C#` and `(A)` do,
so they are removed step by step):

    correct                          the whole reply
    {"prediction": "correct", …}     a known key of a JSON object, in a fence or in text
    … correct                        the last line that is not empty
    Verdict: correct                 a line named verdict, score, label, answer or rating

Anything else is `NoVerdict`, a failure that names a rule and quotes the reply: a label inside a
sentence, two verdicts that disagree (lines that are nothing but a label count here), and a JSON
object or a named line that the judge copied from the answer it was shown. `chosen_places` reads
replies whose author says where the verdict is.

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
        raise ValueError("a duplicate key with different values")
    return fields


_STRICT_KEYS = json.JSONDecoder(object_pairs_hook=_make_dict, strict=False)


class UnreadableReply(ValueError):
    """A reply, or a value in it, that a rule refuses."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(why)
        self.rule = rule


class NoVerdict(ValueError):
    """A reply without a verdict; the message names the rule, says why and quotes the reply."""

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
    """What counts as a verdict: labels, numbers, or any short text."""

    keys: tuple[str, ...]
    """Keys of a JSON object that hold a verdict; the first one present must hold one."""
    fallback_keys: tuple[str, ...] = ()
    """Keys that are read if none of `keys` exists; they may hold something else."""
    expected: str
    """What a verdict may be, for messages."""
    reads_bare_lines = True
    """Whether a line without a name can be distinguished from prose."""

    @abstractmethod
    def parse_text(self, text: str) -> Value | None:
        """Return the verdict that the whole text is, or None; ValueError if it is not allowed."""

    @abstractmethod
    def parse_json(self, value: Any) -> Value:
        """Return the verdict that a JSON value is, or ValueError."""

    def is_final(self, verdict: Value) -> bool:
        """Whether no following text could change the verdict."""
        del verdict
        return False


class ParsedReply(NamedTuple, Generic[Value]):
    """A verdict, and the JSON object that held it."""

    value: Value
    rule: str
    """The rule by which it was read."""
    fields: dict[str, Any]
    is_complete: bool
    """Whether no further text could have changed the verdict."""

    @property
    def is_json(self) -> bool:
        """Whether a JSON object held it."""
        return self.rule == "json"


class JsonObject(NamedTuple):
    """A JSON object in a reply, with its place."""

    start: int
    end: int
    fields: dict[str, Any]


class LineVerdict(NamedTuple, Generic[Value]):
    """A line of a reply that is a verdict."""

    line: str
    value: Value
    is_named: bool
    is_last: bool


def read_verdict(
    reply: str, reader: VerdictReader[Value], *, shown: ShownText = _NOTHING_SHOWN
) -> ParsedReply[Value]:
    """Return the only verdict in a reply, or `NoVerdict`; `shown` is what the judge may quote."""
    text = final_text(reply, shown)
    with explain_refusal(reply):
        whole = parse_value(remove_fences(remove_direction_marks(text)).strip(), reader)
        if whole is not None:
            return ParsedReply(whole, "whole_reply", {}, is_complete=reader.is_final(whole))
        return _read_parts(text, reader, shown)


@contextmanager
def explain_refusal(reply: str) -> Iterator[None]:
    """Turn a refusal into a `NoVerdict` that quotes the reply."""
    try:
        yield
    except UnreadableReply as error:
        raise NoVerdict(str(error), reply, rule=error.rule) from None


def final_text(reply: str, shown: ShownText = _NOTHING_SHOWN) -> str:
    """Return the reply without thinking and end tokens; `NoVerdict` if nothing is left."""
    text = remove_end_tokens(_remove_thinking(reply, shown)).strip()
    if len(text) > _MOST_CHARACTERS:
        why = f"its reply has more than {_MOST_CHARACTERS:,} characters"
        raise NoVerdict(why, reply, rule="too_long")
    if not remove_direction_marks(text).strip():
        raise NoVerdict("its reply is empty", reply, rule="empty")
    return text


def _remove_thinking(reply: str, shown: ShownText) -> str:
    """Return the text after a model's thinking; some servers send only its end mark."""
    if start := _THINKING.match(reply):
        _, end, text = reply.rpartition(f"</{start[1]}>")
        if not end:
            raise NoVerdict("its thinking block is not closed", reply, rule="open_thinking")
        return text
    if _END_OF_THINKING not in reply or shown.has_mark(_END_OF_THINKING):
        return reply  # the judge may be quoting the mark
    parts = reply.split(_END_OF_THINKING)
    for number in reversed(range(1, len(parts))):
        before, after = parts[number - 1], parts[number]
        spaces = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
        if any("\n" in space for space in spaces):  # the mark begins or ends a line
            return _END_OF_THINKING.join(parts[number:])
    return reply


def parse_value(text: str, reader: VerdictReader[Value]) -> Value | None:
    """Return the verdict that a text is without its markup, or None."""
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
            raise refused_json(reader, has_broken_json=has_broken_json)
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
        raise refused_quotation()


def refused_quotation() -> UnreadableReply:
    """Return the refusal of a verdict that the judge may have copied."""
    return UnreadableReply("quotation", "its verdict may be a quotation of what it was shown")


def refused_json(reader: VerdictReader[Any], *, has_broken_json: bool) -> UnreadableReply:
    """Return the refusal of a reply whose JSON has no verdict."""
    if has_broken_json:
        return UnreadableReply(
            "broken_json", "its JSON is incomplete, invalid, or has a duplicate key"
        )
    return UnreadableReply("json_key", f"its JSON has no `{reader.keys[0]}`")


def find_objects(text: str) -> tuple[list[JsonObject], bool]:
    """Return all outermost JSON objects, up to a broken one, and whether there is a broken one."""
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
    """Yield each outermost JSON object or list, with its start and end; None for a broken one."""
    end = 0
    while match := opening.search(text, end):
        start = match.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = None, start + 1
        yield value, start, end


def _read_fields(fields: dict[str, Any], reader: VerdictReader[Value]) -> list[Value]:
    """Return the verdicts of an object; ValueError if its main key holds something else."""
    values = _values_under(fields, reader.keys)
    verdicts = [_parse_value(values[0], reader)] if values else []
    for value in values[1:] if values else _values_under(fields, reader.fallback_keys):
        with suppress(ValueError):
            verdicts.append(_parse_value(value, reader))
    return verdicts


def _values_under(fields: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """Return the values of these keys, in the order of `keys`; case does not matter."""
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
    """Return the verdict of a line; an invalid one matters only on the last line."""
    try:
        return parse_value(line, reader)
    except ValueError:
        if is_last:
            raise
        return None


def _spell(value: Any) -> str:
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
