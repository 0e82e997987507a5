r"""`regex_match`: correct if a regular expression matches the value.

    scorers:
      - type: regex_match
        pattern: "\\b\\d{4}-\\d{2}-\\d{2}\\b"
        full_match: false                   # all of these are optional
        ignore_case: true
        timeout_s: 1

The pattern may match anywhere in the value. With `full_match`, it must match the whole value,
ignoring leading and trailing whitespace. The pattern can set flags: with `(?m)`, `^` and `$` match
at the start and end of each line, and with `(?s)`, a dot also matches line breaks. The syntax is
that of Python's `re` with the extensions of the `regex` package, such as `\p{Arabic}`. A column
that is inserted with `{{ }}` becomes part of the pattern, so special characters in it keep their
special meaning. The value and the pattern are normalized to Unicode form NFC.

If matching exceeds the time limit, or if the rendered pattern is invalid, the sample fails; it is
not scored as a wrong answer. The limit is approximate. This scorer is an evalwright extension.
"""

import re
from asyncio import to_thread
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, render_value, short
from evalwright.scorers.matching import score_match
from evalwright.templates import Template
from evalwright.text.bounded_pattern import compile_pattern
from evalwright.text.normalize import to_nfc
from evalwright.types import Score

_JINJA = re.compile("{[{%#]")
_LONGEST_S = 30


def _check_pattern(pattern: Template) -> Template:
    """Reject an invalid pattern; a pattern with `{{ }}` is checked after rendering."""
    if not _JINJA.search(pattern.source):
        compile_pattern(to_nfc(pattern.source))
    return pattern


class RegexMatch(ScorerSpec):
    """Scores `is_correct`: whether the pattern matches the rendered value."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["regex_match"]
    pattern: Annotated[Template, AfterValidator(_check_pattern)]
    """Regular expression. May refer to `sample`."""
    value: Template | None = None
    """Text to match. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""
    full_match: Flag = False
    """Whether the pattern must match the whole value."""
    ignore_case: Flag = False
    """Whether case is ignored."""
    timeout_s: float = Field(default=1, gt=0, le=_LONGEST_S)
    """Time limit in seconds for matching one value. At most 30."""

    async def score(self, case: Case) -> Score:
        """Match the value in a thread, so that a slow pattern does not delay other samples."""
        actual = render_value(self.value, case)
        pattern = self.pattern.render(sample=case.sample.data)
        compiled = compile_pattern(to_nfc(pattern), ignore_case=self.ignore_case)
        is_correct = await to_thread(self._matches, compiled, to_nfc(actual))
        return score_match(
            actual,
            pattern,
            is_correct=is_correct,
            reason=f"{short(actual)} does not match {short(pattern)}",
        )

    def _matches(self, compiled: Any, text: str) -> bool:
        limits = {"timeout": self.timeout_s, "concurrent": True}
        try:
            if self.full_match:
                return compiled.fullmatch(text.strip(), **limits) is not None
            return compiled.search(text, **limits) is not None
        except TimeoutError:
            raise ValueError(
                f"`pattern` took longer than {self.timeout_s:g} s to match an answer of "
                f"{len(text):,} characters: simplify nested repetitions such as `(a+)+`, or raise "
                "`timeout_s`"
            ) from None
