"""A stored run and its outcomes, as `list` and `show` print them.

The manifest is printed whole, whatever is in it. What a model or an author wrote cannot move the
cursor, change colours or turn the direction of the text: such characters are shown by their
escapes. JSON has them as they were.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from evalwright.plan.outline import NO_MODEL, PlanOutline, TaskOutline
from evalwright.report.export import to_json
from evalwright.report.headline import HeadlineMetric
from evalwright.report.tables import NOTHING, Facts, count_noun, dollars, format_number
from evalwright.text.visible import visible
from evalwright.types import SELF_REPORT, Action, Outcome, RunStatus, Score, Trace, Usage

_NONE = "none"
_MOST_LISTED = 2
"""Maximum number of tasks or metrics in a line of `list`; JSON has all of them."""
_SHOWN_ELSEWHERE = ("name", "tags", "report", "results", "specifications")
"""The first two above; `evalwright report` and `evalwright export --format logs` have the rest."""


class ListedRun(Struct, frozen=True, kw_only=True):
    """A stored run, as `ew.runs` and `evalwright list` list it."""

    id: str
    name: str = ""
    tags: dict[str, str] = {}
    created: str
    updated: str
    status: RunStatus
    parent: str | None
    """The run whose outputs this run scored again."""
    tasks: list[str]
    models: list[str]
    done: int
    """Stored outcomes, including failed ones."""
    total: int
    failed: int
    imported: bool = False
    """Whether its results were produced elsewhere."""
    changed_files: list[str] = []
    """The files that changed while the run was using them."""
    metrics: list[HeadlineMetric] = []
    """The primary metric of each task and model; empty until the run has a report."""
    cost: float | None = None
    """In dollars, including judges; None if it is unknown."""
    parameters: dict[str, Any] = {}
    """Generation parameters, `--set` values, and the options that change the plan."""


class ShownRun(ListedRun, frozen=True, kw_only=True):
    """Everything known about a run except its outcomes."""

    plan_key: str
    manifest: dict[str, Any]
    """`plan` in it is a `PlanOutline`."""


class RunList(NamedTuple):
    """A table of runs."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numeric: frozenset[int]
    """The columns that are aligned right."""


def list_table(runs: Sequence[ListedRun]) -> RunList:
    """Return one row per run; a column in which no run has anything is left out."""
    differing = _find_differing_parameters(runs)
    table = [
        {
            "run": run.id,
            "name": visible(run.name),
            "created (UTC)": run.created.replace("T", " ").removesuffix("+00:00"),
            "status": _describe_status(run),
            "tasks": visible(_join_some(run.tasks)),
            "models": visible(", ".join(run.models)),
            "metric, 95 % interval": visible(_join_some(_describe_metrics(run.metrics))),
            "done": f"{run.done}/{run.total}",
            "failed": str(run.failed),
            "cost": dollars(run.cost) if run.cost else "",
            "parameters": format_pairs(
                {
                    name: value
                    for name, value in run.parameters.items()
                    if name in differing[tuple(run.tasks)]
                }
            ),
            "tags": format_pairs(run.tags),
        }
        for run in runs
    ]
    columns = tuple(name for name in table[0] if any(row[name] for row in table)) if table else ()
    rows = [tuple(row[name] or NOTHING for name in columns) for row in table]
    numeric = {"done", "failed", "cost"}
    return RunList(columns, rows, frozenset(map(columns.index, numeric.intersection(columns))))


def _describe_status(run: ListedRun) -> str:
    parts = [run.status.replace("_", " ")]
    parts += ["imported"] if run.imported else []
    parts += ["input changed"] if run.changed_files else []
    return ", ".join(parts)


def _find_differing_parameters(runs: Sequence[ListedRun]) -> dict[tuple[str, ...], set[str]]:
    """Return the parameters that not all runs of the same tasks share, by these tasks."""
    firsts: dict[tuple[str, ...], ListedRun] = {}
    differing: dict[tuple[str, ...], set[str]] = {}
    for run in runs:
        tasks = tuple(run.tasks)
        own, others = run.parameters, firsts.setdefault(tasks, run).parameters
        names = {name for name in {*own, *others} if own.get(name) != others.get(name)}
        differing.setdefault(tasks, set()).update(names)
    return differing


def _describe_metrics(metrics: Sequence[HeadlineMetric]) -> list[str]:
    """Write `capitals is_correct_mean 0.80 [0.38, 0.96]`, without what all of them share."""
    texts = []
    for row in metrics:
        number = format_number(row.value, 2)
        if row.ci_low is not None and row.ci_high is not None:
            number += f" [{row.ci_low:.2f}, {row.ci_high:.2f}]"
        task = row.task if len({each.task for each in metrics}) > 1 else ""
        model = row.model if len({each.model for each in metrics} - {NO_MODEL}) > 1 else ""
        texts.append(" ".join(filter(None, (task, model, row.metric, number))))
    return texts


