"""Recognize files that are not JSON Lines, and suggest how to convert them.

The first non-blank line determines the format. `check` reads the other lines: if they contain valid
records, the file is JSON Lines with a bad first line, and only that line is an error.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from evalwright.lines import STDIN
from evalwright.vocabulary import FIELDS

_CELL = re.compile(r"[A-Za-z_][\w-]*").fullmatch
_SEPARATORS = ",;\t"
_COLUMNS = frozenset({*FIELDS, "id", "question", "answer", "target", "label", "text", "input"})
_CSV_SUFFIXES = (".csv", ".tsv")
_PACKED = (".gz", ".zst")
_WRITE = 'python3 -c "import {modules}; [print(json.dumps({row})) for r in {rows}]"'
_WITH_TARGETS = (
    "r | {'targets': json.loads(r['targets']) if r['targets'][:1] == '[' else [r['targets']]}"
)
"""Converts cells; a `targets` cell may contain a JSON array."""


class OtherFormat(NamedTuple):
    """The actual format of a file that is not JSON Lines."""

    name: str
    command: str
    is_whole: bool
    """Whether the first line is the whole file; otherwise, the rest is not read."""


def recognize_format(line: bytes, path: str) -> OtherFormat | None:
    """Return the format of a file with this first line; None if it is JSON Lines or unknown."""
    text = line.decode(errors="replace").strip()
    if text.startswith("["):
        start, end = text[1:].lstrip()[:1], text[-1]
        if start not in {"{", ""} or end not in "[{,]":
            return None
        command = _convert("r", "json.load(sys.stdin)", path, modules="json, sys")
        return OtherFormat("a JSON array", command, is_whole=end == "]")
    is_named_csv = path.lower().endswith(_CSV_SUFFIXES) and not text.startswith("{")
    for separator in _SEPARATORS:
        cells = [cell.strip().strip('"') for cell in text.split(separator)]
        has_columns = all(map(_CELL, cells)) and not _COLUMNS.isdisjoint(cells)
        if len(cells) > 1 and (has_columns or is_named_csv):
            return OtherFormat("CSV", _convert_csv(cells, separator, path), is_whole=False)
    return None


def _convert_csv(cells: Sequence[str], separator: str, path: str) -> str:
    row = _WITH_TARGETS if "targets" in cells else "r"
    delimiter = "" if separator == "," else f", delimiter={separator!r}"
    rows = f"csv.DictReader(sys.stdin{delimiter})"
    return _convert(row, rows, path, modules="csv, json, sys")


def _convert(row: str, rows: str, path: str, *, modules: str) -> str:
    from shlex import quote  # rarely needed, and `validate` starts faster without it

    is_named = path not in {"", STDIN} and path.isprintable() and not path.endswith(_PACKED)
    source = quote(path) if is_named else "FILE"
    target = quote(str(PurePath(path).with_suffix(".jsonl"))) if is_named else "FILE.jsonl"
    if target == source:
        target = quote(f"{path}.jsonl")
    return f"{_WRITE.format(modules=modules, row=row, rows=rows)} < {source} > {target}"
