"""From a project to what can be run: every mistake is found here, before the first model call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from evalwright.api.assembly import canonical
from evalwright.api.crews import Here, finishing_of, others_of, team_of
from evalwright.api.options import Unwatched
from evalwright.errors import BadDataset, BadTasks, Unreadable, UsageError
from evalwright.plan.documents import (
    NO_MODEL,
    Data,
    DocumentPlan,
    NoRows,
    PlannedSpec,
)
from evalwright.secrets import Secret, secrets_in
from evalwright.types import NOTHING, ModelOptions, Usage

if TYPE_CHECKING:
    from evalwright.api.connections import ConnectionPlan
    from evalwright.api.options import RunOptions, Watch
    from evalwright.api.recorded import Recorded
    from evalwright.components import Snippet
    from evalwright.datasets.aligned import Aligned
    from evalwright.datasets.rows import Rows
    from evalwright.engine.finish import Finishing
    from evalwright.engine.run import Team
    from evalwright.ports import Snippets, Store
    from evalwright.spec.documents.policy import PolicyDocument
    from evalwright.spec.documents.problems import Problem
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec

_SHOWN = 5
_NOTHING_THERE = {"unreadable", "no_project"}
"""Rules that say: the path was wrong."""
_FOR_PEOPLE = {"display_name", "description", "long_description", "tags", "config_spec"}
"""What changes no result."""
Connect = Callable[["Snippets | None"], "ConnectionPlan"]


class Prepared(Struct, frozen=True, kw_only=True):
    """A plan, and what carries it out, by the names of its tasks."""

    plan: DocumentPlan
    data: dict[str, Data]
    teams: "dict[str, Team]"
    finishing: "dict[str, Finishing]"
    models: dict[str, Connect]
    """How each model is connected; a model may be a snippet."""
    snippets: "tuple[Snippet, ...]"
    cache_policy: str = "reuse"
    secrets: tuple[Secret, ...] = ()
    """Of the project and of the files with variables: what must not be written down."""
    given: tuple[str, ...] = ()
    """The models that took the place of the project's own."""
    policies: "tuple[PolicyDocument, ...]" = ()
    """What the figures must be."""
    recorded: "dict[str, Recorded]" = {}
    """The tasks that are not run: their results are there already."""
    specifications: dict[str, dict[str, Any]] = {}
    """What a result log says of each task."""
    spent: Usage = NOTHING
    """What it took to make the rows that were not there."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the rows, and of how often they were tried."""
    pooled: frozenset[str] = frozenset()
    """The tasks whose rows go together, so that nothing made of them has an interval."""
    here: Here
    """Where later tasks of this run find the results of earlier ones."""


def prepare(
    path: str,
    models: Sequence[str],
    options: "RunOptions",
    *,
    store: "Store",
    tell: Callable[[str], None] = lambda _: None,
    watch: "Watch | None" = None,
) -> Prepared:
    """Read, check and resolve a project; `BadTasks` says what is wrong with it.

    Rows that a generator makes are made now, if somebody watches.
    """
    project, specs = resolved(path, models, options, tell=tell)
    if models and all(spec.task.evaluates != "model" for spec in specs):
        raise UsageError(
            f"{path}: no task of it asks a model, so `-m {models[0]}` has nothing to do"
        )
    return prepared_of(project, specs, models, options, store=store, watch=watch)


