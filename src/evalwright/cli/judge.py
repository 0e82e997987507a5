"""`evalwright judge`."""

import sys
from typing import TYPE_CHECKING, Any

import click

from evalwright import api
from evalwright.api.judging import PROBES
from evalwright.cli.entities import Verbs, json_option
from evalwright.cli.printing import store_option
from evalwright.cli.progress import Progress
from evalwright.cli.projects import env_option, settings_of, value_options
from evalwright.cli.stdout import write_json, write_lines
from evalwright.report.amounts import dollars

if TYPE_CHECKING:
    from evalwright.report.judges import JudgeCheck

command = Verbs(
    help="Check how far a judge can be trusted.\n\n"
    "A judge is a model that a scorer asks for its verdict on an answer."
)


@command.command("check")
@click.argument("run", metavar="RUN")
@click.option("--labels", metavar="FILE", help="Labels of people: .csv, .jsonl, .json, .parquet.")
@click.option(
    "--id-column",
    metavar="NAME",
    default="sample_id",
    show_default=True,
    help="The column with the ids of samples.",
)
@click.option(
    "--label-column",
    metavar="NAME",
    default="label",
    show_default=True,
    help="The column with the labels.",
)
@click.option("--column", metavar="NAME", help="Labels in this column of the dataset instead.")
@click.option("--task", metavar="KEY", help="The judge of this task specification.")
@click.option("--scorer", metavar="KEY", help="The judge of this key.")
@click.option("--model", metavar="MODEL", help="Only its verdicts on the answers of this model.")
@click.option(
    "--probe",
    "probes",
    multiple=True,
    type=click.Choice([*PROBES, "all"]),
    help="Judge again with something changed that should not matter. Several, or `all`.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Verdicts a sample, that of the run among them: does it agree with itself?",
)
@click.option(
    "-n",
    "--samples",
    metavar="N",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many samples to judge again, chosen at random but always the same.",
)
@value_options
@env_option
@click.option("--concurrency", metavar="N", type=click.IntRange(min=1), help="Samples at once.")
@click.option("--cache", is_flag=True, help="Keep replies, and answer equal requests from them.")
@click.option(
    "--max-cost",
    metavar="DOLLARS",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop when this much is spent.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap."
)
@store_option
@json_option
def check(  # noqa: PLR0913 - one option each
    run: str,
    *,
    labels: str | None,
    id_column: str,
    label_column: str,
    column: str | None,
    task: str | None,
    scorer: str | None,
    model: str | None,
    probes: tuple[str, ...],
    repeat: int,
    samples: int,
    settings: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Compare a judge with people, and see what makes it change its mind.

    RUN is an id, the start of one, or `latest`. With --labels or --column the verdicts of the run
    are compared with labels that people gave: nothing is asked. With --probe and --repeat the judge
    is asked again about some of the samples: swap turns the order of what it is shown, pad makes
    answers longer, fence marks them as data. What is found is kept with the run, and reports of
    runs with the same judge say it. Exit 0, 3 if the judge gave no verdict on some, 130 if
    interrupted.
    """
    progress = Progress()
    found = api.judge_check(
        run,
        api.Check(
            labels=labels,
            id_column=id_column,
            label_column=label_column,
            column=column,
            task=task,
            scorer=scorer,
            model=model,
            probes=PROBES if "all" in probes else tuple(dict.fromkeys(probes)),
            repeat=repeat,
            samples=samples,
        ),
        watch=progress,
        settings=settings_of(settings),
        **{name: value for name, value in options.items() if value is not None},
    )
    if as_json:
        write_json(found)
    else:
        from evalwright.report.judge_lines import check_lines

        write_lines(check_lines(found))
        _say(found)
    sys.exit(130 if progress.interrupted else _exit_code(found))


def _say(found: "JudgeCheck") -> None:
    cost = f", {dollars(found.cost)}" if found.cost else ""
    asked = f"{found.calls:,} calls{cost}; " if found.calls else ""
    kept = f"kept with run {found.run_id}" if found.kept else "not kept"
    click.echo(f"{asked}{kept}", err=True)


def _exit_code(found: "JudgeCheck") -> int:
    failed = sum(one.failed for one in found.probes)
    failed += found.repeats.failed if found.repeats else 0
    return 3 if failed or not found.kept else 0
