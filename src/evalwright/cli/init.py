"""`evalwright init`."""

from shlex import quote

import click

from evalwright import api


@click.command()
@click.argument("directory", default=".", type=click.Path(file_okay=False))
def command(directory: str) -> None:
    """Write a small project that runs as it is.

    Ten example tasks, two of every category, as a start for your own. A file that is already
    there is never touched.
    """
    written = api.init(directory)
    click.echo(f"wrote {written}", err=True)
    click.echo("next:", err=True)
    path = quote(str(written))
    click.echo(f"  evalwright validate {path}", err=True)
    click.echo(f"  evalwright run {path} -m scripted/oracle -m scripted/noisy", err=True)
