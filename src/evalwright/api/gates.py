"""Judge a stored run by policies: those of files, or those that its project brought.

Nothing is run, and nothing is stored: the same gate on the same store says the same.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from evalwright.errors import UsageError
from evalwright.plan.project import read_environment
from evalwright.report.policies import Judgement, judge, needs_other_runs
from evalwright.session.policies import other_evidence, read_run_policies, run_evidence
from evalwright.session.stores import open_store
from evalwright.spec.checking import Checking
from evalwright.spec.documents.models.policy import PolicyDocument
from evalwright.spec.documents.resolve.policies import PolicyFiles
from evalwright.spec.documents.resolve.policies import read_policies as read_policy_files
from evalwright.spec.documents.validation import check_documents

_MAX_ERRORS_SHOWN = 5


def gate(
    name: str = "latest",
    files: Sequence[str | Path] | PolicyFiles = (),
    store: str | Path | None = None,
    *,
    strict: bool = False,
    env: Sequence[str] = (),
) -> Judgement:
    """Judge a run by the policies of files, or else by those that the run's project brought.

    The files may have been read before, by `read_policies`. With `strict`, whole intervals must
    meet the thresholds, and no sample may have failed or be without a value.
    """
    from_files = _valid_policies(files, env)
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        policies = from_files or read_run_policies(run)
        if not policies:
            raise UsageError(
                f"run {run.id} has no policies, and none were given",
                hint="use `--policy FILE`, or add `policies` to the run file",
            )
        others = other_evidence(opened, run) if needs_other_runs(policies) else []
        own = run_evidence(opened, run)
    rows = judge(policies, own, others, strict=strict)
    holds = all(row.holds for row in rows)
    return Judgement(run_id=run.id, holds=holds, strict=strict, policies=rows)


def read_policies(files: Sequence[str | Path], *, env: Sequence[str] = ()) -> PolicyFiles:
    """Read the policies of files, each once: a pipe can be read only once. `-`: stdin."""
    return read_policy_files(map(str, files), environment=read_environment(env) if files else {})


def check_policies(
    files: Sequence[str | Path] | PolicyFiles, *, env: Sequence[str] = ()
) -> list[Checking]:
    """What is wrong with files of policies, each mistake at its place."""
    read = _read(files, env)
    return list(check_documents(read.files, read.problems, dict.fromkeys(read.files, "policy")))


def _valid_policies(
    files: Sequence[str | Path] | PolicyFiles, env: Sequence[str]
) -> list[PolicyDocument]:
    read = _read(files, env)
    errors = [problem for problem in read.problems if problem.level == "error"]
    if errors:
        count, shown = len(errors), errors[:_MAX_ERRORS_SHOWN]
        lines = "; ".join(f"{problem.file}:{problem.line}: {problem.detail}" for problem in shown)
        more = f"; and {count - len(shown)} more" if count > len(shown) else ""
        raise UsageError(f"nothing was checked: {lines}{more}")
    return [policy.document for policy in read.policies]


def _read(files: Sequence[str | Path] | PolicyFiles, env: Sequence[str]) -> PolicyFiles:
    return files if isinstance(files, PolicyFiles) else read_policies(files, env=env)
