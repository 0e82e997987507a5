"""What the three judges have in common: whom they ask, in whose words, and what is stored.

    scorers:
      - type: model_as_a_judge_classifier
        model_key: openai/gpt-4.1-mini
        user_prompt: |
          Ground truth: {{ sample.answer }}
          Answer: <answer>{{ solver_output.output }}</answer>

The author's prompts reach the judge as they are rendered: nothing is ever added to them. A judge
that gives no verdict is a failure of the sample, with its words, and never a score.
"""

from abc import abstractmethod
from functools import cached_property
from typing import Any

from msgspec import structs

from evalwright.components import Flag, ModelKey
from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.answers import seen
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.judging.asking import Answer, Schema, ask
from evalwright.scorers.judging.readers import Reader, Verdict
from evalwright.scorers.judging.replies import NoVerdict, verdict_in
from evalwright.templates import Template
from evalwright.types import Message, Score

REASONING: dict[str, Any] = {"type": "string"}
CONFIDENCE: dict[str, Any] = {"type": ["number", "null"]}
_REASONS = ("reasoning", "reason", "explanation", "rationale")
_MORE_TOKENS = "allow the judge more tokens: `max_tokens`, or what its API calls it"


class JudgeSpec(ScorerSpec):
    """A scorer that asks a model for its verdict."""

    type: str
    """The kind of scorer."""
    model_key: ModelKey
    """The model that judges: a key of the project, or `provider/model`."""
    system_prompt: Template
    """What the judge is told first. May refer to all that `user_prompt` may. An empty one is
    not sent."""
    user_prompt: Template
    """What the judge is asked. May refer to `sample` and, in a task with a solver, to
    `solver_output`, `model_output`, `model_outputs`, `messages`, `trace` and, in a chat,
    `input_prompt` (which is the text of the last output). It is sent as it is rendered."""
    use_structured_outputs: Flag = False
    """Whether the judge is held to a JSON schema: its reasoning, then its verdict, then how sure it
    is. A server that refuses the schema is asked without it, and the report says so."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The judge."""
        return (self.model_key,)

    @property
    @abstractmethod
    def reply_schema(self) -> Schema:
        """What a structured reply looks like."""

    @cached_property
    @abstractmethod
    def reader(self) -> Reader[Any]:
        """What a verdict looks like."""

    @abstractmethod
    def scored(self, verdict: Any) -> Score:
        """The score that a verdict is, with what it alone adds to the metadata."""

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """What the judge is told: the author's words, rendered."""
        variables = seen(case)
        system = self.system_prompt.render(**variables)
        asked = Message("user", self.user_prompt.render(**variables))
        return (Message("system", system), asked) if system else (asked,)

    async def score(self, case: Case) -> Score:
        """Ask the judge; raise when it gives no verdict."""
        schema = self.reply_schema if self.use_structured_outputs else None
        answer = await ask(case, self.model_key, self.prompts(case), schema=schema)
        verdict = self._read(answer, shown_in(case))
        score = self._stored(verdict, answer.text)
        told = {**score.metadata, "structured": answer.structured and verdict.closed}
        if answer.note:
            told["note"] = answer.note
        return structs.replace(score, metadata=told)

    def verdict_of(self, reply_text: str) -> Score:
        """The score that a reply is; `NoVerdict` if it is none."""
        return self._stored(verdict_in(reply_text, self.reader), reply_text)

    def _read(self, answer: Answer, shown: tuple[str, ...]) -> Verdict[Any]:
        if answer.refused:
            raise NoVerdict("it refused", answer.text)
        hint = _MORE_TOKENS if answer.cut else ""
        try:
            verdict = verdict_in(answer.text, self.reader, shown=shown)
        except NoVerdict as error:
            error.hint = hint
            raise
        is_whole = verdict.closed or self.reader.ends(verdict.value)
        if answer.cut and not (verdict.alone and is_whole):
            raise NoVerdict("its reply is cut short", answer.text, hint=hint)
        return verdict

    def _stored(self, verdict: Verdict[Any], reply: str) -> Score:
        score = self.scored(verdict.value)
        reasoning = _reasoning(verdict.fields)
        return structs.replace(
            score,
            reason=reasoning or score.reason,
            metadata={
                **score.metadata,
                "reasoning": reasoning,
                "confidence": _confidence(verdict.fields),
                "raw_reply": reply,
                "structured": False,
                "judge": self.model_key,
            },
        )


def shown_in(case: Case) -> tuple[str, ...]:
    """The texts that a judge was given to judge: what was said, or without a solver the row.

    The row of an answer is not among them: what its columns say is the author's, and a label that
    the judge shares with them is no quotation.
    """
    if case.answer is not None:
        said = SolverTrace.from_json(case.answer.conversation).messages
        return tuple(str(one.content) for one in said if one.role == "assistant")
    row = case.sample.data if isinstance(case.sample.data, dict) else {}
    return tuple(value for value in row.values() if isinstance(value, str))


def _reasoning(fields: dict[str, Any]) -> str | None:
    for name in _REASONS:
        said = fields.get(name)
        if isinstance(said, str) and said.strip():
            return said
    return None


def _confidence(fields: dict[str, Any]) -> float | None:
    """From 0 to 1, as a number or a text; anything else is not known."""
    given = fields.get("confidence")
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        sure = float(given)
    except (ValueError, OverflowError):
        return None
    return sure if 0 <= sure <= 1 else None
