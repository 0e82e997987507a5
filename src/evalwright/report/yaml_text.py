"""Plain values as YAML that reads as they were written: keys in their order, texts in blocks.

What is written here is read back as the same values, by YAML 1.1 and by the core schema of 1.2: a
text that either would take for a number, a date or a truth value is put in quotes.
"""

import re
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import yaml

from evalwright.text.visible import visible

_NUMBER_OF_CORE = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+")
_OTHER_ENDS = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""What YAML 1.1 takes for the end of a line, and its writer leaves as it is."""
_WIDEST = 100


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, and repeats what aliases would share."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - PyYAML's signature
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _OTHER_ENDS.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif _NUMBER_OF_CORE.fullmatch(text):
        style = "'"
    elif "'" in text and (text[0] in "'`\"" or ": " in text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: Any) -> str:
    """Return YAML, with a newline at its end."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDEST)
    return text.removesuffix("...\n")


def indent_yaml(value: Any) -> Iterator[str]:
    """Yield a value as YAML, indented below a heading."""
    yield indent(visible(to_yaml(value)).rstrip("\n"), "  ")
