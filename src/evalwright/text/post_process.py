"""Post-process a model's answer with one rule, before the metric compares it.

The functions are deterministic and stateless. `RULES` has one function per rule in the vocabulary.

Does not:   interpret the answer. `extract_letter` returns the `A` of "A good guess is C". It
            compares code points, so an `A` with a combining accent is an `A`. `extract_code_block`
            supports only backticks, not `~~~` or `>` quotes.
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
        raise ValueError(f"expected the text, then the rule; got the rule `{text}` first")
    legal = ", ".join(f"`{name}`" for name in RULES)
    closest = nearest(rule, tuple(RULES))
    suggestion = f"; did you mean `{closest}`?" if closest else ""
    raise ValueError(f"unknown post-process rule `{rule}`, expected one of {legal}{suggestion}")


_STANDALONE = re.compile(r"(?<![^\W_])[A-E](?![^\W_])")  # [^\W_] is a Unicode letter or digit
_LETTER = re.compile("[A-E]")


def extract_letter(text: str) -> str:
    """Return the first standalone `A`-`E`, or else the first `A`-`E`, or else ""."""
    match = _STANDALONE.search(text) or _LETTER.search(text)
    return match[0] if match else ""


def extract_first_line(text: str) -> str:
    """Return the first non-blank line, stripped, or else ""."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


_FENCE = re.compile("`{3,}")
_DEEPEST_CLOSING = 3
"""Columns by which a closing fence may be indented more than the opening line (CommonMark)."""


def extract_code_block(text: str) -> str:
    """Return the body of the first block between triple backticks, or the text if there is none.

    A fence consists of three or more backticks. It opens a block anywhere in a line, and the rest
    of that line (`python`) is not part of the body. The block ends

    1. at the first fence that is at least as long as the opening fence and begins or ends its line.
       A fence inside a line of code (`if line == "```":`) does not end the block, and neither does
       a fence on its own line that is indented four or more columns more than the opening line (in
       a docstring);
    2. if there is none, at the first fence of that length anywhere;
    3. if there is none, at the end of the text.

    The line break before the closing fence is not part of the body. If the opening fence is
    indented, the common indentation of the body's lines is removed, up to the column of the fence.

    A block on a single line, ```print(1)```, is used only if the text has no other block. It has no
    info string, and its body is stripped.
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
    """Return the fence that a line leaves open, and the body of its first single-line block."""
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
    """Return the body of the block that the fence `opening` starts in the line `opened`."""
    indent = len(opened) - len(opened.lstrip())
    end = _end(lines, re.compile(f"`{{{len(opening[0])},}}"), indent + _DEEPEST_CLOSING)
    number, last = end or (len(lines), "")
    # There is code before the fence.
    body = [*lines[:number], last] if last.strip() else lines[:number]
    text = "\n".join(_dedent(body, opening.start()))
    return text if end is None or last.strip() else text.removesuffix("\r")


def _end(lines: Sequence[str], fence: re.Pattern[str], deepest: int) -> tuple[int, str] | None:
    """Return the line that closes a block, and the text before the fence in that line."""
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
