"""A judge's prompt with its parts in reverse: a question, an answer and a reference change places.

A part is a value with what says what it is: a label before it, a heading above it, the tag or the
fence around it.

    Question: {{ q }}          <answer>              ## Reference
                               {{ a }}
                               </answer>             {{ sample.reference }}

Holds:      a value never stands under the label of another. Where it is not plain what belongs to a
            value, nothing is moved, and `NotApplicable` says what was in the way.
Does not:   understand words: a text between two parts that is no label could be about either.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from jinja2 import TemplateSyntaxError

from evalwright.templates import Template
from evalwright.templates.environment import TEXT

_PARAGRAPHS = re.compile(r"(\n[ \t]*\n\s*)")
_LINES = re.compile(r"(\n)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>")
_FENCE = re.compile(r"^\s*(```+|~~~+)", re.MULTILINE)
_FENCE_LINE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_HEADING = re.compile(r"\s*(?:#{1,6}\s.*|(\*\*|__).+\1:?|\[.+\]|([=*_#-]{2,}).*\w.*\2)\s*")
_UNBOUND = {"set", "macro", "raw", "import", "from", "include", "extends", "block"}
"""Statements by which the rest of a template changes its meaning."""
_COLONS = (":", "\uff1a")
_LONGEST_LABEL = 80
_NO_PARTS = "the prompt has no two parts with values in them that could change places"


class NotApplicable(ValueError):
    """A change that would change nothing, or too much; the text says why."""


class _Piece(NamedTuple):
    """A paragraph or a line, as Jinja's lexer sees it."""

    text: str
    data: str
    """What is no Jinja."""
    before: str
    """What of it stands before the first value."""
    after: str
    """What stands after the last one."""
    values: int
    """How many."""
    statements: frozenset[str]


class _Pair(NamedTuple):
    """The pieces in which a tag or a fence opens and closes."""

    opens: int
    closes: int


class _Span(NamedTuple):
    first: int
    last: int

    def holds(self, place: int) -> bool:
        return self.first <= place <= self.last


def swapped(source: str) -> str:
    """The prompt with its parts in reverse; `NotApplicable` where that cannot be done safely.

    Paragraphs are moved, and lines where paragraphs cannot be: unless two values in one paragraph
    would be torn apart.
    """
    body = source.strip()
    why = NotApplicable(_NO_PARTS)
    for border in (_PARAGRAPHS, _LINES):
        texts = border.split(body)
        pieces = [_piece(one) for one in texts]
        if sum(one.values for one in pieces) != _piece(body).values:
            raise NotApplicable("a comment, or a text that is no template, goes over several parts")
        places = [place for place, one in enumerate(pieces) if one.values]
        if len(places) > 1:
            try:
                return source.replace(body, _turned(texts, _Parts(pieces, places).spans()))
            except NotApplicable as error:
                why = error
            if any(_value_lines(one) > 1 for one in texts):
                break
    raise why


def _turned(texts: Sequence[str], spans: Sequence[_Span]) -> str:
    made, start = [], 0
    for here, moved in zip(spans, reversed(spans), strict=True):
        made += [*texts[start : here.first], *texts[moved.first : moved.last + 1]]
        start = here.last + 1
    turned = "".join([*made, *texts[start:]])
    if turned == "".join(texts):
        raise NotApplicable(_NO_PARTS)
    return turned


