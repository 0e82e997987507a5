"""`contains_all`: correct if the value contains all targets.

    scorers:
      - type: contains_all
        targets: "{{ sample.keywords }}"        # renders to a JSON or Python list
        ignore_case: true                       # optional

    scorers:
      - type: contains_all
        targets: ["{{ sample.name }}", "{{ sample.date }}"]

`coverage` is the share of targets that the value contains. A target may occur anywhere in the
value, even inside a word. Strings are normalized to Unicode form NFC. If the list or one of its
targets is empty, the sample fails. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from msgspec import structs

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, render_value, short
from evalwright.scorers.matching import TextList, quote_texts, render_texts, score_match
from evalwright.templates import Template
from evalwright.text.normalize import fold
from evalwright.types import Score


class ContainsAll(ScorerSpec):
    """Scores `is_correct` and `coverage`: whether all targets are in the value, and their share."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct", "coverage")
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"coverage": (0, 1)}
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (
        ("mean", "is_correct"),
        ("mean", "coverage"),
    )

    type: Literal["contains_all"]
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
        missing = [
            target for target in targets if fold(target, ignore_case=self.ignore_case) not in text
        ]
        score = score_match(
            actual,
            targets,
            is_correct=not missing,
            reason=f"{short(actual)} does not contain {quote_texts(missing)}",
        )
        coverage = 1 - len(missing) / len(targets)
        return structs.replace(score, values={**score.values, "coverage": coverage})
