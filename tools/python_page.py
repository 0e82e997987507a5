"""Generate the reference page for `import evalwright as ew` from the docstrings of its names."""

import ast
import re
from collections.abc import Iterator
from inspect import getdoc, getsource, isclass, isfunction, ismodule
from textwrap import dedent
from types import ModuleType
from typing import Any

from msgspec import Struct
from tools.pages import field_docstrings, table

import evalwright as ew

INTRODUCTION = """\
This page describes every public name. All examples assume `import evalwright as ew` and use the
file `tasks.jsonl` from the [tutorial](../start.md). Names are imported when they are first used.
The guides [In Python](../guides/in-python.md) and [Python functions](../guides/python-functions.md)
show how they fit together.

`Numbers` is a list of numbers or a NumPy array. `Verdicts` is a list or NumPy array of booleans. A
`TaskSpec` is a validated record.

"""
SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def python_page(generated: str) -> str:
    """Return the page: functions, then modules with their functions, then classes."""
    objects = {f"ew.{name}": getattr(ew, name) for name in ew.__all__}
    parts = [f"# Python\n\n{generated}{INTRODUCTION}## Functions\n"]
    parts += [_function(name, value) for name, value in objects.items() if isfunction(value)]
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
    signature = f"{prefix}{name}({arguments}) -> {result}"
    return f"### `{name}`\n\n```text\n{_wrap(signature)}\n```\n\n{_prose(function)}\n"


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
    if not issubclass(kind, Struct) or name == "ew.Report":
        more = {"ew.Report": "It has the fields of [the report](report.md)."}
        return f"{text}\n{more[name]}\n" if name in more else text
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


def _prose(value: Any) -> str:
    """Return a docstring as markdown, with its examples in code blocks."""
    text = re.sub(r"^# ", "", getdoc(value) or "")
    return SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", text)
