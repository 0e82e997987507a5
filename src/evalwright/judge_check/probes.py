"""Judge a sample again after a change that should not affect the verdict.

    swap    reverse the order of the prompt parts that contain values, each with its label, and of
            the labels in the reply schema: detects position bias. If the judge compares two
            answers, the second comes first
    pad     append sentences without information to the answer: detects length bias
    fence   put the answer between unguessable marks, with a note that it is data: detects a judge
            that follows instructions in the answer
    again   change nothing: measures how often a judge agrees with itself

If a change would not affect the text that the judge sees, the probe does not apply, and the judge
is not queried. A part of a prompt is a value together with its name: a label before it, a heading
above it, or a tag or fence around it.

    Question: {{ q }}          <answer>              ## Reference
                               {{ a }}
                               </answer>             {{ sample.reference }}

Holds:      A value never appears under the label of a different value. If it is unclear which text
            belongs to a value, nothing is moved, and `NotApplicable` gives the reason.
Does not:   Determine which verdict is right. A changed verdict may also be noise, which `again`
            measures.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from jinja2 import TemplateSyntaxError
from msgspec import structs

from evalwright.engine.models.base import ModelWrapper
from evalwright.ports import Case, Scorer
from evalwright.scorers.base import answer_text
from evalwright.scorers.judging.ask import DATA_NOTE, fence_text, make_mark
from evalwright.scorers.judging.judge_spec import JudgeSpec, VerdictScorer
from evalwright.scorers.judging.ready_judge import ReadyJudge
from evalwright.scorers.judging.verdicts import NoVerdict
from evalwright.templates import Template
from evalwright.templates.environment import TEXT
from evalwright.types import Completion, Request, Sample, Score, Trace

NOT_APPLICABLE = "not_applicable"
"""Metadata key of a score without values, with the reason why the probe does not apply."""
_FILLER = (
    "This is the answer to what was asked. "
    "It is given here as it stands, and it is meant as it is written. "
    "The answer has been stated above, and this sentence does not change it. "
    "Nothing that follows is different from what was said before. "
)
_MIN_FILLER = 200
_TRIAL_STEP = 1_000_000
"""First trial number of repeats. No run has as many trials, so caches never confuse them."""
_TEXT_KEYS = {"content", "text"}
"""Keys that contain the text of a message in a conversation."""
_NO_ANSWER = "the judge is shown no answer that could be changed"
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
_NO_PARTS = "the prompt does not have two parts with values that could be swapped"
_HAS_FENCE = "the prompt already puts the answer between unguessable markers"
_BOTH_ORDERS = "the judge already sees the answers in both orders"


class NotApplicable(ValueError):
    """Raised if a probe cannot be applied; the message gives the reason."""


class ProbeScorer(Scorer):
    """A scorer that judges a changed case. Its score may be marked as not applicable."""

    name = ""
    version = 1

    def __init__(self, name: str, judge: VerdictScorer, change: Callable[[Case], Case]) -> None:
        self.name, self._judge, self._change = name, judge, change
        self.first_failure = ""
        """Reason for the first missing verdict."""
        self.unreadable: list[tuple[str, str]] = []
        """The rule and the sample id of each reply without a verdict."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return the probe's name. Nothing is stored under this key."""
        del sample
        return self.name

    async def score(self, case: Case) -> Score:
        """Judge the changed case; return a score without values if the change does not apply."""
        try:
            case = self._change(case)
        except NotApplicable as error:
            return Score(values={}, metadata={NOT_APPLICABLE: str(error)})
        with self:
            try:
                return await self._judge.score(case)
            except NoVerdict as error:
                self.unreadable.append((error.rule, case.sample.id))
                raise

    def __enter__(self) -> None:
        """Do nothing: `__exit__` records the failure."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self.first_failure = self.first_failure or str(error) or type(error).__name__


def build_probe(name: str, judge: VerdictScorer) -> ProbeScorer:
    """Build the probe with this name; `NotApplicable` if it cannot apply to any sample."""
    if name == "swap":
        judge = _swap_parts(judge)
        return ProbeScorer(name, judge, partial(_reverse_labels, judge))
    if name == "fence" and isinstance(judge, ReadyJudge):
        raise NotApplicable(_HAS_FENCE)
    change = {"pad": pad_answer, "fence": fence_answer}[name]
    return ProbeScorer(name, judge, partial(_change_answer, judge, change))


def build_repeat(number: int, judge: VerdictScorer) -> ProbeScorer:
    """Build a scorer that repeats the same query; `number` distinguishes repeats."""

    def change(case: Case) -> Case:
        return structs.replace(case, trial=case.trial + number * _TRIAL_STEP)

    return ProbeScorer(f"again {number}", judge, change)


def pad_answer(answer: str) -> str:
    """Append about the same amount of text without information."""
    length = max(_MIN_FILLER, len(answer))
    filler = _FILLER * (length // len(_FILLER) + 1)
    end = filler.find(". ", length - 1)
    return f"{answer}\n\n{filler[: end + 1] if end >= 0 else filler.rstrip()}"


def fence_answer(answer: str) -> str:
    """Put the answer between marks with a note that it is data."""
    return f"{DATA_NOTE}\n{fence_text(answer, make_mark(answer))}"


def _swap_parts(judge: VerdictScorer) -> VerdictScorer:
    """Swap the prompt; return the judge unchanged if only the reply labels can be swapped."""
    if isinstance(judge, ReadyJudge):
        if swapped := judge.swap_parts():
            return swapped
        raise NotApplicable(_BOTH_ORDERS)
    if not isinstance(judge, JudgeSpec):
        raise NotApplicable(_NO_PARTS)
    try:
        prompt = Template(swap_prompt(judge.user_prompt.source))
    except NotApplicable:
        if judge.is_structured and _has_labels(judge):
            return judge
        raise
    return judge.model_copy(update={"user_prompt": prompt})


def _has_labels(judge: VerdictScorer) -> bool:
    properties = judge.reply_schema.properties.values()
    return any(len(schema.get("enum", ())) > 1 for schema in properties)


def _reverse_labels(judge: VerdictScorer, case: Case) -> Case:
    models = dict(case.models)
    if judge.model_key in models and judge.is_structured:
        models[judge.model_key] = _ReversedLabels(models[judge.model_key])
    return structs.replace(case, models=models)


def _change_answer(judge: VerdictScorer, change: Callable[[str], str], case: Case) -> Case:
    try:
        answer = answer_text(case)
    except ValueError as error:  # no solver, or no chat
        raise NotApplicable(_NO_ANSWER) from error
    if not answer:
        raise NotApplicable(_NO_ANSWER)
    changed_case = case.with_trace(_replace_answer(case.trace, answer, change(answer)))
    if judge.prompts(changed_case) == judge.prompts(case):
        raise NotApplicable(_NO_ANSWER)
    return changed_case


def _replace_answer(trace: Trace, old: str, new: str) -> Trace:
    """Replace the last answer wherever it is a complete text in the last message or output."""
    conversation = dict(trace.conversation)
    items = list(conversation.get("items") or ())
    for index in reversed(range(len(items))):
        if isinstance(items[index], Mapping) and items[index].get("role") == "assistant":
            items[index] = _replace_text(items[index], old, new)
            break
    outputs = list(conversation.get("raw_outputs") or ())
    if outputs:
        outputs[-1] = _replace_text(outputs[-1], old, new)
    conversation["items"], conversation["raw_outputs"] = items, outputs
    return structs.replace(trace, output=new, post_processed=new, conversation=conversation)


def _replace_text(value: Any, old: str, new: str, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _replace_text(child, old, new, name) for name, child in value.items()}
    if isinstance(value, list):
        return [_replace_text(child, old, new, key) for child in value]
    return new if key in _TEXT_KEYS and value == old else value


class _ReversedLabels(ModelWrapper):
    """A judge model that receives the labels of the reply schema in reverse order."""

    async def complete(self, request: Request) -> Completion:
        return await self._ask(structs.replace(request, input=_reverse_enums(request.input)))


def _reverse_enums(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _reverse_enums(child, name) for name, child in value.items()}
    if isinstance(value, list) and key == "enum":
        return value[::-1]
    return value


class _Piece(NamedTuple):
    """A paragraph or a line, parsed by Jinja's lexer."""

    text: str
    data: str
    """The text outside Jinja's delimiters."""
    before: str
    """Text before the first value."""
    after: str
    """Text after the last value."""
    values: int
    """Number of values."""
    statements: frozenset[str]


