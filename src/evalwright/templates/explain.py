"""Why a text is no template, or why a template failed, in one line for its author.

The compiler speaks of tokens and of the tags that it was looking for. What people really do is few
things: a brace too few, a block that is not closed, a misspelt filter, an operator of another
language.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Protocol

from jinja2 import Template as Compiled
from jinja2 import TemplateSyntaxError, UndefinedError
from jinja2.utils import missing

from evalwright.nearest import nearest
from evalwright.templates.environment import TEXT, Told
from evalwright.templates.filters import STEPS
from evalwright.templates.paths import written

_MOST_NAMES = 20

BROKEN_SYNTAX = (SyntaxError, RecursionError, MemoryError, ValueError, TypeError, OverflowError)
"""What Jinja's compiler, or Python's on what it made, may raise for a text that is no template."""


def explain_syntax(error: Exception, first: int) -> str:
    """What is wrong with the text, and in which line; `first` is the line it begins in."""
    if isinstance(error, TemplateSyntaxError):
        said = translate_message(error.message or "", set(TEXT.filters) - {STEPS}, TEXT.tests)
        return f"line {error.lineno + first - 1}: {said}"
    if isinstance(error, SyntaxError) and "loop" in error.msg:
        return f"line {first}: `break` and `continue` stand in a loop only"
    if isinstance(error, RecursionError | MemoryError | SyntaxError):
        return f"line {first}: the template is nested too deeply"
    return f"line {first}: {error}"


class TemplateSource(Protocol):
    """A template that knows where it stands."""

    source: str
    file: str
    line: int


def explain_failure(
    error: BaseException, template: TemplateSource, variables: Mapping[str, Any]
) -> str:
    """What went wrong while a template was rendered, and in which of its lines."""
    line = _running_line(error.__traceback__)
    source, number = template.source, line + template.line - 1
    place = f"{template.file}:{number}" if template.file else f"line {number}"
    told = error.args[0] if error.args else ""
    if isinstance(error, UndefinedError) and isinstance(told, Told) and told.name is not None:
        return _explain_missing(told, _written_path(told, source, line), place, variables)
    if isinstance(error, RecursionError):
        return f"the template calls itself without end ({place})"
    return f"{str(error) or type(error).__name__} ({place})"


def _running_line(traceback: TracebackType | None) -> int:
    """The line of the template that was running: the innermost one."""
    line = 1
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(compiled, Compiled):
            line = compiled.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _written_path(told: Told, source: str, line: int) -> str:
    if told.within is missing:
        return str(told.name)
    return written(TEXT.parse(source), told.name, line) or str(told.name)


def _explain_missing(told: Told, path: str, place: str, variables: Mapping[str, Any]) -> str:
    if told.within is missing:
        there, has = list(variables), "there is"
    elif isinstance(told.within, Mapping):
        there = [str(key) for key in told.within]
        has = "the row has" if told.within is variables.get("sample") else "it has"
    else:
        return f"`{path}` is not there ({place}): {told}"
    names = ", ".join(there[:_MOST_NAMES]) + (", …" if len(there) > _MOST_NAMES else "")
    close = nearest(str(told.name), there)
    hint = f"; did you mean `{close}`?" if close else ""
    return f"`{path}` is not there ({place}); {has}: {names or 'nothing'}{hint}"


_BLOCKS = ("break", "continue", "do", "elif", "else", "filter", "for", "if", "macro", "raw", "set")
_MARKS = {
    "end of print statement": "}}",
    "end of statement block": "%}",
    "begin of print statement": "{{",
    "begin of statement block": "{%",
    "name": "a name",
    "string": "a text",
}
_PYTHON_OPERATORS = {"&": "`and`", "!": "`not`", "?": "`one if condition else other`"}
_NO_BLOCK = "`{tag}` stands in no block that it could belong to"


def translate_message(said: str, filters: Iterable[str], tests: Iterable[str]) -> str:
    """The compiler's sentence in our words; as it is where it is none of the usual ones."""
    if found := _NO_NAME.fullmatch(said):
        known = sorted(filters if found[1] == "filter" else tests)
        return f"no {found[1]} is called `{found[2]}`{_hint(found[2], known)}"
    for pattern, say in _MESSAGES:
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
        return _NO_BLOCK.format(tag=tag)
    return f"no block is called `{tag}`{_hint(tag, _BLOCKS)}"


def _other_token(found: re.Match[str]) -> str:
    equals = "; `==` compares" if found[2] == "=" else ""
    return f"expected {_mark(found[1])}, got {_mark(found[2])}{equals}"


def _character(found: re.Match[str]) -> str:
    character = found[1]
    if character in "'\"":
        return "a quote that is not closed"
    instead = _PYTHON_OPERATORS.get(character)
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
_MESSAGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
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
