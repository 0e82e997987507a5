"""`evalwright init`."""

from pathlib import Path
from shlex import quote

import click

from evalwright import api
from evalwright.cli.output import write_json
from evalwright.report.messages import print_message


@click.command()
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the list of written files as JSON.")
def command(directory: str, *, as_json: bool) -> None:
    """Create a small example project.

    Writes a run file with eight example tasks, their datasets and a model that works offline. Also
    writes JSON Schemas for your editor and ten task records, two per category. Never changes
    existing files.
    """
    written = api.init(directory)
    if as_json:
        write_json({"folder": directory, "files": [str(path) for path in written]})
        return
    folder = Path(directory)
    tasks = sum(path.parent == folder / "tasks" and path.suffix == ".yaml" for path in written)
    print_message(f"wrote {folder / 'run.yaml'} and {tasks} example tasks")
    print_message(f"wrote {folder / 'tasks.jsonl'}")
    print_message("next:")
    if folder != Path():
        print_message(f"  cd {quote(directory)}")
    models = "-m scripted/oracle -m scripted/noisy"
    for line in ("run run.yaml", "task test capitals", f"run tasks.jsonl {models}"):
        print_message(f"  evalwright {line}")
