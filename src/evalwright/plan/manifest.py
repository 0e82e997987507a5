"""The manifest of a run: enough to compare two runs, to resume one, and to build its report again.

It is stored as JSON. `read_manifest` reads manifests of any version.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from evalwright.errors import Unreadable
from evalwright.plan.keys import key_of
from evalwright.plan.outline import PlanOutline, PrimaryMetric, TaskOutline
from evalwright.types import Run, Usage

VERSION = 2
"""Increases when older code can no longer read the manifest."""
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})
MODES = {"mcq": "letter", "confidence": "logprobs"}
"""Options that change the plan of the same tasks, and the default of each."""
_KEYED_TASK_FIELDS = (
    *("name", "task_key", "kind", "models", "records", "trials", "trial_counts", "repeats"),
    *("landed", "code_exec", "after", "values", "digest", "issues"),
)
"""Fields that change the plan of a task. The place of its file and its display name do not."""


class SandboxFacts(Struct, frozen=True, kw_only=True):
    """How code from models was isolated."""

    tier: str
    verified: bool
    packages: list[str] = []
    only_verified: bool = False


class StopFacts(Struct, frozen=True, kw_only=True):
    """Why a run stopped early."""

    reason: str = ""
    resume_hint: str = field(default="the same command resumes it", name="go_on")


class Command(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The arguments of a run's command besides its path; scoring again uses the same."""

    models: tuple[str, ...] = ()
    """Models that replace those of the project."""
    settings: dict[str, str] = {}
    evaluation: str | None = None
    config: str | None = None
    env: tuple[str, ...] = ()
    trials: int | None = None


class Manifest(Struct, frozen=True, kw_only=True):
    """The manifest. Fields typed `Any` are read by other packages."""

    version: int = 1
    plan: PlanOutline
    name: str = ""
    tags: dict[str, str] = {}
    models: dict[str, str] = {}
    """The fingerprint of each model: everything that changes its answers."""
    solver: dict[str, Any] = {}
    scorers: dict[str, Any] = {}
    """Versions of components, per task where tasks differ."""
    sandbox: SandboxFacts | None = None
    mcq: str = MODES["mcq"]
    confidence: str = MODES["confidence"]
    fresh: bool = False
    seed: int = 0
    bins: int = 10
    calibrate: bool = False
    parameters: dict[str, Any] = {}
    by_sample: tuple[str, ...] = ()
    """The models that read the sample, not only the request."""
    notes: tuple[str, ...] = ()
    stopped: StopFacts | None = None
    changed_files: tuple[str, ...] = ()
    """The files that changed while the run was using them."""
    folder: str = ""
    """The folder that the paths of the command are relative to."""
    command: Command = field(default=Command(), name="told")
    specifications: dict[str, dict[str, Any]] = {}
    """What an exported result log contains about each task."""
    judges: Any = None
    judge_checks: Any = None
    dependent_tasks: tuple[str, ...] = field(default=(), name="pooled")
    """The tasks whose rows depend on each other."""
    recorded_tasks: tuple[str, ...] = field(default=(), name="taken")
    """The tasks whose results were taken from a log."""
    answers: dict[str, str] = {}
    """The fingerprints of the models whose stored answers are scored."""
    rows_spent: Usage | None = None
    """What generating the rows cost."""
    policies: Any = None
    headline: Any = None
    """Primary metrics and cost, for lists."""
    report: Any = None
    results: Any = None
    """The final results of tasks whose metrics are not computed again."""
    imported: Any = None
    """Where the results were imported from."""
    evalwright: str = ""
    python: str = ""
    platform: str = ""
    git: str | None = None

    def to_builtins(self) -> dict[str, Any]:
        """Return it as JSON for a store, without empty fields."""
        values = msgspec.to_builtins(self, str_keys=True)
        return {name: value for name, value in values.items() if value not in _EMPTY}


def read_manifest(run: Run) -> Manifest:
    """Read the manifest of a run, of this version or an older one."""
    try:
        if run.manifest.get("version", 1) > VERSION:
            raise ValueError(f"its manifest has version {run.manifest['version']}")  # noqa: TRY301 - as below
        return msgspec.convert(_upgrade(run.manifest), Manifest)
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # no version's shape
        raise Unreadable(
            f"run {run.id} was written by a different version, which this one cannot read: {error}",
            hint="run it again: stored answers are reused",
        ) from error


def read_manifest_if_readable(run: Run) -> Manifest | None:
    """The same; None for a run that this version cannot read, so that others can be listed."""
    try:
        return read_manifest(run)
    except Unreadable:
        return None


