"""`csv`: a header, then one row an outcome. RFC 4180: CRLF between rows, quotes where needed.

An outcome that has parts is one row a part. A newline inside a text stays what it is, inside
quotes. What is not known is an empty cell. Metadata is JSON.

Does not:   disarm a text that a spreadsheet would take for a formula (`=…`): what a model said is
            written as it was said.
"""

import re
from collections.abc import Iterable
from typing import BinaryIO

from evalwright.report.export.rows import Layout, Read

_TO_QUOTE = re.compile('[",\r\n]').search


def write(read: Read, out: BinaryIO) -> int:
    """Write every outcome; how many there were."""
    layout = Layout(read())
    count = 0
    out.write(_row(column.name for column in layout.columns))
    for outcome in read():
        out.writelines(_row(cells) for cells in layout.rows(outcome))
        count += 1
    return count


def _row(cells: Iterable[str | float | None]) -> bytes:
    # The writer of the standard library looks at one character after another: four times slower.
    return f"{','.join(map(_cell, cells))}\r\n".encode()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    return '"{}"'.format(value.replace('"', '""')) if _TO_QUOTE(value) else value
