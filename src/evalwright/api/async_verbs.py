"""The verbs of an event loop: each does what the verb without `a` does, and does not block.

They work in a thread. If one is cancelled, so is its run, which can be resumed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from evalwright.api.comparisons import compare
from evalwright.api.files import validate
from evalwright.api.gates import AnyPolicies, gate
from evalwright.api.listing import runs
from evalwright.api.run_tasks import Paths, run, score
from evalwright.api.stored_runs import load
from evalwright.comparison.baseline import DEFAULT_MARGIN, GateResult
from evalwright.comparison.report import ComparisonReport
from evalwright.event_loop import run_in_thread
from evalwright.plan.options import RunKeywords, ScoreKeywords
from evalwright.report.report import Report
from evalwright.report.runs import ListedRun
from evalwright.session.progress import Progress
from evalwright.spec.records.check import Validated

if TYPE_CHECKING:
    from evalwright.functions.model import AnyModel
    from evalwright.functions.task import Task


async def arun(
    tasks: "Paths | Task | Sequence[Task]",
    models: "AnyModel | Sequence[AnyModel]" = (),
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[RunKeywords],
) -> Report:
    """Do what `run` does, without blocking the caller's event loop.

    The run has its own event loop in a separate thread, so an async model function must not use
    objects that belong to the caller's event loop. If the call is cancelled, the run stops and
    can be resumed.

    >>> import asyncio
    >>> asyncio.run(ew.arun("tasks.jsonl", models="scripted/oracle", limit=2)).status
    'finished'
    """
    return await run_in_thread(run, tasks, models, progress=progress, **options)


async def ascore(
    run: str | Report = "latest",
    /,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[ScoreKeywords],
) -> Report:
    """Do what `score` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> report = ew.run("tasks.jsonl", models="scripted/oracle", limit=2)
    >>> asyncio.run(ew.ascore(report)).summary.completed
    2
    """
    return await run_in_thread(score, run, progress=progress, **options)


async def avalidate(
    path: str | Path | Sequence[str | Path], *, env: Sequence[str] = ()
) -> Validated:
    """Do what `validate` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> asyncio.run(ew.avalidate("tasks.jsonl")).errors
    []
    """
    return await run_in_thread(validate, path, env=env)


async def agate(  # noqa: PLR0913 - those of `gate`
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
    """Do what `gate` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> report = ew.run("tasks.jsonl", models="scripted/oracle", limit=2)
    >>> rule = {"key": "measured", "definition": {"type": "exists", "metric": "mean"}}
    >>> asyncio.run(ew.agate(report, {"key": "release", "rules": [rule]})).holds
    True
    """
    return await run_in_thread(
        gate,
        run,
        policies,
        store=store,
        strict=strict,
        env=env,
        baseline=baseline,
        margin=margin,
        by=by,
        cluster=cluster,
    )


async def acompare(  # noqa: PLR0913 - those of `compare`
    a: str | Report = "latest",
    b: str | Report | None = None,
    *others: str | Report,
    store: str | Path | None = None,
    models: tuple[str, ...] | list[str] = (),
    tasks: tuple[str, ...] | list[str] = (),
    margin: float = 0.0,
    by: str = "",
    cluster: str = "",
    seed: int = 0,
    flips: int = 10,
) -> ComparisonReport:
    """Do what `compare` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle", "scripted/noisy"])
    >>> [row.verdict for row in asyncio.run(ew.acompare(report))]
    ['worse']
    """
    return await run_in_thread(
        compare,
        a,
        b,
        *others,
        store=store,
        models=models,
        tasks=tasks,
        margin=margin,
        by=by,
        cluster=cluster,
        seed=seed,
        flips=flips,
    )


async def aload(
    name: str = "latest",
    store: str | Path | None = None,
    *,
    seed: int | None = None,
    bins: int | None = None,
    calibrate: bool | None = None,
) -> Report:
    """Do what `load` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> report = ew.run("tasks.jsonl", models="scripted/oracle", limit=2)
    >>> asyncio.run(ew.aload(report.run_id)).run_id == report.run_id
    True
    """
    return await run_in_thread(load, name, store, seed=seed, bins=bins, calibrate=calibrate)


async def aruns(store: str | Path | None = None) -> list[ListedRun]:
    """Do what `runs` does, without blocking the caller's event loop.

    >>> import asyncio
    >>> report = ew.run("tasks.jsonl", models="scripted/oracle", limit=2)
    >>> [run.id for run in asyncio.run(ew.aruns())] == [report.run_id]
    True
    """
    return await run_in_thread(runs, store)