class _Span(NamedTuple):
    """The pieces of one part, or from an opening to a closing tag or fence."""

    first: int
    last: int

    def contains(self, index: int) -> bool:
        return self.first <= index <= self.last


def swap_prompt(source: str) -> str:
    """Reverse the parts of a prompt; `NotApplicable` if this cannot be done safely.

    Paragraphs are moved or, if this is not possible, lines, unless this would separate two values
    in the same paragraph.
    """
    body = source.strip()
    problem = NotApplicable(_NO_PARTS)
    for separator in (_PARAGRAPHS, _LINES):
        texts = separator.split(body)
        pieces = [_parse_piece(text) for text in texts]
        if sum(piece.values for piece in pieces) != _parse_piece(body).values:
            raise NotApplicable("a comment, or text that is not a template, spans several parts")
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
    """The parts of a prompt that was split into pieces. Pieces at odd indexes are separators."""

    def __init__(self, pieces: Sequence[_Piece], value_indexes: Sequence[int]) -> None:
        self._pieces, self._values = pieces, value_indexes
        self._enclosures = _find_enclosures(pieces)

    def find_spans(self) -> list[_Span]:
        spans = [self._find_span(index) for index in self._values]
        for span, following in pairwise(spans):
            self._check_text_between(span, following)
        self._check_open_blocks(_Span(spans[0].first, spans[-1].last))
        self._check_enclosures(spans)
        self._check_ends(spans)
        return spans

    def _find_span(self, value: int) -> _Span:
        span = _Span(value, value)
        while True:
            wider = self._include_enclosures(span)
            filled = (i for i in reversed(range(wider.first)) if self._pieces[i].text.strip())
            above = next(filled, None)
            if above is not None and self._names_part(above, wider, value):
                wider = wider._replace(first=above)
            if wider == span:
                break
            if any(wider.contains(index) for index in self._values if index != value):
                raise NotApplicable(
                    f"two values share the same surrounding text: {self._quote(span)}"
                )
            span = wider
        if not _has_words(self._label_text(span, value)):
            raise NotApplicable(f"this value has no label: {self._quote(span)}")
        return span

    def _include_enclosures(self, span: _Span) -> _Span:
        """Extend a span by tags and fences that cross it or that enclose nothing else."""
        for opens, closes in self._enclosures:
            crosses = span.contains(opens) or span.contains(closes)
            encloses = opens < span.first and span.last < closes
            is_own = encloses and sum(opens <= index <= closes for index in self._values) == 1
            if crosses or is_own:
                span = _Span(min(span.first, opens), max(span.last, closes))
        return span

    def _names_part(self, above: int, span: _Span, value: int) -> bool:
        """Whether the piece above names the part. If there are two headings, the lower one does."""
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
        above = (self._pieces[index].data for index in range(span.first, value))
        return "\n".join([*above, self._pieces[value].before])

    def _check_text_between(self, span: _Span, following: _Span) -> None:
        if span.last >= following.first:
            raise NotApplicable(f"two values share one label: {self._quote(following)}")
        if self._pieces[span.last].after.rstrip().endswith(_COLONS):
            raise NotApplicable(f"a label is separated from its value: {self._quote(span)}")
        for index in range(span.last + 1, following.first):
            if text := _shorten(self._pieces[index].text):
                raise NotApplicable(f"it is unclear which value this text belongs to: `{text}`")

    def _check_enclosures(self, spans: Sequence[_Span]) -> None:
        for opens, closes in self._enclosures:
            inside = [span for span in spans if opens < span.first and span.last < closes]
            if inside and len(inside) < len(spans):
                text = _shorten(self._pieces[opens].text)
                raise NotApplicable(
                    f"a part would be separated from its surrounding text: `{text}`"
                )

    def _check_ends(self, spans: Sequence[_Span]) -> None:
        """Raise if a heading before the first part, or text after the last, may refer to all."""
        headed = [self._is_heading(span.first) for span in spans]
        if headed[0] and not all(headed) and _has_words(self._pieces[self._values[0]].before):
            text = _shorten(self._pieces[spans[0].first].text)
            raise NotApplicable(
                f"it is unclear whether this text refers to one value or to all: `{text}`"
            )
        _, _, rest = self._pieces[self._values[-1]].after.partition("\n")
        below = range(self._values[-1] + 1, spans[-1].last + 1)
        rest = "\n".join([rest, *(self._pieces[index].data for index in below)])
        if _has_words(rest):
            raise NotApplicable(f"the text after the last value would be moved: `{_shorten(rest)}`")

    def _check_open_blocks(self, moved: _Span) -> None:
        """Raise if a piece is not a complete template or changes the meaning of later text."""
        for index in range(moved.first, moved.last + 1):
            piece = self._pieces[index]
            if piece.statements & _UNBOUND or not _is_complete_template(piece.text):
                text = _shorten(piece.text)
                raise NotApplicable(f"a block of the template spans several parts: `{text}`")

    def _quote(self, span: _Span) -> str:
        return f"`{_shorten(self._pieces[span.first].text)}`"


