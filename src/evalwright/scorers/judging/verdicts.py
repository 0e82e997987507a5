"""Read the verdict of a judge's reply: tolerant of form, never guessed from prose.

A reply has a verdict if one of these is a label, or a number on the scale, once quotes, markdown,
brackets and final punctuation are removed (a label may have marks of its own, as `C#` and `(A)` do,
so they are removed step by step):

    correct                          the whole reply
    {"prediction": "correct", …}     a known key of a JSON object, in a fence or in text
    … correct                        the last line that is not empty
    Verdict: correct                 a line named verdict, score, label, answer or rating

Anything else is `NoVerdict`, a failure that quotes the reply: a label inside a sentence, two
verdicts that disagree (lines that are nothing but a label count here), and a JSON object or a named
line that the judge copied from the answer it was shown.

A model's `<think>` block is not part of its reply.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

_MOST_CHARACTERS = 200_000
_MOST_QUOTED = 500
_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
_END_OF_THINKING = re.compile(r"\n\s*</think>|</think>\s*\n")
_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_PLACEHOLDER = "{}"
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
_DIRECTION_MARKS = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$", re.MULTILINE)
_END_TOKENS = re.compile(r"(?:\s*(?:<\|[\w ]{1,30}\|>|</?s>|<eos>|<end_of_turn>|<pad>))+\s*$")
_LONGEST_END = 200
_MOST_LEVELS = 10
_LINE_MARKS = re.compile(r"\s*(?:(?:#{1,6}|[>*•])\s+|(?:[-–+]|\d{1,3}[.)])\s+(?=\D))*")
"""Marks of a heading, quotation or list item. `- 4` may be negative, `1. 4` two numbers."""
_NAMED = re.compile(
    r"[\s*_`]*(?:verdict|score|label|answer|rating)[\s*_`]*[:\uff1a](?P<value>.*\w.*)",
    re.IGNORECASE | re.DOTALL,
)
_EMPHASIS = "*_`"
_FINAL_PUNCTUATION = ".!。！۔"  # noqa: RUF001 - the Chinese mark
_QUOTES = {
    pair[0]: pair[1] for pair in ('""', "''", "“”", "\u2018\u2019", "„“", "«»", "「」", "『』")
}
_BRACKETS = {"[": "]", "(": ")", "【": "】", "\uff08": "\uff09"}


def _make_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs) and any(fields[name] != value for name, value in pairs):
        raise ValueError("a duplicate key with different values")
    return fields


_STRICT_KEYS = json.JSONDecoder(object_pairs_hook=_make_dict, strict=False)


class NoVerdict(ValueError):
    """A reply without a verdict; the message says why and quotes the reply."""

    def __init__(self, why: str, reply: str, *, hint: str = "") -> None:
        text = reply.strip()
        if len(text) > _MOST_QUOTED:
            text = f"{text[:_MOST_QUOTED]}…"
        quoted = f"; its reply: {text}" if text else ""
        self.why = f"{why}{quoted}"
        super().__init__(f"the judge gave no verdict: {self.why}")
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
    fields: dict[str, Any]
    is_json: bool
    is_alone: bool
    """Whether the verdict is the whole reply."""


class _JsonObject(NamedTuple):
    start: int
    end: int
    fields: dict[str, Any]


class _LineVerdict(NamedTuple, Generic[Value]):
    line: str
    value: Value
    is_named: bool
    is_last: bool


def read_verdict(
    reply: str, reader: VerdictReader[Value], *, shown: Sequence[str] = ()
) -> ParsedReply[Value]:
    """Return the only verdict in a reply, or `NoVerdict`; `shown` is the judge's input."""
    text = final_text(reply, shown)
    try:
        whole = _parse(remove_fences(remove_direction_marks(text)).strip(), reader)
        if whole is not None:
            return ParsedReply(whole, {}, is_json=False, is_alone=True)
        return _read_parts(text, reader, shown)
    except ValueError as error:
        raise NoVerdict(str(error), reply) from None


def final_text(reply: str, shown: Sequence[str] = ()) -> str:
    """Return the reply without thinking and end tokens; `NoVerdict` if nothing is left."""
    text = remove_end_tokens(_remove_thinking(reply, shown)).strip()
    if not remove_direction_marks(text).strip():
        raise NoVerdict("its reply is empty", reply)
    if len(text) > _MOST_CHARACTERS:
        raise NoVerdict(f"its reply has more than {_MOST_CHARACTERS:,} characters", reply)
    return text


def _remove_thinking(reply: str, shown: Sequence[str]) -> str:
    """Return the text after a model's thinking; some servers send only its end mark."""
    if start := _THINKING.match(reply):
        _, end, text = reply.rpartition(f"</{start[1]}>")
        if not end:
            raise NoVerdict("its thinking block is not closed", reply)
        return text
    ends = [match.end() for match in _END_OF_THINKING.finditer(reply)]
    is_shown = any("</think>" in text for text in shown)  # then the judge may be quoting it
    return reply[ends[-1] :] if ends and not is_shown else reply


def _parse(text: str, reader: VerdictReader[Value]) -> Value | None:
    for level in strip_levels(text):
        if (value := reader.parse_text(level)) is not None:
            return value
    return None


