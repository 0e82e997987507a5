"""Try a task on a few samples, and keep nothing."""

from collections.abc import Callable, Sequence
from typing import Any

from evalwright.api.run_project import compile_run
from evalwright.projects import try_task as task_previews
from evalwright.projects.task_preview import TaskPreview
from evalwright.projects.try_task import TaskSelection, locate_task

__all__ = ["TaskSelection", "locate_task", "try_task"]


def try_task(
    selection: TaskSelection,
    models: Sequence[str] = (),
    *,
    tell: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> TaskPreview:
    """Try a task; `options` are fields of `RunOptions`, `tell` receives messages for the user."""
    return task_previews.try_task(selection, models, compile_plan=compile_run, tell=tell, **options)
