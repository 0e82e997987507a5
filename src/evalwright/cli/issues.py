"""What `validate` and `lint` share: writing issues as they are found, and the line at the end."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from io import TextIOWrapper
from itertools import islice
from typing import Any

import click

from evalwright.spec.checking import Checking

FORMATS = ("text", "json", "github", "junit")
_COLOURS: dict[str, dict[str, Any]] = {
    "place": {"bold": True},
    "rule": {"fg": "red"},
    "caret": {"fg": "green", "bold": True},
}
_BATCH = 1000


def format_options(function: Any) -> Any:
    """`--format` and `--json`."""
    choice = click.Choice(FORMATS)
    form = click.option("--format", "form", type=choice, default="text", show_default=True)
    as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
    return form(as_json(function))


def write(checks: Iterable[Checking], form: str) -> None:
    """Write every issue to stdout, in batches: one write a line would cost more than the check."""
    renderer = import_module(f"evalwright.report.issues.to_{form}")
    colour = form == "text" and _wants_colour()
    pieces: Iterator[str] = (
        renderer.render(checks, style=_coloured) if colour else renderer.render(checks)
    )
    out = sys.stdout
    if isinstance(out, TextIOWrapper):
        if form == "text":
            out.reconfigure(errors="replace")  # a terminal that cannot show a character shows `?`
        else:
            out.reconfigure(encoding="utf-8", errors="surrogateescape")  # machines read UTF-8
    while batch := "".join(islice(pieces, _BATCH)):
        out.write(batch)
    out.flush()


def unreadable(checks: Sequence[Checking]) -> bool:
    """Say which files could not be read; whether there are any."""
    bad = [check.unreadable for check in checks if check.unreadable]
    for error in bad:
        click.echo(f"evalwright: {error}", err=True)
    return bool(bad)


def by_rule(checks: Iterable[Checking]) -> str:
    """`bad_json 2, bad_value 1`, most frequent first."""
    total: dict[str, int] = {}
    for check in checks:
        for rule, count in check.rules.items():
            total[rule] = total.get(rule, 0) + count
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{rule} {count}" for rule, count in ordered)


def counted(n: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _wants_colour() -> bool:
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _coloured(text: str, kind: str) -> str:
    return click.style(text, **_COLOURS[kind])
