"""What there is to look at: runs, a run, its samples, component types, providers of models."""

from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert, structs, to_builtins

from evalwright._version import __version__
from evalwright.clients.providers import PROVIDERS
from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.nearest import suggest
from evalwright.plan.manifest import MODES, Manifest, read_manifest, read_manifest_if_readable
from evalwright.plan.model_names import canonical_names
from evalwright.plan.outline import CATEGORY, PlanOutline
from evalwright.ports import Store
from evalwright.registry import BUILT_IN, find_plugins, load, load_components, load_plugins
from evalwright.report.headline import Headline
from evalwright.report.moved import has_other_scores, pair_outcomes
from evalwright.report.runs import ListedRun, ShownRun
from evalwright.session.stores import open_store
from evalwright.types import Outcome, Run

_MOST_SUGGESTED_FROM = 10_000
_MOST_CATEGORIES_NAMED = 10


class ProviderInfo(Struct, frozen=True, kw_only=True):
    """What may stand before the slash of a model."""

    provider: str
    about: str
    base_url: str | None = None
    base_url_variable: str | None = None
    """Names another address."""
    key_variable: str | None = None
    needs_key: bool = False
    origin: str = "built-in"
    """`built-in`, or the distribution that it comes from."""
    version: str = __version__
    """Of that distribution."""


class ComponentType(Struct, frozen=True, kw_only=True):
    """What may stand behind `type` of a scorer, solver, metric or source."""

    type: str
    about: str
    """The first line of its docstring."""
    origin: str
    """`built-in`, or the distribution that it comes from."""
    version: str
    """Of that distribution."""


def runs(store: str | Path | None = None) -> list[ListedRun]:
    """Return every stored run, most recently updated first; the first one is `latest`.

    The list is empty if nothing is stored yet.

    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle"], limit=2)
    >>> latest = ew.runs()[0]
    >>> latest.id == report.run_id, latest.status, latest.models
    (True, 'finished', ['scripted/oracle'])
    """
    try:
        opened = open_store(store, create=False)
    except Unreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise
    with closing(opened):
        stored = sorted(opened.runs(), key=attrgetter("updated"), reverse=True)
        return [_list_run(opened, run) for run in stored]


def show_run(name: str = "latest", store: str | None = None) -> ShownRun:
    """One run, with its manifest."""
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        listed = _list_run(opened, run)
        manifest = {**run.manifest, "plan": to_builtins(read_manifest(run).plan)}
        return ShownRun(**structs.asdict(listed), plan_key=run.plan_key, manifest=manifest)


def show_samples(  # noqa: PLR0913 - one keyword each
    name: str = "latest",
    sample_id: str | None = None,
    store: str | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    category: str | None = None,
    failed: bool | None = None,
    wrong: bool = False,
    changed: bool = False,
) -> Iterator[Outcome]:
    """The outcomes of one sample, task, model or category, or of all; failed or wrong, or all.

    `changed`: only those whose scores differ from those of the parent run.
    """
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        if model is not None:
            model = _model_of(run, model)
        tasks = None if task is None else _find_tasks(run, task)
        outcomes = (
            opened.outcomes(run.id, failed=failed, model=model)
            if sample_id is None
            else _of_sample(opened, run, sample_id)
        )
        if changed:
            outcomes = _find_changed_outcomes(opened, run, outcomes)
        categories: dict[str, None] = {}
        for outcome in outcomes:
            categories[_category_of(outcome)] = None
            wanted = failed in {None, outcome.failure is not None}
            of_these = (tasks is None or outcome.task in tasks) and model in {None, outcome.model}
            of_these = of_these and category in {None, _category_of(outcome)}
            if wanted and of_these and (outcome.is_wrong or not wrong):
                yield outcome
        if category is not None and category not in categories:
            raise _unknown_category(run, category, list(categories))


def _find_changed_outcomes(
    store: Store, run: Run, outcomes: Iterator[Outcome]
) -> Iterator[Outcome]:
    if not run.parent:
        raise UsageError(
            f"run {run.id} has no parent, so none of its scores have changed",
            hint="`evalwright score RUN` scores a run again",
        )
    before = store.outcomes(store.find(run.parent).id)
    for pair in pair_outcomes(before, outcomes):
        if pair.after is not None and has_other_scores(pair):
            yield pair.after


def list_models() -> list[ProviderInfo]:
    """Every provider that is known here, plugins included."""
    usable = {*BUILT_IN["models"], *load_plugins("models")}
    return [_provider(name) for name in sorted(usable)]


def list_components(kind: str) -> list[ComponentType]:
    """List every type that a document can name: scorers, solvers, metrics or sources."""
    kind = "datasets" if kind == "sources" else kind
    types = []
    for name, component in sorted(load_components(kind).items()):
        origin, version = _origin_of(kind, name)
        about = _first_line(component)
        types.append(ComponentType(type=name, about=about, origin=origin, version=version))
    return types


