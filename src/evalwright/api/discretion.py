"""No secret of the environment is kept with a run: neither as an argument nor out of a record.

What a server says is cleaned where it is heard, an outcome before it is stored. Here is the rest:
what the user typed, and what is quoted of a bad record.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from evalwright.errors import UsageError
from evalwright.secrets import Redactor, Secret, secrets_in

if TYPE_CHECKING:
    from evalwright.plan.documents import DocumentPlan
    from evalwright.plan.plan import Plan, PlannedTask
    from evalwright.types import Issue


def redactor_here(more: Iterable[Secret] = ()) -> Redactor:
    """For the secrets of this process, and those that a project brings."""
    return Redactor([*secrets_in(os.environ), *(one.reveal() for one in more)])


def refuse_secrets(
    names: Iterable[str], parameters: Mapping[str, Any], more: Iterable[Secret] = ()
) -> None:
    """A path, a model or a parameter is part of what is stored, and cannot be changed there."""
    redactor = redactor_here(more)
    given = msgspec.json.encode(parameters, enc_hook=repr).decode()
    if any(redactor.clean(text) != text for text in (*names, given)):
        raise UsageError(
            "a path, a model or a parameter holds a secret of the environment, "
            "and would be kept with the run",
            hint="a key belongs into its variable: it travels in a header",
        )


def discreet(plan: "Plan", redactor: Redactor) -> "Plan":
    """The same plan, without secrets in what it says of bad records."""
    return structs.replace(plan, tasks=tuple(_task(task, redactor) for task in plan.tasks))


def discreet_values(plan: "DocumentPlan", redactor: Redactor) -> "DocumentPlan":
    """The same plan, without secrets in the values of its parameters."""
    from evalwright.engine.clean import cleaned_value

    tasks = (
        structs.replace(task, values=cleaned_value(task.values, redactor)) for task in plan.tasks
    )
    return structs.replace(plan, tasks=tuple(tasks)) if redactor else plan


def _task(task: "PlannedTask", redactor: Redactor) -> "PlannedTask":
    return structs.replace(task, issues=tuple(_issue(issue, redactor) for issue in task.issues))


def _issue(issue: "Issue", redactor: Redactor) -> "Issue":
    return structs.replace(
        issue,
        field=issue.field and redactor.clean(issue.field),
        task_id=issue.task_id and redactor.clean(issue.task_id),
        detail=redactor.clean(issue.detail),
    )
