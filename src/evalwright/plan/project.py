"""Compile a project of task documents (contract B) into a plan.

Every mistake is found here, before the first model call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from evalwright.components import Authored, Snippet, snippets_in
from evalwright.datasets.rows import Rows
from evalwright.errors import BadTasks, Unreadable, UsageError
from evalwright.generation_parameters import split_parameters
from evalwright.metrics.scores import EvidenceMetric
from evalwright.plan.finalization import Finalization, ScorerMetrics
from evalwright.plan.input_files import watch_files
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import NO_MODEL, TaskOutline
from evalwright.plan.plan import CurrentRun, Plan, RecordedResults, TaskPlan, TaskRuntime
from evalwright.plan.project_models import model_name
from evalwright.plan.row_checks import check_columns
from evalwright.plan.rows import (
    earlier_result_notes,
    link_task_results,
    list_files,
    open_rows,
    read_samples,
    result_sources,
)
from evalwright.plan.samples import NoRows, RowSamples, choose_ml_task, first_ml_task
from evalwright.plan.specifications import describe_specification
from evalwright.plan.task_outlines import outline_task, runs_code, scorer_metrics, trial_plan
from evalwright.plan.task_results import dependent_tasks
from evalwright.ports import Store
from evalwright.scorers.evidence import KEY, EvidenceScorer
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.scorers.self_report import KEY as SELF_REPORT_KEY
from evalwright.scorers.self_report import SelfReport
from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa
from evalwright.secrets import Secret, find_credentials, is_address, secrets_in
from evalwright.solvers.pass_through_solver import PassThroughSolver
from evalwright.solvers.single_turn_solver import ChoiceSolver, SingleTurnSolver
from evalwright.spec.documents.checks.build import find_parts
from evalwright.spec.documents.models.task import SystemTask
from evalwright.spec.documents.project import Project, read_config, read_project
from evalwright.spec.documents.resolve.earlier import FindEarlier
from evalwright.spec.documents.resolve.entities import PLACEHOLDER_MODEL
from evalwright.spec.documents.resolve.specifications import (
    ResolvedSpec,
    check_trial_counts,
    why_not_repeatable,
)
from evalwright.spec.documents.yaml.environment import ExpandedText, load_environment
from evalwright.types import NOTHING, Issue, MLTask, Usage

_MAX_ERRORS_SHOWN = 5
_NAMES = frozenset({"$provider", "description", "display_name", "key", "model", "model_key"})
"""Fields that a variable may fill without being a credential."""
_ADDRESSES = frozenset({"api_url", "base_url", "url"})
"""Fields of datasets that may contain a credential."""
_MISSING_RULES = {"unreadable", "no_project"}
"""Rules that mean that the path was wrong."""


class ResolvedProject(Struct, frozen=True, kw_only=True):
    """A project, and the task specifications that a run is made of."""

    project: Project
    specs: tuple[ResolvedSpec, ...]
    models: tuple[str, ...] = ()
    """Models that replace those of the project."""
    object_models: frozenset[str] = frozenset()
    """Those that are Python objects, which have no generation parameters."""
    environment: Mapping[str, str] = {}
    """The environment of documents and clients."""

    @property
    def path(self) -> str:
        """The project's path, as it was given."""
        return str(self.project.path)

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        """Return each snippet of the tasks and of all models, once."""
        return tuple(project_snippets(self.project, self.specs))

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The values of environment files and of the project that must not be stored."""
        return project_secrets(self.project, self.environment)

    def model_name(self, key: str) -> str:
        """Return the name in reports of the model with this key."""
        return model_name(self.project, key)


class ExternalRows(Struct, frozen=True, kw_only=True):
    """Rows and results that exist before the plan is compiled."""

    files: Mapping[str, Path] = {}
    """Generated rows, by the key of their dataset."""
    spent: Usage = NOTHING
    """What generating them cost."""
    notes: tuple[str, ...] = ()
    recorded: Mapping[str, RecordedResults] = {}
    """Results that are taken from a log, by the key of their specification."""
    opened: Mapping[str, Rows] = {}
    """Rows that are not from a document, by the key of their specification."""


def resolve_project(
    path: str,
    models: Sequence[str],
    options: RunOptions,
    *,
    tell: Callable[[str], None] = lambda _: None,
    find_earlier: FindEarlier | None = None,
) -> ResolvedProject:
    """Read and resolve the project of a path; `BadTasks` if anything is wrong with it."""
    environment = read_environment(options.env)
    project = read_project(path, environment=environment, find_earlier=find_earlier)
    config = read_config(options.config, environment=environment) if options.config else None
    specs, problems = project.specs(
        config=config,
        assignments=options.settings,
        evaluation=options.evaluation,
        models_given=bool(models),
    )
    if options.trials is not None:  # the command line wins over the documents
        specs = [
            structs.replace(spec, trials=spec.trials and options.trials, run_trials=options.trials)
            for spec in specs
        ]
    problems += check_trial_counts(specs)
    refuse_errors(path, problems)
    for problem in dict.fromkeys(problems):
        tell(f"warning: {_problem_line(problem)}")
    if not specs:
        refuse_errors(path, project.problems)
        raise UsageError(f"{path}: nothing to run", hint=_suggest_command(project))
    for note in _single_trial_notes(specs, options.trials):
        tell(f"warning: {note}")
    resolved = ResolvedProject(
        project=project,
        specs=tuple(link_task_results(project, specs)),
        models=tuple(models),
        environment=environment,
    )
    if options.no_snippets and (snippets := resolved.snippets):
        raise UsageError(
            f"{project.path}: the project contains Python code, "
            "which `--no-snippets` does not allow: "
            f"{snippets[0].path}:{snippets[0].line}"
        )
    return resolved


def _suggest_command(project: Project) -> str:
    """Say what can be done with a project that has neither an evaluation nor tasks."""
    made = [
        key
        for key, dataset in project.datasets.items()
        if "generator_specification" in dataset.part.data
    ]
    if made:
        return f"`evalwright dataset generate {made[0]}` generates the rows of the dataset"
    if project.models:
        return f"`evalwright model test '{next(iter(project.models))}'` queries the model"
    return "a run file has an `evaluation`, or `tasks`"


def compile_project(
    resolved: ResolvedProject,
    options: RunOptions,
    *,
    store: Store,
    external: ExternalRows | None = None,
) -> Plan:
    """Compile a resolved project. Every dataset is read once, to its end."""
    external = external or ExternalRows()
    specs, recorded, current_run = resolved.specs, external.recorded, CurrentRun()
    files = watch_files(list_files(resolved.project, specs))  # before rows are read
    opened = {**external.opened} or open_rows(
        resolved.project, specs, store=store, current_run=current_run, generated=external.files
    )
    models = {
        spec.key: recorded[spec.key].outline.models
        if spec.key in recorded
        else _evaluated_models(spec, resolved)
        for spec in specs
    }
    known = {
        key: RowSamples(rows=NoRows(), places=range(task.outline.records))
        for key, task in recorded.items()
    }
    _refuse_unweighable(resolved, options, recorded)
    samples = read_samples(specs, opened, models, known, limit=options.limit)
    check_columns(specs, opened)
    outlines = {
        spec.key: recorded[spec.key].outline
        if spec.key in recorded
        else outline_task(spec, samples[spec.key], models[spec.key])
        for spec in specs
    }
    plan = Plan(
        tasks=tuple(
            _task_plan(spec, outlines[spec.key], samples[spec.key], resolved, recorded, options)
            for spec in specs
        ),
        models=tuple(dict.fromkeys(name for names in models.values() for name in names)),
        path=resolved.path,
        evaluation=next((spec.evaluation_key or "" for spec in specs), ""),
        limit=options.limit,
        trials=options.trials,
        needs_sandbox=any(runs_code(spec) for spec in specs if spec.key not in recorded),
        snippets=resolved.snippets,
        reuses_outcomes=next((spec.cache_policy for spec in specs), "reuse") == "reuse",
        secrets=resolved.secrets,
        policies=tuple(resolved.project.policies),
        spent=external.spent,
        notes=(
            *external.notes,
            *earlier_result_notes(resolved.project, specs, store),
            *(note for key, used in samples.items() for note in used.notes(key)),
            *_earlier_run_notes(specs),
            *_single_trial_notes(specs, options.trials),
        ),
        files=files,
        current_run=current_run,
    )
    return _mark_dependent_rows(plan, resolved, store)


def _mark_dependent_rows(plan: Plan, resolved: ResolvedProject, store: Store) -> Plan:
    waves = [[task.outline for task in wave] for wave in plan.waves()]
    sources = {spec.key: result_sources(resolved.project, spec) for spec in resolved.specs}
    dependent = dependent_tasks(waves, sources, store)
    tasks = tuple(
        structs.replace(
            task, finalization=structs.replace(task.finalization, has_dependent_rows=True)
        )
        if task.name in dependent and task.finalization
        else task
        for task in plan.tasks
    )
    return structs.replace(plan, tasks=tasks) if dependent else plan


def _task_plan(
    spec: ResolvedSpec,
    outline: TaskOutline,
    samples: RowSamples,
    resolved: ResolvedProject,
    recorded: Mapping[str, RecordedResults],
    options: RunOptions,
) -> TaskPlan:
    log = recorded.get(spec.key)
    return TaskPlan(
        outline=outline,
        samples=samples,
        runtime=_task_runtime(spec, resolved, options),
        finalization=_finalization(spec, samples),
        recorded=log,
        specification=log.specification if log else describe_specification(spec, trial_plan(spec)),
    )


def _task_runtime(
    spec: ResolvedSpec, resolved: ResolvedProject, options: RunOptions
) -> TaskRuntime:
    definition = spec.task.definition
    if isinstance(definition, SystemTask):
        context = {"task": spec.task.key, "config": spec.values}
        return TaskRuntime(
            scorers={KEY: EvidenceScorer(definition.compute_evidence_snippet, context)}
        )
    scorers: dict[str, Any] = {
        scorer.key or scorer.type: scorer
        for scorer in definition.scorers
        if not isinstance(scorer, PythonAllSamples)
    }
    solver: Any = definition.solver
    postprocessor = solver.postprocessor if solver else None
    has_self_reports = options.confidence == "self" and _can_report(spec)
    if has_self_reports:
        scorers[SELF_REPORT_KEY] = SelfReport()
    if options.mcq == "loglikelihood" and (choices := _multiple_choice(spec)):
        solver = ChoiceSolver(solver, choices.offered_labels)
    other_models = {name: resolved.model_name(name) for name in other_model_keys(spec)}
    return TaskRuntime(
        solver=solver,
        scorers=scorers,
        postprocessor=postprocessor,
        other_models=other_models,
        ml_task=choose_ml_task(spec.task.tasks, _declared_tasks(spec, resolved)),
        counts_other_usage=bool(other_models)
        or has_self_reports
        or any(scorer.calls_model for scorer in definition.scorers),
        ignores_memory=spec.repeats > 1,
    )


def _asks_for_chat(spec: ResolvedSpec) -> bool:
    solver = getattr(spec.task.definition, "solver", None)
    is_chat = first_ml_task(spec.task.tasks) == "chat_completion"
    return solver is not None and solver.calls_model and is_chat


def _can_report(spec: ResolvedSpec) -> bool:
    """Whether the model can state its confidence: there is one answer, judged as a whole."""
    solver: Any = getattr(spec.task.definition, "solver", None)
    return _asks_for_chat(spec) and not solver.postprocessor


def _multiple_choice(spec: ResolvedSpec) -> StringEqualsMcqa | None:
    """Return the scorer that defines the choices; None for a task without choices."""
    if not _asks_for_chat(spec):
        return None
    scorers = getattr(spec.task.definition, "scorers", ())
    return next((scorer for scorer in scorers if isinstance(scorer, StringEqualsMcqa)), None)


def _refuse_unweighable(
    resolved: ResolvedProject, options: RunOptions, recorded: Mapping[str, RecordedResults]
) -> None:
    if options.mcq != "loglikelihood":
        return
    for spec in resolved.specs:
        solver: Any = getattr(spec.task.definition, "solver", None)
        if (
            spec.key not in recorded
            and _multiple_choice(spec)
            and not isinstance(solver, SingleTurnSolver)
        ):
            raise UsageError(
                f"{spec.key}: `--mcq loglikelihood` needs a `single_turn_solver`; the task has a "
                f"`{solver.type}`",
                hint="use `--mcq letter`, or a different solver",
            )


def other_model_keys(spec: ResolvedSpec) -> tuple[str, ...]:
    """Return the models that a task names itself."""
    definition: Any = spec.task.definition
    parts = [getattr(definition, "solver", None), *getattr(definition, "scorers", ())]
    return tuple(dict.fromkeys(name for part in parts if part for name in part.model_keys))


def _finalization(spec: ResolvedSpec, samples: RowSamples) -> Finalization:
    definition = spec.task.definition
    if isinstance(definition, SystemTask):
        return Finalization(measured={KEY: ScorerMetrics(metrics=((KEY, EvidenceMetric()),))})
    trials = trial_plan(spec)
    return Finalization(
        run_scorers={
            scorer.key or scorer.type: scorer
            for scorer in definition.scorers
            if isinstance(scorer, PythonAllSamples)
        },
        rules=definition.actions or (),
        measured={
            scorer.key or scorer.type: scorer_metrics(scorer, trials)
            for scorer in definition.scorers
        },
        together=samples.together,
        fans_out=bool(definition.solver and definition.solver.postprocessor),
        trials=trials,
    )


def _evaluated_models(spec: ResolvedSpec, resolved: ResolvedProject) -> tuple[str, ...]:
    solver = getattr(spec.task.definition, "solver", None)
    if solver is None or (isinstance(solver, PassThroughSolver) and not resolved.models):
        return (NO_MODEL,)
    if resolved.models and not spec.parameters:
        return resolved.models
    project, parameters = resolved.project, spec.parameters
    names = (
        key if key in resolved.object_models else model_name(project, key, parameters)
        for key in resolved.models or spec.model_keys
        if key != PLACEHOLDER_MODEL
    )
    return tuple(dict.fromkeys(names)) or (NO_MODEL,)


def _declared_tasks(spec: ResolvedSpec, resolved: ResolvedProject) -> set[MLTask]:
    """The tasks that the evaluated models are declared for; a provider's model is for chat."""
    keys = [split_parameters(key)[0] for key in resolved.models or spec.model_keys]
    entities = [resolved.project.models.get(key) for key in keys]
    return {
        getattr(entity.document if entity else None, "task", "chat_completion")
        for entity in entities
    }