def prepared_of(
    project: "Project",
    specs: "Sequence[ResolvedSpec]",
    models: Sequence[str],
    options: "RunOptions",
    *,
    store: "Store",
    watch: "Watch | None" = None,
) -> Prepared:
    """What carries out these specifications of a project: all of them, or some."""
    path = str(project.path)
    snippets = tuple(snippets_of(project, specs))
    if snippets and options.no_snippets:
        raise UsageError(
            f"{path}: the project brings Python of its own, and `--no-snippets` refuses it: "
            f"{snippets[0].path}:{snippets[0].line}"
        )
    from evalwright.api.generating import generated_for
    from evalwright.api.opening import notes_on_results, opened_rows
    from evalwright.api.pooled import pooled_in
    from evalwright.api.recorded import recorded_in
    from evalwright.api.rows_of import check_columns
    from evalwright.api.specifications import specifications_of
    from evalwright.api.tries import tried_once

    here = Here()
    logs = recorded_in(specs)
    live_specs = [one for one in specs if one.key not in logs]
    planned = [one.key for one in specs]
    ready = generated_for(project, live_specs, options, store=store, watch=watch, planned=planned)
    opened = opened_rows(project, specs, store=store, here=here, generated=ready.files)
    called = partial(called_by, project)
    own = {key: one.planned for key, one in logs.items()}
    names = {one.key: _names(one, models, called) for one in live_specs}
    live = tuple(dict.fromkeys(name for each in names.values() for name in each))
    names |= {key: one.models for key, one in own.items()}
    known = {key: one.data for key, one in logs.items()}
    data = _read(specs, opened, names, known, limit=options.limit)
    check_columns(specs, opened)
    plan = DocumentPlan(
        tasks=tuple(
            own.get(spec.key) or _planned(spec, data[spec.key], names[spec.key]) for spec in specs
        ),
        models=tuple(dict.fromkeys(name for each in names.values() for name in each)),
        evaluation=next((spec.evaluation_key or "" for spec in specs), ""),
        path=path,
        limit=options.limit,
    )
    return Prepared(
        plan=plan,
        data=data,
        teams={spec.key: team_of(spec, called) for spec in specs},
        finishing={spec.key: finishing_of(spec, data[spec.key]) for spec in specs},
        models=connects_of(project, specs, live, options, tell=(watch or Unwatched()).tell),
        snippets=snippets,
        cache_policy=next((spec.cache_policy for spec in specs), "reuse"),
        secrets=tuple(secrets_of(project, options)),
        given=tuple(models),
        policies=tuple(project.policies),
        recorded=logs,
        specifications=specifications_of(specs, logs),
        spent=ready.spent,
        notes=(
            *ready.notes,
            *notes_on_results(project, specs, store),
            *tried_once(specs, options.trials),
        ),
        pooled=pooled_in(project, specs, plan, store),
        here=here,
    )


