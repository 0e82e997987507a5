"""A task, a dataset or a model that is tried out: what its author wants to see, step by step."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any, Literal

from msgspec import Struct, to_builtins

from evalwright.objects import text_of
from evalwright.report.report import FailureRow, MetricRow, Report
from evalwright.report.samples import visible
from evalwright.report.tables import counted
from evalwright.types import Failure, Outcome, Score, Trace

_NOTHING = "none"


class TriedScore(Struct, frozen=True, kw_only=True):
    """What one scorer said."""

    values: dict[str, Any]
    reason: str = ""
    metadata: dict[str, Any] = {}


class TriedSolver(Struct, frozen=True, kw_only=True):
    """What was said, in its order, and what came of it."""

    messages: list[dict[str, Any]]
    output: str
    usage: dict[str, Any]
    latency_s: float
    finish: str
    bodies: list[Any]
    """What went out and what came back, word for word, where the model's client keeps it."""


class TriedPart(Struct, frozen=True, kw_only=True):
    """One of the samples that a postprocessor made of one."""

    sample: dict[str, Any]
    scores: dict[str, TriedScore]


class TriedRule(Struct, frozen=True, kw_only=True):
    """An action rule of the task."""

    rule: str
    action: str | None
    """What it does to the sample; None where it does not apply."""


class TriedError(Struct, frozen=True, kw_only=True):
    """What broke, and where."""

    stage: str
    type: str
    message: str
    hint: str


class TriedSample(Struct, frozen=True, kw_only=True):
    """One sample, from its row to its scores."""

    sample_id: str
    model: str
    status: Literal["completed", "failed"]
    sample: dict[str, Any]
    solver: TriedSolver | None
    scores: dict[str, TriedScore]
    parts: list[TriedPart]
    rules: list[TriedRule]
    error: TriedError | None
    trial: int = 0
    """Which try of the sample it is, from 0: as an export has it."""


class TaskTrial(Struct, frozen=True, kw_only=True):
    """What `evalwright task test` shows."""

    task: str
    name: str
    """The key of the specification; that of the task where there is none."""
    file: str
    specification: str | None
    """Where it is asked for; None where the task was named itself."""
    values: dict[str, Any]
    """Of the task's parameters."""
    samples: list[TriedSample]
    metrics: list[MetricRow]
    errors: list[TriedError]
    """What broke for all samples together."""
    printed: list[str]
    ok: bool
    tries: int = 1
    """How often each sample was tried."""


def tried(outcome: Outcome, rules: Iterable[str]) -> TriedSample:
    """An outcome, for its author."""
    actions = [*outcome.actions, *(one for part in outcome.parts for one in part.actions)]
    applies = {one.rule_key: one.action for one in actions}
    failure = outcome.failure
    return TriedSample(
        sample_id=outcome.sample_id,
        model=outcome.model,
        status="failed" if failure else "completed",
        sample=outcome.sample,
        solver=_solver(outcome.trace) if outcome.trace else None,
        scores=_scores(outcome.scores),
        parts=[TriedPart(sample=one.sample, scores=_scores(one.scores)) for one in outcome.parts],
        rules=[TriedRule(rule=key, action=applies.get(key)) for key in rules],
        error=_error(failure) if failure else None,
        trial=outcome.trial,
    )


def errors_in(failures: Iterable[FailureRow]) -> list[TriedError]:
    """Those that are no sample's."""
    return [
        TriedError(stage=one.stage, type=one.type, message=one.message, hint=one.hint)
        for one in failures
        if not one.sample_ids
    ]


def stopped_by(reason: str, hint: str) -> TriedError:
    """What would end a run, and so has ended the trial."""
    return TriedError(stage="solver", type="Stopped", message=reason, hint=hint)


def metrics_of(report: Report, name: str) -> list[MetricRow]:
    """The figures of one task."""
    return [row for row in report.metrics if row.task == name]


