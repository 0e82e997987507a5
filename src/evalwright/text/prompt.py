"""Prompts of records: few-shot examples rendered, and the options that a prompt offers.

An example is its prompt, one space, its completion. Parts are joined by one blank line, and
nothing else is added: the same text goes to every model.

    A) Venus        A. Venus        (A) Venus        A: Venus        A、金星
    B) Mercury      B. Mercury      (B) Mercury      B: Mercury      B、水星

or on one line: `A) Venus B) Mercury`. Options are the longest run of letters A, B, C, … in one of
these forms; on a tie the last, because a passage comes before its question.

Does not:   recognize options without letters, or with letters of another script.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from evalwright.types import TaskSpec


def render(task: TaskSpec | Mapping[str, Any]) -> str:
    r"""Return a record's prompt as the model receives it, with few-shot examples first.

    `task` is a `TaskSpec` or a dict that follows the specification of records.

    >>> shot = {"prompt": "2 + 2 =", "completion": "4"}
    >>> ew.render({"prompt": "17 + 24 =", "few_shot_examples": [shot]})
    '2 + 2 = 4\n\n17 + 24 ='
    """
    if isinstance(task, TaskSpec):
        parts = [f"{shot.prompt} {shot.completion}" for shot in task.few_shot_examples]
        parts.append(task.prompt)
    else:
        if "prompt" not in task:
            raise ValueError("expected a record with a `prompt`, got none: `prompt` is missing")
        shots = task.get("few_shot_examples", ())
        parts = [*(f"{shot['prompt']} {shot['completion']}" for shot in shots), task["prompt"]]
    return "\n\n".join(parts)


_FULL_WIDTH = str.maketrans("\uff08\uff09\uff0c\uff0e\uff1a\uff1b", "(),.:;")
_LETTER = "([A-Za-z])"
# One shape a pattern, because the options of a run look alike. At the start of lines:
_LINES = tuple(
    re.compile(rf"(?m)^[ \t>*-]*{shape}[*]*[ \t]*")
    for shape in (
        rf"{_LETTER}[)]",
        rf"{_LETTER}[.]",
        rf"{_LETTER}:",
        rf"{_LETTER}、",
        rf"[(]{_LETTER}[)]",
        rf"\[{_LETTER}\]",
    )
)
# And in running text, where `A. Smith and B. Jones` are no options: so these need three of them.
_INLINE = tuple(re.compile(rf"(?<![\w(]){_LETTER}{closing}\s*") for closing in (r"[.]", ":", "、"))
_INLINE_BRACKETS = (re.compile(rf"(?<![\w(]){_LETTER}[)]\s*"), re.compile(rf"[(]{_LETTER}[)]\s*"))
_FEWEST, _FEWEST_INLINE = 2, 3


class Option(NamedTuple):
    """One option: its letter in upper case, and its text."""

    letter: str
    text: str


_Run = list[re.Match[str]]


@lru_cache(maxsize=4)  # three rules ask about the same prompt
def find_options(prompt: str) -> tuple[Option, ...]:
    """Return the options of a prompt, in order; empty if fewer than two were found."""
    prompt = prompt.translate(_FULL_WIDTH)
    if run := _longest(run for shape in _LINES for run in _runs(shape, prompt, fewest=_FEWEST)):
        return tuple(map(_option, run, _texts_in_lines(prompt, run)))
    run = _longest(
        run
        for shapes, fewest in ((_INLINE_BRACKETS, _FEWEST), (_INLINE, _FEWEST_INLINE))
        for shape in shapes
        for run in _runs(shape, prompt, fewest=fewest)
    )
    return tuple(map(_option, run, _texts_inline(prompt, run)))


def _longest(runs: Iterator[_Run]) -> _Run:
    return max(runs, key=lambda run: (len(run), run[0].start()), default=[])


def _runs(shape: re.Pattern[str], prompt: str, *, fewest: int) -> list[_Run]:
    """Return the runs of neighbouring letters that begin with A, or with a.

    Several runs of two are the turns of a dialogue, not options.
    """
    runs: list[_Run] = []
    for match in shape.finditer(prompt):
        if match[1] in "Aa":
            runs.append([match])
        elif runs and ord(match[1]) == ord(runs[-1][-1][1]) + 1:
            runs[-1].append(match)
    long_enough = [run for run in runs if len(run) >= fewest]
    dialogue = len(long_enough) > 1 and max(map(len, long_enough)) == _FEWEST
    return [] if dialogue else long_enough


def _texts_in_lines(prompt: str, run: _Run) -> Iterator[str]:
    """Cut at the next option; the last ends with its line, unless the others have several."""
    several = False
    for here, after in pairwise(run):
        text = prompt[here.end() : after.start()].strip()
        several = several or "\n" in text
        yield text
    yield prompt[run[-1].end() :].partition("\n\n" if several else "\n")[0]


def _texts_inline(prompt: str, run: _Run) -> Iterator[str]:
    """Cut at the next option, or for the last at the end of its line, and before a comma."""
    ends = [after.start() for after in run[1:]]
    for match, end in zip(run, [*ends, len(prompt)], strict=True):
        text = prompt[match.end() : end]
        yield (text if end in ends else text.partition("\n")[0]).strip().rstrip(",;")


def _option(match: re.Match[str], text: str) -> Option:
    return Option(match[1].upper(), " ".join(text.split()))
