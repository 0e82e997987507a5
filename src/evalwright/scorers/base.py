"""Base classes of the scorers in task documents.

    scorers:
      - type: string_equals
        key: exact                  # all of these are optional
        display_name: Exact answer
        purpose: score
        metrics:
          - type: mean
            field: is_correct

Without `metrics`, a scorer has its `default_metrics`. With `metrics: []`, it has none.
"""

from ast import literal_eval
from functools import cached_property
from json import dumps, loads
from typing import Annotated, Any, ClassVar, Literal

from msgspec import json

from evalwright.components import FOR_KEYS, Component, ComponentUnion, UserKey
from evalwright.metrics.base import AnyMetric
from evalwright.objects import ChatCompletion, SolverTrace, variables
from evalwright.ports import Case, Model
from evalwright.templates import Template
from evalwright.types import Sample, Score

_NOT_IN_THE_SCORE = {"key", "purpose", "display_name", "metrics"}
_LONGEST_SHOWN = 80


class ScorerSpec(Component):
    """A scorer in a document. Most score one sample at a time and implement `ports.Scorer`."""

    type: str
    """The kind of scorer."""
    key: UserKey | None = None
    """Name of the scorer in action rules and reports. Default: the scorer's type."""
    purpose: Literal["score", "qa"] = "score"
    """`score`: the scorer's metrics are results of the task. `qa`: its scores are for checks and
    action rules. A `qa` scorer has no default metrics, and its listed metrics are shown in a
    separate table."""
    display_name: str | None = None
    """Display name."""
    metrics: list[AnyMetric] | None = None
    """Metrics computed from the scores. Default: the default metrics of the scorer's type."""

    version: ClassVar[int] = 1
    """Increase it with every change that could change a score."""
    not_in_keys_if_unset: ClassVar[frozenset[str]] = frozenset()
    """Optional fields added later. If unset, they are not part of the score key, so that scores
    stored earlier stay valid."""
    score_names: ClassVar[tuple[str, ...] | None] = None
    """Names of the scores; None if they are known only after a run."""
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {}
    """Lowest and highest possible value of each score, if known in advance."""
    text_scores: ClassVar[tuple[str, ...]] = ()
    """Names of text scores, which cannot be aggregated over trials."""
    lower_is_better: ClassVar[tuple[str, ...]] = ()
    """Scores of which a smaller value is better."""
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Type and field of each metric of a scorer without `metrics`."""

    needs_sandbox: ClassVar[bool] = False
    """Whether the scorer runs code that a model wrote."""

    @property
    def name(self) -> str:
        """The scorer's type."""
        return self.type

    @property
    def model_keys(self) -> tuple[str, ...]:
        """Models that the scorer calls in addition to the evaluated model."""
        return ()

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Columns that the scorer reads by name, not in a template, and that a sample must have."""
        return ()

    @property
    def calls_model(self) -> bool:
        """Whether the scorer calls a model."""
        return bool(self.model_keys)

    @cached_property
    def settings(self) -> str:
        """All fields that can change a score, as canonical JSON."""
        unset = {name for name in self.not_in_keys_if_unset if getattr(self, name) is None}
        fields = self.model_dump(mode="json", exclude=_NOT_IN_THE_SCORE | unset, context=FOR_KEYS)
        return dumps(fields, sort_keys=True, ensure_ascii=False)

    def describe_inputs(self, sample: Sample) -> str:
        """Return the fields and the row, because a template or snippet may read any column."""
        return f"{self.settings}{json.encode(sample.data, enc_hook=str).decode()}"

    def reuse(self, score: Score) -> Score | None:
        """Adapt a stored score to the current settings without a model call, or return None."""
        return score


AnyScorer = Annotated[ScorerSpec, ComponentUnion("scorers")]
"""One scorer of a task."""


class ComparisonScorer(ScorerSpec):
    """A scorer that compares two strings: a value and the ground truth."""

    ground_truth: Template
    """Text to compare the value with. May refer to `sample`."""
    value: Template | None = None
    """Text to compare with the ground truth. May refer to `sample` and `solver_output`. Default:
    the text of the last assistant message. Required in tasks without a solver."""

    def render_pair(self, case: Case) -> tuple[str, str]:
        """Return the rendered value (by default, the answer) and the rendered ground truth."""
        return render_value(self.value, case), self.ground_truth.render(sample=case.sample.data)


def template_variables(case: Case) -> dict[str, Any]:
    """Return the variables for the `value` template; in a task without a solver, only `sample`."""
    return variables(case.sample.data, None if case.answer is None else case.answer.conversation)


def render_value(value: Template | None, case: Case) -> str:
    """Return the rendered value, or the answer if there is no template."""
    return answer_text(case) if value is None else value.render(**template_variables(case))


def answer_text(case: Case) -> str:
    """Return the text of the last assistant message; ValueError if there is none.

    The text is empty if the message only calls functions.
    """
    if case.answer is None:
        raise ValueError(
            "a task without a solver has no answer to compare: set `value` to the text to compare, "
            "such as `{{ sample.answer }}`"
        )
    solved = SolverTrace.from_json(case.answer.conversation)
    output = solved.read_output()
    if isinstance(output, ChatCompletion | None):
        text = solved.trace.get_last_assistant_text()
        if text is not None:
            return text
    if isinstance(output, ChatCompletion):
        return str(output)  # the message contains only function calls
    raise ValueError(
        "there is no assistant message to compare: set `value` to the text to compare, such as "
        "`{{ solver_output.output.label }}`"
    )


def read_list(text: str, *, field: str) -> list[Any]:
    """Parse a rendered list in JSON or Python syntax; ValueError names the `field`."""
    for read in (loads, literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: deep nesting
            continue
        if isinstance(value, list | tuple):
            return list(value)
    raise ValueError(f"`{field}` must render to a JSON or Python list, got {short(text)}")


_STRUCTURED: dict[str, tuple[set[str], ...]] = {
    "scores": ({"scores"}, {"scores", "metadata"}),
    "values": (
        {"values", "metadata"},
        {"values", "direct_ios"},
        {"values", "metadata", "direct_ios"},
    ),
}
"""For each key that may contain the scores: the sets of keys that such a dict may have."""


def parse_score(returned: Any, *, where: str = "compute_scores") -> Score:
    """Read the return value of an author's function for one sample; ValueError if invalid.

        {"accuracy": 0.95, "is_correct": True}                              scores only
        {"scores": {"accuracy": 0.95}, "metadata": {"tokens": 123}}         scores with metadata
        {"values": {"accuracy": 0.95}, "metadata": None, "direct_ios": []}  a `SampleScore`

    The second form applies only if `scores` is a dict and the only other key is `metadata`. The
    third applies only if `values` is a dict and the other keys are `metadata`, `direct_ios` or
    both. A boolean `is_correct` decides whether the answer counts as correct.
    """
    values = _check_names(returned, expected=f"{where} must return a dict of scores")
    metadata = None
    name = "scores" if isinstance(values.get("scores"), dict) else "values"
    if isinstance(values.get(name), dict) and values.keys() in _STRUCTURED[name]:
        metadata = values.get("metadata")
        values = _check_names(values[name], expected=f"`{name}` of {where} must be a dict")
    if metadata is not None:
        _check_names(metadata, expected=f"`metadata` of {where} must be a dict")
    correct = values.get("is_correct")
    return Score(
        values=values,
        correct=correct if isinstance(correct, bool) else None,
        metadata=metadata or {},
    )


def _check_names(value: Any, *, expected: str) -> dict[str, Any]:
    if value is None:
        raise ValueError(f"{expected}, got `None`: is a `return` missing?")
    if not isinstance(value, dict):
        raise ValueError(f"{expected}, got `{type(value).__name__}`: {short(value)}")  # noqa: TRY004 - a wrong return value of the author's code
    for name in value:
        if not isinstance(name, str):
            raise ValueError(f"{expected} with names that are strings, got {name!r}")  # noqa: TRY004 - the same
    return value


def find_model(case: Case, model_key: str) -> Model:
    """Return the model with this key; ValueError lists the available models."""
    try:
        return case.models[model_key]
    except KeyError:
        known = ", ".join(f"`{key}`" for key in sorted(case.models)) or "none"
        raise ValueError(f"`{model_key}` is not one of the models: {known}") from None


def cut(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Return the string, shortened if it is long."""
    return text if len(text) <= most else f"{text[:most]}…"


def short(value: Any) -> str:
    """Return the quoted value, shortened if it is long."""
    return repr(cut(str(value)))


def explain_difference(actual: Any, expected: Any) -> str:
    """Return the reason for a score below the maximum."""
    return f"{short(actual)} against {short(expected)}"
