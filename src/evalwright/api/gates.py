"""Judge a stored run by policies and by a baseline.

The policies are those of files, or those that the run's project brought.

Nothing is run, and nothing is stored: the same gate on the same store says the same.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from evalwright.comparison.baseline import DEFAULT_MARGIN, GateResult, check_baseline
from evalwright.comparison.compare import ComparisonOptions, compare_runs
from evalwright.errors import UsageError
from evalwright.plan.manifest import read_manifest
from evalwright.plan.project import read_environment
from evalwright.report.policies import judge, needs_other_runs
from evalwright.report.report import Report
from evalwright.session.policies import other_evidence, read_run_policies, run_evidence
from evalwright.session.stores import open_store
from evalwright.spec.checking import Checking
from evalwright.spec.documents.checks.build import build_instance
from evalwright.spec.documents.models.policy import PolicyDocument
from evalwright.spec.documents.resolve.policies import PolicyFiles
from evalwright.spec.documents.resolve.policies import read_policies as read_policy_files
from evalwright.spec.documents.validation import check_documents
from evalwright.spec.documents.yaml.problems import format_path
from evalwright.store.scalars import BASELINE
from evalwright.types import Run

_MAX_ERRORS_SHOWN = 5
_BASELINE_NAME = re.compile(r"[\w.-]+")
AnyPolicy = str | Path | Mapping[str, object]
AnyPolicies = AnyPolicy | Sequence[AnyPolicy] | PolicyFiles


class Blessing(Struct, frozen=True, kw_only=True):
    """What `evalwright bless --json` prints."""

    run_id: str
    baseline: str
    replaced: str
    """The run that was this baseline before; empty if there was none."""


def gate(  # noqa: PLR0913 - one keyword per option of the command
    run: str | Report = "latest",
    policies: AnyPolicies = (),
    *,
    store: str | Path | None = None,
    strict: bool = False,
    env: Sequence[str] = (),
    baseline: str | Report = "",
    margin: float = DEFAULT_MARGIN,
    by: str = "",
    cluster: str = "",
) -> GateResult:
    """Check a stored run against policies. Nothing is run.

    `run` is a report, or a run's id, the start of an id, a name or a tag. `policies` are files with
    policies, a policy as a dict, or several of these. Default: the policies of the run file with
    which the run was started. With `strict`, whole intervals must meet the thresholds, and no
    sample may have failed or be without a value. With `baseline`, another run, no metric may be
    worse than that run's by more than `margin`. `env` lists files with environment variables for
    the policies. `str()` of the result is the text that `evalwright gate` prints.

    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle"], limit=2)
    >>> rule = {"type": "threshold", "metric": "mean", "operator": ">=", "threshold": 0.9}
    >>> policy = {"key": "release", "rules": [{"key": "accurate", "definition": rule}]}
    >>> ew.gate(report, policy).holds
    True
    """
    chosen = _choose_policies(policies, env)
    with closing(open_store(store, create=False)) as opened:
        stored = opened.find(_run_id(run))
        chosen = chosen or read_run_policies(stored)
        if not chosen and not baseline:
            raise UsageError(
                f"run {stored.id} has no policies, and none were given",
                hint="use `--policy FILE` or `--baseline RUN`, or add `policies` to the run file",
            )
        others = other_evidence(opened, stored) if needs_other_runs(chosen) else []
        own = run_evidence(opened, stored)
        check = None
        if baseline:
            options = ComparisonOptions(margin=margin, by=by, cluster=cluster)
            name = _run_id(baseline)
            comparison = compare_runs(opened, [opened.find(name), stored], options)
            check = check_baseline(comparison, name=name)
    rows = judge(chosen, own, others, strict=strict)
    holds = all(row.holds for row in rows) and (check is None or check.verdict != "worse")
    return GateResult(run_id=stored.id, holds=holds, strict=strict, policies=rows, baseline=check)


def _run_id(run: str | Report) -> str:
    return run if isinstance(run, str) else run.run_id


def bless(name: str, baseline: str, store: str | Path | None = None) -> Blessing:
    """Make a run the baseline of that name; the run that had the name loses it."""
    if not _BASELINE_NAME.fullmatch(baseline):
        raise UsageError(
            f"`{baseline}` cannot be the name of a baseline",
            hint="use letters, digits, `-`, `_` and `.`",
        )
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        read_manifest(run)
        replaced = ""
        for other in opened.runs():
            if other.id != run.id and _tags(other).get(BASELINE) == baseline:
                opened.update(other.id, manifest=_untag)
                replaced = other.id
        opened.update(run.id, manifest=partial(_set_baseline, baseline=baseline))
    return Blessing(run_id=run.id, baseline=baseline, replaced=replaced)


def _tags(run: Run) -> dict[str, str]:
    tags: dict[str, str] = run.manifest.get("tags") or {}
    return tags


def _untag(manifest: dict[str, Any]) -> dict[str, Any]:
    tags = {key: value for key, value in manifest.get("tags", {}).items() if key != BASELINE}
    return {**manifest, "tags": tags}


def _set_baseline(manifest: dict[str, Any], *, baseline: str) -> dict[str, Any]:
    return {**manifest, "tags": {**manifest.get("tags", {}), BASELINE: baseline}}


def read_policies(files: Sequence[str | Path], *, env: Sequence[str] = ()) -> PolicyFiles:
    """Read the policies of files, each once: a pipe can be read only once. `-`: stdin."""
    return read_policy_files(map(str, files), environment=read_environment(env) if files else {})


def check_policies(
    files: Sequence[str | Path] | PolicyFiles, *, env: Sequence[str] = ()
) -> list[Checking]:
    """What is wrong with files of policies, each mistake at its place."""
    read = _read(files, env)
    return list(check_documents(read.files, read.problems, dict.fromkeys(read.files, "policy")))


def _choose_policies(policies: AnyPolicies, env: Sequence[str]) -> list[PolicyDocument]:
    if isinstance(policies, PolicyFiles):
        return _valid_policies(policies)
    several = [policies] if isinstance(policies, str | Path | Mapping) else policies
    files = [each for each in several if not isinstance(each, Mapping)]
    chosen = _valid_policies(_read(files, env)) if files else []
    return [*chosen, *(_build_policy(each) for each in several if isinstance(each, Mapping))]


def _build_policy(data: Mapping[str, object]) -> PolicyDocument:
    policy, faults = build_instance(PolicyDocument, dict(data))
    if errors := [fault for fault in faults if fault.level == "error"]:
        problems = "; ".join(f"`{format_path(fault.path)}`: {fault.detail}" for fault in errors)
        hint = next((fault.hint for fault in errors if fault.hint), "")
        raise UsageError(f"the policy is not valid: {problems}", hint=hint)
    return cast("PolicyDocument", policy)


def _valid_policies(read: PolicyFiles) -> list[PolicyDocument]:
    errors = [problem for problem in read.problems if problem.level == "error"]
    if errors:
        count, shown = len(errors), errors[:_MAX_ERRORS_SHOWN]
        lines = "; ".join(f"{problem.file}:{problem.line}: {problem.detail}" for problem in shown)
        more = f"; and {count - len(shown)} more" if count > len(shown) else ""
        raise UsageError(f"nothing was checked: {lines}{more}")
    return [policy.document for policy in read.policies]


def _read(files: Sequence[str | Path] | PolicyFiles, env: Sequence[str]) -> PolicyFiles:
    return files if isinstance(files, PolicyFiles) else read_policies(files, env=env)
