"""Detect few-shot blocks in the body of a prompt.

`has_few_shot_block` implements a rule of the record format: two or more lines start with a marker,
or a marker occurs again after an answer, anywhere in a line.

    Question: 2 + 2             Compute the result. Question: 2 + 2
    Question: 17 + 24           Answer: 4

                                Compute the result. Question: 17 + 24
                                Answer:

`find_answered_pair` searches for the second form with words that also occur in ordinary prompts
(`Input:` and `Output:`), which is a finding of `lint`, not an error.

A prompt is scanned once, from start to end. A word counts as a marker if it is not preceded by an
ASCII letter, digit or underscore.
"""

import re

_FLAGS = re.IGNORECASE | re.ASCII
# Both start with a newline, so that the matcher can jump from line to line.
_MAY_OPEN = re.compile(r"\n[ \t]*[QqEe]").search
_OPENS = re.compile(r"\n[ \t]*(?:question|q|example(?:[ \t]*\d+)?):", _FLAGS)
_TEXT_FOLLOWS = r"[ \t]*(?=[^ \t\r\n\f\v])"
_MARKERS = re.compile(
    rf"\b(?:(question|q|example)(?:(?<=example)[ \t]*\d+)?:|(answer|a):{_TEXT_FOLLOWS})", _FLAGS
)
_PAIRS = re.compile(rf"\b(?:(input|text|problem):|(output|label|solution):{_TEXT_FOLLOWS})", _FLAGS)
_ANSWERED_BY = {
    **dict.fromkeys(("answer", "a"), ("question", "q", "example")),
    "output": ("input",),
    "label": ("text",),
    "solution": ("problem",),
}
_FEWEST_COLONS = 3
"""Minimum number of colons: in a question, its answer and the next question."""


def has_few_shot_block(prompt: str) -> bool:
    """Whether a prompt contains worked examples."""
    if _MAY_OPEN(prompt) and count_opened_lines(prompt) > 1:
        return True
    return prompt.count(":") >= _FEWEST_COLONS and bool(find_answered_marker(prompt))


def count_opened_lines(prompt: str) -> int:
    """Count the lines that start with a marker."""
    return len(_OPENS.findall("\n" + prompt))


def find_answered_marker(prompt: str) -> str:
    """Return the marker that occurs again after an answer, such as `Question`, or ""."""
    return _find_repeat(_MARKERS, prompt)


def find_answered_pair(prompt: str) -> str:
    """Return the word (`Input`) that occurs again after its pair (`Output`), or ""."""
    return _find_repeat(_PAIRS, prompt)


def _find_repeat(words: re.Pattern[str], prompt: str) -> str:
    """Scan the words of a prompt: the first group starts an example, the second answers it."""
    answered: dict[str, bool] = {}
    for match in words.finditer(prompt):
        if match[1] is None:
            closed = _ANSWERED_BY[match[2].lower()]
            answered |= {word: True for word in closed if word in answered}
        elif answered.setdefault(match[1].lower(), False):
            return match[1]
    return ""
