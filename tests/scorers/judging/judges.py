"""A judge that says what it is told to, and remembers what it was asked."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.scorers.cases import SCORERS, case, chat

from evalwright.types import Completion, Request, Score

CLASSIFIER: dict[str, Any] = {
    "type": "model_as_a_judge_classifier",
    "model_key": "judge",
    "user_prompt": "{{ sample.target }} <a>{{ solver_output.output }}</a>",
    "correct_labels": ["correct"],
    "incorrect_labels": ["incorrect"],
}
SCORER: dict[str, Any] = {
    "type": "model_as_a_judge_scorer",
    "model_key": "judge",
    "user_prompt": "How good? <a>{{ solver_output.output }}</a>",
    "score_min": 0,
    "score_max": 10,
}
LABELER: dict[str, Any] = {
    "type": "labeler_via_model",
    "model_key": "judge",
    "user_prompt": "Which? <a>{{ solver_output.output }}</a>",
}


class Judge:
    """Answers with a text, or with what a function of the request gives or raises."""

    caveat = ""

    def __init__(
        self, reply: str | Callable[[Request], str], *, fingerprint: str = "1", **more: Any
    ) -> None:
        self.fingerprint = fingerprint
        self._reply, self._more = reply, more
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        text = self._reply if isinstance(self._reply, str) else self._reply(request)
        return Completion(text=text, **self._more)

    async def close(self) -> None: ...


def judged(
    fields: dict[str, Any],
    judge: Judge,
    *,
    answer: str | None = "the answer",
    row: dict[str, Any] | None = None,
) -> Score:
    """The score that a judge makes of an answer; without one, of the row alone."""
    scorer = SCORERS.validate_python(fields)
    conversation = None if answer is None else chat(answer)
    one = case({"target": "right"} if row is None else row, conversation, models={"judge": judge})
    found: Score = asyncio.run(scorer.score(one))
    return found


def verdict(fields: dict[str, Any], reply: str) -> Score:
    """The score that a reply is, by itself."""
    return judged(fields, Judge(reply), answer="")


def read(fields: dict[str, Any], reply: str) -> Any:
    """The label or the number that a reply is."""
    told = verdict(fields, reply).metadata
    return next(told[name] for name in ("prediction", "raw_score", "label") if name in told)


def rows(table: list[Any]) -> list[Any]:
    """The rows of a table of replies; the first of each is its name."""
    return [pytest.param(*row[1:], id=row[0]) for row in table]