def _parse_piece(text: str) -> _Piece:
    """Parse a piece; `NotApplicable` if a comment or raw block continues in another piece."""
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
        reason = f"a block of the template spans several parts: `{_shorten(text)}`"
        raise NotApplicable(reason) from error
    return _Piece(
        text=text,
        data="".join(data),
        before=before or "",
        after="".join(data[after_start:]) if before is not None else "",
        values=values,
        statements=frozenset(statements),
    )


def _find_enclosures(pieces: Sequence[_Piece]) -> list[_Span]:
    """Find pairs of opening and closing tags and fences; ignore unclosed ones."""
    enclosures: list[_Span] = []
    open_fence: tuple[str, int] | None = None
    open_tags: list[tuple[str, int]] = []
    for index, piece in enumerate(pieces):
        for fence in _FENCE.findall(piece.data):
            if open_fence is None:
                open_fence = (fence[:3], index)
            elif open_fence[0] == fence[:3]:
                enclosures.append(_Span(open_fence[1], index))
                open_fence = None
        for is_closing, name, is_empty in _TAG.findall(piece.data):
            if is_empty:
                continue
            if not is_closing:
                open_tags.append((name, index))
            elif opened := next((tag for tag in reversed(open_tags) if tag[0] == name), None):
                enclosures.append(_Span(opened[1], index))
                del open_tags[len(open_tags) - 1 - open_tags[::-1].index(opened) :]
    return enclosures


def _has_words(text: str) -> bool:
    """Whether the text has letters other than in closing tags and fence languages."""
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
