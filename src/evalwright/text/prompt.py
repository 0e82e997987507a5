"""Render the prompts of task records, and find the options in a prompt.

A few-shot example is rendered as its prompt, a space and its completion. Parts are joined by blank
lines, and nothing else is added: every model receives the same text.

    A) Venus        A. Venus        (A) Venus        A: Venus        A、金星
    B) Mercury      B. Mercury      (B) Mercury      B: Mercury      B、水星

Options may also be on one line: `A) Venus B) Mercury`. The options are the longest run of letters
A, B, C, … in one of these formats. On a tie, the last run is used, because a passage comes before
its question.

Does not:   recognize options without letters, or with non-Latin letters.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from evalwright.types import TaskSpec


def render(task: TaskSpec | Mapping[str, Any]) -> str:
    r"""Return a record's prompt as the model receives it, with the few-shot examples first.

    `task` is a `TaskSpec` or a dict in the format of task records.

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
# One pattern per format, because all options of a run have the same format. At line starts:
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
# In running text, at least three are required, because `A. Smith and B. Jones` are not options.
_INLINE = tuple(re.compile(rf"(?<![\w(]){_LETTER}{closing}\s*") for closing in (r"[.]", ":", "、"))
_INLINE_BRACKETS = (re.compile(rf"(?<![\w(]){_LETTER}[)]\s*"), re.compile(rf"[(]{_LETTER}[)]\s*"))
_FEWEST, _FEWEST_INLINE = 2, 3


class Option(NamedTuple):
    """An option: its letter in upper case, and its text."""

    letter: str
    text: str


_Run = list[re.Match[str]]


@lru_cache(maxsize=4)  # three rules read the same prompt
def find_options(prompt: str) -> tuple[Option, ...]:
    """Return the options in a prompt, in order; empty if fewer than two are found."""
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
    """Return the runs of consecutive letters that start with A or a.

    Several runs of two letters are the turns of a dialogue, not options.
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
    """Yield the text of each option, up to the next option.

    The last text ends with its line, or with its paragraph if other texts span several lines.
    """
    several = False
    for option, next_option in pairwise(run):
        text = prompt[option.end() : next_option.start()].strip()
        several = several or "\n" in text
        yield text
    yield prompt[run[-1].end() :].partition("\n\n" if several else "\n")[0]


def _texts_inline(prompt: str, run: _Run) -> Iterator[str]:
    """Yield each option's text, up to the next option, the end of the line or a comma."""
    ends = [next_option.start() for next_option in run[1:]]
    for match, end in zip(run, [*ends, len(prompt)], strict=True):
        text = prompt[match.end() : end]
        yield (text if end in ends else text.partition("\n")[0]).strip().rstrip(",;")


def _option(match: re.Match[str], text: str) -> Option:
    return Option(match[1].upper(), " ".join(text.split()))
