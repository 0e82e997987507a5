"""`contains_any`: correct if the value contains at least one of the targets.

    scorers:
      - type: contains_any
        targets: "{{ sample.aliases }}"         # renders to a JSON or Python list
        ignore_case: true                       # optional

    scorers:
      - type: contains_any
        targets: ["{{ sample.city }}", "{{ sample.local_name }}"]

A target may occur anywhere in the value, even inside a word. Strings are normalized to Unicode form
NFC. If the list or one of its targets is empty, the sample fails. This scorer is an evalwright
extension.
"""

from typing import ClassVar, Literal

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, render_value, short
from evalwright.scorers.matching import TextList, quote_texts, render_texts, score_match
from evalwright.templates import Template
from evalwright.text.normalize import fold
from evalwright.types import Score


class ContainsAny(ScorerSpec):
    """Scores `is_correct`: whether the rendered value contains any of the rendered targets."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["contains_any"]
    targets: TextList
    """Strings to search for: a list of templates, or one template that renders to a JSON or Python
    list. May refer to `sample`."""
    value: Template | None = None
    """Text to search in. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""
    ignore_case: Flag = False
    """Whether case is ignored."""

    async def score(self, case: Case) -> Score:
        """Search for the targets."""
        actual = render_value(self.value, case)
        targets = render_texts(self.targets, case.sample.data, field="targets")
        text = fold(actual, ignore_case=self.ignore_case)
        return score_match(
            actual,
            targets,
            is_correct=any(
                fold(target, ignore_case=self.ignore_case) in text for target in targets
            ),
            reason=f"{short(actual)} contains none of {quote_texts(targets)}",
        )
