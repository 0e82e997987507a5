"""Print messages for people on stderr: nothing in them acts on the terminal."""

import sys
from shutil import get_terminal_size

import click

from evalwright.text.visible import visible


def print_message(text: str) -> None:
    """Print a message; on a terminal it wraps at words, under its own indent."""
    text = visible(text)
    width = get_terminal_size().columns
    if len(text) > width and sys.stderr.isatty():
        from evalwright.report.layout import wrap_lines

        text = "\n".join(wrap_lines(text, width))
    click.echo(text, err=True)
