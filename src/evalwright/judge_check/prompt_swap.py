"""Reverse the parts of a judge's prompt: a question, an answer and a reference change places.

A part is a value with what names it: a label before it, a heading above it, the tag or the fence
around it.

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
"""Statements that change the meaning of the rest of a template."""
_COLONS = (":", "\uff1a")
_MAX_LABEL = 80
_NO_PARTS = "the prompt has no two parts with values in them that could change places"


class NotApplicable(ValueError):
    """A change that would change nothing, or too much; the text says why."""


class _Piece(NamedTuple):
    """A paragraph or a line, as Jinja's lexer sees it."""

    text: str
    data: str
    """The text outside Jinja's delimiters."""
    before: str
    """Data before the first value."""
    after: str
    """Data after the last value."""
    values: int
    """Number of values."""
    statements: frozenset[str]


class _Enclosure(NamedTuple):
    """The pieces in which a tag or a fence opens and closes."""

    opens: int
    closes: int


class _Span(NamedTuple):
    """The pieces of one part, from first to last."""

    first: int
    last: int

    def contains(self, index: int) -> bool:
        return self.first <= index <= self.last


def swap_prompt(source: str) -> str:
    """Reverse the parts of a prompt; `NotApplicable` where that cannot be done safely.

    Paragraphs are moved, or lines if paragraphs cannot be, unless that would tear apart two values
    of one paragraph.
    """
    body = source.strip()
    problem = NotApplicable(_NO_PARTS)
    for separator in (_PARAGRAPHS, _LINES):
        texts = separator.split(body)
        pieces = [_parse_piece(text) for text in texts]
        if sum(piece.values for piece in pieces) != _parse_piece(body).values:
            raise NotApplicable("a comment, or a text that is no template, goes over several parts")
        value_indexes = [index for index, piece in enumerate(pieces) if piece.values]
        if len(value_indexes) > 1:
            try:
                spans = _PromptParts(pieces, value_indexes).find_spans()
                return source.replace(body, _reverse_spans(texts, spans))
            except NotApplicable as error:
                problem = error
            if any(sum("{{" in line for line in text.split("\n")) > 1 for text in texts):
                break
    raise problem


def _reverse_spans(texts: Sequence[str], spans: Sequence[_Span]) -> str:
    reversed_texts: list[str] = []
    start = 0
    for span, moved in zip(spans, reversed(spans), strict=True):
        reversed_texts += [*texts[start : span.first], *texts[moved.first : moved.last + 1]]
        start = span.last + 1
    prompt = "".join([*reversed_texts, *texts[start:]])
    if prompt == "".join(texts):
        raise NotApplicable(_NO_PARTS)
    return prompt


