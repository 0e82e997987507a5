"""Print the issues that `validate`, `lint` and `gate` find, and count them."""

import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Any

import click

from evalwright.cli.output import format_count
from evalwright.report.issues import RENDERERS, render_text
from evalwright.spec.checking import Checking

_COLOURS: dict[str, dict[str, Any]] = {
    "place": {"bold": True},
    "rule": {"fg": "red"},
    "caret": {"fg": "green", "bold": True},
}
_BATCH = 1000


def write_issues(checks: Iterable[Checking], form: str) -> None:
    """Write every issue to stdout, in batches: a write per line would cost more than the check."""
    if form == "text" and _wants_colour():
        pieces = render_text(checks, style=_colour)
    else:
        pieces = RENDERERS[form](checks)
    out = sys.stdout
    if isinstance(out, TextIOWrapper):
        if form == "text":
            out.reconfigure(errors="replace")  # a terminal that cannot show a character shows `?`
        else:
            out.reconfigure(encoding="utf-8", errors="surrogateescape")  # machines read UTF-8
    while batch := "".join(islice(pieces, _BATCH)):
        out.write(batch)
    out.flush()


def report_unreadable(checks: Sequence[Checking]) -> bool:
    """Print which files could not be read; return whether there are any."""
    errors = [check.unreadable for check in checks if check.unreadable]
    for error in errors:
        click.echo(f"evalwright: {error}", err=True)
    return bool(errors)


def report_warnings(checks: Iterable[Checking]) -> None:
    """Print the warnings, each at its place."""
    for check in checks:
        for issue in check.warnings:
            click.echo(f"warning: {check.file}:{issue.line}: {issue.detail}", err=True)


def count_by_rule(checks: Iterable[Checking]) -> str:
    """Return `bad_json 2, bad_value 1`, most frequent first."""
    total: dict[str, int] = {}
    for check in checks:
        for rule, count in check.rules.items():
            total[rule] = total.get(rule, 0) + count
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{rule} {count}" for rule, count in ordered)


def count_by_noun(checks: Iterable[Checking], adjective: str = "") -> str:
    """Return `3 records`, `2 documents`, or both: how many are valid."""
    totals: dict[str, int] = {}
    for check in checks:
        totals[check.noun] = totals.get(check.noun, 0) + check.valid
    return ", ".join(format_count(count, adjective + noun) for noun, count in totals.items())


def _wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _colour(text: str, kind: str) -> str:
    return click.style(text, **_COLOURS[kind])