def _read_parts(
    text: str, reader: VerdictReader[Value], shown: Sequence[str]
) -> ParsedReply[Value]:
    objects, has_broken_json = _find_objects(text)
    judging = [(item, values) for item in objects if (values := _read_fields(item.fields, reader))]
    outside = _replace_objects(text, [item for item, _ in judging])
    lines = [*_read_lines(remove_fences(remove_direction_marks(outside)), reader)]
    if not judging and not any(line.is_named or line.is_last for line in lines):
        if has_broken_json:
            raise ValueError("its JSON is incomplete, invalid, or has a duplicate key")
        raise ValueError(
            f"its JSON has no `{reader.keys[0]}`" if objects else f"expected {reader.expected}"
        )
    verdicts = [value for _, values in judging for value in values]
    verdicts += [line.value for line in lines]
    for verdict in verdicts:
        if verdict != verdicts[0]:
            raise ValueError(f"two verdicts, {_spell(verdicts[0])} and {_spell(verdict)}")
    is_alone = not has_words(outside) if judging else len(outside.strip().splitlines()) == 1
    if not is_alone:
        written = [text[item.start : item.end] for item, _ in judging]
        if _may_quote(written, [line.line for line in lines if line.is_named], shown):
            raise ValueError("its verdict may be a quotation of what it was shown")
    fields = judging[-1][0].fields if judging else {}
    return ParsedReply(verdicts[0], fields, is_json=bool(judging), is_alone=is_alone)


def _find_objects(text: str) -> tuple[list[_JsonObject], bool]:
    """Return all outermost JSON objects, up to a broken one, and whether there is a broken one."""
    objects: list[_JsonObject] = []
    for fields, start, end in find_json(text, _OBJECT_START, _STRICT_KEYS):
        if fields is None:
            return objects, True
        objects.append(_JsonObject(start, end, fields))
    return objects, False


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
    verdict = _parse(value, reader) if isinstance(value, str) else None
    return reader.parse_json(value) if verdict is None else verdict


def _replace_objects(text: str, objects: list[_JsonObject]) -> str:
    for item in reversed(objects):
        text = f"{text[: item.start]}{_PLACEHOLDER}{text[item.end :]}"
    return text


def _read_lines(text: str, reader: VerdictReader[Value]) -> Iterator[_LineVerdict[Value]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        value = _read_bare_line(line, reader, is_last=is_last) if reader.reads_bare_lines else None
        named = parse_named_line(line) if value is None else None
        if named is not None and (is_last or not line.startswith(">")):
            value = _parse(named, reader)
        if value is not None:
            yield _LineVerdict(line, value, is_named=named is not None, is_last=is_last)


def _read_bare_line(line: str, reader: VerdictReader[Value], *, is_last: bool) -> Value | None:
    """Return the verdict of a line; an invalid one matters only on the last line."""
    try:
        return _parse(line, reader)
    except ValueError:
        if is_last:
            raise
        return None


def _may_quote(objects: list[str], lines: list[str], shown: Sequence[str]) -> bool:
    """Whether an object or a line is quoted verbatim from what the judge was shown."""
    squeezed = ["".join(text.split()) for text in shown]
    if any("".join(item.split()) in text for item in objects for text in squeezed):
        return True
    shown_lines = {
        strip_all(line.strip()).casefold()
        for text in shown
        for line in remove_direction_marks(text).splitlines()
    }
    return any(strip_all(line).casefold() in shown_lines for line in lines)


def _spell(value: Any) -> str:
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def remove_direction_marks(text: str) -> str:
    """Remove invisible characters; joiners are part of a word and are kept."""
    return _DIRECTION_MARKS.sub("", text)


def remove_fences(text: str) -> str:
    """Remove the lines that open and close a code block."""
    return _FENCE_LINE.sub("", text)


def remove_end_tokens(text: str) -> str:
    """Remove a model's end-of-turn tokens, which some servers pass on."""
    tail = text[-_LONGEST_END:]
    return text[: len(text) - len(tail)] + _END_TOKENS.sub("", tail)


def parse_named_line(line: str) -> str | None:
    """Return X from a line `Verdict: X`, `Score: X`, `Label: X`, `Answer: X` or `Rating: X`."""
    match = _NAMED.fullmatch(_remove_line_marks(line))
    return None if match is None else match["value"].strip()


def strip_levels(text: str) -> list[str]:
    """Yield the text, then the text with one surrounding mark less at a time."""
    levels = [text]
    stripped = _strip_marks(_remove_line_marks(text))
    if stripped and stripped != text:
        levels.append(stripped)
    for _ in range(_MOST_LEVELS):
        stripped = _strip_marks(_remove_pair(levels[-1], _QUOTES | _BRACKETS))
        if not stripped or stripped == levels[-1]:
            break
        levels.append(stripped)
    return levels


def strip_all(text: str) -> str:
    """Return the text without surrounding marks."""
    return strip_levels(text)[-1]


def strip_quotes(text: str) -> str:
    """Remove quotes, emphasis and final punctuation, but no brackets."""
    stripped = _strip_marks(text)
    while stripped and (inner := _strip_marks(_remove_pair(stripped, _QUOTES))) != stripped:
        stripped = inner
    return stripped or text


def has_words(text: str) -> bool:
    """Whether there is a letter or a digit outside the lines of a fence."""
    return any(map(str.isalnum, remove_fences(text)))


def _strip_marks(text: str) -> str:
    around = f"{_EMPHASIS} \t\r\n"
    return text.strip(around).rstrip(_FINAL_PUNCTUATION).strip(around)


def _remove_pair(text: str, pairs: dict[str, str]) -> str:
    """Remove a pair around the whole text: the outer one of `[[A]]`, none of `(A) or (B)`."""
    opening, inner, closing = text[:1], text[1:-1], text[-1:]
    if len(text) < len("()") or pairs.get(opening) != closing:
        return text
    if opening == closing:
        return text if opening in inner else inner
    return text if inner.find(closing) < inner.find(opening) else inner


def _remove_line_marks(text: str) -> str:
    return _LINE_MARKS.sub("", text, count=1)
