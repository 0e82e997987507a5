"""What there is to look at: runs, a run, its samples, the providers of models."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from evalwright.api.assembly import canonical, open_store
from evalwright.errors import UnknownName, Unreadable
from evalwright.nearest import nearest

if TYPE_CHECKING:
    from evalwright.ports import Store
    from evalwright.report.runs import Listed, Shown
    from evalwright.types import Outcome, Row, Run

_MOST_SUGGESTED_FROM = 10_000


class Provider(Struct, frozen=True, kw_only=True):
    """What may stand before the slash of a model."""

    provider: str
    about: str
    base_url: str | None = None
    base_url_variable: str | None = None
    """Names another address."""
    key_variable: str | None = None
    needs_key: bool = False


def list_runs(store: str | None = None) -> "list[Listed]":
    """Every run, the last touched first, which is `latest`; none where there is no store yet."""
    try:
        opened = open_store(store, create=False)
    except Unreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise
    try:
        runs = sorted(opened.runs(), key=attrgetter("updated"), reverse=True)
        return [_listed(opened, run) for run in runs]
    finally:
        opened.close()


def show_run(name: str = "latest", store: str | None = None) -> "Shown":
    """One run, with its manifest."""
    from msgspec import structs

    from evalwright.report.runs import Shown

    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        listed = _listed(opened, run)
        return Shown(**structs.asdict(listed), plan_key=run.plan_key, manifest=run.manifest)
    finally:
        opened.close()


def show_samples(  # noqa: PLR0913 - one keyword each
    name: str = "latest",
    sample_id: str | None = None,
    store: str | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    failed: bool | None = None,
    wrong: bool = False,
) -> "Iterator[Outcome]":
    """The outcomes of one sample, task or model, or of all; failed or wrong ones, or all."""
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        if model is not None:
            model = _model_of(run, model)
        if task is not None:
            _check_task(run, task)
        found = (
            opened.outcomes(run.id, failed=failed, model=model)
            if sample_id is None
            else _of_sample(opened, run, sample_id)
        )
        for outcome in found:
            wanted = failed in {None, outcome.failure is not None}
            of_these = task in {None, outcome.task} and model in {None, outcome.model}
            if wanted and of_these and (_is_wrong(outcome) or not wrong):
                yield outcome
    finally:
        opened.close()


def list_models() -> list[Provider]:
    """Every provider that is known here, plugins included."""
    from evalwright.registry import names

    return [_provider(name) for name in names("models")]


def _listed(store: "Store", run: "Run") -> "Listed":
    from evalwright.api.manifest import any_plan_of
    from evalwright.report.runs import Listed

    plan = any_plan_of(run)
    done, failed = store.count(run.id)
    return Listed(
        id=run.id,
        created=run.created,
        updated=run.updated,
        status=run.status,
        parent=run.parent,
        tasks=[task.name for task in plan.tasks],
        models=[name for name in plan.models if name],
        done=done,
        total=plan.total,
        failed=failed,
        imported="imported" in run.manifest,
    )


def _model_of(run: "Run", name: str) -> str:
    known = list(run.manifest["models"])
    (model,) = canonical(name)
    if model in known:
        return model
    suggestion = nearest(model, known)
    raise UnknownName(
        f"run {run.id} has no model `{name}`; it has {', '.join(f'`{one}`' for one in known)}",
        hint=f"did you mean `{suggestion}`?" if suggestion else "",
    )


def _check_task(run: "Run", name: str) -> None:
    known = [task["name"] for task in run.manifest["plan"]["tasks"]]
    if name not in known:
        suggestion = nearest(name, known)
        raise UnknownName(
            f"run {run.id} has no task `{name}`; it has {', '.join(f'`{one}`' for one in known)}",
            hint=f"did you mean `{suggestion}`?" if suggestion else "",
        )


def _is_wrong(outcome: "Outcome") -> bool:
    """Whether any score says so: by its verdict, or by its first truth value."""
    judged = (outcome.scores, *(part.scores for part in outcome.parts))
    return any(
        score.correct is False
        or next((one for one in score.values.values() if isinstance(one, bool)), None) is False
        for scores in judged
        for score in scores.values()
    )


def _of_sample(store: "Store", run: "Run", sample_id: str) -> "Iterator[Outcome]":
    """Found by the scalars, so that no body is decoded but its own."""
    places = _places(store.rows(run.id), sample_id)
    if not places:
        raise _unknown_sample(store, run, sample_id)
    for _, neighbours in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        together = [place for _, place in neighbours]
        for outcome in store.outcomes(run.id, offset=together[0], limit=len(together)):
            if outcome.sample_id == sample_id:  # the run may have grown since
                yield outcome


def _places(rows: "Iterable[Row]", sample_id: str) -> list[int]:
    return [place for place, row in enumerate(rows) if row.sample_id == sample_id]


def _unknown_sample(store: "Store", run: "Run", sample_id: str) -> UnknownName:
    known: dict[str, None] = {}
    for row in store.rows(run.id):
        known[row.sample_id] = None
        if len(known) == _MOST_SUGGESTED_FROM:
            break
    suggestion = nearest(sample_id, list(known))
    return UnknownName(
        f"run {run.id} has no outcome of a sample `{sample_id}`",
        hint=f"did you mean `{suggestion}`?" if suggestion else "",
    )


def _provider(name: str) -> Provider:
    from evalwright.clients.providers import PROVIDERS

    if name not in PROVIDERS:
        return Provider(provider=name, about=_docstring(name))
    known = PROVIDERS[name]
    key = f"key in {known.key_variable}" if known.needs_key else "no key needed"
    return Provider(
        provider=name,
        about=f"{known.base_url}, {key}",
        base_url=known.base_url,
        base_url_variable=known.base_url_variable,
        key_variable=known.key_variable,
        needs_key=known.needs_key,
    )


def _docstring(name: str) -> str:
    """What the module of a built-in client says of itself; a plugin is not imported to be asked."""
    from importlib import import_module

    from evalwright.registry import BUILT_IN

    target = BUILT_IN["models"].get(name)
    if target is None:
        return "a plugin"
    said = import_module(target.partition(":")[0]).__doc__ or ""
    return said.partition("\n")[0].partition("`: ")[2].partition(". ")[0].rstrip(".")
