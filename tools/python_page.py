"""Generate the reference page for `import evalwright as ew` from the docstrings of its names."""

import ast
import re
from collections.abc import Iterator
from inspect import Parameter, getdoc, getsource, isclass, isfunction, ismodule, signature
from textwrap import dedent
from types import ModuleType
from typing import Any

from msgspec import Struct
from tools.pages import field_docstrings, table

import evalwright as ew
from evalwright.plan.options import ALIASES, RunKeywords, RunOptions, ScoreKeywords

INTRODUCTION = """\
This page describes every public name. All examples assume `import evalwright as ew` and use the
file `tasks.jsonl` from the [tutorial](../start.md). Names are imported when they are first used.
The guides [In Python](../guides/in-python.md) and [Python functions](../guides/python-functions.md)
show how they fit together.

`Numbers` is a list of numbers or a NumPy array. `Verdicts` is a list or NumPy array of booleans. A
`TaskSpec` is a validated record.

"""
OPTIONS = """\
## Options

These are the keywords of `ew.run`, `ew.arun` and `ew.test`. `ew.score` and `ew.ascore` take those
that matter to scoring. Each is an option of [`evalwright run`](command-line.md) with the same name
and the same default.
"""
SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def python_page(generated: str) -> str:
    """Return the page: functions, then modules with their functions, then classes."""
    objects = {f"ew.{name}": getattr(ew, name) for name in ew.__all__}
    parts = [f"# Python\n\n{generated}{INTRODUCTION}## Functions\n"]
    parts += [_function(name, value) for name, value in objects.items() if isfunction(value)]
    parts += _options()
    classes = {name: value for name, value in objects.items() if isclass(value)}
    for name, value in objects.items():
        if ismodule(value):
            parts += _module(name, value)
            members = {f"{name}.{member}": getattr(value, member) for member in value.__all__}
            classes |= {member: found for member, found in members.items() if isclass(found)}
    parts.append("## Classes\n")
    parts += [_class(name, value) for name, value in classes.items()]
    parts.append("## Version\n\n`ew.__version__` is the package version as a string.\n")
    return "\n".join(parts)


def _module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"## `{name}`\n\n{_prose(module)}\n"
    for member in module.__all__:
        value = getattr(module, member)
        if isfunction(value):
            yield _function(f"{name}.{member}", value)


def _function(name: str, function: Any) -> str:
    (node,) = ast.parse(dedent(getsource(function))).body
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"expected a function, got {name}")
    result = ast.unparse(node.returns) if node.returns else "None"
    arguments = re.sub(r"(?<=[\w\]])=", " = ", ast.unparse(node.args))
    prefix = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{prefix}{name}({arguments}) -> {result}"
    text = f"### `{name}`\n\n```text\n{_wrap(line)}\n```\n\n{_prose(function)}\n"
    has_options = "Unpack[" in arguments
    return f"{text}\nThe other keywords are [options](#options).\n" if has_options else text


def _options() -> Iterator[str]:
    """Yield the table of the keywords of a run; those of `score` are fewer."""
    yield OPTIONS
    of_score, of_run = _fields(ScoreKeywords), _fields(RunKeywords)
    meanings = _fields(RunOptions)
    rows = (
        (
            f"`{name}`",
            f"`{ast.unparse(annotation)}`".replace("|", "\\|"),
            meanings[name][1] if name in meanings else f"Same as `{ALIASES[name]}`.",
            "yes" if name in of_score else "",
        )
        for name, (annotation, _) in {**of_run, **of_score}.items()
    )
    yield table(("option", "type", "meaning", "also for `score`"), rows)


def _fields(kind: type) -> dict[str, tuple[ast.expr, str]]:
    (node,) = ast.parse(dedent(getsource(kind))).body
    return field_docstrings(node) if isinstance(node, ast.ClassDef) else {}


def _wrap(signature: str, width: int = 96) -> str:
    """Return a signature on one line or, if it is too long, with one line per argument."""
    if len(signature) <= width:
        return signature
    head, _, rest = signature.partition("(")
    arguments, _, result = rest.rpartition(")")
    lines = re.split(r", (?=[\w*/]+(?::|,| =|$))", arguments)
    return "\n".join([f"{head}(", *(f"    {line}," for line in lines), f"){result}"])


def _class(name: str, kind: type) -> str:
    text = f"### `{name}`\n\n{_prose(kind)}\n"
    if name == "ew.Report":
        text += "\nIt has the fields of [the report](report.md).\n"
    if members := list(_members(kind)):
        text += f"\n{table(('member', 'meaning'), members)}"
    if not issubclass(kind, Struct) or name == "ew.Report":
        return text
    described: dict[str, tuple[ast.expr, str]] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Struct) and base is not Struct:
            (node,) = ast.parse(dedent(getsource(base))).body
            if isinstance(node, ast.ClassDef):
                described |= field_docstrings(node)
    rows = (
        (f"`{field}`", f"`{ast.unparse(annotation)}`".replace("|", "\\|"), meaning)
        for field, (annotation, meaning) in described.items()
    )
    return f"{text}\n{table(('field', 'type', 'meaning'), rows)}"


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the methods and properties of a class, each with the first line of its docstring."""
    for name, member in vars(kind).items():
        if name.startswith("_") or not (isfunction(member) or isinstance(member, property)):
            continue
        shown = name
        if isfunction(member):
            (node,) = ast.parse(dedent(getsource(member))).body
            parameters = list(signature(member).parameters.values())[1:]
            shown = f"{name}({', '.join(map(_parameter, parameters))})"
            if isinstance(node, ast.AsyncFunctionDef):
                shown = f"await {shown}"
        yield f"`{shown}`", (getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")


def _parameter(parameter: Parameter) -> str:
    """Return a parameter without its type."""
    if parameter.kind is Parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    default = "" if parameter.default is Parameter.empty else f"={parameter.default!r}"
    return f"{parameter.name}{default}"


def _prose(value: Any) -> str:
    """Return a docstring as markdown, with its examples in code blocks."""
    text = re.sub(r"^# ", "", getdoc(value) or "")
    return SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", text)
