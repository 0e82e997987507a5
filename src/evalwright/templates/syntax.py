"""What is wrong with a text that is no Jinja, in words for its author.

The compiler speaks of tokens and of the tags that it was looking for. What people really do is few
things: a brace too few, a block that is not closed, a misspelt filter, an operator of another
language.
"""

import re
from collections.abc import Callable, Iterable

from evalwright.nearest import nearest

_BLOCKS = ("break", "continue", "do", "elif", "else", "filter", "for", "if", "macro", "raw", "set")
_MARKS = {
    "end of print statement": "}}",
    "end of statement block": "%}",
    "begin of print statement": "{{",
    "begin of statement block": "{%",
    "name": "a name",
    "string": "a text",
}
_INSTEAD = {"&": "`and`", "!": "`not`", "?": "`one if condition else other`"}
_LONE = "`{tag}` stands in no block that it could belong to"


def plainly(said: str, filters: Iterable[str], tests: Iterable[str]) -> str:
    """The compiler's sentence in our words; as it is where it is none of the usual ones."""
    if found := _NO_NAME.fullmatch(said):
        known = sorted(filters if found[1] == "filter" else tests)
        return f"no {found[1]} is called `{found[2]}`{_hint(found[2], known)}"
    for pattern, say in _SAID:
        if found := pattern.fullmatch(said):
            return say(found)
    return said


def _not_closed(found: re.Match[str]) -> str:
    block = found[1]
    return f"the block `{block}` is not closed: `{{% end{block} %}}` is missing"


def _other_tag(found: re.Match[str]) -> str:
    tag, block = found[1], found[2]
    if tag in _BLOCKS or tag.startswith("end"):
        return f"`{tag}` does not belong to the block `{block}`: `{{% end{block} %}}` is missing"
    return f"no block is called `{tag}`{_hint(tag, (*_BLOCKS, f'end{block}'))}"


def _unknown_tag(found: re.Match[str]) -> str:
    tag = found[1]
    if tag in _BLOCKS or (tag.startswith("end") and tag[3:] in _BLOCKS):
        return _LONE.format(tag=tag)
    return f"no block is called `{tag}`{_hint(tag, _BLOCKS)}"


def _other_token(found: re.Match[str]) -> str:
    equals = "; `==` compares" if found[2] == "=" else ""
    return f"expected {_mark(found[1])}, got {_mark(found[2])}{equals}"


def _character(found: re.Match[str]) -> str:
    character = found[1]
    if character in "'\"":
        return "a quote that is not closed"
    instead = _INSTEAD.get(character)
    return f"unexpected `{character}`" + (f"; write {instead}" if instead else "")


def _unexpected(found: re.Match[str]) -> str:
    got, expected = found[1], found[2]
    if expected:
        return f"expected `{expected}`, got `{got}`"
    if got in _MARKS:
        return f"expected a value before {_mark(got)}"
    return "expected `}}`, got `}`" if got == "}" else f"unexpected `{got}`"


def _mark(token: str) -> str:
    named = _MARKS.get(token, token)
    return named if named.startswith("a ") else f"`{named}`"


def _hint(word: str, known: Iterable[str]) -> str:
    close = nearest(word, list(known))
    return f"; did you mean `{close}`?" if close else ""


_NO_NAME = re.compile(r"No (filter|test) named '(.*)'\.")
_SAID: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"Unexpected end of template\. .* closed is '(\w+)'\."), _not_closed),
    (re.compile(r"Encountered unknown tag '(\w+)'\. .* closed is '(\w+)'\."), _other_tag),
    (re.compile(r"Encountered unknown tag '(\w+)'\."), _unknown_tag),
    (re.compile(r"expected token '(.*?)', got '(.*)'"), _other_token),
    (
        re.compile(r"unexpected end of template, expected '(.*)'\."),
        lambda found: f"expected {_mark(found[1])}, the template ends",
    ),
    (re.compile(r"unexpected char (?:'|\")(.)(?:'|\") at \d+"), _character),
    (re.compile(r"unexpected '(.*?)'(?:, expected '(.*)')?"), _unexpected),
    (
        re.compile(r"Expected an expression, got '(.*)'"),
        lambda found: f"expected a value, got {_mark(found[1])}",
    ),
    (re.compile("expected name or number"), lambda _: "expected a name or a number after `.`"),
    (
        re.compile("Missing end of comment tag"),
        lambda _: "a comment that is not closed: `#}` is missing",
    ),
)
