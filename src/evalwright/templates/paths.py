"""What a template refers to, read without rendering it.

    {{ sample.question }} {{ sample["answer"][0] }}     sample.question, sample.answer

Left out: names that the template itself gives, paths that it asks for with `is defined` or gives
a default, and the method of a call (`sample.items()` refers to `sample`).
"""

from collections.abc import Iterator

from jinja2 import nodes

Path = tuple[str, ...]


def paths(tree: nodes.Template) -> frozenset[Path]:
    """Every path that must be there, from the name of its variable on."""
    given = set(_given(tree))
    optional = set(_optional(tree))
    return frozenset(
        path for path in _walk(tree) if path[0] not in given and not _begun(path, optional)
    )


def written(tree: nodes.Template, name: object, line: int) -> str | None:
    """How the template writes the path that ends in `name`, on that line if it is there."""
    found = {
        node.lineno: text
        for node in tree.find_all((nodes.Getattr, nodes.Getitem))
        if _last(node) == name and (text := _text(node))
    }
    return found.get(line) or next(iter(found.values()), None)


def _walk(node: nodes.Node) -> Iterator[Path]:
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        yield from _walk(node.node.node)
        for child in node.iter_child_nodes(exclude=("node",)):
            yield from _walk(child)
        return
    if isinstance(node, nodes.Getattr | nodes.Getitem | nodes.Name):
        path = _path(node)
        if path:
            yield path
            return
        if isinstance(node, nodes.Getitem) and (path := _path(node.node)):
            yield path
            yield from _walk(node.arg)
            return
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _path(node: nodes.Node) -> Path:
    """The names of a chain, up to an index that is a number or is not known; () for no chain."""
    if isinstance(node, nodes.Name):
        return (node.name,) if node.ctx == "load" else ()
    if isinstance(node, nodes.Getattr):
        before = _path(node.node)
        return (*before, node.attr) if before and _whole(node.node) else before
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        before = _path(node.node)
        key = node.arg.value
        return (*before, key) if before and isinstance(key, str) and _whole(node.node) else before
    return ()


def _whole(node: nodes.Node) -> bool:
    """Whether a chain has no index that is a number: what follows one is not a column."""
    if isinstance(node, nodes.Getattr):
        return _whole(node.node)
    if isinstance(node, nodes.Getitem):
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        return isinstance(key, str) and _whole(node.node)
    return isinstance(node, nodes.Name)


def _given(tree: nodes.Template) -> Iterator[str]:
    for name in tree.find_all(nodes.Name):
        if name.ctx != "load":
            yield name.name
    for macro in tree.find_all(nodes.Macro):
        yield macro.name
    yield from ("loop", "caller", "varargs", "kwargs", "self", "super")
    yield from ("range", "dict", "cycler", "joiner", "namespace")


def _optional(tree: nodes.Template) -> Iterator[Path]:
    for test in tree.find_all(nodes.Test):
        if test.name in {"defined", "undefined"}:
            yield _path(test.node)
    for one in tree.find_all(nodes.Filter):
        if one.name in {"default", "d"} and one.node is not None:
            yield _path(one.node)


def _begun(path: Path, optional: set[Path]) -> bool:
    return any(one and path[: len(one)] == one for one in optional)


def _last(node: nodes.Expr) -> object:
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return node.arg.value
    return None


def _text(node: nodes.Node) -> str:
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        before = _text(node.node)
        return before and f"{before}.{node.attr}"
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        before = _text(node.node)
        key = node.arg.value
        return before and (f"{before}.{key}" if _plain(key) else f"{before}[{key!r}]")
    return ""


def _plain(key: object) -> bool:
    return isinstance(key, str) and key.isidentifier()