def _origin_of(kind: str, name: str) -> tuple[str, str]:
    if name in BUILT_IN[kind]:
        return "built-in", __version__
    plugin = find_plugins(kind)[name]
    return plugin.distribution, plugin.version


def _first_line(documented: object) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]


def _list_run(store: Store, run: Run) -> ListedRun:
    manifest = read_manifest_if_readable(run)
    plan = manifest.plan if manifest else PlanOutline(tasks=(), models=())
    done, failed = store.count(run.id)
    return ListedRun(
        id=run.id,
        name=manifest.name if manifest else "",
        tags=manifest.tags if manifest else {},
        created=run.created,
        updated=run.updated,
        status=run.status,
        parent=run.parent,
        tasks=[task.name for task in plan.tasks],
        models=[name for name in plan.models if name],
        done=done,
        total=plan.total if manifest else done,
        failed=failed,
        imported=bool(manifest and manifest.imported),
        changed_files=list(manifest.changed_files) if manifest else [],
        **(_describe_results(manifest) if manifest else {}),
    )


def _describe_results(manifest: Manifest) -> dict[str, Any]:
    try:  # an older version stored none
        headline = convert(manifest.headline or {}, Headline)
    except ValidationError:  # of another version: the list has the rest
        headline = Headline()
    chosen = {
        "limit": manifest.plan.limit,
        "trials": manifest.plan.trials,
        **{
            name: getattr(manifest, name)
            for name in MODES
            if getattr(manifest, name) != MODES[name]
        },
    }
    options = {name: value for name, value in chosen.items() if value is not None}
    return {
        "metrics": headline.metrics,
        "cost": headline.cost,
        "parameters": {**manifest.parameters, **manifest.command.settings, **options},
    }


def _model_of(run: Run, name: str) -> str:
    manifest = read_manifest(run)
    known = list(dict.fromkeys([*manifest.models, *filter(None, manifest.plan.models)]))
    (model,) = canonical_names(name)
    if model in known:
        return model
    raise UnknownName(
        f"run {run.id} has no model `{name}`; it has {', '.join(f'`{model}`' for model in known)}",
        hint=suggest(model, known),
    )


def _find_tasks(run: Run, name: str) -> set[str]:
    """Return the task with this name, or the variants of the specification with this key."""
    tasks = read_manifest(run).plan.tasks
    found = {task.name for task in tasks if name in task.names}
    if found:
        return found
    known = [task.name for task in tasks]
    raise UnknownName(
        f"run {run.id} has no task `{name}`; it has {', '.join(f'`{task}`' for task in known)}",
        hint=suggest(name, known),
    )


def _category_of(outcome: Outcome) -> str:
    """The category of a record, or what a row of a dataset has in the column of that name."""
    return str(outcome.sample.get(CATEGORY, outcome.group))


def _unknown_category(run: Run, name: str, known: list[str]) -> UnknownName:
    some = ", ".join(f"`{category}`" for category in known[:_MOST_CATEGORIES_NAMED])
    return UnknownName(
        f"run {run.id} has no such outcomes in category `{name}`; "
        f"the categories are {some or 'none'}",
        hint=suggest(name, known),
    )


def _of_sample(store: Store, run: Run, sample_id: str) -> Iterator[Outcome]:
    outcomes = store.outcomes(run.id, sample_id=sample_id)
    first = next(outcomes, None)
    if first is None:
        raise _unknown_sample(store, run, sample_id)
    return chain([first], outcomes)


def _unknown_sample(store: Store, run: Run, sample_id: str) -> UnknownName:
    known: dict[str, None] = {}
    for row in store.rows(run.id):
        known[row.sample_id] = None
        if len(known) == _MOST_SUGGESTED_FROM:
            break
    return UnknownName(
        f"run {run.id} has no outcome for sample `{sample_id}`",
        hint=suggest(sample_id, list(known)),
    )


def _provider(name: str) -> ProviderInfo:
    if name not in PROVIDERS:
        origin, version = _origin_of("models", name)
        return ProviderInfo(provider=name, about=_docstring(name), origin=origin, version=version)
    known = PROVIDERS[name]
    key = f"key in {known.key_variable}" if known.needs_key else "no key needed"
    return ProviderInfo(
        provider=name,
        about=f"{known.base_url or f'address in {known.base_url_variable}'}, {key}",
        base_url=known.base_url,
        base_url_variable=known.base_url_variable,
        key_variable=known.key_variable,
        needs_key=known.needs_key,
    )


def _docstring(name: str) -> str:
    target = BUILT_IN["models"].get(name)
    if target is None:
        return _first_line(load("models", name)) or "a plugin"
    documentation = import_module(target.partition(":")[0]).__doc__ or ""
    return documentation.partition("\n")[0].partition("`: ")[2].partition(". ")[0].rstrip(".")
