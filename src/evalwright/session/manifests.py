"""Write the manifest of a run, and read from it what a report needs besides the outcomes."""

import platform
import subprocess
from collections.abc import Mapping
from typing import Any

from msgspec import structs, to_builtins

from evalwright._version import __version__
from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.plan.manifest import VERSION, Manifest, StopFacts, read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import PlanOutline
from evalwright.plan.plan import Plan
from evalwright.ports import Model
from evalwright.report.build import ReportFacts
from evalwright.report.judges import CHECKS
from evalwright.report.report import CodeExecution
from evalwright.session.judges import describe_judges
from evalwright.session.models import caveat_notes
from evalwright.session.sandboxes import describe_sandbox
from evalwright.types import Run


def describe_run(
    plan: Plan,
    outline: PlanOutline,
    clients: Mapping[str, Model],
    resources: Resources,
    options: RunOptions,
    *,
    parent: Run | None = None,
) -> Manifest:
    """Return the manifest of a new run. It has no secrets: fingerprints never contain any."""
    notes = [*caveat_notes(clients), *_inherited_notes(parent)]
    return Manifest(
        version=VERSION,
        plan=outline,
        models={name: client.fingerprint for name, client in clients.items()},
        solver=_solver_versions(plan),
        scorers=_scorer_versions(plan),
        sandbox=describe_sandbox(resources.sandbox, resources.packages),
        mcq=options.mcq,
        confidence=options.confidence,
        seed=options.seed,
        bins=options.bins,
        calibrate=options.calibrate,
        parameters=options.parameters,
        by_sample=tuple(sorted(resources.by_sample)),
        notes=tuple(dict.fromkeys([*notes, *plan.notes])),
        judges=describe_judges(resources.tasks, resources.models) or None,
        dependent_tasks=tuple(
            sorted(
                task.name
                for task in plan.tasks
                if task.finalization and task.finalization.has_dependent_rows
            )
        ),
        recorded_tasks=tuple(sorted(task.name for task in plan.tasks if task.recorded)),
        imported=plan.imported or None,
        evalwright=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        git=_git_commit(),
    )


def _solver_versions(plan: Plan) -> dict[str, Any]:
    solvers = [task.runtime.solver for task in plan.tasks if task.runtime.solver]
    return {solver.name: solver.version for solver in solvers}


def _scorer_versions(plan: Plan) -> dict[str, Any]:
    versions = {}
    for task in plan.tasks:
        late = task.finalization.run_scorers if task.finalization else {}
        versions[task.name] = {
            **{name: scorer.version for name, scorer in task.runtime.scorers.items()},
            **{name: scorer.version for name, scorer in late.items()},
        }
    first = next(iter(versions.values()), {})
    return first if all(other == first for other in versions.values()) else versions


def end_manifest(
    manifest: Manifest, outline: PlanOutline, options: RunOptions, stop: Stop
) -> Manifest:
    """Return the manifest after an invocation: where its files are now, why it stopped."""
    flag = " without `--fresh`" if options.fresh else ""
    stopped = StopFacts(
        reason=stop.reason, resume_hint=stop.hint or f"the same command{flag} resumes it"
    )
    return structs.replace(
        manifest,
        version=VERSION,
        plan=outline,
        seed=options.seed,
        bins=options.bins,
        calibrate=options.calibrate,
        stopped=stopped if stop.is_stopping else None,
    )


def keep_checks(manifest: dict[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return this invocation's manifest, with judge checks stored by others in the meantime."""
    return {**manifest, **({CHECKS: stored[CHECKS]} if CHECKS in stored else {})}


def report_facts(
    run_id: str, manifest: Manifest, *, wall_seconds: float, reused: int, stopped: bool
) -> ReportFacts:
    """Return what a report needs besides the outcomes."""
    end = manifest.stopped or StopFacts()
    sandbox = manifest.sandbox
    return ReportFacts(
        run_id=run_id,
        name=manifest.name,
        tags=manifest.tags,
        wall_seconds=wall_seconds,
        reused=reused,
        stopped=stopped,
        stop_reason=end.reason,
        resume_hint=end.resume_hint,
        seed=manifest.seed,
        bins=manifest.bins,
        calibrate=manifest.calibrate,
        code_execution=CodeExecution(**to_builtins(sandbox)) if sandbox else None,
        notes=manifest.notes,
        changed_files=manifest.changed_files,
        mcq=manifest.mcq,
        confidence=manifest.confidence,
        specifications=manifest.specifications,
    )


def _inherited_notes(parent: Run | None) -> list[str]:
    """Return the notes of the parent run: they also apply to its rescored outputs."""
    if parent is None:
        return []
    return [*read_manifest(parent).notes, f"outputs of {parent.id}, scored again"]


def _git_commit() -> str | None:
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
