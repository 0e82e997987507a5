"""What a log says of a sample, as outcomes.

Logs of before trials have a sample's solver and scores on the sample itself: that is one trial.
What is not as it should be is a `Crooked`, with its path within the sample.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from evalwright.objects import output_items, read_trace
from evalwright.report.logs.evidence import DIRECT, OURS, TrialExtra, texts_of
from evalwright.types import Action, Failure, Outcome, Score, Stage, Trace, Usage

_STAGES: tuple[str, ...] = get_args(Stage)
_MOST_TRIALS = 1_000_000
_OF_A_SOLVER = {"trace", "items", "messages"}


class Crooked(ValueError):
    """Something of a sample is not as it should be."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path


def outcomes_in(sample: Any, ordinal: int, *, task: str = "", model: str = "") -> list[Outcome]:
    """One a trial."""
    whole = _object(sample, "")
    trials = whole.get("trials") or [whole]
    if not isinstance(trials, list):
        raise Crooked(".trials", "expected a list")
    below = ".trials[{}]" if whole.get("trials") else ""
    trials = [dict(_object(one, below.format(place))) for place, one in enumerate(trials)]
    if not any(one.get("errors") for one in trials):
        trials[0]["errors"] = whole.get("errors")
    actions = _actions(whole.get("action_records"))
    made = []
    for place, (number, trial) in enumerate(zip(_numbers(trials), trials, strict=True)):
        for name in ("sample_id", "sample"):
            if trial.get(name) is None:
                trial[name] = whole.get(name)
        one = _Trial(trial, below.format(place))
        made.append(one.outcome(task, model, ordinal, number, actions))
    made.sort(key=lambda one: one.trial)
    if len(made) > 1 and whole.get("scores"):
        scores = _Trial({"scores": whole["scores"]}, "").scores()
        made[0] = msgspec.structs.replace(made[0], whole=scores)
    return made


def _numbers(trials: list[dict[str, Any]]) -> Sequence[int]:
    """What the trials are called, if that tells them apart; else their places."""
    called = [one.get("index") for one in trials]
    known = [one for one in called if type(one) is int and 0 <= one < _MOST_TRIALS]
    apart = len(trials) > 1 and len({*known}) == len(trials)
    return known if apart else range(len(trials))


class _Trial:
    """One of the trials of a sample, and where it stands."""

    def __init__(self, data: Mapping[str, Any], path: str) -> None:
        self._data, self._path = data, path
        self._extra = self._ours()

    def outcome(
        self, task: str, model: str, ordinal: int, trial: int, actions: tuple[Action, ...]
    ) -> Outcome:
        extra = self._extra
        named = self._data.get("sample_id")
        return Outcome(
            task=task,
            model=model,
            sample_id=str(ordinal if named is None else named),
            trial=trial,
            group=extra.group,
            trace=self._trace(),
            scores=self.scores(),
            failure=self._failure(),
            ordinal=ordinal,
            sample=self._sample(),
            others=extra.others,
            parts=extra.parts,
            actions=actions,
        )

    def _ours(self) -> TrialExtra:
        try:
            return msgspec.convert(self._data.get(OURS) or {}, TrialExtra)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at ")
            raise Crooked(f"{self._path}.{OURS}{where.strip('`$')}", what) from error

    def _sample(self) -> dict[str, Any]:
        sample = _object(self._data.get("sample") or {}, f"{self._path}.sample")
        data = sample.get("data")
        return data if set(sample) == {"data"} and isinstance(data, dict) else dict(sample)

    def _trace(self) -> Trace | None:
        solver = self._data.get("solver")
        if solver is None:
            return None
        path = f"{self._path}.solver.output"
        output = _object(solver, f"{self._path}.solver").get("output")
        extra = self._extra
        if output is None and extra.usage is None:
            return None
        try:
            conversation = {} if output is None else conversation_of(output, OURS in self._data)
            asked, answer = texts_of(conversation)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Crooked(path, f"not the output of a solver: {error}") from error
        said = answer if extra.output is None else extra.output
        return Trace(
            input=asked if extra.input is None else extra.input,
            output=said,
            post_processed=said if extra.post_processed is None else extra.post_processed,
            usage=_usage(conversation) if extra.usage is None else extra.usage,
            latency_s=extra.latency_s,
            finish=extra.finish,
            nll=extra.nll,
            nll_tokens=extra.nll_tokens,
            confidence=extra.confidence,
            conversation=conversation,
        )

    def scores(self) -> dict[str, Score]:
        """By the keys of their scorers."""
        written = self._data.get("scores") or []
        if not isinstance(written, list):
            raise Crooked(f"{self._path}.scores", "expected a list")
        made: dict[str, Score] = {}
        for number, one in enumerate(written):
            path = f"{self._path}.scores[{number}]"
            score = _object(one, path)
            key = score.get("scorer_key") or score.get("scorer_name")
            if not isinstance(key, str):
                raise Crooked(f"{path}.scorer_key", "missing")
            if key in made:
                raise Crooked(f"{path}.scorer_key", f"`{key}` stands twice")
            made[key] = self._score(key, score, path)
        return made

    def _score(self, key: str, score: Mapping[str, Any], path: str) -> Score:
        values = _object(score.get("values"), f"{path}.values")
        metadata = dict(_object(score.get("metadata") or {}, f"{path}.metadata"))
        if score.get(DIRECT):
            metadata[DIRECT] = score[DIRECT]
        extra = self._extra.scores.get(key)
        right = values.get("is_correct")
        correct = extra.correct if extra else right if isinstance(right, bool) else None
        reason = extra.reason if extra else ""
        return Score(values=dict(values), correct=correct, reason=reason, metadata=metadata)

    def _failure(self) -> Failure | None:
        failures = failures_in(
            self._data.get("errors"),
            f"{self._path}.errors",
            otherwise="score" if self._data.get("solver") else "solver",
        )
        if not failures:
            return None
        first = msgspec.structs.replace(failures[0], attempts=self._extra.attempts)
        if len(failures) == 1:
            return first
        more = f"{first.message} (and {len(failures) - 1} more of this sample)"
        return msgspec.structs.replace(first, message=more)


