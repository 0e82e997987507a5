"""`evalwright judge`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.output import write_result
from evalwright.judge_check.options import PROBES
from evalwright.report.messages import print_message
from evalwright.report.tables import dollars
from evalwright.session.terminal_progress import TerminalProgress

command = shared.OrderedGroup(
    help="Measure how reliable a judge model is.\n\n"
    "A judge is a model that a scorer asks to grade answers."
)


@command.command("check")
@click.argument("run", metavar="RUN")
@click.option("--labels", metavar="FILE", help="Human labels: .csv, .jsonl, .json or .parquet.")
@click.option(
    "--id-column",
    metavar="NAME",
    default="sample_id",
    show_default=True,
    help="Column with the sample ids.",
)
@click.option(
    "--label-column",
    metavar="NAME",
    default="label",
    show_default=True,
    help="Column with the labels.",
)
@click.option("--column", metavar="NAME", help="Take the labels from this dataset column.")
@click.option("--task", metavar="KEY", help="Check the judge in this task specification.")
@click.option("--scorer", metavar="KEY", help="Check the judge with this scorer key.")
@click.option("--model", metavar="MODEL", help="Use only verdicts on this model's answers.")
@click.option(
    "--probe",
    "probes",
    multiple=True,
    type=click.Choice([*PROBES, "all"]),
    help="Judge again with a change that should not affect verdicts. Repeatable; `all` runs every "
    "probe.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Verdicts per sample, including the run's, to test whether the judge agrees with itself.",
)
@shared.samples_option(
    "--samples",
    default=50,
    about="Number of samples to judge again, drawn at random with a fixed seed.",
)
@click.option(
    "--next",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Propose N unlabeled samples to label next, drawn at random with a fixed seed.",
)
@shared.value_options
@shared.env_option
@shared.concurrency_option("Number of samples to judge at once.")
@shared.cache_option
@shared.max_cost_option("Stop when this many dollars are spent.")
@shared.seed_option
@shared.store_option
@shared.json_option
def check(
    run: str, *, probes: tuple[str, ...], settings: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Compare a judge with human labels, and test what changes its verdicts.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest`. With --labels or
    --column, the run's verdicts are compared with human labels, and the mean score is corrected
    with them; no model is queried. With --probe or --repeat, the judge is queried again about some
    samples: `swap` reverses the order of the items it is shown, `pad` makes answers longer, `fence`
    marks answers as data. The result is stored with the run and shown in reports on runs with the
    same judge. Exits with status 0 on success, 3 if the judge gave no verdict for some samples, 130
    if interrupted.
    """
    progress = TerminalProgress()
    own_names = options.keys() & {*api.JudgeCheckOptions.__struct_fields__}
    result = api.judge_check(
        run,
        api.JudgeCheckOptions(
            probes=PROBES if "all" in probes else tuple(dict.fromkeys(probes)),
            **{name: options.pop(name) for name in own_names},
        ),
        progress=progress,
        settings=shared.parse_settings(settings),
        **{name: value for name, value in options.items() if value is not None},
    )
    write_result(result, api.render_judge_check(result), as_json=as_json)
    if not as_json:
        cost = f", {dollars(result.cost)}" if result.cost else ""
        calls = f"{result.calls:,} calls{cost}; " if result.calls else ""
        where = f"stored with run {result.run_id}" if result.kept else "not stored"
        print_message(f"{calls}{where}")
    has_failed = any(probe.failed for probe in result.probes)
    has_failed |= bool(result.repeats and result.repeats.failed)
    exit_code = 3 if has_failed or not result.kept else 0
    sys.exit(130 if progress.interrupted else exit_code)
