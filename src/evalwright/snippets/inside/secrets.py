"""Insert secrets into the strings of an author's code, in the process that runs it.

The source text is not changed, so tracebacks show the placeholder, never the value.
"""

import ast
from collections.abc import Sequence
from typing import Any


def fill_secrets(text: str, path: str, secrets: Sequence[Sequence[str]]) -> ast.Module:
    """Parse the code and replace each placeholder in its strings with the secret."""
    tree = ast.parse(text, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            node.value = _replace_all(node.value, secrets)
    return tree


def _replace_all(value: Any, secrets: Sequence[Sequence[str]]) -> Any:
    for placeholder, secret in secrets:
        if isinstance(value, bytes):
            value = value.replace(placeholder.encode(), secret.encode("utf-8", "surrogateescape"))
        else:
            value = value.replace(placeholder, secret)
    return value