def failures_in(errors: Any, path: str, *, otherwise: Stage) -> list[Failure]:
    """What broke; `otherwise` is the stage of an error that names none."""
    if not isinstance(errors or [], list):
        raise Crooked(path, "expected a list")
    made = []
    for number, one in enumerate(errors or []):
        error = _object(one, f"{path}[{number}]")
        stage = error.get("stage") or otherwise
        if stage not in _STAGES:
            known = ", ".join(f"`{name}`" for name in _STAGES)
            raise Crooked(f"{path}[{number}].stage", f"expected one of {known}, got {stage!r}")
        made.append(
            Failure(
                stage=stage,
                type=str(error.get("error_type") or "error"),
                message=str(error.get("message") or ""),
                hint=str(error.get("hint") or ""),
            )
        )
    return made


def conversation_of(output: Any, ours: bool) -> dict[str, Any]:  # noqa: FBT001 - one question
    """A solver's output, of any age, as we keep it; ValueError if it is none.

    That is a trace with raw outputs; the older messages and last output; or the last output alone.
    What is `ours` is as we keep it already.
    """
    if not isinstance(output, dict) or not _OF_A_SOLVER & output.keys():
        return {"items": output_items(output), "raw_outputs": [output], DIRECT: []}
    if not ours:
        return read_trace(output).to_json()
    more = {name: output[name] for name in ("solver_outputs",) if name in output}
    return {
        **output["trace"],
        "raw_outputs": output["raw_outputs"],
        DIRECT: output[DIRECT],
        **more,
    }


def _actions(records: Any) -> tuple[Action, ...]:
    if not isinstance(records or [], list):
        raise Crooked(".action_records", "expected a list")
    return tuple(_each_action(records or []))


def _each_action(records: list[Any]) -> Iterator[Action]:
    for number, one in enumerate(records):
        record = _object(one, f".action_records[{number}]")
        action = str(record.get("action") or record.get("type") or "exclude_from_metrics")
        yield Action(action=action, rule_key=str(record.get("rule_key") or record.get("key") or ""))


def _usage(conversation: Mapping[str, Any]) -> Usage:
    """As the outputs count it; what that cost is not known."""
    counts = [one.get("usage") for one in conversation["raw_outputs"] if isinstance(one, dict)]
    usages = [one for one in counts if isinstance(one, dict)]
    return Usage(
        requests=len(conversation["raw_outputs"]),
        prompt_tokens=sum(_count(one, "num_prompt_tokens") for one in usages),
        completion_tokens=sum(_count(one, "num_completion_tokens") for one in usages),
    )


def usage_in(counts: Mapping[str, Any]) -> Usage:
    """What a model took, as a log sums it up; what that cost is not known."""
    return Usage(
        requests=_count(counts, "num_requests"),
        prompt_tokens=_count(counts, "num_prompt_tokens"),
        completion_tokens=_count(counts, "num_completion_tokens"),
    )


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _object(value: Any, path: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise Crooked(
        path, f"expected an object, got {'null' if value is None else type(value).__name__}"
    )
