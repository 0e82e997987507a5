"""Find what a template refers to, without rendering it.

    {{ sample.question }} {{ sample["answer"][0] }}     sample.question, sample.answer

Left out: names that the template itself sets, paths that it tests with `is defined` or gives
a default, and the method of a call (`sample.items()` refers to `sample`).
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from jinja2 import nodes

Path = tuple[str, ...]
_JINJA_NAMES = ("loop", "caller", "varargs", "kwargs", "self", "super")
_GLOBALS = ("range", "dict", "cycler", "joiner", "namespace")


def paths(tree: nodes.Template) -> frozenset[Path]:
    """Return every required path, beginning with its variable."""
    own = set(_own_names(tree))
    optional = set(_optional(tree)) - {()}
    return frozenset(
        path
        for path in _walk(tree)
        if path[0] not in own and not any(path[: len(start)] == start for start in optional)
    )


def write_path(tree: nodes.Template, name: object, line: int) -> str | None:
    """Return how the template spells the path that ends in `name`, preferably on that line."""
    chains = {
        node.lineno: chain
        for node in tree.find_all((nodes.Getattr, nodes.Getitem))
        if (chain := _chain(node)) and chain[-1] == name
    }
    if not chains:
        return None
    first, *keys = chains.get(line) or next(iter(chains.values()))
    return str(first) + "".join(
        f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]" for key in keys
    )


def _walk(node: nodes.Node) -> Iterator[Path]:
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        yield from _walk(node.node.node)
        for child in node.iter_child_nodes(exclude=("node",)):
            yield from _walk(child)
        return
    if path := _path(node):
        yield path
        return
    if isinstance(node, nodes.Getitem) and (path := _path(node.node)):
        yield path
        yield from _walk(node.arg)
        return
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _path(node: nodes.Node) -> Path:
    """Return the names of a chain, up to a numeric index: what follows it is not a column."""
    return tuple(takewhile(lambda key: isinstance(key, str), _chain(node)))


def _chain(node: nodes.Node) -> tuple[Any, ...]:
    if isinstance(node, nodes.Name):
        return (node.name,) if node.ctx == "load" else ()
    if isinstance(node, nodes.Getattr):
        key = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        key = node.arg.value
    else:
        return ()
    before = _chain(node.node)
    return (*before, key) if before else ()


def _own_names(tree: nodes.Template) -> Iterator[str]:
    for name in tree.find_all(nodes.Name):
        if name.ctx != "load":
            yield name.name
    for macro in tree.find_all(nodes.Macro):
        yield macro.name
    yield from (*_JINJA_NAMES, *_GLOBALS)


def _optional(tree: nodes.Template) -> Iterator[Path]:
    for test in tree.find_all(nodes.Test):
        if test.name in {"defined", "undefined"}:
            yield _path(test.node)
    for used in tree.find_all(nodes.Filter):
        if used.name in {"default", "d"} and used.node is not None:
            yield _path(used.node)
