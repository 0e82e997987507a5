"""`evalwright show`."""

from itertools import chain
from typing import Any

import click

from evalwright import api
from evalwright.cli.options import json_option, store_option
from evalwright.cli.output import write_json_list, write_lines, write_result
from evalwright.report.export import outcome_row
from evalwright.report.runs import run_lines, sample_lines


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.argument("sample_id", metavar="[SAMPLE_ID]", required=False)
@click.option("--model", metavar="MODEL", help="Show only outcomes of this model.")
@click.option("--task", metavar="NAME", help="Show only outcomes of this task.")
@click.option("--failed", is_flag=True, help="Show only failed outcomes.")
@click.option("--wrong", is_flag=True, help="Show only wrong answers.")
@store_option
@json_option
def command(
    run: str, sample_id: str | None, *, failed: bool, store: str | None, as_json: bool, **more: Any
) -> None:
    """Show the details of a run or the outcomes of its samples.

    RUN is an id or the start of one, a name, a tag (KEY=VALUE), or `latest`, the default. On its
    own it shows what was run: content hashes of the task files, models, versions, seed, platform,
    git commit. With SAMPLE_ID, --model, --task, --failed or --wrong it shows outcomes: input,
    output, post-processed output, scores and the reason for each.
    """
    if not (sample_id or failed or any(more.values())):
        listed = api.show_run(run, store)
        write_result(listed, run_lines(listed), as_json=as_json)
        return
    samples = api.show_samples(run, sample_id, store, failed=failed or None, **more)
    if as_json:
        write_json_list(map(outcome_row, samples))
    else:
        write_lines(chain.from_iterable(map(sample_lines, samples)))
