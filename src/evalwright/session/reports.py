"""Build the report of a stored run again."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import structs

from evalwright.errors import UnknownName, UsageError
from evalwright.plan.manifest import Manifest, read_manifest
from evalwright.ports import Store
from evalwright.report.build import build_report
from evalwright.report.calibration import recalibrate
from evalwright.report.moved import MovedScores, compare_with_parent, pair_outcomes
from evalwright.report.report import Report, ReportBody
from evalwright.session.judges import add_judges
from evalwright.session.manifests import report_facts
from evalwright.types import Outcome, Run


def load_report(
    store: Store,
    run: Run,
    *,
    seed: int | None = None,
    bins: int | None = None,
    calibrate: bool | None = None,
) -> Report:
    """Return the report of a run, with its own seed and bins, or others.

    Metrics computed at the end of the run are kept: computing them again would run
    the author's code again. Calibration does not need that code.
    """
    requested = {"seed": seed, "bins": bins, "calibrate": calibrate}
    changed: dict[str, Any] = {
        name: value for name, value in requested.items() if value is not None
    }
    manifest = structs.replace(read_manifest(run), **changed)

    def outcomes(*, failed: bool | None = None) -> Iterator[Outcome]:
        return store.outcomes(run.id, failed=failed)

    if not any(task.finalized for task in manifest.plan.tasks):
        facts = report_facts(
            run.id,
            manifest,
            wall_seconds=0.0,
            reused=store.count(run.id)[0],
            stopped=run.status in {"running", "stopped"},
        )
        return build_report(
            manifest.plan, store.rows(run.id), facts, results=None, samples=outcomes
        )
    body = stored_report(run)
    if changed:
        body = _recalibrate(body, manifest, outcomes())
    report = Report(**structs.asdict(body), stored=outcomes)
    return add_judges(report, run, store)


def add_moved_scores(report: Report, run: Run, store: Store) -> Report:
    """The report of a run that has scored another one again, with what moved; else unchanged."""
    if not run.parent:
        return report
    try:
        parent = store.find(run.parent)
        pairs = pair_outcomes(store.outcomes(parent.id), store.outcomes(run.id))
        metrics = load_report(store, parent).metrics
        moved = compare_with_parent(parent.id, (metrics, report.metrics), pairs)
    except UnknownName:
        reason = f"run {run.parent}, whose outputs were scored again, was deleted"
        moved = MovedScores(parent=run.parent, reason=f"{reason}: the changes are not known")
    except UsageError as error:  # it never ended, or another version wrote it
        moved = MovedScores(parent=run.parent, reason=f"the changes are not known: {error.message}")
    return structs.replace(report, moved=moved)


def _recalibrate(body: ReportBody, manifest: Manifest, outcomes: Iterator[Outcome]) -> ReportBody:
    calibration = recalibrate(
        body,
        outcomes,
        bins=manifest.bins,
        seed=manifest.seed,
        calibrate=manifest.calibrate,
        has_self_reports=manifest.confidence == "self",
    )
    return structs.replace(body, calibration=calibration)


def stored_report(run: Run) -> ReportBody:
    """Return the stored report of a run; `UsageError` if this version cannot read it."""
    report = read_manifest(run).report
    if report is None:
        raise _missing_report_error(run)
    try:
        return msgspec.convert(report, ReportBody)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the report of run {run.id} was written by a different version, "
            f"and this one cannot read it: {error}",
            hint="run it again: stored answers are reused",
        ) from error


def _missing_report_error(run: Run) -> UsageError:
    changed = read_manifest(run).changed_files
    if changed:
        return UsageError(
            f"run {run.id} has no report: it stopped because {', '.join(changed)} changed",
            hint="run again: the results of unchanged samples are reused",
        )
    return UsageError(
        f"run {run.id} has no report yet", hint="the command that started it resumes it"
    )
