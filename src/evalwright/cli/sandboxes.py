"""The options of every command that runs programs."""

from typing import Any

import click

_UNSAFE = """Where no sandbox is available, run programs in a plain child process: no isolation \
from your files or network."""


def sandbox_options(function: Any) -> Any:
    """`--in-process-targets`, `--sandbox-package` and `--unsafe-code-exec`."""
    in_process = click.option(
        "--in-process-targets",
        is_flag=True,
        help="Judge a program in its own process: faster, but it could forge its verdict.",
    )
    packages = click.option(
        "--sandbox-package",
        "sandbox_packages",
        multiple=True,
        metavar="NAME",
        help="An installed package that programs may import; repeat for more.",
    )
    unsafe = click.option("--unsafe-code-exec", is_flag=True, help=_UNSAFE)
    return in_process(packages(unsafe(function)))
