"""Whether a snippet defines the function that is called: its field is named after it.

compute_scores_snippet: |      →    def compute_scores(sample): …

Does not:   look into what a snippet imports with `*`, or makes with `exec`.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from evalwright.components import Snippet
from evalwright.nearest import nearest
from evalwright.spec.documents.faults import Fault, listed
from evalwright.spec.documents.parts import located
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.values import is_stand_in

_ENDING = "_snippet"
_FILE = re.compile(r"[\w./-]+\.py")


def missing_functions(document: Any) -> Iterator[Fault]:
    """A fault for every snippet of a typed document that lacks its function."""
    for path, snippet in located(document, Snippet):
        name = str(path[-1]) if path else ""
        if name.endswith(_ENDING) and not is_stand_in(snippet.text):
            yield from _missing(snippet, name.removesuffix(_ENDING), path)


def _missing(snippet: Snippet, wanted: str, path: Path) -> Iterator[Fault]:
    names = _defined(ast.parse(snippet.text).body)
    if wanted in names or "*" in names:
        return
    functions = [name for name, is_function in names.items() if is_function]
    has = f"it defines {listed(functions)}" if functions else "it defines no function"
    close = nearest(wanted, functions)
    hint = f"rename `{close}`" if close else ""
    if _FILE.fullmatch(snippet.text.strip()):
        hint = f"to use a file, write `!include {snippet.text.strip()}`"
    detail = f"the snippet does not define `{wanted}`; {has}"
    line = snippet.line if "\n" in snippet.text else 0
    yield Fault(path, "bad_snippet", detail, hint, line=line)


def _defined(body: list[ast.stmt]) -> dict[str, bool]:
    """The names that a module has when it was run; true for those of functions."""
    found: dict[str, bool] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = True
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(part.name, False)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                found.setdefault(part.id, False)
            elif isinstance(part, ast.alias):
                found.setdefault(part.asname or part.name, False)
    return found
