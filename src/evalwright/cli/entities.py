"""The verbs that `task`, `dataset`, `generator`, `model`, `adapter` and `eval` share: on files.

list show validate export     look
add delete                    change the folder of the project
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalwright import api
from evalwright.cli.issues import counted, format_options
from evalwright.cli.projects import env_option
from evalwright.cli.stdout import write_json, write_json_list, write_lines
from evalwright.cli.table import print_table
from evalwright.cli.validate import conclude
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.report.entities import Kind, UsedBy

Command = TypeVar("Command", bound=Callable[..., Any])


class Verbs(click.Group):
    """A group whose verbs stand in the order of a day's work."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """As they were added."""
        return list(self.commands)


def project_options(function: Command) -> Command:
    """`--project` and `--env`."""
    project = click.option(
        "--project",
        metavar="DIR",
        default=".",
        help="The folder of the project. Default: the current one.",
    )
    return project(env_option(function))


def json_option(function: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def verbs_of(kind: "Kind", about: str, more: str) -> click.Group:
    """The command of a kind of entity, with the verbs that all of them have."""
    what = api.FOLDERS[kind].replace("_", " ")
    group = Verbs(help=f"{about}\n\n{more}")
    group.add_command(_list(kind, what))
    group.add_command(_show(kind))
    group.add_command(_add(kind, what))
    group.add_command(_validate(kind, what))
    group.add_command(_export(kind))
    group.add_command(_delete(kind))
    return group


def _list(kind: "Kind", what: str) -> click.Command:
    @click.command("list", help=f"List the {what} of the project.")
    @project_options
    @json_option
    def command(*, project: str, env: tuple[str, ...], as_json: bool) -> None:
        found = api.list_entities(kind, project, env=env)
        if as_json:
            write_json_list(found)
        elif found:
            from evalwright.report.entities import COLUMNS, cells

            print_table(COLUMNS[kind], [cells(one) for one in found])
        else:
            click.echo(f"no {what} in this project", err=True)
        for one in found:
            if not one.valid:
                hint = f"`evalwright validate {one.file}`"
                click.echo(f"warning: {one.key}: has errors: {hint}", err=True)

    return command


def _show(kind: "Kind") -> click.Command:
    @click.command(
        "show", help=f"Show one {kind}: where it is, who uses it, and the document whole."
    )
    @click.argument("key", metavar="KEY")
    @project_options
    @json_option
    def command(key: str, *, project: str, env: tuple[str, ...], as_json: bool) -> None:
        shown = api.show_entity(kind, key, project, env=env)
        if as_json:
            write_json(shown)
            return
        from evalwright.report.entities import entity_lines

        write_lines(entity_lines(shown))

    return command


def _add(kind: "Kind", what: str) -> click.Command:
    @click.command(
        "add",
        help=f"Check documents, and put them into the project.\n\nEach FILE (globs are fine) is "
        f"copied to {api.FOLDERS[kind]}/, with the files that it includes or refers to in the same "
        "relative places. If one is not valid, nothing is changed. Exit 1 then.",
    )
    @click.argument("files", nargs=-1, metavar="FILE...", required=kind != "model")
    @click.option("--update", is_flag=True, help=f"Replace {what} that are there already.")
    @project_options
    @json_option
    def command(
        files: tuple[str, ...],
        *,
        update: bool,
        project: str,
        env: tuple[str, ...],
        as_json: bool,
        provider: str | None = None,
    ) -> None:
        if not files and not provider:
            raise UsageError("no FILE was given", hint="evalwright model add --help")
        added = api.add_entities(kind, files, project, update=update, env=env) if files else []
        if provider:
            added.append(api.add_provider(provider, project))
        if as_json:
            write_json_list(added)
            return
        for one in added:
            files_of = f": {', '.join(one.files)}" if one.files else ""
            click.echo(f"{one.status} {one.kind} `{one.key}`{files_of}", err=True)
            for warning in one.warnings:
                click.echo(f"warning: {warning}", err=True)

    if kind == "model":
        option = click.Option(
            ["-p", "--provider"], metavar="PROVIDER/MODEL", help="Add a provider's model by name."
        )
        command.params.insert(1, option)
    return command


def _validate(kind: "Kind", what: str) -> click.Command:
    @click.command(
        "validate",
        help=f"Point out every mistake in {what}.\n\nNAME is a key or a file; without one, all "
        f"{what} of the project are checked. Exit 0 if all of it is valid, 1 if not.",
    )
    @click.argument("names", nargs=-1, metavar="[NAME...]")
    @project_options
    @format_options
    def command(
        names: tuple[str, ...], *, project: str, env: tuple[str, ...], form: str, as_json: bool
    ) -> None:
        checks = api.check_entities(kind, names, project, env=env)
        conclude(checks, "json" if as_json else form)

    return command


def _export(kind: "Kind") -> click.Command:
    @click.command(
        "export",
        help=f"Write one {kind} as a single YAML document.\n\nWhat it includes or refers to is in "
        "it; keys and other secrets are masked. Paths of data lead from where it is written.",
    )
    @click.argument("key", metavar="KEY")
    @click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to FILE, not to stdout.",
    )
    @project_options
    @json_option
    def command(
        key: str, *, output: Path | None, project: str, env: tuple[str, ...], as_json: bool
    ) -> None:
        if output is not None and output.exists():
            raise UsageError(f"{output}: already there, and left as it is", hint="name a new file")
        folder = str(output.parent) if output else "."
        document = api.export_entity(kind, key, project, env=env, folder=folder)
        if output is None and as_json:
            write_json(document)
            return
        from evalwright.report.yaml_text import to_yaml

        text = to_yaml(document)
        if output is None:
            write_lines([text.rstrip("\n")])
            return
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise UsageError(f"{output}: cannot be written: {why}") from error
        if as_json:
            write_json({"key": key, "file": str(output)})
        else:
            click.echo(f"wrote {output}", err=True)

    return command


def _delete(kind: "Kind") -> click.Command:
    @click.command(
        "delete",
        help=f"Remove the file of one {kind}.\n\nOn a terminal you are asked first; elsewhere "
        "--yes is needed. What it includes, and the files of rows, stay. In a file with others it "
        "is left, and its place is said.",
    )
    @click.argument("key", metavar="KEY")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @project_options
    @json_option
    def command(key: str, *, yes: bool, project: str, env: tuple[str, ...], as_json: bool) -> None:
        shown = api.show_entity(kind, key, project, env=env)
        api.refuse_shared(shown)
        used = [one for one in shown.used_by if one.file != shown.file]
        _warn(used)
        if not yes:
            _confirm(f"{shown.file}, the {kind} `{key}`")
        file = api.delete_entity(kind, key, project, env=env)
        if as_json:
            write_json({"key": key, "file": file, "used_by": used})
        else:
            click.echo(f"deleted {file}", err=True)

    return command


def _warn(used: "list[UsedBy]") -> None:
    if used:
        click.echo(f"warning: it is used in {counted(len(used), 'place')}:", err=True)
    for one in used:
        click.echo(f"  {one.file}:{one.line}: {one.what}", err=True)


def _confirm(what: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{what} would be gone for good", hint="add --yes if you mean it")
    click.confirm(f"delete {what}?", abort=True, err=True)
