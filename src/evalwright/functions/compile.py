"""Compile tasks that are written in Python into task documents."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalwright.components import Component
from evalwright.errors import BadTasks, NoInput, UsageError
from evalwright.functions.decorators import read_function
from evalwright.functions.metric import METRIC, make_metric
from evalwright.functions.postprocessor import make_postprocessor
from evalwright.functions.scorer import make_scorer
from evalwright.functions.solver import make_solver
from evalwright.functions.task import Task, is_function
from evalwright.metrics.base import AnyMetric, MetricSpec
from evalwright.nearest import nearest
from evalwright.plan.row_checks import unknown_columns
from evalwright.registry import load_components
from evalwright.scorers.base import ScorerSpec
from evalwright.solvers.base import SolverSpec
from evalwright.spec.documents.checks.build import METRIC_VARIABLES, build_instance
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.yaml.problems import Fault, format_path


class CompiledTask(NamedTuple):
    """A task as a document, and what a document cannot hold."""

    document: TaskDocument
    metrics: Mapping[str, Sequence[tuple[str, MetricSpec]]]
    """The metrics of the task by scorer, each with its key."""
    notes: Sequence[str]
    """What is not reused, and why."""


class MetricList(Component):
    """Metrics of a task, before it is known which scorers they are for."""

    metrics: list[AnyMetric]
    """The metrics."""


def compile_tasks(tasks: Sequence[Task], models: Sequence[str]) -> dict[str, CompiledTask]:
    """Return the tasks as documents, by key."""
    for key, count in Counter(task.key for task in tasks).items():
        if count > 1:
            raise UsageError(f"{count} tasks are named `{key}`", hint="give each its own name")
    compiled = {}
    for task in tasks:
        task.check_columns()
        compiled[task.key] = _compile_task(task)
        solver = getattr(compiled[task.key].document.definition, "solver", None)
        if solver is not None and solver.calls_model and not models:
            what = "a prompt" if task.messages else "a solver"
            raise NoInput(
                f"task `{task.name}` has {what}, but there is no model to send it to",
                hint='`models=[…]`, such as a function or "scripted/oracle"',
            )
    return compiled


def _compile_task(task: Task) -> CompiledTask:
    scorers: list[ScorerSpec | None] = []
    named, notes = [], []
    for given in task.scorers:
        if is_function(given):
            scorer, note = make_scorer(given)
            scorers.append(scorer)
            notes.append(note)
        elif isinstance(given, ScorerSpec):
            scorers.append(given)
        elif isinstance(given, str | Mapping):
            scorers.append(None)
            named.append(_name_target({"type": given} if isinstance(given, str) else given, task))
        else:
            raise UsageError(
                f"task `{task.name}`: `{given!r}` is not a scorer",
                hint="a scorer is a function, the type of a built-in scorer, or its fields",
            )
    solver, note = _choose_solver(task)
    notes.append(note)
    document = _build_document(task, named, solver)
    definition: Any = document.definition
    built = iter(definition.scorers)
    definition = definition.model_copy(
        update={
            "scorers": [scorer or next(built) for scorer in scorers],
            "solver": solver if isinstance(solver, SolverSpec) else definition.solver,
        }
    )
    if task.postprocessor is not None:
        definition = _add_postprocessor(task, definition)
    for name, count in Counter(map(_name_of, definition.scorers)).items():
        if count > 1:
            raise UsageError(
                f"task `{task.name}` has {count} scorers named `{name}`",
                hint='give each its own name: `{"type": …, "key": …}` or `@ew.scorer(name=…)`',
            )
    metrics, more_notes = _build_metrics(task, definition.scorers)
    return CompiledTask(
        document=document.model_copy(update={"definition": definition}),
        metrics=metrics,
        notes=[*filter(None, notes), *more_notes],
    )


def _name_of(scorer: ScorerSpec) -> str:
    return scorer.key or scorer.type


def _choose_solver(task: Task) -> tuple[SolverSpec | Mapping[str, Any] | None, str]:
    """Return the solver, and a note if its answers are not reused."""
    if is_function(task.solver):
        return make_solver(task.solver)
    if task.solver is not None:
        return task.solver, ""
    if not task.messages:
        return None, ""
    return _query(task.build_messages()), ""


def _query(messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    builder = {"type": "chat_completion", "input_messages": messages}
    return {"type": "single_turn_solver", "input_builder": builder}


def _build_document(
    task: Task, scorers: Sequence[Mapping[str, Any]], solver: SolverSpec | Mapping[str, Any] | None
) -> TaskDocument:
    definition: dict[str, Any] = {
        "type": "benchmark_task",
        "dataset": {"key": task.key},
        "scorers": scorers,
    }
    if solver is None:
        definition["evaluated_entity_type"] = "dataset"
    elif isinstance(solver, Mapping):
        definition["solver"] = {**solver}
    else:  # a document must have one, and this one is put in afterwards
        definition["solver"] = _query([{"role": "user", "content": "-"}])
    data = {
        "key": task.key,
        "display_name": task.name,
        "description": task.description,
        "definition": definition,
    }
    document, faults = build_instance(TaskDocument, data)
    _refuse_faults(task, faults)
    if document is None:
        raise BadTasks(f"task `{task.name}` is not valid")
    return document


def _refuse_faults(task: Task, faults: Sequence[Fault]) -> None:
    errors = [fault for fault in faults if fault.level == "error"]
    if errors:
        problems = "; ".join(
            f"{format_path(fault.path).removeprefix('definition.')}: {fault.detail}"
            for fault in errors
        )
        hint = next((fault.hint for fault in errors if fault.hint), "")
        raise BadTasks(f"task `{task.name}`: {problems}", hint=hint)


def _name_target(fields: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Return the fields of a scorer; one that compares with a right answer is told the column."""
    known = load_components("scorers").get(str(fields.get("type")))
    needed = known.model_fields.get("ground_truth") if known else None
    if needed is None or not needed.is_required() or "ground_truth" in fields:
        return {**fields}
    return {**fields, "ground_truth": f"{{{{ sample[{task.target!r}] }}}}"}


