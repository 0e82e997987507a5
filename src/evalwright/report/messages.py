"""Print messages for people on stderr: nothing in them acts on the terminal.

A message that cannot be written, because the terminal was closed or the disk is full, is dropped
with all that follow: it must not end the work that it is about.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TextIO

import click

from evalwright.text.visible import visible


def print_message(text: str) -> None:
    """Print a message; on a terminal it wraps at words, under its own indent."""
    text = visible(text)
    width = get_terminal_size().columns
    if len(text) > width and sys.stderr.isatty():
        from evalwright.report.layout import wrap_lines

        text = "\n".join(wrap_lines(text, width))
    write_message(f"{text}\n")


def write_message(text: str, *, color: bool | None = None) -> None:
    """Write a text to stderr as it is."""
    with drop_unwritable_messages():
        click.echo(text, nl=False, err=True, color=color)


@contextmanager
def drop_unwritable_messages() -> Iterator[None]:
    """Drop this message and all that follow if stderr cannot be written."""
    try:
        yield
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send what is written to a stream to nowhere, and what it has buffered."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
