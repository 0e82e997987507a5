"""Results that are there already: tasks whose outcomes and figures are taken from a log.

A log is read to its end before anything begins, so that a run takes all of it or nothing. Its
samples become outcomes as they are, and nothing is measured again; what the log does not say of a
figure, such as an interval, is made of its samples where that gives the same value.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from evalwright.api.specifications import facts_of
from evalwright.engine.keys import key_of
from evalwright.errors import BadLog, EvalwrightError
from evalwright.plan.documents import NO_MODEL, Data, NoRows, PlannedSpec
from evalwright.report.logs.reading import Log, read_log, text_in

if TYPE_CHECKING:
    from evalwright.engine.stop import Stop
    from evalwright.spec.documents.specs import ResolvedSpec
    from evalwright.types import Outcome

_AT_ONCE = 500
_NAMED = 3
_MOST_NOTES = 20
_JUDGES = (
    *("model_as_a_judge_classifier", "model_as_a_judge_scorer"),
    *("labeler_via_model", "rag_checker"),
)
"""The types of scorers that ask a model for a verdict."""


class Recorded(Struct, frozen=True, kw_only=True):
    """A task that is not run, and its log."""

    log: Log
    planned: PlannedSpec

    @property
    def data(self) -> Data:
        """As many samples as the log has; nobody asks for their rows."""
        return Data(rows=NoRows(), places=range(self.log.samples))

    @property
    def specification(self) -> dict[str, Any]:
        """What the log says that it is of, under the name that it has here."""
        told = {**self.log.specification, "key": self.planned.name}
        return {**told, "task_key": self.planned.task_key}

    async def outcomes(self, stop: "Stop") -> "AsyncIterator[list[Outcome]]":
        """Every outcome, some at a time; in between the loop goes round, so Ctrl-C is heard."""
        for model in self.planned.models:
            left = self.log.outcomes(self.planned.name, model)
            while not stop.requested and (batch := list(islice(left, _AT_ONCE))):
                yield batch
                await asyncio.sleep(0)


def notes_on(recorded: "Iterable[Recorded]") -> list[str]:
    """For the report: what was not run, and who wrote its log."""
    by_version: dict[str, list[Recorded]] = {}
    for one in recorded:
        by_version.setdefault(one.log.app_version, []).append(one)
    notes = [_note(version, listed) for version, listed in by_version.items()]
    found = [one for listed in by_version.values() for one in listed]
    for one in found:
        notes += [f"`{one.planned.name}`: {note}" for note in one.log.notes]
        notes += [note for note in _told_before(one.log) if note not in notes]
    judged = [name for one in found for name in _judged(one)]
    if judged:
        notes.append(f"of the judges of {', '.join(judged)} nothing is known: a log says nothing")
    return notes


def _told_before(log: Log) -> list[str]:
    """What was to be known of the run that the log is of."""
    told = log.execution.get("notes")
    notes = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    more = [f"and {len(notes) - _MOST_NOTES} more notes"] if len(notes) > _MOST_NOTES else []
    return [*notes[:_MOST_NOTES], *more]


def _judged(recorded: Recorded) -> list[str]:
    """The scorers whose scores are verdicts of a model, as far as the log says so."""
    scorers = recorded.log.specification.get("scorers")
    return [
        f"`{recorded.planned.name}/{one.get('key')}`"
        for one in (scorers if isinstance(scorers, list) else ())
        if isinstance(one, dict) and one.get("type") in _JUDGES
    ]


def _note(version: str, listed: list[Recorded]) -> str:
    names = ", ".join(f"`{one.planned.name}`" for one in listed[:_NAMED])
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    were = "was not run: its result is" if len(listed) == 1 else "were not run: their results are"
    logs = listed[0].log.path if len(listed) == 1 else f"{len(listed)} logs"
    return f"{names}{more} {were} taken from {logs}, written by {version}"


def recorded_in(specs: "Sequence[ResolvedSpec]") -> dict[str, Recorded]:
    """The specifications that name a log, each read; what is wrong with any of them at once."""
    found: dict[str, Recorded] = {}
    broken: list[str] = []
    for spec in specs:
        if spec.recording is None:
            continue
        try:
            found[spec.key] = recorded(
                read_log(spec.recording.file),
                name=spec.key,
                task_key=spec.task.key,
                display_name=spec.display_name,
                model=spec.model_key,
            )
        except EvalwrightError as error:
            broken.append(f"{spec.key}: {error}")
    if broken:
        raise BadLog("; ".join(broken), hint="`task_result_log_path` names a result log")
    return found


def recorded(
    log: Log, *, name: str, task_key: str, display_name: str = "", model: str | None = None
) -> Recorded:
    """A log, under a name of its own."""
    known = log.specification
    model = model or log.model or NO_MODEL
    values = known.get("task_config")
    planned = PlannedSpec(
        name=name,
        task_key=task_key,
        display_name=display_name or text_in(known, "display_name") or task_key,
        kind="model" if model else "dataset",
        models=(model,),
        records=log.samples,
        trials=max(1, log.trials // log.runs),
        repeats=log.runs,
        landed=log.landed if log.unequal else 0,
        values=values if isinstance(values, dict) else {},
        digest=key_of("log", log.digest),
    )
    try:
        facts_of(known, planned)
    except msgspec.ValidationError as error:
        raise BadLog(f"{log.path}: {error} - at `$.specification.evalwright`") from error
    return Recorded(log=log, planned=planned)
