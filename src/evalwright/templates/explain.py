"""Why a template failed, in one line: what is not there, where, and what is."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol

from jinja2 import Template as Compiled
from jinja2 import TemplateSyntaxError, UndefinedError
from jinja2.utils import missing

from evalwright.nearest import nearest
from evalwright.templates.environment import TEXT, Told
from evalwright.templates.filters import STEPS
from evalwright.templates.paths import written
from evalwright.templates.syntax import plainly

_MOST_NAMES = 20

BROKEN_SYNTAX = (SyntaxError, RecursionError, MemoryError, ValueError, TypeError, OverflowError)
"""What Jinja's compiler, or Python's on what it made, may raise for a text that is no template."""


def syntax(error: Exception, first: int) -> str:
    """What is wrong with the text, and in which line; `first` is the line it begins in."""
    if isinstance(error, TemplateSyntaxError):
        said = plainly(error.message or "", set(TEXT.filters) - {STEPS}, TEXT.tests)
        return f"line {error.lineno + first - 1}: {said}"
    if isinstance(error, SyntaxError) and "loop" in error.msg:
        return f"line {first}: `break` and `continue` stand in a loop only"
    if isinstance(error, RecursionError | MemoryError | SyntaxError):
        return f"line {first}: the template is nested too deeply"
    return f"line {first}: {error}"


class Placed(Protocol):
    """A template that knows where it stands."""

    source: str
    file: str
    line: int


def failure(error: BaseException, template: Placed, variables: Mapping[str, Any]) -> str:
    """What went wrong while a template was rendered, and in which of its lines."""
    line = _line(error.__traceback__)
    source, number = template.source, line + template.line - 1
    place = f"{template.file}:{number}" if template.file else f"line {number}"
    told = error.args[0] if error.args else ""
    if isinstance(error, UndefinedError) and isinstance(told, Told) and told.name is not None:
        return _absent(told, _written(told, source, line), place, variables)
    if isinstance(error, RecursionError):
        return f"the template calls itself without end ({place})"
    return f"{str(error) or type(error).__name__} ({place})"


def _line(traceback: TracebackType | None) -> int:
    """The line of the template that was running: the innermost one."""
    line = 1
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(compiled, Compiled):
            line = compiled.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _written(told: Told, source: str, line: int) -> str:
    if told.within is missing:
        return str(told.name)
    return written(TEXT.parse(source), told.name, line) or str(told.name)


def _absent(told: Told, path: str, place: str, variables: Mapping[str, Any]) -> str:
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
