"""What a store remembers: list, find, report again, export, delete, tidy."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import open_store
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.api.stored import Samples
    from evalwright.report.report import Report, ReportBody
    from evalwright.types import Outcome, Run


def runs(store: str | Path | None = None) -> "list[Run]":
    """Every run, newest first."""
    opened = open_store(store, create=False)
    try:
        return opened.runs()
    finally:
        opened.close()


def find(name: str = "latest", store: str | Path | None = None) -> "Run":
    """One run by its id, the start of it, or `latest`."""
    opened = open_store(store, create=False)
    try:
        return opened.find(name)
    finally:
        opened.close()


def load(
    name: str = "latest",
    store: str | Path | None = None,
    *,
    seed: int | None = None,
    bins: int | None = None,
    calibrate: bool | None = None,
) -> "Report":
    """The report of a run, made again from what is stored; with its seed and bins, or others.

    Of a project that is the calibration alone: its figures are kept as they were made.
    """
    from msgspec import structs

    from evalwright.api.judges import with_judges
    from evalwright.api.manifest import facts_of, is_evaluation, plan_of
    from evalwright.api.options import options_of
    from evalwright.api.stored import Samples
    from evalwright.report.build import build_report

    told = (("seed", seed), ("bins", bins), ("calibrate", calibrate))
    others: dict[str, Any] = {name: one for name, one in told if one is not None}
    options_of(others)
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        samples = Samples(opened, store, run.id)
        again = structs.replace(run, manifest={**run.manifest, **others})
        if is_evaluation(run):
            body = _evaluation(again, samples, calibrated=not others)
            return samples.attached(with_judges(body, run, opened))
        facts = facts_of(
            again,
            wall_seconds=0.0,
            reused=opened.count(run.id)[0],
            stopped=run.status in {"running", "stopped"},
        )
        report = build_report(plan_of(run), opened.rows(run.id), facts, samples=samples.first)
        return samples.attached(report)
    finally:
        opened.close()


def _evaluation(run: "Run", samples: "Samples", *, calibrated: bool) -> "Report":
    """As it was made when the run ended: to make it again would run the author's code again.

    Calibration needs no such code, and is made again unless it is `calibrated` as it should be.
    """
    from msgspec import structs

    from evalwright.report.confidences import project_calibration
    from evalwright.report.report import Report

    if "report" not in run.manifest:
        raise UsageError(
            f"run {run.id} did not come to a report", hint="the command that began it goes on"
        )
    body = stored_report(run)
    if not calibrated:
        known = run.manifest
        calibration = project_calibration(
            samples.first(),
            body.metrics,
            bins=known.get("bins", 10),
            seed=known.get("seed", 0),
            calibrate=known.get("calibrate", False),
        )
        body = structs.replace(body, calibration=calibration)
    return Report(**structs.asdict(body), stored=samples.first)


def stored_report(run: "Run") -> "ReportBody":
    """The report that is kept with a run; UsageError if this version cannot read it."""
    import msgspec

    from evalwright.report.report import ReportBody

    try:
        return msgspec.convert(run.manifest["report"], ReportBody)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the report of run {run.id} was written by another version, and this one cannot read "
            f"it: {error}",
            hint="run it again: what is stored of it is not asked again",
        ) from error


def export(
    name: str = "latest", store: str | Path | None = None, *, failed: bool | None = None
) -> "Iterator[Outcome]":
    """Every outcome of a run, one after another."""
    opened = open_store(store, create=False)
    try:
        yield from opened.outcomes(opened.find(name).id, failed=failed)
    finally:
        opened.close()


def delete(name: str, store: str | Path | None = None) -> tuple[str, int]:
    """Forget a run: its id, and how many outcomes went with it."""
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        return run.id, opened.delete(run.id)
    finally:
        opened.close()


def collect_garbage(store: str | Path | None = None) -> int:
    """Give disk space back; how many bytes."""
    opened = open_store(store, create=False)
    try:
        return opened.gc()
    finally:
        opened.close()
