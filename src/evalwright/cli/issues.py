"""Print the issues that `validate`, `lint` and `gate` find, and count them."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Any, NoReturn

import click

from evalwright.cli.output import format_count, terminal_width
from evalwright.report.issues import RENDERERS, render_text
from evalwright.report.messages import print_message
from evalwright.spec.checking import Checking
from evalwright.text.visible import escape_in_json, visible

_COLOURS: dict[str, dict[str, Any]] = {
    "place": {"bold": True},
    "rule": {"fg": "red"},
    "caret": {"fg": "green", "bold": True},
}
_BATCH = 1000
_FILE_NAME_BYTES = re.compile("([\udc80-\udcff]+)")


def write_issues(checks: Iterable[Checking], form: str) -> None:
    """Write every issue to stdout, in batches: a write per line would cost more than the check."""
    if form == "text" and sys.stdout.isatty():
        pieces = render_text(checks, style=_colour, width=terminal_width())
    else:
        pieces = RENDERERS[form](checks)
    out = sys.stdout
    if isinstance(out, TextIOWrapper):
        if form == "text":
            out.reconfigure(errors="replace")  # a terminal that cannot show a character shows `?`
        else:
            out.reconfigure(encoding="utf-8", errors="surrogateescape")  # machines read UTF-8
    while batch := "".join(islice(pieces, _BATCH)):
        out.write(_escape(batch, form))
    out.flush()


def _escape(text: str, form: str) -> str:
    """Write out what acts on a terminal; the bytes of a file name that is not UTF-8 stay."""
    if form == "text":
        return text  # its renderer did, and may have added colours
    if form == "json":
        escaped = escape_in_json(text.encode("utf-8", "surrogateescape"))
        return escaped.decode("utf-8", "surrogateescape")
    parts = _FILE_NAME_BYTES.split(text)
    return "".join(part if n % 2 else visible(part) for n, part in enumerate(parts))


def report_and_exit(checks: Sequence[Checking], form: str) -> NoReturn:
    """Print the issues and their number, and exit."""
    write_issues(checks, form)
    errors = sum(check.errors for check in checks)
    line = f"{count_by_noun(checks, 'valid ')}, {format_count(errors, 'error')}"
    if errors:
        line += f": {count_by_rule(checks)}"
    report_warnings(checks)
    print_message(line)
    sys.exit(2 if report_unreadable(checks) else bool(errors))


def report_unreadable(checks: Sequence[Checking]) -> bool:
    """Print which files could not be read; return whether there are any."""
    errors = [check.unreadable for check in checks if check.unreadable]
    for error in errors:
        print_message(f"evalwright: {error.message}")
    return bool(errors)


def report_warnings(checks: Iterable[Checking]) -> None:
    """Print the warnings, each with its place and its hint."""
    for check in checks:
        for issue in check.warnings:
            print_message(f"warning: {check.file}:{issue.line}: {issue.detail}")
            if issue.hint:
                print_message(f"  hint: {issue.hint}")


def count_by_rule(checks: Iterable[Checking]) -> str:
    """Return `bad_json 2, bad_value 1`, most frequent first."""
    total = Counter[str]()
    for check in checks:
        total.update(check.rules)
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{rule} {count}" for rule, count in ordered)


def count_by_noun(checks: Iterable[Checking], adjective: str = "") -> str:
    """Return `3 records`, `2 documents`, or both: how many are valid."""
    totals = Counter[str]()
    for check in checks:
        totals[check.noun] += check.valid
    return ", ".join(format_count(count, adjective + noun) for noun, count in totals.items())


def _colour(text: str, kind: str) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, **_COLOURS[kind])
