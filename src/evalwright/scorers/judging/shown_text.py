"""The text that was shown to a judge.

A reply may quote this text, and a quotation is not the judge's verdict. Text counts as shown if

    it is judged     an assistant message of the conversation or, without a solver, a text column
    it was rendered  a template value inserted it into a prompt

A column with human labels therefore does not count, unless the prompt contains it. The author's own
words in the prompt do not count either. Differences in whitespace, case, HTML entities and
backslashes are ignored, because a filter may have changed them.
"""

import html
from collections.abc import Callable, Sequence
from functools import cached_property

from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.judging.markup import remove_direction_marks, strip_all


class ShownText:
    """The judged texts and the text that values inserted into the prompts, computed on demand."""

    def __init__(
        self, judged: Sequence[str] = (), render_values: Callable[[], str] | None = None
    ) -> None:
        """Without `render_values`, all judged texts count as rendered."""
        self._judged, self._render_values = judged, render_values

    def has_mark(self, mark: str) -> bool:
        """Whether text with this mark was shown."""
        return any(mark in text for text in self._judged) and self._is_in_prompts(mark)

    def has_object(self, written: str) -> bool:
        """Whether this JSON object was shown."""
        joined = "".join(written.split())
        return any(joined in text for text in self._texts_without_spaces) and self._is_in_prompts(
            written
        )

    def has_line(self, line: str) -> bool:
        """Whether this line was shown as a whole line, ignoring surrounding marks."""
        plain = strip_all(line.strip())
        return plain.casefold() in self._lines and self._is_in_prompts(plain)

    @cached_property
    def _texts_without_spaces(self) -> tuple[str, ...]:
        return tuple("".join(text.split()) for text in self._judged)

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(
            strip_all(line.strip()).casefold()
            for text in self._judged
            for line in remove_direction_marks(text).splitlines()
        )

    @cached_property
    def _rendered_text(self) -> str:
        return "" if self._render_values is None else _squeeze(self._render_values())

    def _is_in_prompts(self, text: str) -> bool:
        return self._render_values is None or _squeeze(text) in self._rendered_text


def list_judged_texts(case: Case) -> tuple[str, ...]:
    """Return the texts of this case that a judge could be shown."""
    if case.answer is not None:
        messages = SolverTrace.from_json(case.answer.conversation).messages
        return tuple(str(message.content) for message in messages if message.role == "assistant")
    row = case.sample.data if isinstance(case.sample.data, dict) else {}
    return tuple(value for value in row.values() if isinstance(value, str))


def _squeeze(text: str) -> str:
    plain = remove_direction_marks(html.unescape(text)).replace("\\", "")
    return "".join(plain.split()).casefold()
