"""What a run was: enough to tell two runs apart, to resume one, and to report on it again."""

import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from evalwright._version import __version__
from evalwright.api.assembly import held_by, notes_on
from evalwright.api.modes import MODES, modes_of
from evalwright.engine.keys import key_of
from evalwright.plan.documents import DocumentPlan
from evalwright.plan.plan import Plan
from evalwright.report.judges import CHECKS
from evalwright.types import Run

if TYPE_CHECKING:
    from evalwright.api.options import RunOptions
    from evalwright.engine.finish import RunScorer
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.ports import Model
    from evalwright.report.build import Facts

DECISIVE = ("plan", "models", "solver", "scorers", "sandbox")
"""What makes another plan of it; the rest is for people."""


class Told(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the command of a project said beside its path: it is scored again as it was run."""

    models: tuple[str, ...] = ()
    """In the place of those that the project names."""
    settings: dict[str, str] = {}
    evaluation: str | None = None
    config: str | None = None
    env: tuple[str, ...] = ()
    trials: int | None = None


def told_by(models: Iterable[str], options: "RunOptions") -> dict[str, Any]:
    """As JSON, for the manifest."""
    told = Told(
        models=tuple(models),
        settings=options.settings,
        evaluation=options.evaluation,
        config=options.config,
        env=options.env,
        trials=options.trials,
    )
    return dict(msgspec.to_builtins(told))


def told_to(run: Run) -> Told:
    """What a run's command said; nothing, if an older version has not kept it."""
    return msgspec.convert(run.manifest.get("told", {}), Told)


def manifest_of(
    plan: Plan | DocumentPlan,
    clients: "Mapping[str, Model]",
    crew: "Crew",
    options: "RunOptions",
    *,
    parent: Run | None = None,
    late: "Mapping[str, Mapping[str, RunScorer]] | None" = None,
) -> dict[str, Any]:
    """JSON, and no secret in it: a fingerprint never has one.

    `late` are the scorers of all samples, by task: they are in no team.
    """
    return {
        "plan": msgspec.to_builtins(plan),
        "models": {name: client.fingerprint for name, client in clients.items()},
        **_versions(crew, late or {}),
        "sandbox": msgspec.to_builtins(held_by(crew)),
        "fresh": options.fresh,
        "seed": options.seed,
        "bins": options.bins,
        "calibrate": options.calibrate,
        "parameters": options.parameters,
        **modes_of(options),
        **({"by_sample": sorted(crew.by_sample)} if crew.by_sample else {}),
        "notes": list(dict.fromkeys([*notes_on(clients), *_inherited(parent)])),
        "evalwright": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "git": _commit(),
    }


def _versions(
    crew: "Crew", late: "Mapping[str, Mapping[str, RunScorer]]"
) -> dict[str, dict[str, Any]]:
    """Of everything that could move an answer or a score.

    Scorers are told by task where tasks differ: two may have one name, and other versions.
    """
    solvers = [team.solver for team in crew.teams.values() if team.solver]
    scorers = {
        task: {
            **{name: one.version for name, one in team.scorers.items()},
            **{name: one.version for name, one in late.get(task, {}).items()},
        }
        for task, team in crew.teams.items()
    }
    first: dict[str, Any] = next(iter(scorers.values()), {})
    return {
        "solver": {solver.name: solver.version for solver in solvers},
        "scorers": first if all(one == first for one in scorers.values()) else scorers,
    }


def ended(
    run: Run, plan: Plan | DocumentPlan, options: "RunOptions", stop: "Stop"
) -> dict[str, Any]:
    """The manifest of a run after an invocation of it: where its files lie now, why it stopped."""
    flag = " without `--fresh`" if options.fresh else ""
    stopped = {"reason": stop.reason, "go_on": stop.hint or f"the same command{flag} goes on"}
    return {
        **run.manifest,
        "plan": msgspec.to_builtins(plan),
        "seed": options.seed,
        "bins": options.bins,
        "calibrate": options.calibrate,
        "stopped": stopped if stop.requested else None,
    }


def ended_as(ours: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as an invocation leaves it, with the checks that others have kept meanwhile."""
    return {**ours, **({CHECKS: kept[CHECKS]} if CHECKS in kept else {})}


def facts_of(run: Run, *, wall_seconds: float, reused: int, stopped: bool) -> "Facts":
    """What a report says beside the outcomes, now and whenever it is made again."""
    from evalwright.report.build import Facts
    from evalwright.report.report import CodeExecution

    known = run.manifest
    end = known.get("stopped") or {"reason": "", "go_on": "the same command goes on"}
    return Facts(
        run_id=run.id,
        wall_seconds=wall_seconds,
        reused=reused,
        stopped=stopped,
        stop_reason=end["reason"],
        go_on=end["go_on"],
        seed=known.get("seed", 0),
        bins=known.get("bins", 10),
        calibrate=known.get("calibrate", False),
        code_execution=msgspec.convert(known.get("sandbox"), CodeExecution | None),
        notes=tuple(known.get("notes", ())),
        **{name: known.get(name, usual) for name, usual in MODES.items()},
    )


def plan_key(manifest: Mapping[str, Any], *, parent: Run | None) -> str:
    """Equal for equal plans. Where the files lie does not matter, what is in them does.

    Nor does what people read in place of a task's key.
    """
    decisive = {name: manifest[name] for name in DECISIVE}
    decisive |= {name: manifest[name] for name in MODES if name in manifest}
    tasks = [{**task, "path": "", **_untitled(task)} for task in decisive["plan"]["tasks"]]
    decisive["plan"] = {**decisive["plan"], "path": "", "tasks": tasks}
    return key_of(
        msgspec.json.encode(decisive, order="sorted").decode(), parent.id if parent else ""
    )


def _untitled(task: Mapping[str, Any]) -> dict[str, str]:
    """Of a task of records nothing: it has no title."""
    return {"display_name": ""} if "display_name" in task else {}


def plan_of(run: Run) -> Plan:
    """The plan of records that a run carried out."""
    return msgspec.convert(run.manifest["plan"], Plan)


def is_evaluation(run: Run) -> bool:
    """Whether a run is of task documents, not of task records."""
    return bool(run.manifest["plan"].get("kind") == "documents")


def any_plan_of(run: Run) -> Plan | DocumentPlan:
    """The plan that a run carried out, of either kind."""
    if is_evaluation(run):
        return msgspec.convert(run.manifest["plan"], DocumentPlan)
    return plan_of(run)


def what_changed(manifest: Mapping[str, Any], earlier: Sequence[Run]) -> Iterator[str]:
    """Against the newest run of tasks of the same names; nothing where there is none."""
    names = [task["name"] for task in manifest["plan"]["tasks"]]
    for run in earlier:
        before = run.manifest
        if [task["name"] for task in before["plan"]["tasks"]] == names:
            changes = list(_changes(before, manifest))
            if changes:
                yield f"not the plan of {run.id}: {', '.join(changes)}; what is the same is reused"
            return


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for old, new in zip(before["plan"]["tasks"], after["plan"]["tasks"], strict=True):
        if old["digest"] != new["digest"]:
            yield f"{new.get('path') or new['name']} has changed"
        yield from _tried_otherwise(old, new)
    for what, name in (("the limit is", "limit"), ("--samples is", "samples")):
        was, now = before["plan"].get(name), after["plan"].get(name)
        if was != now:
            yield f"{what} {now or 'none'}, it was {was or 'none'}"
    yield from _other_modes(before, after)
    for name in after["models"]:
        if name not in before["models"]:
            yield f"{name} is new"
        elif before["models"][name] != after["models"][name]:
            yield f"{name} has other parameters"
    yield from (f"{name} is gone" for name in before["models"] if name not in after["models"])
    for part in ("solver", "scorers", "sandbox"):
        if _without_modes(before, part) != _without_modes(after, part):
            yield f"another version of the {part}"


def _other_modes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, usual in MODES.items():
        was, now = before.get(name, usual), after.get(name, usual)
        if was != now:
            yield f"--{name} is {now}, it was {was}"


def _without_modes(manifest: Mapping[str, Any], part: str) -> Any:
    """A scorer that a mode has brought is told of by the mode."""
    known = manifest[part]
    if part != "scorers":
        return known
    return {name: one for name, one in known.items() if not (name in MODES and name in manifest)}


def _tried_otherwise(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    was, now = _tries(old), _tries(new)
    if was != now:
        yield f"{new['name']} is tried {now} times a sample, it was {was}"


def _tries(task: Mapping[str, Any]) -> int:
    """Of each sample of a project's task. The records of a file say it themselves."""
    return int(task["trials"]) * int(task["repeats"]) if "repeats" in task else 1


def _inherited(parent: Run | None) -> list[str]:
    """A score is no better than the outputs it is of."""
    return [*parent.manifest["notes"], f"outputs of {parent.id}, scored again"] if parent else []


def _commit() -> str | None:
    """Of the folder that the command was given in, if it is under git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
