"""Convert outcomes to the samples of a log and back.

    {"sample_id", "sample": {"data"}, "solver", "scores", "action_records", "errors",
     "trials": [{"index", "sample_id", "sample", "solver": {"output"}, "scores", "errors"}]}

Only trials contain solver outputs. The scores of a sample are the values that metrics are computed
from: the aggregate of several trials, or the average of the aggregates of several runs. Logs from
before trials were introduced have the solver and scores on the sample itself, which is then one
trial. A sample with a different structure raises `MalformedLog` with the path within the sample.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from evalwright.engine.trials import average_runs, combine_trials
from evalwright.objects import output_items, read_trace
from evalwright.plan.finalization import TrialAggregate, TrialPlan
from evalwright.plan.specifications import LOG_EXTENSION
from evalwright.solvers.conversation import conversation_answer, input_text
from evalwright.types import (
    Action,
    Failure,
    Finish,
    Outcome,
    Part,
    Score,
    Stage,
    Trace,
    Usage,
    without_self_report,
)

T = TypeVar("T")
_WIRE = "direct_ios"
_STAGES: tuple[str, ...] = get_args(Stage)
_MOST_TRIALS = 1_000_000
_TRACE_KEYS = {"trace", "items", "messages"}
_SHARED_FIELDS = ("latency_s", "finish", "nll", "nll_tokens", "confidence", "options")
"""Fields that `Trace` and `TrialExtension` share."""


class MalformedLog(ValueError):
    """Raised if a part of a log does not have the expected structure."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path


class ScorerFacts(Struct, frozen=True, kw_only=True):
    """Facts about a scorer in a log."""

    name: str = ""
    purpose: str = "score"


class TaskFacts(Struct, frozen=True, kw_only=True):
    """Facts about a task that are needed to write its samples."""

    scorers: Mapping[str, ScorerFacts] = {}
    trials: TrialPlan = TrialPlan()


def read_task_facts(
    specification: Mapping[str, Any], *, trials: int = 1, repeats: int = 1
) -> TaskFacts:
    """Read the facts from a log's specification; `trials` and `repeats` come from the plan."""
    scorers = {}
    for scorer in specification.get("scorers") or ():
        if isinstance(scorer, dict):
            name, purpose = scorer.get("display_name") or "", scorer.get("purpose") or "score"
            facts = ScorerFacts(name=str(name), purpose=str(purpose))
            scorers[str(scorer.get("key"))] = facts
    extension = specification.get(LOG_EXTENSION)
    written = extension.get("aggregates", ()) if isinstance(extension, dict) else ()
    aggregates = msgspec.convert(written, tuple[TrialAggregate, ...])
    plan = TrialPlan(trials=trials, repeats=repeats, aggregates=aggregates)
    return TaskFacts(scorers=scorers, trials=plan)


class ScoreExtension(Struct, frozen=True, omit_defaults=True):
    """Information about a score that the format does not support."""

    correct: bool | None = None
    reason: str = ""


