"""The options of a run, on one page. The fields are the options of `evalwright run`."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from evalwright.errors import UsageError
from evalwright.nearest import suggest
from evalwright.vocabulary import MAX_SAMPLES

STATE = Path(".evalwright")
"""Where runs, cached replies and fetched data are kept, in the current folder."""
_LARGEST = 2**63 - 1
Positive = Annotated[int, Meta(ge=1, le=_LARGEST)]
Money = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0)]
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}", re.ASCII)
_ALIASES = {"samples": "trials"}
"""Other names of options."""


class RunOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run. What is None is left to us."""

    limit: Positive | None = None
    """Only the first records of each file."""
    allow_bad_tasks: bool = False
    """Run the valid records of a bad file."""
    concurrency: Positive | None = None
    """How many samples at once; without it, as many as the servers take."""
    trials: Annotated[int, Meta(ge=1, le=MAX_SAMPLES)] | None = None
    """Trials per sample; without it, as many as the task says. `samples` is the same option."""
    mcq: Literal["letter", "loglikelihood"] = "letter"
    """How multiple choice is answered: by a letter in what is generated, or by the likeliest."""
    confidence: Literal["logprobs", "self"] = "logprobs"
    """Where confidences are from: the answer's tokens, or the model, asked about its answer."""
    in_process_targets: bool = False
    """Judge code_exec answers in their own process: faster, and they could forge the verdict."""
    sandbox_packages: tuple[str, ...] = ()
    """Installed packages that code_exec answers may import, beside the standard library."""
    unsafe_code_exec: bool = False
    """Run code_exec answers in a plain child process, where nothing can isolate them."""
    parameters: dict[str, Any] = {}
    """Generation parameters, for every model."""
    settings: dict[str, str] = {}
    """Values of a project's parameters, as text: the parameter's type says what they mean."""
    evaluation: str | None = None
    """Which evaluation of a project to run, where it has several."""
    config: str | None = None
    """A YAML file with more of them, and with `run_config`."""
    env: tuple[str, ...] = ()
    """Files of variables for a project's documents."""
    no_snippets: bool = False
    """Refuse a project that brings Python of its own."""
    snippet_timeout: Money = 60.0
    """Seconds that one call of a snippet may take."""

    name: str | None = None
    """What the run is called; accepted wherever its id is."""
    tags: dict[str, str] = {}
    """Labels of the run, by key."""
    store: str | None = None
    """Where runs are kept: a path, or `memory:`."""
    durable: bool = False
    """Survive the death of the machine too, not of the process alone."""
    fresh: bool = False
    """Begin another run, and reuse nothing."""
    retry_failed: bool = False
    """Of a run that is resumed, try the failed samples again."""
    cache: bool = False
    """Keep replies, and answer equal requests from them."""

    retries: Annotated[int, Meta(ge=0)] = 4
    """How often a call is tried again."""
    requests_per_minute: Money | None = None
    tokens_per_minute: Money | None = None
    max_cost: Money | None = None
    """Stop when this much is spent, in dollars."""
    max_tokens_total: Positive | None = None
    max_failures: Share | None = None
    """Stop when more samples than this have failed; below 1 it is a share of all."""
    prices: str | None = None
    """A TOML file with prices of your own."""

    seed: Annotated[int, Meta(ge=0, le=_LARGEST)] = 0
    """Of the bootstrap."""
    bins: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Of the ECE."""
    calibrate: bool = False
    """Fit a temperature to the confidences on one half of the answers, judge it on the other."""


def parse_options(keywords: dict[str, Any]) -> RunOptions:
    """Check the options, so that nothing wrong is found after the money is spent."""
    known = RunOptions.__struct_fields__
    for name in keywords:
        if name not in known and name not in _ALIASES:
            raise UsageError(f"`run` has no option `{name}`", hint=suggest(name, known))
    values = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in _resolve_aliases(keywords).items()
    }
    try:
        options = msgspec.convert(values, RunOptions)
        msgspec.json.encode(options.parameters)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        raise UsageError(f"{where.replace('$.', '')}: {what}") from error
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"`parameters`: not JSON: {error}") from error
    _check_labels(options)
    return options


def _check_labels(options: RunOptions) -> None:
    """Refuse a name that could be taken for an id or for `latest`, and a tag that is empty."""
    name = options.name
    if name is not None and (name == "latest" or not _NAME.fullmatch(name)):
        raise UsageError(
            f"`--name {name}`: not a name for a run",
            hint="a name starts with a letter, has letters, digits, `.`, `_` and `-`, and is not "
            "`latest`",
        )
    for key, value in options.tags.items():
        if not _NAME.fullmatch(key) or not value.strip() or not value.isprintable():
            raise UsageError(
                f"`--tag {key}={value}`: not a tag",
                hint="write KEY=VALUE: the key as in a name, the value on one line",
            )


def _resolve_aliases(keywords: dict[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in keywords.items() if name not in _ALIASES}
    for alias, name in _ALIASES.items():
        value = keywords.get(alias)
        if value is None:
            continue
        if values.get(name) not in {None, value}:
            raise UsageError(f"`--{alias}` and `--{name}` are the same option: give one of them")
        values[name] = value
    return values
