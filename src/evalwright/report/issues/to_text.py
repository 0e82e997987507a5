"""Issues for a person: where, what, and a caret under the place.

tasks.jsonl:3:50: bad_value: `prompt` is empty
  {"task_id": "a", "prompt": "", "targets": ["4"], …
                             ^
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator

from evalwright.spec.checking import Checking
from evalwright.types import Issue

_BEFORE, _WIDTH = 40, 88
_MARKS = ("Mn", "Me")  # they stand on the character before them


def render(
    checks: Iterable[Checking], *, style: Callable[[str, str], str] = lambda text, _: text
) -> Iterator[str]:
    """One paragraph an issue. `style(text, kind)` may colour a `place`, a `rule` or a `caret`."""
    for check in checks:
        for issue in check:
            place = f"{_one_line(check.file)}:{issue.line}:"
            if issue.column:
                place += f"{issue.column}:"
            rule = style(f"{issue.rule}:", "rule")
            excerpt = "".join(_excerpt(issue, style))
            yield f"{style(place, 'place')} {rule} {_one_line(issue.message)}\n{excerpt}"


def _excerpt(issue: Issue, style: Callable[[str, str], str]) -> Iterator[str]:
    """The place of the mistake in its line; nothing where the cut line no longer has it."""
    at = (issue.column or 0) - 1
    if not 0 <= at <= len(issue.raw):
        return
    start = max(0, at - _BEFORE) if len(issue.raw) > _WIDTH else 0
    head, tail = _one_line(issue.raw[start:at]), _one_line(issue.raw[at : start + _WIDTH])
    more = "…" if start else ""
    rest = " …" if start + _WIDTH < len(issue.raw) else ""
    yield f"  {more}{head}{tail}{rest}\n"
    yield f"  {' ' * (len(more) + _columns(head))}{style('^', 'caret')}\n"


def _one_line(text: str) -> str:
    """Control characters would move the caret, or the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _columns(text: str) -> int:
    """How many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in _MARKS else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
