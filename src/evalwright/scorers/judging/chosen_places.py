r"""Read the verdict at the place that the author of the task specified.

    verdict_position: first_line    the first line that is not empty
    verdict_position: last_line     the last line that is not empty
    verdict_position: json          a known key of the JSON in the reply
    verdict_pattern: 'Score: (\d+)' the group of every match in the reply, or in the chosen line

Nothing else in the reply counts. A line may have a name (`Score: 2`). Markup around the verdict is
removed, as for any verdict, and the model's thinking is ignored.
"""

from typing import Literal, NamedTuple

from evalwright.scorers.judging.markup import (
    has_words,
    parse_named_line,
    remove_direction_marks,
    remove_fences,
)
from evalwright.scorers.judging.shown_text import ShownText
from evalwright.scorers.judging.verdicts import (
    ParsedReply,
    UnreadableReply,
    Value,
    VerdictReader,
    convert_errors,
    final_text,
    find_objects,
    json_error,
    parse_value,
    quotation_error,
    read_objects,
    refuse_conflict,
    refuse_quotation,
    remove_objects,
)
from evalwright.text.bounded_pattern import MAX_SECONDS, BoundedPattern, GroupMatch

Position = Literal["first_line", "last_line", "json"]
_ORDINALS = {"first_line": "first", "last_line": "last"}
_MOST_QUOTED = 80


class VerdictPlace(NamedTuple):
    """The place of the verdict, as the author specified it."""

    position: Position | None = None
    pattern: BoundedPattern | None = None

    def read(
        self, reply: str, reader: VerdictReader[Value], *, shown: ShownText
    ) -> ParsedReply[Value]:
        """Return the verdict at this place; raise `NoVerdict` if there is none."""
        text = final_text(reply, shown)
        with convert_errors(reply):
            if self.position == "json":
                return _read_json(text, reader, shown)
            text = remove_direction_marks(text)
            if self.position is None:
                line, is_alone, is_ended = text, True, False
            else:
                line, is_alone, is_ended = _find_line(text, self.position)
            if self.pattern is not None:
                parsed = _read_matches(line, self.pattern, reader, shown, is_alone=is_alone)
            else:
                parsed = _read_line(line, str(self.position), reader, shown, is_alone=is_alone)
            return parsed._replace(is_complete=is_ended or parsed.is_complete)


def _find_line(text: str, position: str) -> tuple[str, bool, bool]:
    """Return the line, whether it is the only one, and whether another line follows it."""
    lines = [line.strip() for line in remove_fences(text).splitlines() if line.strip()]
    if not lines:
        raise UnreadableReply(position, "it has no line of text")
    is_alone = len(lines) == 1
    line = lines[0] if position == "first_line" else lines[-1]
    return line, is_alone, position == "first_line" and not is_alone


def _read_line(
    line: str, position: str, reader: VerdictReader[Value], shown: ShownText, *, is_alone: bool
) -> ParsedReply[Value]:
    value = parse_value(line, reader) if reader.reads_bare_lines else None
    named = parse_named_line(line) if value is None else None
    if named is not None:
        value = parse_value(named, reader)
    if value is None and not reader.reads_bare_lines:
        value = parse_value(line, reader)
    if value is None:
        quoted = f"the {_ORDINALS[position]} line, `{_shorten(line)}`, is not a verdict"
        raise UnreadableReply(position, f"{quoted}: expected {reader.expected}")
    if named is not None and not is_alone:
        refuse_quotation(shown, lines=[line])
    return ParsedReply(value, position, {}, is_complete=is_alone and reader.is_final(value))


def _read_json(text: str, reader: VerdictReader[Value], shown: ShownText) -> ParsedReply[Value]:
    objects, has_broken_json = find_objects(text)
    judging = list(read_objects(objects, reader))
    if has_broken_json or (objects and not judging):
        raise json_error(reader, has_broken_json=has_broken_json)
    if not judging:
        raise UnreadableReply("json", f"expected a JSON object with the key `{reader.keys[0]}`")
    verdicts = [value for _, values in judging for value in values]
    refuse_conflict(verdicts)
    is_alone = not has_words(remove_objects(text, [item for item, _ in judging]))
    if not is_alone:
        refuse_quotation(shown, objects=[text[item.start : item.end] for item, _ in judging])
    return ParsedReply(verdicts[0], "json", judging[-1][0].fields, is_complete=is_alone)


def _read_matches(
    text: str,
    pattern: BoundedPattern,
    reader: VerdictReader[Value],
    shown: ShownText,
    *,
    is_alone: bool,
) -> ParsedReply[Value]:
    matches = _find_matches(text, pattern)
    if not matches:
        raise UnreadableReply("pattern", f"`verdict_pattern` matches nothing in `{_shorten(text)}`")
    verdicts = [_read_group(group, reader) for group in matches]
    refuse_conflict(verdicts)
    for match in matches.values():
        is_whole = is_alone and not has_words(text[: match.start] + text[match.end :])
        if not is_whole:
            _refuse_copy(text, match, shown)
    return ParsedReply(verdicts[0], "pattern", {}, is_complete=False)


def _find_matches(text: str, pattern: BoundedPattern) -> dict[str, GroupMatch]:
    """Return the first match of each distinct text of the group."""
    matches: dict[str, GroupMatch] = {}
    try:
        for match in pattern.find_all(text):
            group = text[max(match.group_start, 0) : max(match.group_end, 0)]
            matches.setdefault(group.strip(), match)
    except TimeoutError:
        why = f"`verdict_pattern` took more than {MAX_SECONDS:g} s of CPU time"
        raise UnreadableReply("slow_pattern", why) from None
    return matches


def _read_group(group: str, reader: VerdictReader[Value]) -> Value:
    if not group:
        raise UnreadableReply("empty_group", "the group of `verdict_pattern` is empty")
    value = parse_value(group, reader)
    if value is None:
        why = f"`{_shorten(group)}`, the group of `verdict_pattern`, is not a verdict"
        raise UnreadableReply("pattern", f"{why}: expected {reader.expected}")
    return value


def _refuse_copy(text: str, match: GroupMatch, shown: ShownText) -> None:
    """Raise if the matched lines contain more than the group and all occur in the shown text."""
    start = text.rfind("\n", 0, match.start) + 1
    end = text.find("\n", match.end)
    end = len(text) if end < 0 else end
    lines = [line for line in text[start:end].splitlines() if line.strip()]
    has_name = has_words(text[start : match.group_start] + text[match.group_end : end])
    if has_name and all(map(shown.has_line, lines)):
        raise quotation_error()


def _shorten(text: str) -> str:
    line = " ".join(text[: 2 * _MOST_QUOTED].split())
    return line if len(line) <= _MOST_QUOTED else f"{line[:_MOST_QUOTED]}…"
