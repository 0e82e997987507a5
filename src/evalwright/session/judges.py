"""The judges of a run: which scorers query a model for a verdict, and which model."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import structs, to_builtins

from evalwright.clients.replay import Replay
from evalwright.plan.keys import key_of
from evalwright.plan.plan import Plan, TaskPlan, TaskRuntime
from evalwright.ports import Model, Store
from evalwright.report.judges import VERDICT_SCORES, Judge, judge_rows
from evalwright.report.report import Report
from evalwright.types import JudgedAnswer, Run


def describe_judges(
    tasks: Mapping[str, TaskRuntime], models: Mapping[str, Model]
) -> list[dict[str, Any]]:
    """Return, per task, the scorers that query a judge, as JSON for the manifest."""
    judges = []
    for task, runtime in tasks.items():
        for name, scorer in runtime.scorers.items():
            if key := judge_model_key(scorer):
                model = runtime.other_models[key]
                judges.append(describe_judge(task, name, scorer, model=model, client=models[model]))
    return list(to_builtins(judges))


def add_judges(report: Report, run: Run, store: Store) -> Report:
    """Return the report with the stored judge checks of the run's judges."""
    if not run.manifest.get("judges"):
        return report
    return structs.replace(report, judges=judge_rows(run, store.runs()))


def judge_model_key(scorer: Any) -> str:
    """Return the judge model of a scorer; empty if it has none."""
    if getattr(scorer, "type", "") in VERDICT_SCORES:
        return str(scorer.model_key)
    return str(getattr(scorer, "judge_model_key", None) or "")


def describe_judge(task: str, name: str, scorer: Any, *, model: str, client: Model) -> Judge:
    """Return a scorer with its judge model."""
    labels: list[str] = getattr(scorer, "correct_labels", getattr(scorer, "valid_labels", []))
    return Judge(
        task=task,
        scorer=name,
        type=scorer.type,
        judge=judge_model_key(scorer),
        model=model,
        identity=key_of(
            scorer.type, str(scorer.version), scorer.settings, model, client.fingerprint
        ),
        correct_labels=list(labels),
        incorrect_labels=list(getattr(scorer, "incorrect_labels", ())),
        score_min=float(getattr(scorer, "score_min", 0.0)),
        score_max=float(getattr(scorer, "score_max", 1.0)),
    )


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
