"""`evalwright show`."""

import os
import sys
from itertools import chain, islice
from typing import Any

import click

from evalwright import api
from evalwright.cli.options import COUNT, json_option, store_option
from evalwright.cli.output import write_blocks, write_json_list, write_result
from evalwright.report.export import outcome_row
from evalwright.report.messages import print_message
from evalwright.report.runs import run_facts, sample_lines

_PAGE = 20
"""Outcomes per page."""


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.argument("sample_id", metavar="[SAMPLE_ID]", required=False)
@click.option("--model", metavar="MODEL", help="Show only this model's outcomes.")
@click.option("--task", metavar="NAME", help="Show only this task's outcomes.")
@click.option("--category", metavar="NAME", help="Show only outcomes in this category.")
@click.option("--failed", is_flag=True, help="Show only failed outcomes.")
@click.option("--wrong", is_flag=True, help="Show only wrong answers.")
@click.option(
    "--changed",
    is_flag=True,
    help="Show only outcomes whose scores differ from those in the parent run.",
)
@click.option(
    "--page",
    metavar="N",
    type=COUNT,
    help=f"Show page N ({_PAGE} outcomes per page). Default: page 1 on a terminal, otherwise all.",
)
@store_option
@json_option
def command(
    run: str,
    sample_id: str | None,
    *,
    failed: bool,
    page: int | None,
    store: str | None,
    as_json: bool,
    **more: Any,
) -> None:
    """Show the details of a run or the outcomes of its samples.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest` (the default).
    Without other arguments, shows what was run: hashes of the task files, models, versions, seed,
    platform and git commit. With SAMPLE_ID, --model, --task, --category, --failed, --wrong,
    --changed or --page, shows outcomes: input, output, post-processed output, scores and the reason
    for each score.
    """
    if not (sample_id or failed or page or any(more.values())):
        listed = api.show_run(run, store)
        write_result(listed, [run_facts(listed)], as_json=as_json)
        return
    if sample_id:  # in UTF-8, whatever the locale says
        sample_id = os.fsencode(sample_id).decode(errors="surrogateescape")
    samples = api.show_samples(run, sample_id, store, failed=failed or None, **more)
    if page is None and not as_json and sys.stdout.isatty():
        page = 1
    shown = samples if page is None else islice(samples, _PAGE * (page - 1), _PAGE * page)
    first = next(shown, None)
    found = chain([] if first is None else [first], shown)
    if as_json:
        write_json_list(map(outcome_row, found))
    else:
        write_blocks(chain.from_iterable(map(sample_lines, found)))
    if first is None:
        print_message("no matching outcomes" if page in {None, 1} else f"no page {page}")
    elif page is not None and next(samples, None) is not None:
        print_message(f"more outcomes: add --page {page + 1}")
