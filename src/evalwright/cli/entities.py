"""The subcommands that `task`, `dataset`, `generator`, `model`, `adapter` and `eval` share.

list show validate export     read
add delete                    change the folder of the project
"""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.issues import report_and_exit
from evalwright.cli.options import OrderedGroup, issue_format_options, json_option, project_options
from evalwright.cli.output import (
    confirm_deletion,
    format_count,
    print_list,
    write_bytes,
    write_json,
    write_json_list,
    write_result,
    write_text,
)
from evalwright.errors import UsageError
from evalwright.projects.kinds import FOLDERS, EntityKind
from evalwright.report.messages import print_message


def entity_group(kind: EntityKind, about: str, more: str) -> click.Group:
    """Return the command for a kind of entity, with the subcommands that all kinds share."""
    group = OrderedGroup(help=f"{about}\n\n{more}")
    for add_command in (_list, _show, _add, _validate, _export, _delete):
        add_command(group, kind)
    return group


def _plural(kind: EntityKind) -> str:
    return FOLDERS[kind].replace("_", " ")


def _list(group: click.Group, kind: EntityKind) -> None:
    @group.command("list", help=f"List the project's {_plural(kind)}.")
    @project_options
    @json_option
    def command(*, as_json: bool, **place: Any) -> None:
        entities = api.list_entities(kind, **place)
        if entities or as_json:
            rows = [entity.table_row() for entity in entities]
            columns = tuple(rows[0]) if rows else ()
            cells = (tuple(row.values()) for row in rows)
            print_list(entities, columns, cells, as_json=as_json)
        else:
            print_message(f"no {_plural(kind)} in this project")
        for entity in entities:
            if not entity.valid:
                hint = f"`evalwright validate {entity.file}`"
                print_message(f"warning: `{entity.key}` has errors; see {hint}")


def _show(group: click.Group, kind: EntityKind) -> None:
    @group.command(
        "show", help=f"Show one {kind}: its file, where it is used and its full document."
    )
    @click.argument("key", metavar="KEY")
    @project_options
    @json_option
    def command(key: str, *, as_json: bool, **place: Any) -> None:
        entity = api.show_entity(kind, key, **place)
        write_result(entity, entity.to_blocks(), as_json=as_json)


def _add(group: click.Group, kind: EntityKind) -> None:
    @group.command(
        "add",
        help=f"Check documents and copy them into the project.\n\nEach FILE (globs are allowed) is "
        f"copied to {FOLDERS[kind]}/, together with the files that it includes or refers to. If "
        "any document is invalid, nothing is changed and the exit status is 1.",
    )
    @click.argument("files", nargs=-1, metavar="FILE...", required=kind != "model")
    @click.option("--update", is_flag=True, help=f"Replace {_plural(kind)} that already exist.")
    @project_options
    @json_option
    def command(
        files: tuple[str, ...], *, as_json: bool, provider: str | None = None, **options: Any
    ) -> None:
        if not files and not provider:
            raise UsageError("FILE is missing", hint="evalwright model add --help")
        added = api.add_entities(kind, files, **options) if files else []
        if provider:
            added.append(api.add_provider(provider, options["project"]))
        if as_json:
            write_json_list(added)
            return
        for entity in added:
            written = f": {', '.join(entity.files)}" if entity.files else ""
            print_message(f"{entity.status} {entity.kind} `{entity.key}`{written}")
            for warning in entity.warnings:
                print_message(f"warning: {warning}")

    if kind == "model":
        option = click.Option(
            ["-p", "--provider"], metavar="PROVIDER/MODEL", help="Add a provider's model by name."
        )
        command.params.insert(1, option)


def _validate(group: click.Group, kind: EntityKind) -> None:
    @group.command(
        "validate",
        help=f"Report every error in {_plural(kind)}.\n\nNAME is a key or a file. Without it, all "
        f"the project's {_plural(kind)} are checked. Exits with status 0 if all are valid, 1 if "
        "not.",
    )
    @click.argument("names", nargs=-1, metavar="[NAME...]")
    @project_options
    @issue_format_options
    def command(names: tuple[str, ...], *, form: str, as_json: bool, **place: Any) -> None:
        report_and_exit(api.check_entities(kind, names, **place), "json" if as_json else form)


def _export(group: click.Group, kind: EntityKind) -> None:
    @group.command(
        "export",
        help=f"Export one {kind} as a single YAML document.\n\nThe document contains everything "
        f"that the {kind} includes or refers to; secrets are masked. Data paths are relative to "
        "the output file.",
    )
    @click.argument("key", metavar="KEY")
    @click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to FILE instead of standard output.",
    )
    @project_options
    @json_option
    def command(key: str, *, output: Path | None, as_json: bool, **place: Any) -> None:
        if output is not None and output.exists():
            raise UsageError(
                f"{output}: already exists and was not changed", hint="choose a new file name"
            )
        folder = str(output.parent) if output else "."
        document = api.export_entity(kind, key, folder=folder, **place)
        if output is None and as_json:
            write_json(document)
            return
        text = api.to_yaml(document)
        if output is None:
            write_bytes([text.encode()])
            return
        if error := write_text(output, text):
            raise UsageError(error)
        if as_json:
            write_json({"key": key, "file": str(output)})
        else:
            print_message(f"wrote {output}")


def _delete(group: click.Group, kind: EntityKind) -> None:
    @group.command(
        "delete",
        help=f"Delete the file that defines one {kind}.\n\nOn a terminal, asks for confirmation "
        "first; otherwise, --yes is required. Included files and data files are kept. If the file "
        f"also contains other documents, nothing is deleted, and an error shows where the {kind} "
        "is defined.",
    )
    @click.argument("key", metavar="KEY")
    @click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
    @project_options
    @json_option
    def command(key: str, *, yes: bool, as_json: bool, **place: Any) -> None:
        entity = api.show_entity(kind, key, **place)
        api.require_own_file(kind, key, file=entity.file, line=entity.line)
        references = [use for use in entity.used_by if use.file != entity.file]
        if references:
            places = format_count(len(references), "place")
            print_message(f"warning: `{key}` is used in {places}:")
        for use in references:
            print_message(f"  {use.file}:{use.line}: {use.what}")
        if not yes:
            confirm_deletion(f"{entity.file}, the {kind} `{key}`")
        file = api.delete_entity(kind, key, **place)
        if as_json:
            write_json({"key": key, "file": file, "used_by": references})
        else:
            print_message(f"deleted {file}")
