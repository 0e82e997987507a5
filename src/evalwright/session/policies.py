"""Check runs against policies: the run's own, or those in files."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs
from pydantic import ValidationError

from evalwright.engine.redact import redact
from evalwright.errors import UsageError
from evalwright.plan.manifest import read_manifest, read_manifest_if_readable
from evalwright.plan.task_results import ENDED
from evalwright.ports import Store
from evalwright.report.policies import RunEvidence, judge, needs_other_runs, report_evidence
from evalwright.report.report import PolicyRow, Report
from evalwright.secrets import Redactor
from evalwright.session.reports import load_report, stored_report
from evalwright.spec.documents.models.policy import PolicyDocument
from evalwright.types import Run

_UNREADABLE = "has a report from a different version, which cannot be read; run it again"


def add_policies(
    report: Report, policies: Sequence[PolicyDocument], run: Run, store: Store, redactor: Redactor
) -> Report:
    """Return the report of a run that has just ended, with the verdicts of its own policies."""
    plan = read_manifest(run).plan
    others = other_evidence(store, run) if needs_other_runs(policies) else []
    rows = judge(policies, report_evidence(report, plan), others)
    redacted = redact(msgspec.to_builtins(rows), redactor)
    return structs.replace(report, policies=msgspec.convert(redacted, list[PolicyRow]))


def dump_policies(policies: Sequence[PolicyDocument], redactor: Redactor) -> list[dict[str, Any]]:
    """Return policies as JSON for the manifest of a run, without secrets."""
    dumped = [policy.model_dump(mode="json", exclude_none=True) for policy in policies]
    return redact(dumped, redactor)


def read_run_policies(run: Run) -> list[PolicyDocument]:
    """Return the policies of a run's project, as they were at the time."""
    try:
        return [
            PolicyDocument.model_validate(policy) for policy in read_manifest(run).policies or ()
        ]
    except ValidationError as error:
        raise UsageError(
            f"this version cannot read the policies stored with run {run.id}",
            hint="name them with `--policy FILE`",
        ) from error


def run_evidence(store: Store, run: Run) -> RunEvidence:
    """Return what policies check in a stored run."""
    manifest = read_manifest(run)
    plan = manifest.plan
    if manifest.report is None and any(task.finalized for task in plan.tasks):
        done = store.count(run.id)[0]
        why = f"is not finished ({run.status}; samples done: {done})"
        return RunEvidence(run_id=run.id, evaluation=plan.evaluation, unfinished=why)
    return report_evidence(load_report(store, run), plan)


def other_evidence(store: Store, own: Run) -> list[RunEvidence]:
    """Return the newest finished run of every other evaluation.

    A report that cannot be read fails only the rules about it.
    """
    return list(_other_evidence(store, own))


def _other_evidence(store: Store, own: Run) -> Iterator[RunEvidence]:
    seen = {read_manifest(own).plan.evaluation, ""}
    for run in store.runs():  # newest first
        manifest = read_manifest_if_readable(run)
        if manifest is None:
            continue
        plan = manifest.plan
        if plan.evaluation in seen or run.status not in ENDED or manifest.report is None:
            continue
        seen.add(plan.evaluation)
        try:
            report = stored_report(run)
        except UsageError:
            yield RunEvidence(run_id=run.id, evaluation=plan.evaluation, unfinished=_UNREADABLE)
        else:
            yield report_evidence(report, plan)