def task_lines(trial: TaskTrial, *, bodies: bool = False) -> Iterator[str]:
    """Sample by sample, then the metrics over them."""
    about: dict[str, Any] = {"file": trial.file}
    if trial.specification:
        about["specification"] = trial.specification
    if trial.values:
        about["parameters"] = trial.values
    yield visible(f"Task `{trial.task}`" + ("" if trial.name == trial.task else f", {trial.name}"))
    yield from indented(about)
    for one in trial.samples:
        yield ""
        asked = f", asked of {one.model}" if one.model else ""
        which = f", trial {one.trial + 1} of {trial.tries}" if trial.tries > 1 else ""
        yield visible(f"Sample `{one.sample_id}`{which}{asked}: {one.status}")
        yield from indented(_sections(one, bodies=bodies))
    if trial.printed:
        yield ""
        yield "Printed by snippets"
        yield from (visible(f"  {line}") for line in trial.printed)
    yield ""
    tried_ones = counted(len(trial.samples) // trial.tries, "sample")
    often = f", each tried {trial.tries} times" if trial.tries > 1 else ""
    yield f"Metrics over {tried_ones}{often}"
    yield from _metrics(trial.metrics)
    for error in trial.errors:
        yield ""
        yield from indented({"Error": _facts(error)})


def _sections(one: TriedSample, *, bodies: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"Dataset sample": one.sample or _NOTHING}
    if one.solver is not None:
        shown = _facts(one.solver)
        if not bodies:
            shown.pop("bodies", None)
        made["Solver"] = shown
    if one.parts:
        made["Scores"] = [_facts(part) for part in one.parts]
    else:
        made["Scores"] = {name: _facts(score) for name, score in one.scores.items()} or _NOTHING
    if one.rules:
        made["Rules"] = {rule.rule: rule.action or "does not apply" for rule in one.rules}
    if one.error is not None:
        made["Error"] = _facts(one.error)
    return made


def _metrics(rows: Sequence[MetricRow]) -> Iterator[str]:
    if not rows:
        yield f"  {_NOTHING}"
    for row in rows:
        value = "null" if row.value is None else f"{row.value:.6g}"
        about = [f"n {row.n}"]
        if row.ci_low is not None and row.ci_high is not None:
            about.append(f"95 % interval [{row.ci_low:.3g}, {row.ci_high:.3g}]")
        about += [f"{row.failed} failed"] if row.failed else []
        about += [f"{row.excluded} excluded"] if row.excluded else []
        about += [row.reason] if row.reason and row.value is None else []
        yield visible(f"  {row.scorer}.{row.metric}: {value}  ({', '.join(about)})")


def _facts(thing: Struct) -> dict[str, Any]:
    """Its fields, but for those that say nothing."""
    made = {name: to_builtins(getattr(thing, name)) for name in thing.__struct_fields__}
    return {name: value for name, value in made.items() if value not in ("", [], {}, None)}


def indented(thing: Any) -> Iterator[str]:
    """YAML below a heading."""
    from evalwright.report.yaml_text import to_yaml

    yield indent(visible(to_yaml(thing)).rstrip("\n"), "  ")


def _scores(scores: dict[str, Score]) -> dict[str, TriedScore]:
    return {
        name: TriedScore(values=one.values, reason=one.reason, metadata=one.metadata)
        for name, one in scores.items()
    }


def _solver(trace: Trace) -> TriedSolver:
    usage = {name: value for name, value in to_builtins(trace.usage).items() if value is not None}
    return TriedSolver(
        messages=[_said(item) for item in trace.conversation.get("items") or ()],
        output=trace.output,
        usage=usage,
        latency_s=round(trace.latency_s, 3),
        finish=trace.finish,
        bodies=list(trace.conversation.get("direct_ios") or ()),
    )


def _said(item: dict[str, Any]) -> dict[str, Any]:
    """A message as its role and its text; anything else as it is."""
    if item.get("type", "message") != "message":
        return item
    content = item.get("content")
    plain = content if isinstance(content, str) else text_of(content)
    return {"role": item.get("role"), "content": plain}


def _error(failure: Failure) -> TriedError:
    return TriedError(
        stage=failure.stage, type=failure.type, message=failure.message, hint=failure.hint
    )


class DatasetTrial(Struct, frozen=True, kw_only=True):
    """What `evalwright dataset test` shows."""

    key: str
    name: str
    file: str
    source: str
    """What kind of source it is, and where."""
    rows: int
    """That tasks get."""
    read: int
    """That there are before the filters."""
    filters: list[dict[str, Any]]
    """Each as it is written, with how many rows it has `dropped` of those that came to it."""
    columns: dict[str, dict[str, int]]
    """How many values of each type a column has; `missing` where a row has none."""
    samples: list[dict[str, Any]]
    """The first rows, each with its `id`."""


class ModelStep(Struct, frozen=True, kw_only=True):
    """One step between a question and its answer."""

    step: str
    value: Any


class ModelTrial(Struct, frozen=True, kw_only=True):
    """What `evalwright model test` shows."""

    key: str
    connection: dict[str, Any]
    steps: list[ModelStep]
    error: TriedError | None
    printed: list[str]
    ok: bool


def dataset_lines(trial: DatasetTrial) -> Iterator[str]:
    """What there is, what is left of it, and how it looks."""
    yield visible(f"Dataset `{trial.key}`")
    rows = f"{trial.rows} of {trial.read} that were read" if trial.filters else trial.rows
    yield from indented({"file": trial.file, "source": trial.source, "rows": rows})
    for place, one in enumerate(trial.filters):
        told = ", ".join(f"{name}: {value}" for name, value in one.items() if name != "dropped")
        yield visible(f"  filters[{place}] dropped {one['dropped']}  ({told})")
    yield ""
    yield "Columns"
    yield from indented(
        {
            name: ", ".join(f"{kind} {count}" for kind, count in kinds.items())
            for name, kinds in trial.columns.items()
        }
    )
    for one in trial.samples:
        yield ""
        yield visible(f"Row `{one['id']}`")
        yield from indented(one["row"])


def model_lines(trial: ModelTrial) -> Iterator[str]:
    """Step by step."""
    yield visible(f"Model `{trial.key}`")
    yield from indented(trial.connection)
    for one in trial.steps:
        yield ""
        yield one.step
        yield from indented(one.value)
    if trial.printed:
        yield ""
        yield "Printed by the snippet"
        yield from (visible(f"  {line}") for line in trial.printed)
    if trial.error is not None:
        yield ""
        yield from indented({"Error": _facts(trial.error)})
