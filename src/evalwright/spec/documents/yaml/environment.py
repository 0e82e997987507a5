"""Environment variables in documents, and `.env` files.

    api_key: $OPENAI_API_KEY       expanded: the string starts with `$` and has no spaces
    url: ${BASE}/v1                also expanded
    note: costs $FIVE              left unchanged

If a variable is set more than once, a file given with `--env FILE` takes precedence over the
environment of the process, which takes precedence over the `.env` file in the current folder.

Messages never contain values, because they are often keys.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from evalwright.components import Authored
from evalwright.lines import show_path
from evalwright.spec.documents.yaml.problems import Fault, Place, locate_fault
from evalwright.spec.documents.yaml.text_files import Mistake, read_text
from evalwright.types import Issue

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*", re.ASCII)
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:\#.*)?""")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class ExpandedText(Authored):
    """Text from the environment. Messages show the variable, never its value."""

    __slots__ = ("names", "variable")

    names: tuple[str, ...]
    """Names of the variables."""
    variable: str
    """Text as written, with `$`."""

    @classmethod
    def of(cls, written: Authored, text: str, names: tuple[str, ...]) -> Self:
        """Return the expanded text with the place of the original."""
        expanded = cls(text, file=written.file, line=written.line)
        expanded.names = names
        expanded.variable = str(written)
        return expanded


def expand_variables(
    written: Authored, environment: Mapping[str, str]
) -> tuple[Authored, list[str]]:
    """Return the text with expanded variables, and the names of unset variables.

    If a variable is unset, the text is left unchanged.
    """
    if not written.startswith("$") or any(map(str.isspace, written)):
        return written, []
    names = [braced or bare for braced, bare in _VARIABLE.findall(written)]
    if unset := [name for name in dict.fromkeys(names) if name not in environment]:
        return written, unset
    if not names:
        return written, []
    text = _VARIABLE.sub(lambda match: environment[match[1] or match[2]], written)
    return ExpandedText.of(written, text, tuple(names)), []


def read_env_file(path: str | os.PathLike[str]) -> tuple[dict[str, str], list[Issue]]:
    r"""Return the variables in a `.env` file, and a warning for every invalid line.

    Supports `KEY=value`, `export KEY=value`, `KEY='unchanged'` and `KEY="with \n escapes"`. `#`
    starts a comment at the start of a line or after a space. A quoted value must end on the same
    line.
    """
    read = read_text(os.fspath(path), takes_pipes=True)
    if isinstance(read, Mistake):
        file = show_path(path)
        fault = Fault((), read.rule, read.detail, read.hint)
        return {}, [locate_fault(fault, Place(file, read.line))]
    variables: dict[str, str] = {}
    problems: list[Issue] = []
    for number, line in enumerate(read.text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = None if match is None else _parse_value(match[2])
        if match is None or value is None:
            detail = "expected `NAME=value`; the line is skipped"  # the line may contain a key
            hint = "close the quotes" if match else ""
            fault = Fault((), "bad_env_line", detail, hint, "warning")
            problems.append(locate_fault(fault, Place(show_path(read.shown), number)))
        else:
            variables[match[1]] = value
    return variables, problems


def load_environment(
    env_files: Iterable[str | os.PathLike[str]] = (),
    base: Mapping[str, str] | None = None,
    *,
    folder: str | os.PathLike[str] = ".",
) -> tuple[dict[str, str], list[Issue]]:
    """Return the environment for documents, and problems in its files.

    The sources are, in increasing precedence: the `.env` file in the folder, `base` (by default the
    environment of the process), and the files in order. A file that cannot be read is an error.
    """
    variables: dict[str, str] = {}
    problems: list[Issue] = []
    own = Path(folder) / ".env"
    if own.is_file():
        variables, problems = read_env_file(own)
    variables |= os.environ if base is None else base
    for file in env_files:
        more, wrong = read_env_file(file)
        variables |= more
        problems += wrong
    return variables, problems


def _parse_value(written: str) -> str | None:
    if written[:1] in {"'", '"'}:
        if (quoted := _QUOTED.fullmatch(written)) is None:
            return None
        if quoted[1] is not None:
            return quoted[1]
        return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), quoted[2])
    return _COMMENT.sub("", written).rstrip()
