"""The result of `evalwright task test`: samples with all steps, and the metrics."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct, convert, to_builtins

from evalwright.objects import text_of
from evalwright.report.export import FailureSummary, summarize_failure
from evalwright.report.report import MetricRow
from evalwright.report.tables import count_noun
from evalwright.report.yaml_text import indent_yaml
from evalwright.text.visible import visible
from evalwright.types import Outcome, Score, Trace

_NONE = "none"


class PreviewScore(Struct, frozen=True, kw_only=True):
    """The score of a scorer."""

    values: dict[str, Any]
    reason: str = ""
    metadata: dict[str, Any] = {}


class PreviewConversation(Struct, frozen=True, kw_only=True):
    """The conversation of solver and model, and the output."""

    messages: list[dict[str, Any]]
    output: str
    usage: dict[str, Any]
    latency_s: float
    finish: str
    bodies: list[Any]
    """The unchanged requests and replies, if the model's client keeps them."""


class PreviewPart(Struct, frozen=True, kw_only=True):
    """One of several samples that a postprocessor returned for a sample."""

    sample: dict[str, Any]
    scores: dict[str, PreviewScore]


class PreviewRule(Struct, frozen=True, kw_only=True):
    """An action rule of the task."""

    rule: str
    action: str | None
    """Action applied to the sample; None if the rule does not apply."""


class PreviewSample(Struct, frozen=True, kw_only=True):
    """A sample, from its row to its scores."""

    sample_id: str
    model: str
    status: Literal["completed", "failed"]
    sample: dict[str, Any]
    solver: PreviewConversation | None
    scores: dict[str, PreviewScore]
    parts: list[PreviewPart]
    rules: list[PreviewRule]
    error: FailureSummary | None
    trial: int = 0
    """Index of the trial, from 0, as in an export."""


class TaskPreview(Struct, frozen=True, kw_only=True):
    """The result of `evalwright task test`."""

    task: str
    name: str
    """Key of the specification, or of the task if there is no specification."""
    file: str
    specification: str | None
    """Location of the specification; None if the task itself was selected."""
    values: dict[str, Any]
    samples: list[PreviewSample]
    metrics: list[MetricRow]
    errors: list[FailureSummary]
    """Errors that do not belong to a single sample."""
    printed: list[str]
    ok: bool
    tries: int = 1

    def to_lines(self, *, bodies: bool = False) -> Iterator[str]:
        """Yield the samples, then the metrics. `bodies` adds requests and replies."""
        about: dict[str, Any] = {"file": self.file}
        if self.specification:
            about["specification"] = self.specification
        if self.values:
            about["parameters"] = self.values
        yield visible(f"Task `{self.task}`" + ("" if self.name == self.task else f", {self.name}"))
        yield from indent_yaml(about)
        for sample in self.samples:
            yield ""
            model = f", model {sample.model}" if sample.model else ""
            trial = f", trial {sample.trial + 1} of {self.tries}" if self.tries > 1 else ""
            yield visible(f"Sample `{sample.sample_id}`{trial}{model}: {sample.status}")
            yield from indent_yaml(_sample_sections(sample, bodies=bodies))
        yield from printed_lines("Printed by snippets", self.printed)
        yield ""
        samples = count_noun(len(self.samples) // self.tries, "sample")
        trials = f", with {self.tries} trials each" if self.tries > 1 else ""
        yield f"Metrics over {samples}{trials}"
        if not self.metrics:
            yield f"  {_NONE}"
        yield from map(_metric_line, self.metrics)
        for error in self.errors:
            yield ""
            yield from indent_yaml({"Error": nonempty_fields(error)})


def sample_from_outcome(outcome: Outcome, rules: Iterable[str]) -> PreviewSample:
    """Describe an outcome for the author of a task; `rules` are the keys of its action rules."""
    actions = [*outcome.actions, *(action for part in outcome.parts for action in part.actions)]
    action_of = {action.rule_key: action.action for action in actions}
    parts = [PreviewPart(sample=part.sample, scores=_scores(part.scores)) for part in outcome.parts]
    failure = outcome.failure
    return PreviewSample(
        sample_id=outcome.sample_id,
        model=outcome.model,
        status="failed" if failure else "completed",
        sample=outcome.sample,
        solver=_conversation(outcome.trace) if outcome.trace else None,
        scores=_scores(outcome.scores),
        parts=parts,
        rules=[PreviewRule(rule=key, action=action_of.get(key)) for key in rules],
        error=summarize_failure(failure),
        trial=outcome.trial,
    )


def nonempty_fields(struct: Struct) -> dict[str, Any]:
    """Return the fields of a struct whose values are not empty."""
    fields = {name: to_builtins(getattr(struct, name)) for name in struct.__struct_fields__}
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}


def _sample_sections(sample: PreviewSample, *, bodies: bool) -> dict[str, Any]:
    sections: dict[str, Any] = {"Dataset sample": sample.sample or _NONE}
    if sample.solver is not None:
        conversation = nonempty_fields(sample.solver)
        if not bodies:
            conversation.pop("bodies", None)
        sections["Solver"] = conversation
    if sample.parts:
        sections["Scores"] = [nonempty_fields(part) for part in sample.parts]
    else:
        scores = {name: nonempty_fields(score) for name, score in sample.scores.items()}
        sections["Scores"] = scores or _NONE
    if sample.rules:
        sections["Rules"] = {rule.rule: rule.action or "does not apply" for rule in sample.rules}
    if sample.error is not None:
        sections["Error"] = nonempty_fields(sample.error)
    return sections


def _metric_line(row: MetricRow) -> str:
    value = "null" if row.value is None else f"{row.value:.6g}"
    about = [*([] if row.group is None else [f"group {row.group}"]), f"n {row.n}"]
    if row.ci_low is not None and row.ci_high is not None:
        about.append(f"95 % interval [{row.ci_low:.3g}, {row.ci_high:.3g}]")
    about += [f"{row.failed} failed"] if row.failed else []
    about += [f"{row.excluded} excluded"] if row.excluded else []
    about += [row.reason] if row.reason and row.value is None else []
    return visible(f"  {row.scorer}.{row.metric}: {value}  ({', '.join(about)})")


def _scores(scores: dict[str, Score]) -> dict[str, PreviewScore]:
    return convert(scores, dict[str, PreviewScore], from_attributes=True)


def _conversation(trace: Trace) -> PreviewConversation:
    usage = {name: value for name, value in to_builtins(trace.usage).items() if value is not None}
    return PreviewConversation(
        messages=[_message(item) for item in trace.conversation.get("items") or ()],
        output=trace.output,
        usage=usage,
        latency_s=round(trace.latency_s, 3),
        finish=trace.finish,
        bodies=list(trace.conversation.get("direct_ios") or ()),
    )


def _message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type", "message") != "message":
        return item
    return {"role": item.get("role"), "content": text_of(item.get("content"))}


def stopped_error(reason: str, hint: str) -> FailureSummary:
    """Return the error of a preview that ended for a reason that would stop a run."""
    return FailureSummary("solver", "Stopped", reason, hint)


def printed_lines(heading: str, printed: Sequence[str]) -> Iterator[str]:
    """Yield the output of snippets below a heading, if there is any."""
    if printed:
        yield ""
        yield heading
        yield from (visible(f"  {line}") for line in printed)