class TrialExtension(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Information about a trial that the format does not support. None: see the solver output."""

    input: str | None = None
    output: str | None = None
    post_processed: str | None = None
    usage: Usage | None = None
    latency_s: float = 0.0
    finish: Finish = "stop"
    nll: float | None = None
    nll_tokens: int = 0
    confidence: float | None = None
    options: dict[str, float] = {}
    attempts: int = 1
    group: str = ""
    others: dict[str, Usage] = {}
    scores: dict[str, ScoreExtension] = {}
    parts: tuple[Part, ...] = ()


def sample_to_json(outcomes: Sequence[Outcome], facts: TaskFacts) -> dict[str, Any]:
    """Return a sample for a log with all its trials, in order."""
    first, scorers = outcomes[0], facts.scorers
    scores = first.whole or _combine_trials(outcomes, facts.trials)
    return {
        "sample_id": first.sample_id,
        "sample": {"data": first.sample},
        "solver": None,
        "scores": _scores_to_json(scores, scorers),
        "action_records": [msgspec.to_builtins(action) for action in first.actions],
        "errors": [failure_to_json(trial.failure) for trial in outcomes if trial.failure],
        "trials": [_trial_to_json(trial, scorers) for trial in outcomes],
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return a failure in the format of logs."""
    return {
        "error_type": failure.type,
        "message": failure.message,
        "hint": failure.hint or None,
        "stage": failure.stage,
    }


def _trial_to_json(outcome: Outcome, scorers: Mapping[str, ScorerFacts]) -> dict[str, Any]:
    trace = outcome.trace
    return {
        "index": outcome.trial,
        "sample_id": outcome.sample_id,
        "sample": {"data": outcome.sample},
        "solver": {"output": _conversation_to_json(trace.conversation)} if trace else None,
        "scores": _scores_to_json(outcome.scores, scorers),
        "errors": [failure_to_json(outcome.failure)] if outcome.failure else [],
        LOG_EXTENSION: msgspec.to_builtins(_trial_extension(outcome), str_keys=True),
    }


def _conversation_to_json(conversation: Mapping[str, Any]) -> dict[str, Any]:
    trace = {**conversation}
    output = {name: trace.pop(name, []) for name in ("raw_outputs", _WIRE)}
    if "solver_outputs" in trace:
        output["solver_outputs"] = trace.pop("solver_outputs")
    return {"trace": trace, **output}


def _trial_extension(outcome: Outcome) -> TrialExtension:
    trace = outcome.trace
    fields: dict[str, Any] = {
        "attempts": outcome.failure.attempts if outcome.failure else 1,
        "group": outcome.group,
        "others": outcome.others,
        "scores": {
            name: ScoreExtension(score.correct, score.reason)
            for name, score in outcome.scores.items()
            if score.correct is not None or score.reason
        },
        "parts": outcome.parts,
    }
    if trace is None:
        return TrialExtension(**fields)
    asked, answer = _conversation_texts(trace.conversation)
    return TrialExtension(
        **fields,
        input=None if trace.input == asked else trace.input,
        output=None if trace.output == answer else trace.output,
        post_processed=None if trace.post_processed == trace.output else trace.post_processed,
        usage=trace.usage,
        **{name: getattr(trace, name) for name in _SHARED_FIELDS},
    )


def _conversation_texts(conversation: dict[str, Any]) -> tuple[str, str]:
    whole = {"items": [], "raw_outputs": [], **conversation}
    return input_text(whole), conversation_answer(whole)


def _scores_to_json(
    scores: Mapping[str, Score], scorers: Mapping[str, ScorerFacts]
) -> list[dict[str, Any]]:
    written = []
    for key, score in scores.items():
        facts = scorers.get(key, ScorerFacts())
        metadata = {name: value for name, value in score.metadata.items() if name != _WIRE}
        written.append(
            {
                "scorer_key": key,
                "scorer_purpose": facts.purpose,
                "scorer_name": facts.name or key,
                "values": score.values,
                "metadata": metadata,
                _WIRE: score.metadata.get(_WIRE, []),
            }
        )
    return written


def _combine_trials(outcomes: Sequence[Outcome], trials: TrialPlan) -> dict[str, Score]:
    """Return the scores of a sample; for several trials, of the scorers that all trials have."""
    first = without_self_report(outcomes[0].scores)
    if trials.total == 1 and not trials.aggregates:
        return first
    combined: dict[str, Score] = {}
    for key in first if len(outcomes) == trials.total else ():
        each = [trial.scores[key].values for trial in outcomes if key in trial.scores]
        if len(each) == trials.total:
            runs = [
                combine_trials(each[start : start + trials.trials], trials.aggregates).values
                for start in range(0, trials.total, trials.trials)
            ]
            metadata = first[key].metadata if trials.total == 1 else {}
            values = runs[0] if len(runs) == 1 else average_runs(runs)
            combined[key] = Score(values=values, metadata=metadata)
    return combined


def outcomes_from_json(
    sample: Any, ordinal: int, *, task: str = "", model: str = ""
) -> list[Outcome]:
    """Return one outcome per trial of a sample."""
    whole = _require_object(sample, "")
    written = require_list(whole.get("trials"), ".trials")
    path = ".trials[{}]" if written else ""
    trials = [
        dict(_require_object(trial, path.format(place)))
        for place, trial in enumerate(written or [whole])
    ]
    if not any(trial.get("errors") for trial in trials):
        trials[0]["errors"] = whole.get("errors")
    actions = tuple(_actions_from_json(whole.get("action_records")))
    outcomes = []
    for place, (number, trial) in enumerate(zip(_trial_numbers(trials), trials, strict=True)):
        for name in ("sample_id", "sample"):
            if trial.get(name) is None:
                trial[name] = whole.get(name)
        reader = _TrialReader(trial, path.format(place))
        outcomes.append(reader.outcome(task, model, ordinal, number, actions))
    outcomes.sort(key=lambda outcome: outcome.trial)
    if len(outcomes) > 1 and whole.get("scores"):
        scores = _TrialReader({"scores": whole["scores"]}, "").scores()
        outcomes[0] = msgspec.structs.replace(outcomes[0], whole=scores)
    return outcomes


def _trial_numbers(trials: list[dict[str, Any]]) -> Sequence[int]:
    """Return the indexes of the trials if they are distinct, otherwise their positions."""
    indexes = [trial.get("index") for trial in trials]
    valid = [index for index in indexes if type(index) is int and 0 <= index < _MOST_TRIALS]
    is_distinct = len(trials) > 1 and len({*valid}) == len(trials)
    return valid if is_distinct else range(len(trials))


class _TrialReader:
    def __init__(self, data: Mapping[str, Any], path: str) -> None:
        self._data, self._path = data, path
        self._extension = read_extension(data.get(LOG_EXTENSION) or {}, TrialExtension, path)

    def outcome(
        self, task: str, model: str, ordinal: int, trial: int, actions: tuple[Action, ...]
    ) -> Outcome:
        extension = self._extension
        sample_id = self._data.get("sample_id")
        return Outcome(
            task=task,
            model=model,
            sample_id=str(ordinal if sample_id is None else sample_id),
            trial=trial,
            group=extension.group,
            trace=self._trace(),
            scores=self.scores(),
            failure=self._failure(),
            ordinal=ordinal,
            sample=self._sample(),
            others=extension.others,
            parts=extension.parts,
            actions=actions,
        )

    def _sample(self) -> dict[str, Any]:
        sample = _require_object(self._data.get("sample") or {}, f"{self._path}.sample")
        data = sample.get("data")
        return data if set(sample) == {"data"} and isinstance(data, dict) else dict(sample)

    def _trace(self) -> Trace | None:
        solver = self._data.get("solver")
        if solver is None:
            return None
        path = f"{self._path}.solver.output"
        written = _require_object(solver, f"{self._path}.solver").get("output")
        extension = self._extension
        if written is None and extension.usage is None:
            return None
        try:
            is_ours = LOG_EXTENSION in self._data
            conversation = (
                {} if written is None else _conversation_from_json(written, is_ours=is_ours)
            )
            asked, answer = _conversation_texts(conversation)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise MalformedLog(path, f"not a solver output: {error}") from error
        output = answer if extension.output is None else extension.output
        processed = extension.post_processed
        return Trace(
            input=asked if extension.input is None else extension.input,
            output=output,
            post_processed=output if processed is None else processed,
            usage=_sum_usage(conversation) if extension.usage is None else extension.usage,
            conversation=conversation,
            **{name: getattr(extension, name) for name in _SHARED_FIELDS},
        )

    def scores(self) -> dict[str, Score]:
        """Return the scores by scorer key."""
        written = self._data.get("scores")
        scores: dict[str, Score] = {}
        for number, item in enumerate(require_list(written, f"{self._path}.scores")):
            path = f"{self._path}.scores[{number}]"
            score = _require_object(item, path)
            key = score.get("scorer_key") or score.get("scorer_name")
            if not isinstance(key, str):
                raise MalformedLog(f"{path}.scorer_key", "missing")
            if key in scores:
                raise MalformedLog(f"{path}.scorer_key", f"duplicate key `{key}`")
            scores[key] = self._score(key, score, path)
        return scores

    def _score(self, key: str, score: Mapping[str, Any], path: str) -> Score:
        values = _require_object(score.get("values"), f"{path}.values")
        metadata = dict(_require_object(score.get("metadata") or {}, f"{path}.metadata"))
        if score.get(_WIRE):
            metadata[_WIRE] = score[_WIRE]
        extension = self._extension.scores.get(key)
        is_correct = values.get("is_correct")
        if extension is None:
            extension = ScoreExtension(is_correct if isinstance(is_correct, bool) else None)
        correct, reason = extension.correct, extension.reason
        return Score(values=dict(values), correct=correct, reason=reason, metadata=metadata)

    def _failure(self) -> Failure | None:
        failures = failures_from_json(
            self._data.get("errors"),
            f"{self._path}.errors",
            default_stage="score" if self._data.get("solver") else "solver",
        )
        if not failures:
            return None
        message = failures[0].message
        if len(failures) > 1:
            message += f" (and {len(failures) - 1} more in this sample)"
        attempts = self._extension.attempts
        return msgspec.structs.replace(failures[0], message=message, attempts=attempts)


def failures_from_json(errors: Any, path: str, *, default_stage: Stage) -> list[Failure]:
    """Parse a list of failures; `default_stage` applies to failures without a stage."""
    failures = []
    for number, item in enumerate(require_list(errors, path)):
        error = _require_object(item, f"{path}[{number}]")
        stage = error.get("stage") or default_stage
        if stage not in _STAGES:
            known = ", ".join(f"`{name}`" for name in _STAGES)
            raise MalformedLog(f"{path}[{number}].stage", f"expected one of {known}, got {stage!r}")
        failures.append(
            Failure(
                stage=stage,
                type=str(error.get("error_type") or "error"),
                message=str(error.get("message") or ""),
                hint=str(error.get("hint") or ""),
            )
        )
    return failures


def _conversation_from_json(output: Any, *, is_ours: bool) -> dict[str, Any]:
    """Parse a solver output in any version of the format; ValueError if it is invalid.

    It is a trace with raw outputs, the older form with messages and the last output, or only the
    last output.
    """
    if not isinstance(output, dict) or not _TRACE_KEYS & output.keys():
        return {"items": output_items(output), "raw_outputs": [output], _WIRE: []}
    if not is_ours:
        return read_trace(output).to_json()
    more = {name: output[name] for name in ("solver_outputs",) if name in output}
    return {**output["trace"], "raw_outputs": output["raw_outputs"], _WIRE: output[_WIRE], **more}


def _actions_from_json(records: Any) -> Iterator[Action]:
    for number, item in enumerate(require_list(records, ".action_records")):
        record = _require_object(item, f".action_records[{number}]")
        action = record.get("action") or record.get("type") or "exclude_from_metrics"
        rule_key = record.get("rule_key") or record.get("key") or ""
        yield Action(action=str(action), rule_key=str(rule_key))


def _sum_usage(conversation: Mapping[str, Any]) -> Usage:
    outputs = conversation["raw_outputs"]
    counts = [output.get("usage") for output in outputs if isinstance(output, dict)]
    usages = [usage_from_json(usage) for usage in counts if isinstance(usage, dict)]
    return Usage(
        requests=len(outputs),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
    )


def usage_from_json(counts: Mapping[str, Any]) -> Usage:
    """Return the usage of a model from the totals of a log. The cost is unknown."""
    return Usage(
        requests=_count(counts, "num_requests"),
        prompt_tokens=_count(counts, "num_prompt_tokens"),
        completion_tokens=_count(counts, "num_completion_tokens"),
    )


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def read_extension(extension: Any, kind: type[T], path: str) -> T:
    """Parse the value under the key `evalwright` of the object at a path."""
    try:
        return msgspec.convert(extension, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        raise MalformedLog(f"{path}.{LOG_EXTENSION}{where.strip('`$')}", what) from error


def _require_object(value: Any, path: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    kind = "null" if value is None else type(value).__name__
    raise MalformedLog(path, f"expected an object, got {kind}")


def require_list(value: Any, path: str) -> list[Any]:
    """Return the list; for null and other empty values, an empty list."""
    if not isinstance(value or [], list):
        raise MalformedLog(path, "expected a list")
    return value or []
