"""A specification whose result is taken from a log.

    task_specifications:
      - key: first-pass
        task_key: capital-cities
        task_result_log_path: task_results/first-pass/task_result_log.json

Nothing of its task is run, so neither the task nor its models and datasets need be in the project.
"""

from msgspec import Struct

from evalwright.spec.documents.asked import Asked
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.texts import beside

FIELD = "task_result_log_path"


class Recording(Struct, frozen=True):
    """Where a result is."""

    file: str
    """The log, from the current folder."""
    path: Path
    """The field that names it, in the evaluation."""


def recording_of(asked: Asked) -> Recording | None:
    """The log that a specification names, relative to its document; None if it names none."""
    written, path = asked.text(FIELD), (*asked.path, FIELD)
    if not written:
        return None
    return Recording(beside(asked.entity.part.raw.marks.place(path).file, written), path)


def without_effect(asked: Asked) -> list[Fault]:
    """What a specification says of how often it is run, though it is not run at all."""
    return [
        Fault(
            (*asked.path, name),
            "no_effect",
            f"`{name}` has no effect: the result is taken from the log of `{FIELD}`",
            "leave it out",
            level="warning",
        )
        for name in ("trials", "repeatability")
        if asked.data.get(name) is not None
    ]


def stand_in(task_key: str, display_name: str | None) -> TaskDocument:
    """What stands for the task: it does nothing."""
    return TaskDocument(
        key=task_key,
        display_name=display_name or task_key,
        description="",
        definition=BenchmarkTask(evaluated_entity_type="dataset"),
    )
