"""`evalwright secret`."""

import sys

import click

from evalwright import api
from evalwright.cli.output import write_json
from evalwright.report.messages import print_message
from evalwright.text.visible import visible


@click.group()
def command() -> None:
    """Manage the secrets stored on this machine.

    A document refers to a secret as `<< secrets.NAME >>`. Its value comes from `secrets:` in the
    documents, from the environment variable NAME, or from this store: .evalwright/secrets.json in
    the current folder, which only you can read. Values are never printed.
    """


@command.command("set")
@click.argument("name", metavar="NAME")
def set_command(name: str) -> None:
    """Store a secret.

    On a terminal, prompts for the value without showing it. Otherwise, reads the value from
    standard input: `evalwright secret set NAME < FILE`.
    """
    if sys.stdin.isatty():
        value = click.prompt(f"Value of {name}", hide_input=True, err=True)
    else:
        value = sys.stdin.read().rstrip("\r\n")
    print_message(f"stored {name} in {api.set_secret(name, value)}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of names.")
def list_command(*, as_json: bool) -> None:
    """List the names of the stored secrets."""
    names = api.list_secrets()
    if as_json:
        write_json(names)
        return
    for name in names:
        click.echo(visible(name))


@command.command("delete")
@click.argument("name", metavar="NAME")
def delete_command(name: str) -> None:
    """Delete a stored secret."""
    api.delete_secret(name)
    print_message(f"deleted {name}")