def _join_some(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_LISTED
    shown = ", ".join(texts[:_MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def format_pairs(pairs: Mapping[str, Any]) -> str:
    """Write `temperature=0, limit=3`."""
    return visible(", ".join(f"{name}={_words(value)}" for name, value in pairs.items()))


def run_facts(run: ShownRun) -> Facts:
    """Return all that is known of a run, each fact with its name."""
    return Facts([*_facts(run)])


def _facts(run: ShownRun) -> Iterator[tuple[str, str]]:
    yield "run", run.id
    if run.name:
        yield "name", run.name
    if run.tags:
        yield "tags", format_pairs(run.tags)
    yield "status", run.status
    yield "outcomes", f"{run.done} of {run.total}, {run.failed} failed"
    yield "created", run.created
    yield "updated", run.updated
    yield "parent", run.parent or _NONE
    yield "plan_key", run.plan_key
    for name, value in run.manifest.items():
        if name == "plan":
            yield from _plan_facts(msgspec.convert(value, PlanOutline))
        elif name == "headline":
            yield from ((name, visible(text)) for text in _describe_metrics(run.metrics))
        elif name in _SHOWN_ELSEWHERE:
            continue
        else:
            yield from ((name, fact) for fact in _lines(value))


def _plan_facts(plan: PlanOutline) -> Iterator[tuple[str, str]]:
    for name, fact in (("evaluation", plan.evaluation), ("path", plan.path)):
        if fact:
            yield name, fact
    for task in plan.tasks:
        yield "task", _describe_file(task) if task.path else _describe_task(task)
    if any(task.path for task in plan.tasks):
        yield "limit", _NONE if plan.limit is None else str(plan.limit)
        yield "samples", _NONE if plan.trials is None else str(plan.trials)


def _describe_file(task: TaskOutline) -> str:
    counts = [count_noun(task.records, "record")]
    if task.code_exec:
        counts.append(f"{task.code_exec} of them code_exec")
    if task.jobs != task.records:
        counts.append(f"{task.jobs} trials per model")
    if task.issues:
        counts.append(f"{count_noun(len(task.issues), 'invalid record')} excluded")
    return f"{task.path}: {', '.join(counts)}; content {task.digest}"


def _describe_task(task: TaskOutline) -> str:
    models = ", ".join(filter(None, task.models))
    parts = [
        f"{task.name}: {count_noun(task.records, 'sample')}",
        f"{count_noun(task.excluded_rows, 'bad row')} excluded" if task.excluded_rows else "",
        f"{task.trials} trials of each" if task.trials > 1 else "",
        f"{task.repeats} runs" if task.repeats > 1 else "",
        f"with {models}" if models else "",
        *(f"{name} = {_words(value)}" for name, value in task.values.items()),
    ]
    return ", ".join(filter(None, parts))


def _lines(value: Any) -> Iterator[str]:
    if not value and (value is None or isinstance(value, Mapping | Sequence)):
        yield _NONE
    elif isinstance(value, Mapping):
        yield from (f"{name}: {_words(item)}" for name, item in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from map(_words, value)
    else:
        yield _words(value)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def sample_lines(outcome: Outcome) -> Iterator[str]:
    """Yield a page: what was asked, what came back, how it was judged, and why."""
    failure, trace = outcome.failure, outcome.trace
    which = f"{outcome.sample_id}  {outcome.model}  trial {outcome.trial + 1}"
    yield visible(f"{which}  {'failed' if failure else 'completed'}  ({outcome.task})")
    if outcome.sample:
        columns = (f"{name}: {_brief(value)}" for name, value in outcome.sample.items())
        yield from _text_lines("sample", "\n".join(columns))
    if trace:
        yield from _text_lines("input", trace.input)
        yield from _text_lines("output", trace.output)
        if trace.post_processed != trace.output and not trace.conversation:
            yield from _text_lines("post-processed", trace.post_processed)
        elif not trace.conversation:  # the task of a document has no rule for it
            yield "  post-processed: the same"
    yield from _score_lines(outcome.scores)
    for number, part in enumerate(outcome.parts):
        yield from _text_lines(f"part {number}", _brief(part.sample))
        yield from _score_lines(part.scores)
        yield from _exclusion_lines(part.actions)
    yield from _exclusion_lines(outcome.actions)
    if failure:
        tries = f", after {failure.attempts} attempts" if failure.attempts > 1 else ""
        yield visible(f"  failure: {failure.stage}: {failure.type}: {failure.message}{tries}")
        if failure.hint:
            yield visible(f"    hint: {failure.hint}")
    if trace:
        yield f"  usage: {_describe_answer(trace)}"
    for model, usage in outcome.others.items():
        yield visible(f"  other requests: {model}: {_describe_usage(usage)}")
    yield ""


def _text_lines(name: str, text: str) -> Iterator[str]:
    if not text:
        yield f"  {name}: empty"
        return
    yield f"  {name}:"
    yield indent(visible(text), "    ", lambda _: True)


def _score_lines(scores: Mapping[str, Score]) -> Iterator[str]:
    for scorer, score in scores.items():
        reason = f"  ({score.reason})" if score.reason else ""
        for name, value in score.values.items():
            yield visible(f"  {scorer}.{name}: {_brief(value)}{reason}")
        for name, fact in score.metadata.items():
            if name != SELF_REPORT:
                yield visible(f"    {name}: {_format_fact(fact)}")


def _exclusion_lines(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        yield visible(f"  excluded from metrics by rule `{action.rule_key}`")


def _format_fact(fact: Any) -> Any:
    """Write numbers by names as `A 0.91, B 0.09`."""
    if isinstance(fact, dict) and fact and all(isinstance(part, float) for part in fact.values()):
        return ", ".join(f"{name} {_brief(number)}" for name, number in fact.items())
    return fact


def _brief(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.4g}" if isinstance(value, float) else to_json(value).decode()


def _describe_usage(usage: Usage) -> str:
    cost = "cost unknown" if usage.cost is None else dollars(usage.cost)
    return f"{usage.prompt_tokens} + {usage.completion_tokens} tokens, {cost}"


def _describe_answer(trace: Trace) -> str:
    parts = [_describe_usage(trace.usage), f"{trace.latency_s:.3f} s"]
    if trace.finish != "stop":
        parts.append(f"finish: {trace.finish}")
    if trace.confidence is not None:
        parts.append(f"confidence {trace.confidence:.2f}")
    return ", ".join(parts)