def resolved(
    path: str,
    models: Sequence[str],
    options: "RunOptions",
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> "tuple[Project, list[ResolvedSpec]]":
    """The project of a path, and its specifications; `BadTasks` if anything is wrong with them."""
    from evalwright.api.opening import chained
    from evalwright.api.tries import tried_once, with_trials
    from evalwright.spec.documents.project import read_config, read_project
    from evalwright.spec.documents.tried import tried_problems

    environment = environment_of(options)
    project = read_project(path, environment=environment)
    config = read_config(options.config, environment=environment) if options.config else None
    specs, problems = project.specs(
        config=config,
        assignments=options.settings,
        evaluation=options.evaluation,
        models_given=bool(models),
    )
    specs = with_trials(specs, options.trials)
    problems += tried_problems(specs)
    refuse(path, problems)
    for one in dict.fromkeys(problems):
        tell(f"warning: {_told(one)}")
    if not specs:
        refuse(path, project.problems)
        raise UsageError(
            f"{path}: nothing to run", hint="a run file has an `evaluation`, or `tasks`"
        )
    for note in tried_once(specs, options.trials):
        tell(f"warning: {note}")
    return project, chained(project, specs)


def environment_of(options: "RunOptions") -> dict[str, str]:
    """Where documents find their variables, and clients their keys."""
    from evalwright.spec.documents.variables import environment_with

    environment, problems = environment_with(options.env)
    refuse(", ".join(options.env) or ".env", problems)
    return environment


def refuse(path: str, problems: "Sequence[Problem]") -> None:
    """Raise if there is any error; the first few are named."""
    errors = [one for one in problems if one.level == "error"]
    if not errors:
        return
    if all(one.rule in _NOTHING_THERE for one in errors):
        raise Unreadable("; ".join(f"{one.file}: {one.detail}" for one in errors[:_SHOWN]))
    shown = "; ".join(map(_told, errors[:_SHOWN]))
    more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    raise BadTasks(
        f"{len(errors)} error{'s' if len(errors) > 1 else ''}, nothing was run: {shown}{more}",
        hint=f"`evalwright validate {path}` shows each at its place"
        if any(not one.file.startswith("--") and one.rule != "no_model" for one in errors)
        else "",
    )


def _told(one: "Problem") -> str:
    """In a line. What the command line gave has no line of a file."""
    place = f"{one.file} {one.field}" if one.file.startswith("--") else f"{one.file}:{one.line}"
    return f"{place}: {one.detail}" + (f"; {one.hint}" if one.hint else "")


def snippets_of(project: "Project", specs: "Sequence[ResolvedSpec]") -> "Iterator[Snippet]":
    """Each snippet of these tasks and of all models, once."""
    from evalwright.components import snippets_in

    seen = set()
    things = [*(spec.task for spec in specs), *(one.document for one in project.models.values())]
    for thing in things:
        for snippet in snippets_in(thing):
            if snippet.key not in seen:
                seen.add(snippet.key)
                yield snippet


def secrets_of(project: "Project", options: "RunOptions") -> Iterator[Secret]:
    """Of the files with variables, and of the project itself."""
    yield from map(Secret, secrets_in(environment_of(options)))
    for value in project.secrets.values():
        yield value if isinstance(value, Secret) else Secret(str(value))


def _read(
    specs: "Sequence[ResolvedSpec]",
    opened: "Mapping[str, Rows | Aligned | None]",
    names: Mapping[str, Sequence[str]],
    known: Mapping[str, Data],
    *,
    limit: int | None,
) -> dict[str, Data]:
    """Each dataset, read once to its end; everything that is wrong with any of them at once."""
    from evalwright.api.rows_of import scored, sources_first
    from evalwright.datasets.aligned import Aligned
    from evalwright.datasets.sampling import chosen

    data: dict[str, Data] = {**known}
    broken: dict[str, None] = {}
    hint = ""
    tries = {spec.key: spec.num_trials * spec.repeats for spec in specs}
    for spec in sources_first([one for one in specs if one.key not in known]):
        rows = opened[spec.key]
        if rows is None:
            data[spec.key] = Data(rows=NoRows(), places=range(1))
            continue
        read: Any = scored(spec, rows)
        source = spec.dataset_keys.get("", "") if spec.source == "task_result" else ""
        try:
            total = (
                len(data[source].places) * len(names[source]) * tries[source]
                if source in data
                else read.check()
            )
        except (BadDataset, Unreadable) as error:
            broken[f"{spec.key}: {error}"] = None
            hint = hint or error.hint
            continue
        places = chosen(total, spec.num_samples, spec.subsampling)
        kept = places if limit is None else places[:limit]
        together = partial(rows.together, kept) if isinstance(rows, Aligned) else None
        data[spec.key] = Data(rows=read, places=kept, together=together)
    if broken:
        raise BadDataset("; ".join(broken), hint=hint)
    return data


def called_by(project: "Project", key: str) -> str:
    """What reports call the model of a key: `provider/model` where the project says it so.

    The key form has lost characters, and the same model must not be paid for under two names.
    """
    from evalwright.spec.documents.model import ProviderModel

    declared = project.models.get(key)
    if declared is not None and isinstance(declared.document, ProviderModel):
        return declared.document.model
    return canonical([key])[0] if "/" in key or ":" in key else key


def _names(
    spec: "ResolvedSpec", models: Sequence[str], called: Callable[[str], str]
) -> tuple[str, ...]:
    """The models that a specification is run with."""
    from evalwright.solvers.pass_through_solver import PassThroughSolver
    from evalwright.spec.documents.references import PLACEHOLDER

    solver = getattr(spec.task.definition, "solver", None)
    if solver is None or (isinstance(solver, PassThroughSolver) and not models):
        return (NO_MODEL,)
    if models:
        return tuple(models)
    named = spec.model_key or NO_MODEL
    return (NO_MODEL,) if named == PLACEHOLDER else (called(named),)


def _planned(spec: "ResolvedSpec", data: Data, names: tuple[str, ...]) -> PlannedSpec:
    from evalwright.components import FOR_KEYS
    from evalwright.engine.keys import key_of

    told = spec.task.model_dump_json(exclude=_FOR_PEOPLE, context=FOR_KEYS)
    after = spec.dataset_keys.get("", "") if spec.source == "task_result" else ""
    places = "" if isinstance(data.places, range) else str(list(data.places))
    return PlannedSpec(
        name=spec.key,
        task_key=spec.task.key,
        display_name=spec.display_name,
        kind=spec.task.evaluates,
        models=names,
        records=len(data.places),
        trials=spec.num_trials,
        repeats=spec.repeats,
        after=after,
        values=spec.values,
        digest=key_of(told, data.rows.digest, places),
    )


def connects_of(
    project: "Project",
    specs: "Sequence[ResolvedSpec]",
    names: Sequence[str],
    options: "RunOptions",
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Connect]:
    """How each model is connected: those that are evaluated, and those that tasks name."""
    from evalwright.api.connections import connect_model
    from evalwright.spec.documents.references import PLACEHOLDER

    declared: Any = {key: one.document for key, one in project.models.items()}
    adapters: Any = {key: one.document for key, one in project.adapters.items()}
    environment = environment_of(options)

    def connect(key: str, snippets: "Snippets | None") -> "ConnectionPlan":
        return connect_model(
            key or PLACEHOLDER,
            declared,
            adapters,
            snippets=snippets,
            options=ModelOptions(
                parameters=options.parameters if key in names else {},
                environment=environment,
                tell=tell,
            ),
        )

    asked = [called_by(project, name) for spec in specs for name in others_of(spec)]
    return {name: partial(connect, name) for name in dict.fromkeys([*names, *asked])}
