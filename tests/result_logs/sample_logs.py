"""Outcomes and logs made by hand, for the tests of this folder."""

import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.objects.conversations import conversation

from evalwright.engine.results import FinalResult, MetricValue
from evalwright.metrics.scores import Measure
from evalwright.result_logs.export_run import ResultLogHeader, write_log
from evalwright.result_logs.log_outcomes import ScorerFacts, TaskFacts
from evalwright.result_logs.read_log import ResultLog, read_log
from evalwright.stats.interval import Interval
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, Usage

ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "Paris"}}],
    "usage": {"num_prompt_tokens": 7, "num_completion_tokens": 2},
}
TRACE = Trace(
    input="The capital of France?",
    output="Paris",
    post_processed="Paris",
    usage=Usage(requests=1, prompt_tokens=7, completion_tokens=2, cost=0.25),
    latency_s=0.5,
    conversation=conversation(
        [("user", "The capital of France?"), ("assistant", "Paris")],
        raw_outputs=[ANSWER],
        direct_ios=[{"input": "{}", "output": "{}"}],
    ),
)
RIGHT = Score(values={"is_correct": True}, correct=True)
FAILURE = Failure(stage="solver", type="timeout", message="no answer", hint="wait", attempts=5)
FACTS = TaskFacts(scorers={"equals": ScorerFacts(name="Exact answer")})


def completed(ordinal: int = 0, **changes: Any) -> Outcome:
    """One that went well."""
    facts: dict[str, Any] = {
        "task": "capitals",
        "model": "atlas",
        "sample_id": f"s{ordinal}",
        "group": "model",
        "trace": TRACE,
        "scores": {"equals": RIGHT},
        "ordinal": ordinal,
        "sample": {"country": "France"},
    }
    return Outcome(**{**facts, **changes})


def failed(ordinal: int = 1) -> Outcome:
    """One that has no answer."""
    return completed(ordinal, trace=None, scores={}, failure=FAILURE)


def fanned_out(ordinal: int = 2) -> Outcome:
    """One that a postprocessor made two samples of; a rule left out the second."""
    away = (Action(action="exclude_from_metrics", rule_key="odd"),)
    parts = (
        Part(sample={"n": 1}, trace=TRACE, scores={"equals": RIGHT}),
        Part(sample={"n": 2}, scores={"equals": RIGHT}, actions=away),
    )
    return completed(ordinal, scores={}, parts=parts)


def figure(value: float | None = 0.5, **changes: Any) -> MetricValue:
    """One figure of the scorer."""
    measure = Measure("is_correct_mean", value, Interval(0.1, 0.9, "wilson"), 4, "")
    facts: dict[str, Any] = {"scorer": "equals", "metric": "mean", "type": "mean"}
    return MetricValue(**{**facts, "measure": measure, **changes})


def make_log(
    outcomes: Iterable[Outcome],
    finished: FinalResult | None = None,
    *,
    facts: TaskFacts = FACTS,
    **changes: Any,
) -> bytes:
    """A log."""
    told: dict[str, Any] = {
        "specification": {"key": "first", "task_key": "capitals", "model_key": "atlas"},
        "execution": {"run_id": "r1"},
        "finished": finished or FinalResult(figures=[figure()]),
        "facts": facts,
    }
    out = BytesIO()
    write_log(ResultLogHeader(**{**told, **changes}), outcomes, out)
    return out.getvalue()


def save_log(folder: Path, log: bytes | dict[str, Any]) -> Path:
    """The same as a file."""
    path = folder / "task_result_log.json"
    path.write_bytes(log if isinstance(log, bytes) else json.dumps(log).encode())
    return path


def reread_log(folder: Path, log: bytes | dict[str, Any]) -> ResultLog:
    """What is read of it."""
    return read_log(save_log(folder, log))


def foreign_log(*samples: dict[str, Any], **evidence: Any) -> dict[str, Any]:
    """A log that another program wrote."""
    return {
        "app_version": "3.17.2",
        "format_version": "v1",
        "status": "success",
        "evidence": {"samples": list(samples), "failures": {}, **evidence},
        "specification": {"task_key": "capitals", "model_key": "atlas"},
        "execution": {},
        "errors": [],
    }


def old_sample(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A sample of before trials."""
    score: dict[str, Any] = {
        "scorer_key": "equals",
        "scorer_purpose": "score",
        "scorer_name": "Exact answer",
        "values": {"is_correct": number % 2 == 0},
        "metadata": None,
        "direct_ios": [],
    }
    made = {
        "sample_id": f"s{number}",
        "sample": {"data": {"country": "France"}},
        "solver": {"output": ANSWER},
        "scores": [score],
        "action_records": [],
        "errors": [],
    }
    return {**made, **changes}