class _Parts:
    """The parts of a prompt that was cut into pieces; those at odd places are only borders."""

    def __init__(self, pieces: Sequence[_Piece], values: Sequence[int]) -> None:
        self._pieces, self._values = pieces, values
        self._pairs = _pairs(pieces)

    def spans(self) -> list[_Span]:
        """Where each part begins and ends, in their order."""
        found = [self._span(place) for place in self._values]
        for one, after in pairwise(found):
            self._refuse_between(one, after)
        self._refuse_loose(_Span(found[0].first, found[-1].last))
        self._refuse_torn(found)
        self._refuse_unclear(found)
        return found

    def _span(self, value: int) -> _Span:
        span = _Span(value, value)
        while True:
            wider = self._closed(span)
            above = self._over(wider.first)
            if above is not None and self._belongs(above, wider, value):
                wider = wider._replace(first=above)
            if wider == span:
                break
            if any(wider.holds(one) for one in self._values if one != value):
                raise NotApplicable(f"two values share what is around them: {self._at(span)}")
            span = wider
        if not _has_words(self._label(span, value)):
            raise NotApplicable(f"nothing says what this value is: {self._at(span)}")
        return span

    def _over(self, place: int) -> int | None:
        """The piece above, past what is blank."""
        filled = (one for one in reversed(range(place)) if self._pieces[one].text.strip())
        return next(filled, None)

    def _closed(self, span: _Span) -> _Span:
        """With the other end of what opens or closes in it, and with what is only around it."""
        for pair in self._pairs:
            inside = [span.holds(one) for one in pair]
            around = pair.opens < span.first and span.last < pair.closes
            own = around and sum(pair.opens <= one <= pair.closes for one in self._values) == 1
            if any(inside) or own:
                span = _Span(min(span.first, pair.opens), max(span.last, pair.closes))
        return span

    def _belongs(self, above: int, span: _Span, value: int) -> bool:
        """Whether the piece above is what says what a part is; of two headings, the lower."""
        piece = self._pieces[above]
        text = piece.data.strip()
        if piece.values or piece.statements or "\n" in text or self._is_heading(span.first):
            return False
        if self._is_heading(above):
            return True
        has_label = _has_words(self._label(span, value))
        return not has_label and text.endswith(_COLONS) and len(text) <= _LONGEST_LABEL

    def _is_heading(self, place: int) -> bool:
        piece = self._pieces[place]
        if piece.values or len(piece.data) > _LONGEST_LABEL:
            return False
        return _HEADING.fullmatch(piece.data) is not None

    def _label(self, span: _Span, value: int) -> str:
        """All words of a part before its value."""
        above = (self._pieces[place].data for place in range(span.first, value))
        return "\n".join([*above, self._pieces[value].before])

    def _refuse_between(self, one: _Span, after: _Span) -> None:
        if one.last >= after.first:
            raise NotApplicable(f"two values share what says what they are: {self._at(after)}")
        if self._pieces[one.last].after.rstrip().endswith(_COLONS):
            raise NotApplicable(f"a label stands apart from its value: {self._at(one)}")
        for place in range(one.last + 1, after.first):
            if text := _short(self._pieces[place].text):
                raise NotApplicable(f"it is not plain to which value this belongs: `{text}`")

    def _refuse_torn(self, found: Sequence[_Span]) -> None:
        for pair in self._pairs:
            inside = [one for one in found if pair.opens < one.first and one.last < pair.closes]
            if inside and len(inside) < len(found):
                text = _short(self._pieces[pair.opens].text)
                raise NotApplicable(f"a part would leave what stands around it: `{text}`")

    def _refuse_unclear(self, found: Sequence[_Span]) -> None:
        """A heading over the first part, or words after the last, that may be about all of them."""
        headed = [self._is_heading(one.first) for one in found]
        if headed[0] and not all(headed) and _has_words(self._pieces[self._values[0]].before):
            text = _short(self._pieces[found[0].first].text)
            raise NotApplicable(f"it is not plain whether this is about one value or all: `{text}`")
        _, _, rest = self._pieces[self._values[-1]].after.partition("\n")
        below = range(self._values[-1] + 1, found[-1].last + 1)
        rest = "\n".join([rest, *(self._pieces[place].data for place in below)])
        if _has_words(rest):
            raise NotApplicable(f"what follows the last value would be moved: `{_short(rest)}`")

    def _refuse_loose(self, moved: _Span) -> None:
        """What is moved, and what it is moved past, must be whole templates that change nothing."""
        for place in range(moved.first, moved.last + 1):
            piece = self._pieces[place]
            if piece.statements & _UNBOUND or not _is_whole(piece.text):
                text = _short(piece.text)
                raise NotApplicable(f"a block of the template goes over several parts: `{text}`")

    def _at(self, span: _Span) -> str:
        return f"`{_short(self._pieces[span.first].text)}`"


def _piece(text: str) -> _Piece:
    """`NotApplicable` where a comment, or what is taken as it stands, goes on in another piece."""
    data: list[str] = []
    before: str | None = None
    since = values = 0
    statements: set[str] = set()
    kind_before = ""
    try:
        for _, kind, value in TEXT.lex(text):
            if kind == "data":
                data.append(value)
            elif kind == "variable_begin":
                before = "".join(data) if before is None else before
                values += 1
            elif kind == "variable_end":
                since = len(data)
            elif kind == "raw_begin" or (kind == "name" and kind_before == "block_begin"):
                statements.add(value if kind == "name" else "raw")
            kind_before = kind if kind != "whitespace" else kind_before
    except TemplateSyntaxError as error:
        reason = f"a block of the template goes over several parts: `{_short(text)}`"
        raise NotApplicable(reason) from error
    return _Piece(
        text=text,
        data="".join(data),
        before=before or "",
        after="".join(data[since:]) if before is not None else "",
        values=values,
        statements=frozenset(statements),
    )


def _value_lines(paragraph: str) -> int:
    return sum("{{" in line for line in paragraph.split("\n"))


def _pairs(pieces: Sequence[_Piece]) -> list[_Pair]:
    """Tags and fences that close again; what never does is no part of anything."""
    pairs: list[_Pair] = []
    fence: tuple[str, int] | None = None
    tags: list[tuple[str, int]] = []
    for place, piece in enumerate(pieces):
        for sign in _FENCE.findall(piece.data):
            if fence is None:
                fence = (sign[:3], place)
            elif fence[0] == sign[:3]:
                pairs.append(_Pair(fence[1], place))
                fence = None
        for closing, name, alone in _TAG.findall(piece.data):
            if alone:
                continue
            if not closing:
                tags.append((name, place))
            elif opened := next((one for one in reversed(tags) if one[0] == name), None):
                pairs.append(_Pair(opened[1], place))
                del tags[len(tags) - 1 - tags[::-1].index(opened) :]
    return pairs


def _has_words(text: str) -> bool:
    """Whether it says anything; the language after a fence does not, nor does a closing tag."""
    plain = _FENCE_LINE.sub("", text)
    plain = _TAG.sub(lambda tag: "" if tag[1] else tag[2], plain)
    return any(one.isalpha() for one in plain)


def _is_whole(piece: str) -> bool:
    try:
        Template(piece)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LABEL else f"{line[:_LONGEST_LABEL]}…"
