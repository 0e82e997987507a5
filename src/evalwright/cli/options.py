"""Options that several commands share, and how their values are parsed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from evalwright.errors import UsageError
from evalwright.generation_parameters import parse_parameter_value

Command = TypeVar("Command", bound=Callable[..., Any])
COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)


class Decorator(Protocol):
    """Adds options to a command."""

    def __call__(self, command: Command, /) -> Command:
        """Return the command with the options."""


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, unsorted."""
        return list(self.commands)


class SectionedCommand(click.Command):
    """A command whose help groups its options under headings."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section after another; options without a section go last."""
        records = {
            str(param.name): record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx))
        }
        sections = {
            heading: [records.pop(name) for name in names if name in records]
            for heading, names in self.sections.items()
        }
        list(sections.values())[-1].extend(records.values())
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def combine(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

    def add_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


def markdown_option(what: str) -> Decorator:
    """Return `--markdown`, which writes `what`."""
    return click.option(
        "--markdown",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"Also write the {what} to FILE as Markdown.",
    )


def samples_option(*names: str, default: int, about: str, least: int = 1) -> Decorator:
    """Return `-n`, which counts samples."""
    count = click.IntRange(min=least)
    names = ("-n", *names)
    return click.option(
        *names, metavar="N", type=count, default=default, show_default=True, help=about
    )


def concurrency_option(about: str) -> Decorator:
    """Return `--concurrency`, with the help text `about`."""
    return click.option("--concurrency", metavar="N", type=COUNT, help=about)


def max_cost_option(about: str = "Stop when this many dollars are spent.") -> Decorator:
    """Return `--max-cost`."""
    return click.option("--max-cost", metavar="DOLLARS", type=POSITIVE, help=about)


label_options = combine(
    click.option("--name", metavar="NAME", help="Name for the run; accepted wherever a run id is."),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="KEY=VALUE",
        help="Tag for the run; repeatable. `show KEY=VALUE` finds the newest run with that tag.",
    ),
)
pairing_options = combine(
    click.option(
        "--by",
        metavar="FIELD",
        default="",
        help="Also compare each group of samples: `category`, or a path in the sample.",
    ),
    click.option(
        "--cluster",
        metavar="FIELD",
        default="",
        help="Treat samples with the same value of FIELD, such as metadata.document, as dependent.",
    ),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
store_option = click.option(
    "--store",
    metavar="FILE",
    help="File in which runs are stored. Default: $EVALWRIGHT_STORE, or .evalwright/runs.db.",
)
report_options = combine(
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
    markdown_option("report"),
)
issue_format_options = combine(
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json", "github", "junit"]),
        default="text",
        show_default=True,
        help="Output format.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Same as --format json."),
)


def _allow_includes(context: click.Context, _: click.Parameter, folders: tuple[str, ...]) -> None:
    if folders:
        from evalwright.spec.documents.yaml.text_files import allow_includes_below

        context.with_resource(allow_includes_below(folders))


env_option = combine(
    click.option(
        "--env",
        multiple=True,
        metavar="FILE",
        help="File with variables for `$NAME` in documents; overrides the environment and .env.",
    ),
    click.option(
        "--include-root",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        expose_value=False,
        callback=_allow_includes,
        help="Folder outside the project from which documents may include files; repeatable.",
    ),
)
project_option = click.option(
    "--project",
    metavar="DIR",
    default=".",
    help="Project folder. Default: the current folder.",
)
project_options = combine(project_option, env_option)
value_options = combine(
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a parameter of the evaluation or its tasks.",
    ),
    click.option("--config", metavar="FILE", help="YAML file with `config` and `run_config`."),
)
model_options = combine(
    click.option(
        "-m",
        "--model",
        "models",
        multiple=True,
        metavar="MODEL",
        help="Model to evaluate: provider/model, provider/model?NAME=VALUE with generation "
        "parameters of its own, or provider/model@URL. Repeat to compare models.",
    ),
    click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Generation parameter, such as temperature=0; VALUE is JSON or text. "
        "extra.NAME=VALUE is sent without checks.",
    ),
)
sandbox_options = combine(
    click.option(
        "--in-process-targets",
        is_flag=True,
        help="Run targets inside the program's process. Faster, but programs could fake results.",
    ),
    click.option(
        "--require-verified",
        is_flag=True,
        help="Count a pass as a failure if it cannot be verified from outside the program's "
        "process.",
    ),
    click.option(
        "--sandbox-package",
        "sandbox_packages",
        multiple=True,
        metavar="NAME",
        help="Installed package that programs may import; repeatable.",
    ),
    click.option(
        "--unsafe-code-exec",
        is_flag=True,
        help="If no sandbox is available, run programs without one, with access to your files "
        "and network.",
    ),
)
no_snippets_option = click.option(
    "--no-snippets", is_flag=True, help="Reject projects that contain Python code."
)
snippet_timeout_option = click.option(
    "--snippet-timeout",
    metavar="SECONDS",
    type=POSITIVE,
    default=60.0,
    show_default=True,
    help="Time limit for each call to a project's Python code.",
)
retries_option = click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Number of retries after a temporary error.",
)
prices_option = click.option(
    "--prices", metavar="FILE", help="TOML file with model prices, in dollars per million tokens."
)
cache_option = click.option(
    "--cache", is_flag=True, help="Cache model replies and reuse them for identical requests."
)
durable_option = click.option(
    "--durable",
    is_flag=True,
    help="Sync to disk at every commit to survive a power failure. Slower.",
)
seed_option = click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed for the bootstrap.",
)
statistics_options = combine(
    seed_option,
    click.option(
        "--bins",
        metavar="N",
        type=click.IntRange(1, 100),
        default=10,
        show_default=True,
        help="Number of bins for the expected calibration error (ECE).",
    ),
    click.option(
        "--calibrate",
        is_flag=True,
        help="Fit a temperature to the confidences of half the answers and test it on the rest.",
    ),
)


def parse_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parse the values of `--set`; they stay text until the type of the parameter is known."""
    return dict(_split_pair(pair, option="--set", form="KEY=VALUE") for pair in pairs)


def parse_tags(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parse the values of `--tag`."""
    return dict(_split_pair(pair, option="--tag", form="KEY=VALUE") for pair in pairs)


def parse_parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Parse the values of `-p`: each is JSON if it parses as JSON, otherwise text."""
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, value = _split_pair(pair, option="-p", form="NAME=VALUE")
        parameters[name] = parse_parameter_value(value)
    return parameters


def _split_pair(pair: str, *, option: str, form: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not name or not equals:
        raise UsageError(f"`{option} {pair}`: expected {form}")
    return name, value
