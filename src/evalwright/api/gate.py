"""Judge a stored run by policies: those of files, or those that its project brought.

Nothing is run, and nothing is stored: the same gate on the same store says the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import open_store
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.ports import Store
    from evalwright.report.policies import Evidence, Judgement
    from evalwright.report.report import Report
    from evalwright.secrets import Redactor
    from evalwright.spec.checking import Checking
    from evalwright.spec.documents.policies import Policies
    from evalwright.spec.documents.policy import PolicyDocument
    from evalwright.types import Run

_FINISHED = {"finished", "finished_with_failures"}
_SHOWN = 5
_UNREADABLE = "has a report of another version, which cannot be read; run it again"


def gate(
    name: str = "latest",
    files: "Sequence[str | Path] | Policies" = (),
    store: str | Path | None = None,
    *,
    strict: bool = False,
    env: Sequence[str] = (),
) -> "Judgement":
    """What policies say of a run; of the files, or else those that the run's project brought.

    The files may have been read before, by `read_policies`. With `strict`, whole intervals must
    meet the thresholds, and no sample may have failed or be without a value.
    """
    from evalwright.report.policies import Judgement, judge, looks_around

    given = _given(files, env)
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        policies = given or _brought(run)
        if not policies:
            raise UsageError(
                f"run {run.id} brought no policies, and none were given",
                hint="`--policy FILE` names some; a run file may have `policies`",
            )
        others = list(_others(opened, run)) if looks_around(policies) else []
        own = _own(opened, run, store)
    finally:
        opened.close()
    rows = judge(policies, own, others, strict=strict)
    holds = all(row.holds for row in rows)
    return Judgement(run_id=run.id, holds=holds, strict=strict, policies=rows)


def read_policies(files: Sequence[str | Path], *, env: Sequence[str] = ()) -> "Policies":
    """The policies of files, each read once: what comes through a pipe is gone then. `-`: stdin."""
    from evalwright.api.entities import environment_from
    from evalwright.spec.documents.policies import read_policies as read

    return read(map(str, files), environment=environment_from(env) if files else {})


def check_policies(
    files: "Sequence[str | Path] | Policies", *, env: Sequence[str] = ()
) -> "list[Checking]":
    """What is wrong with files of policies, each mistake at its place."""
    from evalwright.spec.documents.checking import checked

    read = _read(files, env)
    return list(checked(read.files, read.problems, dict.fromkeys(read.files, "policy")))


def with_policies(
    report: "Report",
    policies: "Sequence[PolicyDocument]",
    run: "Run",
    store: "Store",
    redactor: "Redactor",
) -> "Report":
    """The report of a run that has just ended, with what its own policies say of it."""
    import msgspec

    from evalwright.engine.clean import cleaned_value
    from evalwright.report.policies import evidence_of, judge, looks_around
    from evalwright.report.report import PolicyRow

    others = list(_others(store, run)) if looks_around(policies) else []
    rows = judge(policies, evidence_of(report, _evaluation(run), limit=_limit(run)), others)
    told = cleaned_value(msgspec.to_builtins(rows), redactor)
    return msgspec.structs.replace(report, policies=msgspec.convert(told, list[PolicyRow]))


def kept(policies: "Iterable[PolicyDocument]", redactor: "Redactor") -> list[dict[str, Any]]:
    """Policies as JSON, for the manifest of a run; no secret is in them."""
    from evalwright.engine.clean import cleaned_value

    dumped = [one.model_dump(mode="json", exclude_none=True) for one in policies]
    return list(cleaned_value(dumped, redactor))


def _brought(run: "Run") -> "list[PolicyDocument]":
    """Those that a run's project brought, as they were then."""
    from pydantic import ValidationError

    from evalwright.spec.documents.policy import PolicyDocument

    try:
        return [PolicyDocument.model_validate(one) for one in run.manifest.get("policies") or ()]
    except ValidationError as error:
        raise UsageError(
            f"the policies that are kept with run {run.id} cannot be read by this version",
            hint="name them with `--policy FILE`",
        ) from error


def _given(files: "Sequence[str | Path] | Policies", env: Sequence[str]) -> "list[PolicyDocument]":
    read = _read(files, env)
    errors = [one for one in read.problems if one.level == "error"]
    if errors:
        shown = "; ".join(f"{one.file}:{one.line}: {one.detail}" for one in errors[:_SHOWN])
        more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
        raise UsageError(f"nothing was judged: {shown}{more}")
    return [one.document for one in read.found]


def _read(files: "Sequence[str | Path] | Policies", env: Sequence[str]) -> "Policies":
    from evalwright.spec.documents.policies import Policies

    return files if isinstance(files, Policies) else read_policies(files, env=env)


def _own(opened: "Store", run: "Run", store: str | Path | None) -> "Evidence":
    from evalwright.api.manifest import is_evaluation
    from evalwright.api.runs import load
    from evalwright.report.policies import Evidence, evidence_of

    if is_evaluation(run) and "report" not in run.manifest:
        done = opened.count(run.id)[0]
        why = f"is not finished ({run.status}; samples done: {done})"
        return Evidence(run_id=run.id, evaluation=_evaluation(run), unfinished=why)
    return evidence_of(load(run.id, store), _evaluation(run), limit=_limit(run))


def _others(store: "Store", own: "Run") -> "Iterator[Evidence]":
    """Of every other evaluation, its newest finished run.

    A report that cannot be read fails the rules about it, and takes nothing else with it.
    """
    from evalwright.api.runs import stored_report
    from evalwright.report.policies import Evidence, evidence_of

    seen = {_evaluation(own), ""}
    for run in store.runs():  # newest first
        key = _evaluation(run)
        if key not in seen and run.status in _FINISHED and "report" in run.manifest:
            seen.add(key)
            try:
                report = stored_report(run)
            except UsageError:
                yield Evidence(run_id=run.id, evaluation=key, unfinished=_UNREADABLE)
            else:
                yield evidence_of(report, key, limit=_limit(run))


def _evaluation(run: "Run") -> str:
    """The key of a run's evaluation; of task records, and of a task by itself, there is none."""
    return str(run.manifest["plan"].get("evaluation", ""))


def _limit(run: "Run") -> int | None:
    """How many samples a task at most were run."""
    limit: int | None = run.manifest["plan"].get("limit")
    return limit
