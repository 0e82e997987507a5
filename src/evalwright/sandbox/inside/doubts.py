"""Why a target may fail in the split evaluator although nothing is wrong with the program.

A target that passes in the program's own process and fails here contradicts the program, unless it
does something that two processes do not reproduce. What it does is read from the texts of the
targets: the candidate has no part in it. Only targets that fail are read.
"""

from __future__ import annotations

import _ast as ast  # `ast` itself would make every fork dearer
import builtins
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

# The evaluator's own copy of these gives what the candidate's would give.
_SAME_IN_BOTH = frozenset({
    "array", "asyncio", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "copy",
    "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq",
    "itertools", "json", "math", "numbers", "operator", "pytest", "re", "statistics", "string",
    "struct", "textwrap", "typing", "unicodedata", "uuid", "zlib",
})  # fmt: skip
# They look at a stand-in, or at this process.
_LOOKS = frozenset({
    "__import__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "globals", "hash",
    "id", "input", "locals", "open", "setattr", "super", "type", "vars",
})  # fmt: skip
_CHANGES = frozenset({
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend",
    "extendleft", "insert", "intersection_update", "pop", "popitem", "popleft", "remove", "reverse",
    "rotate", "setdefault", "sort", "symmetric_difference_update", "update",
})  # fmt: skip
_BUILTIN_NAMES = frozenset(dir(builtins))


def find_doubt(targets: list[str], source: str) -> str:
    """What these targets do that may differ here; empty if there is nothing."""
    try:
        read = _names_read_by_functions(compile(source, "<candidate>", "exec", dont_inherit=True))
        trees = [
            compile(text.lstrip(" \t"), "<target>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            for text in targets
        ]
    except Exception:  # noqa: BLE001 - whatever the compiler raises, nothing is known
        return "it cannot be read"
    for tree in trees:
        accounted = {id(node) for node in _find_accounted_doubts(trees, tree)}
        for node in _walk(tree):
            if id(node) not in accounted and (doubt := _find_in_node(node)):
                return doubt
        for name in _names_bound_by(tree):
            if name in read:
                return f"it sets `{name}`, which the program reads"
    return ""


def handles_errors(targets: list[str]) -> bool:
    """Whether these targets expect errors, and may therefore expect a `StopIteration`."""
    for text in targets:
        tree = compile(text.lstrip(" \t"), "<target>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        for node in _walk(tree):
            if isinstance(node, ast.Try | ast.With) or (
                isinstance(node, ast.Name) and node.id == "StopIteration"
            ):
                return True
    return False


def _find_accounted_doubts(trees: list[Any], tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that look doubtful, and concern nothing but the target's own containers and clocks."""
    own = _find_own_containers(trees)
    for node in _walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=method) as function, args=args
            ) if name in own and method in _CHANGES and all(map(_is_fresh_value, args)):
                yield function
    if not any(_uses_clock(node) for each in trees for node in _walk(each)):
        for node in _walk(tree):
            match node:
                case ast.Import(names=[ast.alias(name="time")]) | ast.Name(id="time"):
                    yield node


def _find_own_containers(trees: list[Any]) -> set[str]:
    """Names that these targets bind to empty containers alone, and never hand to anything."""
    nodes = [node for tree in trees for node in _walk(tree)]
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and _is_bound(node)]
    empty = [
        node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and len(node.targets) == 1
        and _is_empty(node.value)
    ]
    looked_at = {id(part) for node in nodes for part in _parts_looked_at(node)}
    handed = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not _is_bound(node) and id(node) not in looked_at
    }
    named = {node.arg for node in nodes if isinstance(node, ast.arg)}
    named |= {name for node in nodes for name in getattr(node, "names", ()) if type(name) is str}
    return {
        name
        for name in empty
        if bound.count(name) == empty.count(name) and name not in handed | named
    }


def _is_bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _is_empty(node: ast.AST) -> bool:
    match node:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[], keywords=[]):
            return True
    return False


def _parts_looked_at(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that it compares, or calls a method of."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=ast.Attribute(value=value)):
            return [value]
    return []


def _is_fresh_value(node: ast.AST) -> bool:
    """Whether a value is made on the spot: nobody else has it."""
    return isinstance(node, ast.Compare | ast.Constant | ast.JoinedStr)


def _uses_clock(node: ast.AST) -> bool:
    """Whether it uses `time` in another way than to sleep."""
    match node:
        case ast.ImportFrom(module="time") | ast.alias(name="time", asname=str()):
            return True
        case ast.Attribute(value=ast.Name(id="time"), attr=name):
            return name != "sleep"
    return False


def _names_read_by_functions(code: CodeType, *, inside: bool = False) -> set[str]:
    names = set(code.co_names) if inside else set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_read_by_functions(constant, inside=True)
    return names - _BUILTIN_NAMES


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name in node._fields:
        value = getattr(node, name, None)
        for each in value if type(value) is list else (value,):
            if isinstance(each, ast.AST):
                yield from _walk(each)


def _names_bound_by(tree: ast.AST) -> Iterator[str]:
    for node in _walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def _find_in_node(node: ast.AST) -> str:  # noqa: C901, PLR0911 - a table
    match node:
        case ast.Import(names=aliases):
            odd = [alias.name for alias in aliases if not _is_same(alias.name)]
            return f"it imports `{odd[0]}`" if odd else ""
        case ast.ImportFrom(module=module) if not _is_same(module or ""):
            return f"it imports `{module}`"
        case ast.Name(id=name) if name in _LOOKS:
            return f"it uses `{name}`"
        case ast.Name(id=name) if name in sys.stdlib_module_names and not _is_same(name):
            return f"it uses the module `{name}`"
        case ast.Attribute(attr=name) if name[:2] == name[-2:] == "__":
            return f"it uses `{name}`"
        case ast.Attribute(ctx=ast.Store() | ast.Del(), value=ast.Name(id=name)) if (
            name in sys.stdlib_module_names
        ):
            return f"it changes the module `{name}`"
        case ast.Attribute(attr=name) if name in _CHANGES:
            return f"it may change what the program returned, by `{name}`"
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.AugAssign():
            return "it may change what the program returned"
        case ast.ClassDef():
            return "it defines a class"
        case ast.MatchClass():
            return "it matches the pattern of a class"
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.AsyncFunctionDef():
            return "it is asynchronous"
        case ast.Compare(ops=ops, left=left, comparators=others) if any(
            isinstance(sign, ast.Is | ast.IsNot) for sign in ops
        ) and not any(isinstance(side, ast.Constant) for side in (left, *others)):
            return "it asks whether two things are the same object"
    return ""


def _is_same(module: str) -> bool:
    return module.partition(".")[0] in {*_SAME_IN_BOTH, "candidate"}
