"""Post-process a model's answer: one rule, after generation and before the metric.

Deterministic and stateless. `RULES` has one function per rule of the vocabulary.

Does not:   guess what was meant. `extract_letter` reads the `A` of "A good guess is C" as an
            answer, and compares code points (an `A` with a combining accent is an `A`).
            `extract_code_block` knows backticks only: no `~~~`, no `>` quotes.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from evalwright.nearest import nearest


def post_process(text: str, rule: str) -> str:
    r"""Apply a post-process rule to a string.

    >>> ew.post_process("The answer is C, not A.", "extract_letter")
    'C'
    >>> ew.post_process("\n  Paris\nFrance", "extract_first_line")
    'Paris'
    """
    if rule in RULES:
        return RULES[rule](text)
    if text in RULES:
        raise ValueError(f"expected the text and then the rule, got the rule `{text}` first")
    legal = ", ".join(f"`{name}`" for name in RULES)
    closest = nearest(rule, tuple(RULES))
    suggestion = f"; did you mean `{closest}`?" if closest else ""
    raise ValueError(f"unknown post-process rule `{rule}`, expected one of {legal}{suggestion}")


_STANDALONE = re.compile(r"(?<![^\W_])[A-E](?![^\W_])")  # [^\W_] is a Unicode letter or digit
_LETTER = re.compile("[A-E]")


def extract_letter(text: str) -> str:
    """Return the first `A`-`E` with no letter or digit next to it; else the first; else ""."""
    match = _STANDALONE.search(text) or _LETTER.search(text)
    return match[0] if match else ""


def extract_first_line(text: str) -> str:
    """Return the first line that is not blank, stripped; else ""."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


_FENCE = re.compile("`{3,}")
_DEEPEST_CLOSING = 3
"""Columns by which a closing fence may be indented more than the opening line (CommonMark)."""


def extract_code_block(text: str) -> str:
    """Return the body of the first block between triple backticks; with no block, the text.

    A fence is three or more backticks; it opens a block wherever it is in its line, and the
    rest of that line (`python`) is not part of the body. The block ends

    1. at the first fence, no shorter than the opening one, that begins or ends its line. So a
       fence inside a line of code (`if line == "```":`) does not end it, nor does one that is
       on its own line, four or more columns deeper than the opening line (in a docstring);
    2. if there is none: at the first such fence of any kind;
    3. if there is none: at the end of the text.

    The line break before the closing fence is not part of the body. If the opening fence is
    indented, the body loses the indentation that all its lines share, at most as
    much as the fence's own column.

    A fence that closes on its own line, ```print(1)```, is a block only if the text has no
    other; it has no info string, and its body is stripped.
    """
    lines = text.split("\n")
    one_liner: str | None = None
    for number, line in enumerate(lines):
        opening, closed = _fences(line)
        if opening is not None:
            return _body(line, opening, lines[number + 1 :])
        if one_liner is None:
            one_liner = closed
    return text if one_liner is None else one_liner


def _fences(line: str) -> tuple[re.Match[str] | None, str | None]:
    """Return the fence that a line leaves open, and the first body that it opens and closes."""
    opening: re.Match[str] | None = None
    closed: str | None = None
    for fence in _FENCE.finditer(line):
        if opening is None:
            opening = fence
        elif len(fence[0]) >= len(opening[0]):
            if closed is None:
                closed = line[opening.end() : fence.start()].strip()
            opening = None
    return opening, closed


def _body(opened: str, opening: re.Match[str], lines: Sequence[str]) -> str:
    """Return what follows the fence `opening` of the line `opened`, up to its end."""
    indent = len(opened) - len(opened.lstrip())
    end = _end(lines, re.compile(f"`{{{len(opening[0])},}}"), indent + _DEEPEST_CLOSING)
    number, last = end or (len(lines), "")
    body = [*lines[:number], last] if last.strip() else lines[:number]  # code before the fence
    text = "\n".join(_dedent(body, opening.start()))
    return text if end is None or last.strip() else text.removesuffix("\r")


def _end(lines: Sequence[str], fence: re.Pattern[str], deepest: int) -> tuple[int, str] | None:
    """Find the line that closes a block, and the text before the fence in it."""
    inside: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        match = fence.search(line)
        if match is None:
            continue
        before, after = line[: match.start()], line[match.end() :]
        if (not after.strip()) if before.strip() else len(before) <= deepest:
            return number, before
        inside = inside or (number, before)
    return inside


def _dedent(lines: Sequence[str], column: int) -> Sequence[str]:
    indents = (len(line) - len(line.lstrip()) for line in lines if line.strip())
    margin = min(column, min(indents, default=0))
    return [line[margin:] for line in lines] if margin else lines


RULES: Mapping[str, Callable[[str], str]] = {
    "none": str,
    "strip_whitespace": str.strip,
    "lower": str.lower,
    "extract_letter": extract_letter,
    "extract_code_block": extract_code_block,
    "extract_first_line": extract_first_line,
}