def _add_postprocessor(task: Task, definition: Any) -> Any:
    if definition.solver is None:
        raise UsageError(
            f"task `{task.name}` has a postprocessor, but no answers that it could change",
            hint="a task without a prompt and without a solver scores its rows",
        )
    if task.trials is not None and task.trials > 1:
        raise UsageError(
            f"task `{task.name}` has a postprocessor, which may turn one sample into several: "
            "trials cannot be compared",
            hint="remove `trials`, or change the answer in the scorer",
        )
    postprocessor = make_postprocessor(task.postprocessor)
    solver = definition.solver.model_copy(update={"postprocessor": postprocessor})
    return definition.model_copy(update={"solver": solver})


def _build_metrics(
    task: Task, scorers: Sequence[ScorerSpec]
) -> tuple[dict[str, list[tuple[str, MetricSpec]]], list[str]]:
    """Return the metrics of the task for each of its scorers, and notes."""
    given = task.metrics
    if not given:
        return {}, []
    names = [_name_of(scorer) for scorer in scorers]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                close = nearest(name, names)
                raise UsageError(
                    f"task `{task.name}` has metrics for `{name}`, which is not one of its scorers",
                    hint=f"did you mean `{close}`?"
                    if close
                    else f"its scorers are {', '.join(f'`{each}`' for each in names)}",
                )
    metrics, notes = {}, dict[str, None]()
    for scorer, name in zip(scorers, names, strict=True):
        wanted: Any = given.get(name, ()) if isinstance(given, Mapping) else given
        built: dict[str, MetricSpec] = {}
        several: list[Any] = [wanted] if isinstance(wanted, str | Mapping) else [*wanted]
        for each in several:
            for key, metric in _build_metric(task, scorer, each):
                _check_expressions(task, key, metric)
                built[key] = metric
            if is_function(each) and (why := read_function(METRIC, each).why_not_reused):
                notes[f"the run is not resumed with the metric `{key}`, because {why}"] = None
        if built:
            metrics[name] = [*built.items()]
    return metrics, [*notes]


def _check_expressions(task: Task, key: str, metric: MetricSpec) -> None:
    """Raise `UsageError` if a template of a metric names something that no sample has."""
    for expression in metric.expressions:
        for name in sorted(expression.names() - {*METRIC_VARIABLES}):
            raise UsageError(
                f"task `{task.name}`: the metric `{key}` refers to `{name}`, but a template of a "
                "metric may refer to `sample` and `model` only",
                hint=f"did you mean `{{{{ sample.{name} }}}}`?",
            )
    if task.postprocessor is None:  # it may make other samples
        for unknown in unknown_columns(metric, task.rows.columns, dataset=task.name):
            raise UsageError(f"the metric `{key}`: {unknown.text}")


def _build_metric(task: Task, scorer: ScorerSpec, given: Any) -> Iterator[tuple[str, MetricSpec]]:
    """Yield one metric, or one per score if it is of one score and does not say which."""
    numbers = [name for name in scorer.score_names or () if name not in scorer.text_scores]
    if is_function(given):
        function_metric = make_metric(given, numbers[0] if numbers else None)
        yield str(function_metric.key), function_metric
        return
    fields = {"type": given} if isinstance(given, str) else dict(given)
    known = load_components("metrics").get(str(fields.get("type")))
    needed = known.model_fields.get("field") if known else None
    choices = [fields]
    if needed is not None and needed.is_required() and "field" not in fields:
        if not numbers:
            raise UsageError(
                f"task `{task.name}`: which score is the metric `{fields['type']}` of? "
                f"`{_name_of(scorer)}` may have several",
                hint='name it: `{"type": …, "field": …}`',
            )
        choices = [{**fields, "field": name} for name in numbers]
    listed, faults = build_instance(MetricList, {"metrics": choices})
    _refuse_faults(task, faults)
    for metric in listed.metrics if listed else ():
        field = f"_{getattr(metric, 'field', '')}" if len(choices) > 1 else ""
        yield str(metric.key or f"{metric.type}{field}"), metric
