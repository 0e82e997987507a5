"""What every store must agree on: the scalars of an outcome, and which run a name means."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from evalwright.errors import UnknownName
from evalwright.nearest import suggest
from evalwright.types import SELF_REPORT, Outcome, Row, RunStatus, Trace, first_number

LATEST = "latest"
BASELINE = "baseline"
"""The tag of a run that others are compared with."""
RESUMABLE: tuple[RunStatus, ...] = ("running", "stopped", "finished_with_failures")

_NO_TRACE = Trace(input="", output="", post_processed="")
_SHOWN = 5


def row_of(outcome: Outcome) -> Row:
    """The scalars of an outcome."""
    return Row(*scalars_of(outcome))


def scalars_of(outcome: Outcome) -> tuple[Any, ...]:
    """The same, in the order of the fields of `Row`: a store that writes them needs no `Row`."""
    trace, failure = outcome.trace or _NO_TRACE, outcome.failure
    usage = trace.usage
    score = self_report = None
    for each in outcome.scores.values():
        if SELF_REPORT in each.metadata:
            self_report = each
        else:
            score = score or each
    return (
        outcome.task,
        outcome.model,
        outcome.sample_id,
        outcome.ordinal,
        outcome.trial,
        outcome.group,
        failure and failure.stage,
        failure and failure.type,
        score and first_number(score.values),
        score and score.correct,
        first_number(self_report.values) if self_report else trace.confidence,
        trace.nll,
        trace.nll_tokens,
        trace.finish if outcome.trace else "",
        usage.requests,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cost,
        trace.latency_s,
    )


class RunLabels(Struct, frozen=True):
    """The part of a manifest that holds what people call a run."""

    name: str = ""
    tags: dict[str, str] = {}


def match_run_id(
    name: str, ids: Sequence[str], read_labels: Callable[[], Mapping[str, RunLabels]]
) -> str:
    """The id that is `name` or starts with it, or that of the run that is called so.

    The first id is the last updated run, which is `latest`. `KEY=VALUE` is the last updated run
    with that tag. `read_labels` returns the labels by id, and is called only if no id matches.
    """
    if name == LATEST and ids:
        return ids[0]
    if name in ids:
        return name
    starting = [id_ for id_ in ids if name and id_.startswith(name)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise UnknownName(f"`{name}` is the start of {len(starting)} runs: {_list_ids(starting)}")
    if not ids:
        raise UnknownName(f"there is no run `{name}`: the store is empty")
    labels = read_labels()
    named = [id_ for id_ in ids if name and labels[id_].name == name]
    if len(named) > 1:
        raise UnknownName(f"`{name}` is the name of {len(named)} runs: {_list_ids(named)}")
    key, _, value = _expand_baseline(name).partition("=")
    tagged = [id_ for id_ in ids if value and labels[id_].tags.get(key) == value]
    if named or tagged:
        return (named or tagged)[0]
    raise UnknownName(
        f"there is no run `{name}`; the newest are {_list_ids(ids)}",
        hint=suggest(name, [*ids, *filter(None, (label.name for label in labels.values()))]),
    )


def _expand_baseline(name: str) -> str:
    """Write `baseline:NAME` as the tag that `bless` sets."""
    prefix = f"{BASELINE}:"
    return f"{BASELINE}={name.removeprefix(prefix)}" if name.startswith(prefix) else name


def current_time() -> str:
    """Now, as a run stores it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def unknown_run_error(run_id: str) -> UnknownName:
    """The error for an id that should be there."""
    return UnknownName(f"there is no run `{run_id}`", hint="was it deleted by another process?")


def _list_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(f"`{id_}`" for id_ in ids[:_SHOWN]) + more
