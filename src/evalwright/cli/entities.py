"""The subcommands that `task`, `dataset`, `generator`, `model`, `adapter` and `eval` share.

list show validate export     look
add delete                    change the folder of the project
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalwright import api
from evalwright.cli.options import (
    OrderedGroup,
    issue_format_options,
    json_option,
    project_options,
)
from evalwright.cli.output import (
    format_count,
    print_table,
    write_json,
    write_json_list,
    write_lines,
    write_text,
)
from evalwright.cli.validate import report_and_exit
from evalwright.errors import UsageError
from evalwright.projects.kinds import FOLDERS, EntityKind

if TYPE_CHECKING:
    from evalwright.projects.lookup import EntityReference


def entity_group(kind: EntityKind, about: str, more: str) -> click.Group:
    """Return the command of a kind of entity, with the subcommands that all kinds have."""
    what = FOLDERS[kind].replace("_", " ")
    group = OrderedGroup(help=f"{about}\n\n{more}")
    group.add_command(_list(kind, what))
    group.add_command(_show(kind))
    group.add_command(_add(kind, what))
    group.add_command(_validate(kind, what))
    group.add_command(_export(kind))
    group.add_command(_delete(kind))
    return group


def _list(kind: EntityKind, what: str) -> click.Command:
    @click.command("list", help=f"List the {what} of the project.")
    @project_options
    @json_option
    def command(*, project: str, env: tuple[str, ...], as_json: bool) -> None:
        entities = api.list_entities(kind, project, env=env)
        if as_json:
            write_json_list(entities)
        elif entities:
            rows = [entity.table_row() for entity in entities]
            print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
        else:
            click.echo(f"no {what} in this project", err=True)
        for entity in entities:
            if not entity.valid:
                hint = f"`evalwright validate {entity.file}`"
                click.echo(f"warning: {entity.key}: has errors: {hint}", err=True)

    return command


def _show(kind: EntityKind) -> click.Command:
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
        else:
            write_lines(shown.to_lines())

    return command


def _add(kind: EntityKind, what: str) -> click.Command:
    @click.command(
        "add",
        help=f"Check documents, and put them into the project.\n\nEach FILE (globs are fine) is "
        f"copied to {FOLDERS[kind]}/, with the files that it includes or refers to in the same "
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
        for entity in added:
            written = f": {', '.join(entity.files)}" if entity.files else ""
            click.echo(f"{entity.status} {entity.kind} `{entity.key}`{written}", err=True)
            for warning in entity.warnings:
                click.echo(f"warning: {warning}", err=True)

    if kind == "model":
        option = click.Option(
            ["-p", "--provider"], metavar="PROVIDER/MODEL", help="Add a provider's model by name."
        )
        command.params.insert(1, option)
    return command


def _validate(kind: EntityKind, what: str) -> click.Command:
    @click.command(
        "validate",
        help=f"Point out every mistake in {what}.\n\nNAME is a key or a file; without one, all "
        f"{what} of the project are checked. Exit 0 if all of it is valid, 1 if not.",
    )
    @click.argument("names", nargs=-1, metavar="[NAME...]")
    @project_options
    @issue_format_options
    def command(
        names: tuple[str, ...], *, project: str, env: tuple[str, ...], form: str, as_json: bool
    ) -> None:
        checks = api.check_entities(kind, names, project, env=env)
        report_and_exit(checks, "json" if as_json else form)

    return command


def _export(kind: EntityKind) -> click.Command:
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
        text = api.to_yaml(document)
        if output is None:
            write_lines([text.rstrip("\n")])
            return
        if error := write_text(output, text):
            raise UsageError(error)
        if as_json:
            write_json({"key": key, "file": str(output)})
        else:
            click.echo(f"wrote {output}", err=True)

    return command


def _delete(kind: EntityKind) -> click.Command:
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
        api.require_own_file(kind, key, file=shown.file, line=shown.line)
        references = [one for one in shown.used_by if one.file != shown.file]
        _warn_of_references(references)
        if not yes:
            _confirm(f"{shown.file}, the {kind} `{key}`")
        file = api.delete_entity(kind, key, project, env=env)
        if as_json:
            write_json({"key": key, "file": file, "used_by": references})
        else:
            click.echo(f"deleted {file}", err=True)

    return command


def _warn_of_references(references: "list[EntityReference]") -> None:
    if references:
        click.echo(f"warning: it is used in {format_count(len(references), 'place')}:", err=True)
    for reference in references:
        click.echo(f"  {reference.file}:{reference.line}: {reference.what}", err=True)


def _confirm(what: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{what} would be gone for good", hint="add --yes if you mean it")
    click.confirm(f"delete {what}?", abort=True, err=True)