class _PromptParts:
    """The parts of a prompt that was split into pieces; those at odd indexes are separators."""

    def __init__(self, pieces: Sequence[_Piece], value_indexes: Sequence[int]) -> None:
        self._pieces, self._values = pieces, value_indexes
        self._enclosures = _find_enclosures(pieces)

    def find_spans(self) -> list[_Span]:
        """Find where each part begins and ends, in order."""
        spans = [self._find_span(index) for index in self._values]
        for span, following in pairwise(spans):
            self._refuse_text_between(span, following)
        self._refuse_open_blocks(_Span(spans[0].first, spans[-1].last))
        self._refuse_leaving_enclosure(spans)
        self._refuse_unclear_ends(spans)
        return spans

    def _find_span(self, value: int) -> _Span:
        span = _Span(value, value)
        while True:
            wider = self._include_enclosures(span)
            above = self._find_above(wider.first)
            if above is not None and self._names_part(above, wider, value):
                wider = wider._replace(first=above)
            if wider == span:
                break
            if any(wider.contains(index) for index in self._values if index != value):
                raise NotApplicable(f"two values share what is around them: {self._quote(span)}")
            span = wider
        if not _has_words(self._label_text(span, value)):
            raise NotApplicable(f"nothing says what this value is: {self._quote(span)}")
        return span

    def _find_above(self, index: int) -> int | None:
        """The nearest piece above that is not blank."""
        filled = (above for above in reversed(range(index)) if self._pieces[above].text.strip())
        return next(filled, None)

    def _include_enclosures(self, span: _Span) -> _Span:
        """Widen a span by tags and fences that cross it, or that enclose nothing else."""
        for opens, closes in self._enclosures:
            crosses = span.contains(opens) or span.contains(closes)
            encloses = opens < span.first and span.last < closes
            is_own = encloses and sum(opens <= index <= closes for index in self._values) == 1
            if crosses or is_own:
                span = _Span(min(span.first, opens), max(span.last, closes))
        return span

    def _names_part(self, above: int, span: _Span, value: int) -> bool:
        """Whether the piece above names the part; of two headings, the lower one does."""
        piece = self._pieces[above]
        text = piece.data.strip()
        if piece.values or piece.statements or "\n" in text or self._is_heading(span.first):
            return False
        if self._is_heading(above):
            return True
        has_label = _has_words(self._label_text(span, value))
        return not has_label and text.endswith(_COLONS) and len(text) <= _MAX_LABEL

    def _is_heading(self, index: int) -> bool:
        piece = self._pieces[index]
        if piece.values or len(piece.data) > _MAX_LABEL:
            return False
        return _HEADING.fullmatch(piece.data) is not None

    def _label_text(self, span: _Span, value: int) -> str:
        """The words of a part before its value."""
        above = (self._pieces[index].data for index in range(span.first, value))
        return "\n".join([*above, self._pieces[value].before])

    def _refuse_text_between(self, span: _Span, following: _Span) -> None:
        if span.last >= following.first:
            raise NotApplicable(
                f"two values share what says what they are: {self._quote(following)}"
            )
        if self._pieces[span.last].after.rstrip().endswith(_COLONS):
            raise NotApplicable(f"a label stands apart from its value: {self._quote(span)}")
        for index in range(span.last + 1, following.first):
            if text := _shorten(self._pieces[index].text):
                raise NotApplicable(f"it is not plain to which value this belongs: `{text}`")

    def _refuse_leaving_enclosure(self, spans: Sequence[_Span]) -> None:
        for opens, closes in self._enclosures:
            inside = [span for span in spans if opens < span.first and span.last < closes]
            if inside and len(inside) < len(spans):
                text = _shorten(self._pieces[opens].text)
                raise NotApplicable(f"a part would leave what stands around it: `{text}`")

    def _refuse_unclear_ends(self, spans: Sequence[_Span]) -> None:
        """Refuse a heading over the first part, or words after the last, that may be about all."""
        headed = [self._is_heading(span.first) for span in spans]
        if headed[0] and not all(headed) and _has_words(self._pieces[self._values[0]].before):
            text = _shorten(self._pieces[spans[0].first].text)
            raise NotApplicable(f"it is not plain whether this is about one value or all: `{text}`")
        _, _, rest = self._pieces[self._values[-1]].after.partition("\n")
        below = range(self._values[-1] + 1, spans[-1].last + 1)
        rest = "\n".join([rest, *(self._pieces[index].data for index in below)])
        if _has_words(rest):
            raise NotApplicable(f"what follows the last value would be moved: `{_shorten(rest)}`")

    def _refuse_open_blocks(self, moved: _Span) -> None:
        """Refuse a piece that is no complete template or changes the meaning of what follows."""
        for index in range(moved.first, moved.last + 1):
            piece = self._pieces[index]
            if piece.statements & _UNBOUND or not _is_complete_template(piece.text):
                text = _shorten(piece.text)
                raise NotApplicable(f"a block of the template goes over several parts: `{text}`")

    def _quote(self, span: _Span) -> str:
        return f"`{_shorten(self._pieces[span.first].text)}`"


def _parse_piece(text: str) -> _Piece:
    """Parse a piece; `NotApplicable` where a comment or a raw block goes on in another piece."""
    data: list[str] = []
    before: str | None = None
    after_start = values = 0
    statements: set[str] = set()
    previous_kind = ""
    try:
        for _, kind, value in TEXT.lex(text):
            if kind == "data":
                data.append(value)
            elif kind == "variable_begin":
                before = "".join(data) if before is None else before
                values += 1
            elif kind == "variable_end":
                after_start = len(data)
            elif kind == "raw_begin" or (kind == "name" and previous_kind == "block_begin"):
                statements.add(value if kind == "name" else "raw")
            previous_kind = kind if kind != "whitespace" else previous_kind
    except TemplateSyntaxError as error:
        reason = f"a block of the template goes over several parts: `{_shorten(text)}`"
        raise NotApplicable(reason) from error
    return _Piece(
        text=text,
        data="".join(data),
        before=before or "",
        after="".join(data[after_start:]) if before is not None else "",
        values=values,
        statements=frozenset(statements),
    )


def _find_enclosures(pieces: Sequence[_Piece]) -> list[_Enclosure]:
    """Find tags and fences that close again; one that never closes encloses nothing."""
    enclosures: list[_Enclosure] = []
    open_fence: tuple[str, int] | None = None
    open_tags: list[tuple[str, int]] = []
    for index, piece in enumerate(pieces):
        for fence in _FENCE.findall(piece.data):
            if open_fence is None:
                open_fence = (fence[:3], index)
            elif open_fence[0] == fence[:3]:
                enclosures.append(_Enclosure(open_fence[1], index))
                open_fence = None
        for is_closing, name, is_empty in _TAG.findall(piece.data):
            if is_empty:
                continue
            if not is_closing:
                open_tags.append((name, index))
            elif opened := next((tag for tag in reversed(open_tags) if tag[0] == name), None):
                enclosures.append(_Enclosure(opened[1], index))
                del open_tags[len(open_tags) - 1 - open_tags[::-1].index(opened) :]
    return enclosures


def _has_words(text: str) -> bool:
    """Whether it has letters outside closing tags and the language after a fence."""
    plain = _FENCE_LINE.sub("", text)
    plain = _TAG.sub(lambda tag: "" if tag[1] else tag[2], plain)
    return any(character.isalpha() for character in plain)


def _is_complete_template(text: str) -> bool:
    try:
        Template(text)
    except ValueError:
        return False
    return True


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LABEL else f"{line[:_MAX_LABEL]}…"
