"""What must hold between the labels of a judge, and between the ends of its scale.

    label_twice    a label that is in both lists, or twice in one; case, spaces, quotes, bold and a
                   last period do not tell apart
    blank_label    a label of nothing but spaces
    empty_scale    `score_max` that is not above `score_min`

The judge answers with one label: if two of them read alike, its answer means nothing.
"""

from collections.abc import Iterator
from typing import Any

from evalwright.scorers.judging.labels import alike, folded
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.values import is_stand_in

BETWEEN_FIELDS = frozenset({"label_twice", "empty_scale"})
"""Rules about several fields of one scorer: if any of them only stands in, nothing is known."""

_LISTS = {
    "model_as_a_judge_classifier": ("correct_labels", "incorrect_labels"),
    "labeler_via_model": ("valid_labels",),
}


def judge_faults(scorers: list[Any]) -> Iterator[Fault]:
    """What contradicts itself in the judges among the scorers."""
    for number, scorer in enumerate(scorers):
        if not isinstance(scorer, dict):
            continue
        path: Path = ("definition", "scorers", number)
        kind = str(scorer.get("type"))
        if kind in _LISTS:
            yield from _labels(scorer, _LISTS[kind], path)
        elif kind == "model_as_a_judge_scorer":
            yield from _scale(scorer, path)


def _labels(scorer: dict[str, Any], lists: tuple[str, ...], path: Path) -> Iterator[Fault]:
    first: dict[str, tuple[str, str]] = {}
    for name in lists:
        labels = scorer.get(name)
        for number, label in enumerate(labels if isinstance(labels, list) else []):
            if not isinstance(label, str) or not label or is_stand_in(label):
                continue
            there: Path = (*path, name, number)
            if not (plain := alike(label)):
                yield Fault(there, "blank_label", "expected a label, got nothing but spaces")
            elif plain in first:
                yield Fault(there, "label_twice", _twice(str(label), name, *first[plain]))
            else:
                first[plain] = (str(label), name)


def _twice(label: str, name: str, other: str, where: str) -> str:
    if where != name:
        known = "" if other == label else f", as `{other}`"
        return f"the label `{label}` is one of the `{where}` too{known}: it must mean one thing"
    if other == label:
        return f"the label `{label}` stands here twice"
    if folded(other) != folded(label):
        return f"the labels `{other}` and `{label}` read alike: quotes and periods do not count"
    return f"the labels `{other}` and `{label}` read alike: a judge's answer is taken in any case"


def _scale(scorer: dict[str, Any], path: Path) -> Iterator[Fault]:
    lowest, highest = scorer.get("score_min", 0.0), scorer.get("score_max", 1.0)
    if not _is_number(lowest) or not _is_number(highest) or lowest < highest:
        return
    name = "score_max" if "score_max" in scorer else "score_min"
    detail = f"expected `score_max` above `score_min`, got {highest:g} and {lowest:g}"
    yield Fault((*path, name), "empty_scale", detail)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
