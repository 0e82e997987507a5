"""The verbs. The only place where adapters meet ports.

init       a small project that runs as it is
validate   every mistake in a task file
lint       what is legal and still suspicious
run        every task with every model, and a Report
schema     the JSON Schema of a document
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.errors import UsageError
from evalwright.spec.checking import Checking
from evalwright.types import ModelOptions

if TYPE_CHECKING:
    from evalwright.engine.run import Crew
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model, Sandbox
    from evalwright.report.report import CodeExecution, Report
    from evalwright.spec.records.check import Validated
    from evalwright.spec.records.lint import Linting
    from evalwright.types import Outcome

Paths = str | Path | Sequence[str | Path]


def validate(path: str | Path) -> Validated:
    """Every record and every error of a task file, as two lists."""
    from evalwright.spec.records.check import validate_file

    return validate_file(path)


def checks(paths: Sequence[str]) -> list[Checking]:
    """The same for many files, keeping nothing: iterate each for its issues."""
    return [Checking(path) for path in paths]


def lint(path: str | Path) -> Linting:
    """What is legal and still suspicious in a task file: iterate for the findings."""
    from evalwright.spec.records.lint import Linting

    return Linting(str(path))


def init(directory: str | Path) -> Path:
    """Write the ten example tasks into a directory; refuse to overwrite."""
    from evalwright.spec.records.fixtures import TASKS

    target = Path(directory) / TASKS.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(TASKS.read_bytes())
    except FileExistsError as error:
        raise UsageError(f"{target}: already there, and left as it is") from error
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
    return target


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of `records` or `report`."""
    if kind == "records":
        from evalwright.spec.records.schema import record_schema

        return record_schema()
    if kind == "report":
        from evalwright.report.schema import report_schema

        return report_schema()
    raise UsageError(f"there is no schema `{kind}`; there are `records` and `report`")


def run(  # noqa: PLR0913 - the verb of the library; every option is one a person types
    path: Paths,
    models: str | Sequence[str],
    *,
    limit: int | None = None,
    allow_bad_tasks: bool = False,
    concurrency: int | None = None,
    unsafe_code_exec: bool = False,
    seed: int = 0,
    bins: int = 10,
    progress: Callable[[Plan], Callable[[Outcome], None]] | None = None,
) -> Report:
    """Run every task with every model and report.

    Raises before the first model call for whatever is wrong with tasks, models or options.
    `progress` is told the plan, and answers with what is to be called after every outcome.
    """
    from time import perf_counter

    from evalwright.engine.run import Crew
    from evalwright.plan.plan import make_plan
    from evalwright.registry import load
    from evalwright.report.build import Facts, build_report

    _check_options(limit=limit, concurrency=concurrency, seed=seed, bins=bins)
    paths = [str(path)] if isinstance(path, str | Path) else [str(one) for one in path]
    names = _canonical([models] if isinstance(models, str) else models)
    _check_names([*paths, *names])
    plan = make_plan(paths, names, limit=limit, allow_bad_tasks=allow_bad_tasks)
    crew = Crew(
        models={name: _connect(name) for name in names},
        solver=load("solvers", "record")(),
        scorers={"record": load("scorers", "record")()},
        sandbox=_sandbox(plan, unsafe=unsafe_code_exec),
    )
    notes = _notes(crew.models)
    outcomes: list[Outcome] = []
    told = progress(plan) if progress else None

    def journal(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if told:
            told(outcome)

    started = perf_counter()
    _complete(plan, crew, journal, workers=concurrency or 4 * (os.cpu_count() or 1))
    facts = Facts(
        run_id=_run_id(),
        wall_seconds=perf_counter() - started,
        seed=seed,
        bins=bins,
        code_execution=_held(crew.sandbox),
        notes=notes,
    )
    return build_report(plan, outcomes, facts)


def _check_options(**options: int | None) -> None:
    """The ones that would otherwise break the report after the run, or run nothing at all."""
    for name, value in options.items():
        least = 0 if name == "seed" else 1
        if value is not None and value < least:
            raise UsageError(f"`{name}` is {least} or more, got `{value}`")


def _check_names(names: Sequence[str]) -> None:
    """A file system may hold names that JSON, and so a report, cannot."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(f"{name!a}: a name that is not UTF-8 cannot stand in a report")


def _held(sandbox: Sandbox | None) -> CodeExecution | None:
    from evalwright.report.report import CodeExecution

    return CodeExecution(tier=sandbox.tier, verified=sandbox.verified) if sandbox else None


def _notes(models: Mapping[str, Model]) -> tuple[str, ...]:
    """One note a caveat, with the models it is about."""
    names: dict[str, list[str]] = {}
    for name, model in models.items():
        if model.caveat:
            names.setdefault(model.caveat, []).append(name)
    return tuple(f"{', '.join(about)}: {caveat}" for caveat, about in names.items())


def _complete(plan: Plan, crew: Crew, journal: Callable[[Outcome], None], *, workers: int) -> None:
    import asyncio

    from evalwright.engine.run import run as run_engine

    work = run_engine(plan.jobs(), crew, journal, workers=workers)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        _complete_beside(work)


def _complete_beside(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: a notebook has a loop running already."""
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor

    begun: Future[Callable[[], object]] = Future()

    async def cancellable() -> None:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        begun.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        await task

    with ThreadPoolExecutor(max_workers=1) as pool:
        done = pool.submit(asyncio.run, cancellable())
        try:
            done.result()
        except KeyboardInterrupt:  # the pool waits for the thread, and the thread must not go on
            begun.result()()
            raise


def _canonical(models: Sequence[str]) -> list[str]:
    """`provider:model` and `provider/model` are the same; printed in the second form, once."""
    if not models:
        raise UsageError(
            "no model was named", hint="-m scripted/oracle, or -m replay/outputs.jsonl"
        )
    names = []
    for model in models:
        provider, colon, rest = model.partition(":")
        names.append(f"{provider}/{rest}" if colon and "/" not in provider else model)
    return list(dict.fromkeys(names))


def _connect(name: str) -> Model:
    from evalwright.registry import load

    provider, _, rest = name.partition("/")
    if not provider or not rest:
        raise UsageError(f"`{name}` is not a model", hint="a model is written provider/model")
    model: Model = load("models", provider)(rest, ModelOptions(environment=os.environ))
    return model


def _sandbox(plan: Plan, *, unsafe: bool) -> Sandbox | None:
    if not plan.needs_sandbox:
        return None
    if not unsafe:
        count = sum(task.code_exec for task in plan.tasks)
        raise UsageError(
            f"{count} code_exec record{'s' if count > 1 else ''} would run a model's code, "
            "and no isolating sandbox is available",
            hint="`--unsafe-code-exec` runs it in a plain child process, "
            "with your rights: only for code you trust",
        )
    from evalwright.registry import load

    sandbox: Sandbox = load("sandboxes", "unsafe")()
    return sandbox


def _run_id() -> str:
    """Sorts by time, and is short enough to type a prefix of."""
    from datetime import UTC, datetime
    from secrets import token_hex

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(2)}"
