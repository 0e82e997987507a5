"""Build parts of generated pages: tables, and the docstrings of fields."""

import ast
from collections.abc import Iterable


def field_docstrings(node: ast.ClassDef) -> dict[str, tuple[ast.expr, str]]:
    """Return the type of each annotated field, and the string that follows it."""
    described: dict[str, tuple[ast.expr, str]] = {}
    for here, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = " ".join(str(after.value.value).split())
            described[here.target.id] = here.annotation, text
    return described


def table(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a markdown table."""
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(names: Iterable[str]) -> str:
    """Return the names as code: `a`, `b`."""
    return ", ".join(f"`{name}`" for name in names)
