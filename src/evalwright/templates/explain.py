"""Explain in one line why a text is not a template, or why a template failed.

The compiler reports tokens and the tags that it was looking for. Authors make a few kinds of
mistakes: a missing brace, a block that is not closed, a misspelt filter, an operator of another
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
from evalwright.templates.environment import TEXT, MissingMessage
from evalwright.templates.filters import STEPS
from evalwright.templates.paths import write_path

_MOST_NAMES = 20

BROKEN_SYNTAX = (SyntaxError, RecursionError, MemoryError, ValueError, TypeError, OverflowError)
"""What Jinja's compiler, or Python's on its result, may raise for an invalid template."""


def explain_syntax(error: Exception, first: int) -> str:
    """Return what is wrong with the text, with its line; `first` is the line it begins on."""
    if isinstance(error, TemplateSyntaxError):
        return f"line {error.lineno + first - 1}: {_translate_message(error.message or '')}"
    if isinstance(error, SyntaxError) and "loop" in error.msg:
        return f"line {first}: `break` and `continue` are allowed only in a loop"
    if isinstance(error, RecursionError | MemoryError | SyntaxError):
        return f"line {first}: the template is nested too deeply"
    return f"line {first}: {error}"


class TemplateSource(Protocol):
    """A template that knows its place."""

    source: str
    file: str
    line: int


def explain_failure(
    error: BaseException, template: TemplateSource, variables: Mapping[str, Any]
) -> str:
    """Return what went wrong while a template was rendered, with its line."""
    line = _running_line(error.__traceback__)
    number = line + template.line - 1
    place = f"{template.file}:{number}" if template.file else f"line {number}"
    message = error.args[0] if error.args else ""
    if (
        isinstance(error, UndefinedError)
        and isinstance(message, MissingMessage)
        and message.name is not None
    ):
        path = str(message.name)
        if message.within is not missing:
            path = write_path(TEXT.parse(template.source), message.name, line) or path
        return _explain_missing(message, path, place, variables)
    if isinstance(error, RecursionError):
        return f"endless recursion in the template ({place})"
    return f"{str(error) or type(error).__name__} ({place})"


def _running_line(traceback: TracebackType | None) -> int:
    line = 1
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(compiled, Compiled):
            line = compiled.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _explain_missing(
    message: MissingMessage, path: str, place: str, variables: Mapping[str, Any]
) -> str:
    if message.within is missing:
        names, has = list(variables), "there is"
    elif isinstance(fields := _read_fields(message.within), Mapping):
        names = [str(key) for key in fields]
        has = "the row has" if message.within is variables.get("sample") else "it has"
    else:
        return f"`{path}` does not exist ({place}): {message}"
    shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    hint = _hint(str(message.name), names)
    return f"`{path}` does not exist ({place}); {has}: {shown or 'nothing'}{hint}"


def _read_fields(value: Any) -> Any:
    """Return the value, or its fields if it is text that has some, as a model's answer does."""
    to_json = getattr(value, "to_json", None) if isinstance(value, str) else None
    return value if to_json is None else to_json()


_BLOCKS = ("break", "continue", "do", "elif", "else", "filter", "for", "if", "macro", "raw", "set")
_TOKENS = {
    "end of print statement": "}}",
    "end of statement block": "%}",
    "begin of print statement": "{{",
    "begin of statement block": "{%",
    "name": "a name",
    "string": "a string",
}
_PYTHON_OPERATORS = {"&": "`and`", "!": "`not`", "?": "`one if condition else other`"}


def _translate_message(message: str) -> str:
    """Return the compiler's message in plain words; an unusual one unchanged."""
    if match := _NO_NAME.fullmatch(message):
        known = set(TEXT.filters) - {STEPS} if match[1] == "filter" else TEXT.tests
        return f"unknown {match[1]} `{match[2]}`{_hint(match[2], sorted(known))}"
    for pattern, explain in _MESSAGES:
        if match := pattern.fullmatch(message):
            return explain(match)
    return message


def _explain_open_block(match: re.Match[str]) -> str:
    block = match[1]
    return f"the block `{block}` is not closed: `{{% end{block} %}}` is missing"


def _explain_other_tag(match: re.Match[str]) -> str:
    tag, block = match[1], match[2]
    if tag in _BLOCKS or tag.startswith("end"):
        return f"`{tag}` does not belong in the block `{block}`: `{{% end{block} %}}` is missing"
    return f"unknown block `{tag}`{_hint(tag, (*_BLOCKS, f'end{block}'))}"


def _explain_unknown_tag(match: re.Match[str]) -> str:
    tag = match[1]
    if tag in _BLOCKS or (tag.startswith("end") and tag[3:] in _BLOCKS):
        return f"`{tag}` is outside the block that it belongs to"
    return f"unknown block `{tag}`{_hint(tag, _BLOCKS)}"


def _explain_other_token(match: re.Match[str]) -> str:
    equals = "; `==` compares" if match[2] == "=" else ""
    return f"expected {_show_token(match[1])}, got {_show_token(match[2])}{equals}"


def _explain_character(match: re.Match[str]) -> str:
    character = match[1]
    if character in "'\"":
        return "a quote that is not closed"
    instead = _PYTHON_OPERATORS.get(character)
    return f"unexpected `{character}`" + (f"; write {instead}" if instead else "")


def _explain_odd_token(match: re.Match[str]) -> str:
    got, expected = match[1], match[2]
    if expected:
        return f"expected `{expected}`, got `{got}`"
    if got in _TOKENS:
        return f"expected a value before {_show_token(got)}"
    return "expected `}}`, got `}`" if got == "}" else f"unexpected `{got}`"


def _show_token(token: str) -> str:
    name = _TOKENS.get(token, token)
    return name if name.startswith("a ") else f"`{name}`"


def _hint(word: str, known: Iterable[str]) -> str:
    close = nearest(word, list(known))
    return f"; did you mean `{close}`?" if close else ""


_NO_NAME = re.compile(r"No (filter|test) named '(.*)'\.")
_MESSAGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"Unexpected end of template\. .* closed is '(\w+)'\."), _explain_open_block),
    (re.compile(r"Encountered unknown tag '(\w+)'\. .* closed is '(\w+)'\."), _explain_other_tag),
    (re.compile(r"Encountered unknown tag '(\w+)'\."), _explain_unknown_tag),
    (re.compile(r"expected token '(.*?)', got '(.*)'"), _explain_other_token),
    (
        re.compile(r"unexpected end of template, expected '(.*)'\."),
        lambda match: f"expected {_show_token(match[1])}, but the template ends",
    ),
    (re.compile(r"unexpected char (?:'|\")(.)(?:'|\") at \d+"), _explain_character),
    (re.compile(r"unexpected '(.*?)'(?:, expected '(.*)')?"), _explain_odd_token),
    (
        re.compile(r"Expected an expression, got '(.*)'"),
        lambda match: f"expected a value, got {_show_token(match[1])}",
    ),
    (re.compile("expected name or number"), lambda _: "expected a name or a number after `.`"),
    (
        re.compile("Missing end of comment tag"),
        lambda _: "a comment that is not closed: `#}` is missing",
    ),
)
