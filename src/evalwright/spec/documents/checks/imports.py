"""Check the modules and names that snippets import from `latticeflow`.

    scores.py:3:38: bad_snippet: `latticeflow.core.dtypes` has no `SolverTraces`
      hint: did you mean `SolverTrace`?

Snippets are parsed, not run. An import is not checked if its failure is handled (`try` with
`except ImportError`), if it never runs (`if TYPE_CHECKING`), or if a real package with this name is
installed or is in the folder of the snippet.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path

from evalwright.components import Snippet
from evalwright.objects.names import MODULES, list_names
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean

_PACKAGE = "latticeflow"
_HANDLERS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def check_imports(snippet: Snippet, path: FieldPath) -> Iterator[Fault]:
    """Yield a fault for every unknown module and name that a snippet imports from `latticeflow`."""
    if _PACKAGE not in snippet.text or _has_real_package() or _is_beside(snippet.path):
        return
    for node, detail, hint in _find_unknown(ast.parse(snippet.text)):
        line = snippet.line - 1 + node.lineno
        column = _find_column(snippet, line, node.col_offset)
        yield Fault(path, "bad_snippet", detail, hint, line=line, column=column)


def _find_unknown(tree: ast.AST) -> Iterator[tuple[ast.stmt | ast.alias, str, str]]:
    """Yield each unknown import with its node, the error and a hint."""
    for node in _walk_imports(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name) and alias.name not in MODULES:
                    yield alias, f"there is no module `{alias.name}`", _suggest_module(alias.name)
        elif _is_ours(module := node.module or ""):
            if module not in MODULES:
                yield node, f"there is no module `{module}`", _suggest_module(module)
                continue
            known = list_names(module)
            for alias in node.names:
                if alias.name != "*" and alias.name not in known:
                    hint = did_you_mean(alias.name, known)
                    yield alias, f"`{module}` has no `{alias.name}`", hint


def _walk_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the absolute imports that run and whose failure is not handled."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level):
            yield node
        elif isinstance(node, ast.Try) and any(map(_handles_imports, node.handlers)):
            for part in (*node.handlers, *node.orelse, *node.finalbody):
                yield from _walk_imports(part)
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from _walk_imports(node)


def _handles_imports(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        isinstance(part, ast.Name) and part.id in _HANDLERS for part in ast.walk(handler.type)
    )


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _suggest_module(module: str) -> str:
    return did_you_mean(module, [name for name in MODULES if name.count(".") == module.count(".")])


def _find_column(snippet: Snippet, line: int, offset: int) -> int | None:
    """Return the column in the author's file, where YAML blocks are indented; None if unknown."""
    text = snippet.text.splitlines()[line - snippet.line].rstrip()
    try:
        with Path(snippet.path).open(encoding="utf-8") as file:
            source_line = next(islice(file, line - 1, None), "").rstrip()
    except (OSError, ValueError):  # a document that was not read from a file
        return None
    if not source_line.endswith(text):  # a placeholder in the line was replaced
        return None
    return len(source_line) - len(text) + len(text.encode()[:offset].decode()) + 1


@cache
def _has_real_package() -> bool:
    return PathFinder.find_spec(_PACKAGE) is not None


def _is_beside(path: str) -> bool:
    folder = Path(path).parent
    return not path.startswith("<") and (
        (folder / _PACKAGE).is_dir() or (folder / f"{_PACKAGE}.py").is_file()
    )
