"""The options of a run, on one page. The fields are the options of `evalwright run`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from evalwright.errors import UsageError
from evalwright.nearest import suggest
from evalwright.vocabulary import MAX_SAMPLES

STATE = Path(".evalwright")
"""The folder of runs, cached replies and downloads, in the current folder."""
_LARGEST = 2**63 - 1
Positive = Annotated[int, Meta(ge=1, le=_LARGEST)]
Money = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0)]
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}", re.ASCII)
ALIASES = {"samples": "trials"}
"""Other names of options."""


class RunOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run. None means the default."""

    limit: Positive | None = None
    """Run only the first samples of each task."""
    allow_bad_tasks: bool = False
    """Run the valid records of a bad file."""
    concurrency: Positive | None = None
    """Number of concurrent samples. Default: as many as the servers accept."""
    trials: Annotated[int, Meta(ge=1, le=MAX_SAMPLES)] | None = None
    """Trials per sample. Default: the task's setting. `samples` is the same option."""
    mcq: Literal["letter", "loglikelihood"] = "letter"
    """How multiple-choice questions are answered: by a letter in the output, or by likelihood."""
    confidence: Literal["logprobs", "self"] = "logprobs"
    """Where confidences come from: the answer's tokens, or the model's own estimate."""
    in_process_targets: bool = False
    """Test code_exec answers in their own process: faster, but they could fake the result."""
    require_verified: bool = False
    """Fail a code_exec sample whose pass cannot be verified; never score it as wrong."""
    sandbox_packages: tuple[str, ...] = ()
    """Installed packages that code_exec answers may import besides the standard library."""
    unsafe_code_exec: bool = False
    """Run code_exec answers in a plain child process if no sandbox is available."""
    parameters: dict[str, Any] = {}
    """Generation parameters, for every model."""
    settings: dict[str, str] = {}
    """Values of a project's parameters, as text; the parameter's type decides how it is parsed."""
    evaluation: str | None = None
    """Evaluation to run, if the project has several."""
    config: str | None = None
    """A YAML file with `config` (more values) and `run_config`."""
    env: tuple[str, ...] = ()
    """Files with environment variables for a project's documents."""
    no_snippets: bool = False
    """Refuse a project that contains Python code."""
    snippet_timeout: Money = 60.0
    """Time limit for each call to a snippet, in seconds."""

    name: str | None = None
    """Name of the run, accepted wherever its id is."""
    tags: dict[str, str] = {}
    """Labels of the run, by key."""
    store: str | None = None
    """Where runs are stored: a path, or `memory:`."""
    durable: bool = False
    """Survive a power failure, not only the death of the process."""
    fresh: bool = False
    """Start a new run, and reuse nothing."""
    retry_failed: bool = False
    """Retry the failed samples of a resumed run."""
    cache: bool = False
    """Store replies, and reuse them for identical requests."""

    retries: Annotated[int, Meta(ge=0)] = 4
    """Number of retries of a call."""
    requests_per_minute: Money | None = None
    """Limit on requests per minute for each model."""
    tokens_per_minute: Money | None = None
    """Limit on tokens per minute for each model."""
    max_cost: Money | None = None
    """Stop when this much is spent, in dollars."""
    max_tokens_total: Positive | None = None
    """Stop when this many tokens are used."""
    max_failures: Share | None = None
    """Stop when more samples than this have failed; below 1, a fraction of all samples."""
    prices: str | None = None
    """A TOML file with your own prices."""

    seed: Annotated[int, Meta(ge=0, le=_LARGEST)] = 0
    """Seed for the bootstrap."""
    bins: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Number of bins for the expected calibration error."""
    calibrate: bool = False
    """Fit a temperature to the confidences of half of the answers; test it on the rest."""


class ScoreKeywords(TypedDict, total=False):
    """The fields of `RunOptions` that matter to scoring, as keywords of a function."""

    allow_bad_tasks: bool
    concurrency: int | None
    in_process_targets: bool
    require_verified: bool
    sandbox_packages: Sequence[str]
    unsafe_code_exec: bool
    env: Sequence[str]
    no_snippets: bool
    snippet_timeout: float
    name: str | None
    tags: Mapping[str, str]
    store: str | Path | None
    durable: bool
    fresh: bool
    retry_failed: bool
    cache: bool
    retries: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    max_cost: float | None
    max_tokens_total: int | None
    max_failures: float | None
    prices: str | Path | None
    seed: int
    bins: int
    calibrate: bool


class RunKeywords(ScoreKeywords, total=False):
    """The fields of `RunOptions` as keywords of a function, for type checkers and editors."""

    limit: int | None
    trials: int | None
    samples: int | None
    mcq: Literal["letter", "loglikelihood"]
    confidence: Literal["logprobs", "self"]
    parameters: Mapping[str, object]
    settings: Mapping[str, str]
    evaluation: str | None
    config: str | Path | None


def parse_options(keywords: Mapping[str, Any]) -> RunOptions:
    """Check the options, so that mistakes are found before any money is spent."""
    known = RunOptions.__struct_fields__
    for name in keywords:
        if name not in known and name not in ALIASES:
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
            f"`--name {name}`: not a valid run name",
            hint="a name starts with a letter, contains only letters, digits, `.`, `_` and `-`, "
            "and is not `latest`",
        )
    for key, value in options.tags.items():
        if not _NAME.fullmatch(key) or not value.strip() or not value.isprintable():
            raise UsageError(
                f"`--tag {key}={value}`: not a valid tag",
                hint="write KEY=VALUE: KEY follows the rules for run names, and VALUE is one line",
            )


def _resolve_aliases(keywords: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in keywords.items() if name not in ALIASES}
    for alias, name in ALIASES.items():
        value = keywords.get(alias)
        if value is None:
            continue
        if values.get(name) not in {None, value}:
            raise UsageError(f"`--{alias}` and `--{name}` are the same option: use one of them")
        values[name] = value
    return values
