"""`evalwright init`."""

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
    click.echo(f"  evalwright validate {written}", err=True)
    click.echo(
        f"  evalwright run {written} -m scripted/oracle -m scripted/noisy --unsafe-code-exec",
        err=True,
    )