def _earlier_run_notes(specs: Sequence[ResolvedSpec]) -> Iterator[str]:
    for spec in specs:
        if spec.earlier_run:
            yield f"{spec.key}: repeats task `{spec.task.key}` as run {spec.earlier_run} ran it"


def _single_trial_notes(specs: Sequence[ResolvedSpec], trials: int | None) -> Iterator[str]:
    """Return a note for each task that has one trial although the run sets more.

    `trials` is from the command line. The setting of a run file applies to tasks that call a model:
    others need no note.
    """
    for spec in specs:
        if spec.recording is not None or spec.num_trials > 1 or (spec.run_trials or 1) == 1:
            continue
        why = why_not_repeatable(spec.task)
        if trials is None and (not why or spec.task.evaluates != "model"):
            continue
        yield f"{spec.key}: one trial per sample: the task {why or 'calls no model'}"


def project_secrets(project: Project, environment: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return the values of an environment and of a project that must not be stored."""
    declared = project.secrets.values()
    return (
        *map(Secret, secrets_in(environment)),
        *(value if isinstance(value, Secret) else Secret(str(value)) for value in declared),
        *map(Secret, _find_filled_in(project, environment)),
    )


def _find_filled_in(project: Project, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables in models and adapters, keys of datasets, and credentials in both.

    An address is not a secret, but its password is, and so is a key in its query. Generation
    parameters are not secrets either: they are part of the key under which results are stored.
    """
    for entity in (*project.models.values(), *project.adapters.values()):
        for path, text in find_parts(entity.part.raw.data, ExpandedText):
            if path[-1] in _NAMES:
                continue
            values = [environment.get(name, "") for name in text.names]
            for value in dict.fromkeys((str(text), *values)):
                yield from find_credentials(value)
            if "parameters" not in path:
                yield from (value for value in values if not is_address(value))
    for entity in project.datasets.values():
        for path, written in find_parts(entity.part.raw.data, Authored):
            if path[-1] == "api_key":
                yield str(written)
            elif path[-1] in _ADDRESSES:
                yield from find_credentials(written)


def project_snippets(project: Project, specs: Sequence[ResolvedSpec]) -> Iterator[Snippet]:
    """Each snippet of these tasks and of all models, once."""
    seen = set()
    documents = [
        *(spec.task for spec in specs),
        *(entity.document for entity in project.models.values()),
    ]
    for document in documents:
        for snippet in snippets_in(document):
            if snippet.key not in seen:
                seen.add(snippet.key)
                yield snippet


def read_environment(files: Sequence[str]) -> dict[str, str]:
    """Return the environment of this process and of files, for documents and clients."""
    environment, problems = load_environment(files)
    refuse_errors(", ".join(files) or ".env", problems)
    return environment


def refuse_errors(path: str, problems: Sequence[Issue]) -> None:
    """Raise if there is any error; the message lists the first few."""
    errors = [problem for problem in problems if problem.level == "error"]
    if not errors:
        return
    if all(problem.rule in _MISSING_RULES for problem in errors):
        shown = errors[:_MAX_ERRORS_SHOWN]
        raise Unreadable("; ".join(f"{problem.file}: {problem.detail}" for problem in shown))
    count = len(errors)
    lines = "; ".join(map(_problem_line, errors[:_MAX_ERRORS_SHOWN]))
    more = f"; and {count - _MAX_ERRORS_SHOWN} more" if count > _MAX_ERRORS_SHOWN else ""
    in_files = any(
        not problem.file.startswith("--") and problem.rule != "no_model" for problem in errors
    )
    raise BadTasks(
        f"{count} error{'s' if count > 1 else ''}; nothing was run: {lines}{more}",
        hint=f"`evalwright validate {path}` shows each error with its position" if in_files else "",
    )


def _problem_line(problem: Issue) -> str:
    """Return a problem on one line. A value from the command line has no line number."""
    place = (
        f"{problem.file} {problem.field}"
        if problem.file.startswith("--")
        else f"{problem.file}:{problem.line}"
    )
    return f"{place}: {problem.detail}" + (f"; {problem.hint}" if problem.hint else "")
