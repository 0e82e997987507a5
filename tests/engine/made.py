"""Jobs, models and resources made by hand, for the tests of this folder."""

from collections.abc import Callable
from typing import Any

from evalwright.clients.scripted import Answer, Scripted
from evalwright.engine.run import Resources
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.types import Failure, Outcome, Request, Sample, TaskSpec

FAILURE = Failure(stage="solver", type="timeout", message="no answer")


def task(name: str = "a", **changes: Any) -> TaskSpec:
    return TaskSpec(
        **{
            "task_id": name,
            "category": "arithmetic",
            "prompt": name,
            "targets": ("4",),
            "metric_name": "exact_match",
            "post_process": "none",
            **changes,
        }
    )


def job(name: str = "a", *, model: str = "m", ordinal: int = 0, trial: int = 0, **of: Any) -> Job:
    """A job on a record; `of` changes the record."""
    record = task(name, **of)
    return Job(
        task="tasks",
        model=model,
        sample=Sample(record.task_id, record),
        ordinal=ordinal,
        trial=trial,
        group="arithmetic",
    )


def outcome(name: str = "a", *, failure: Failure | None = None, **fields: Any) -> Outcome:
    return Outcome(task="tasks", model="m", sample_id=name, failure=failure, **fields)


def model(script: Callable[[Request], str]) -> Scripted:
    def answer(request: Request) -> Answer:
        return Answer(script(request), 0.5)

    return Scripted("test", answer, remember=True)


def right(request: Request) -> str:
    del request
    return "4"


def broken(request: Request) -> str:
    raise ConnectionError(f"no answer to {request.sample.id}")


class Breaking:
    """A postprocessor that makes nothing of anything."""

    async def apply(self, *_given: Any) -> Any:
        raise ValueError("no part of it")


def resources(script: Callable[[Request], str] = right, **changes: Any) -> Resources:
    """Of one task; `changes` are fields of its runtime or of the resources."""
    parts = {"solver": RecordSolver(), "scorers": {"record": RecordScorer()}, **changes}
    theirs = {name: parts.pop(name) for name in TaskRuntime.__struct_fields__ if name in parts}
    return Resources(
        **{"models": {"m": model(script)}, "tasks": {"tasks": TaskRuntime(**theirs)}, **parts}
    )


def calls(who: Resources) -> list[str]:
    """Which samples the models were asked about, in order."""
    return [
        call.sample.id
        for client in who.models.values()
        if isinstance(client, Scripted)
        for call in client.calls
    ]
