"""Refuse a recorded judge whose file cannot tell apart what it is asked to judge.

Without this check, two models would silently get the same verdicts.
"""

from collections.abc import Collection, Iterator, Mapping

from evalwright.clients.replay import Replay
from evalwright.plan.plan import Plan, TaskPlan
from evalwright.ports import Model
from evalwright.types import JudgedAnswer

Questions = list[tuple[JudgedAnswer | None, Collection[str] | None]]


def check_recorded_judges(plan: Plan, clients: Mapping[str, Model]) -> None:
    """Raise `UsageError` if a line of a recorded judge would be used for two answers."""
    for name, client in clients.items():
        if not isinstance(client, Replay) or name not in plan.other_models:
            continue
        questions: Questions = []
        for task in plan.tasks:
            asked = [] if task.recorded else [*_list_questions(task, name)]
            if asked:
                ids = _list_ids(task)
                questions += [(question, ids) for question in asked]
        client.refuse_shared_answers(questions)


def _list_questions(task: TaskPlan, judge: str) -> Iterator[JudgedAnswer | None]:
    """Yield what a task asks a model: None for answers, and what its scorers ask."""
    runtime = task.runtime
    if judge in task.outline.models:
        yield None
    for key, scorer in runtime.scorers.items():
        if judge not in (runtime.other_models[name] for name in getattr(scorer, "model_keys", ())):
            continue
        for model in task.outline.models:
            for order in getattr(scorer, "orders", (None,)):
                yield JudgedAnswer(task=task.name, model=model, scorer=key, shown_first=order)


def _list_ids(task: TaskPlan) -> Collection[str] | None:
    """Return the ids of the samples; None if they are results of a task that has not run yet."""
    if task.outline.after:
        return None
    return {planned.sample.id for planned in task.samples.planned_samples()}