def _upgrade(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a manifest from before manifests had versions."""
    if raw.get("version", 1) > 1:
        return raw
    trials = raw.get("told", {}).get("trials")
    upgraded = {**raw, "version": VERSION, "plan": _upgrade_plan(raw["plan"], trials)}
    return {name: value for name, value in upgraded.items() if value is not None}


def _upgrade_plan(plan: Mapping[str, Any], trials: int | None) -> dict[str, Any]:
    if plan.get("kind") == "documents":
        tasks = [{**task, "finalized": True} for task in plan["tasks"]]
        return {**plan, "tasks": tasks, "trials": trials, "ranking": "per_task"}
    tasks = [_upgrade_record_task(task, plan["models"]) for task in plan["tasks"]]
    return {**plan, "tasks": tasks, "trials": plan.get("samples"), "ranking": "all_tasks"}


def _upgrade_record_task(task: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    counts = task.get("tries") or ()
    return {
        **task,
        "models": models,
        "trials": max((count for _, count in counts), default=1),
        "trial_counts": counts if len(counts) > 1 else (),
        "primary": msgspec.to_builtins(
            PrimaryMetric(scorer="record", field="score", metric="mean")
        ),
    }


def plan_key(manifest: Manifest, *, parent: str = "") -> str:
    """Return a hash that is equal for equal plans. File paths do not matter, contents do."""
    plan = manifest.plan
    decisive = {
        "tasks": [
            {name: getattr(task, name) for name in _KEYED_TASK_FIELDS}
            | {"issues": [(issue.line, issue.rule, issue.field) for issue in task.issues]}
            for task in plan.tasks
        ],
        "plan": [plan.models, plan.evaluation, plan.limit, plan.ranking],
        "models": manifest.models,
        "solver": manifest.solver,
        "scorers": manifest.scorers,
        "sandbox": manifest.sandbox,
        "modes": {name: getattr(manifest, name) for name in MODES},
    }
    return key_of(msgspec.json.encode(decisive, order="sorted").decode(), parent)


def key_of_run(run: Run) -> str:
    """Return the plan key of a stored run, as this version computes it.

    An older version may have started the run, and the store keeps its original key. A run
    that cannot be read has no key: it cannot be resumed.
    """
    manifest = read_manifest_if_readable(run)
    return plan_key(manifest, parent=run.parent or "") if manifest else ""


def describe_changes(manifest: Manifest, earlier: Sequence[Run]) -> Iterator[str]:
    """Return what changed since the newest run of tasks with the same names; empty without one.

    Imported results do not count: their log does not say what they were computed from.
    """
    names = [task.name for task in manifest.plan.tasks]
    for run in earlier:
        before = read_manifest_if_readable(run)
        if (
            before
            and before.imported is None
            and [task.name for task in before.plan.tasks] == names
        ):
            changes = list(_changes(before, manifest))
            if changes:
                yield f"new run: since {run.id}, {', '.join(changes)}; unchanged results are reused"
            return


def _changes(before: Manifest, after: Manifest) -> Iterator[str]:
    for old, new in zip(before.plan.tasks, after.plan.tasks, strict=True):
        if old.digest != new.digest:
            yield f"{new.path or new.name} has changed"
        if _uniform_tries(old) != _uniform_tries(new) and before.plan.trials == after.plan.trials:
            yield f"{new.name} has {new.tries} trials per sample (was {old.tries})"
    yield from _option_changes(before, after)
    yield from _model_changes(before.models, after.models)
    versions = (
        ("solver", before.solver, after.solver),
        ("scorers", _plain_scorers(before), _plain_scorers(after)),
    )
    yield from (
        f"the version of the {part} has changed" for part, was, now in versions if was != now
    )
    if before.sandbox and after.sandbox:  # without code to run, none is opened: not a change
        yield from _sandbox_changes(before.sandbox, after.sandbox)


def describe_run_differences(
    before: Manifest, after: Manifest, models: tuple[str, str]
) -> Iterator[str]:
    """Yield how the settings of two runs differ, other than in their tasks.

    `models` are the models that are compared. If they have the same name, different parameters are
    a difference.
    """
    yield from _option_changes(before, after)
    model, other = models
    if model == other and before.models.get(model) != after.models.get(model):
        yield f"the parameters or the endpoint of {model} have changed"
    for name in before.solver.keys() & after.solver.keys():
        if before.solver[name] != after.solver[name]:
            yield f"solver `{name}` has version {after.solver[name]} (was {before.solver[name]})"
    if before.sandbox and after.sandbox:
        yield from _sandbox_changes(before.sandbox, after.sandbox)


def _option_changes(before: Manifest, after: Manifest) -> Iterator[str]:
    for what, name in (("the limit is", "limit"), ("--trials is", "trials")):
        was, now = getattr(before.plan, name), getattr(after.plan, name)
        if was != now:
            yield f"{what} {now or 'none'} (was {was or 'none'})"
    for name in MODES:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield f"--{name} is {now} (was {was})"


def _sandbox_changes(before: SandboxFacts, after: SandboxFacts) -> Iterator[str]:
    if before.tier != after.tier:
        yield f"the sandbox is {after.tier} (was {before.tier})"
    elif before.verified != after.verified:
        yield f"--in-process-targets is {'off' if after.verified else 'on'}"
    if before.only_verified != after.only_verified:
        yield f"--require-verified is {'on' if after.only_verified else 'off'}"
    if before.packages != after.packages:
        was, now = (", ".join(facts.packages) or "none" for facts in (before, after))
        yield f"--sandbox-package is {now} (was {was})"


def _model_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name, fingerprint in after.items():
        if name not in before:
            yield f"{name} is new"
        elif before[name] != fingerprint:
            yield f"the parameters of {name} have changed"
    yield from (f"{name} was removed" for name in before if name not in after)


def _uniform_tries(task: TaskOutline) -> int:
    return 1 if task.trial_counts else task.tries


def _plain_scorers(manifest: Manifest) -> dict[str, Any]:
    """Return the scorers without those of a mode, which is reported itself."""
    modes = [name for name, default in MODES.items() if getattr(manifest, name) != default]
    brought = {*modes, *(f"${name}" for name in modes)}

    def plain(scorers: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: plain(value) if isinstance(value, dict) else value
            for name, value in scorers.items()
            if name not in brought
        }

    return plain(manifest.scorers)
