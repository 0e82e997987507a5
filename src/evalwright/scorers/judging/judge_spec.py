"""Base class of the three judge scorers: the model, the prompts and the stored verdict.

The author's prompts are sent as rendered; nothing is added to them. A reply without a verdict is
never a score: the sample fails, and the failure quotes the reply.
"""

from abc import abstractmethod
from functools import cached_property
from typing import Annotated, Any, ClassVar

from msgspec import structs
from pydantic import AfterValidator

from evalwright.components import Flag, ModelKey
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, template_variables
from evalwright.scorers.judging.ask import MORE_TOKENS_HINT, JudgeReply, ReplySchema, ask
from evalwright.scorers.judging.chosen_places import Position, VerdictPlace
from evalwright.scorers.judging.shown_text import ShownText, list_judged_texts
from evalwright.scorers.judging.verdicts import NoVerdict, ParsedReply, VerdictReader, read_verdict
from evalwright.templates import Template
from evalwright.text.bounded_pattern import BoundedPattern
from evalwright.types import Message, Score

_REASONING_KEYS = ("reasoning", "reason", "explanation", "rationale")


def _check_pattern(text: str) -> str:
    groups = BoundedPattern(text).groups
    if groups != 1:
        count = "none" if groups == 0 else groups
        raise ValueError(f"expected a regular expression with one group, got {count}: `{text}`")
    return text


class JudgeSpec(ScorerSpec):
    """A scorer that queries a judge model for a verdict."""

    version: ClassVar[int] = 2
    not_in_keys_if_unset: ClassVar[frozenset[str]] = frozenset(
        {"verdict_pattern", "verdict_position"}
    )

    model_key: ModelKey
    """Judge model: the key of a model in the project, or `provider/model`."""
    system_prompt: Template = Template(
        "You are a helpful assistant and will be used to judge the output of another model."
    )
    """System message. May refer to the same names as `user_prompt`. An empty message is not
    sent."""
    user_prompt: Template
    """User message for the judge. May refer to `sample` and, in a task with a solver, to
    `solver_output`, `model_output`, `model_outputs`, `messages`, `trace` and, in a chat,
    `input_prompt`, which holds the text of the last output. The rendered prompt is sent without
    additions."""
    use_structured_outputs: Flag = False
    """Whether to constrain the reply with a JSON schema for reasoning, verdict and confidence. If a
    server rejects the schema, the request is sent again without it, and the report notes this."""
    verdict_position: Position | None = None
    """Where the verdict is in a reply: on the first line, on the last line, or in a JSON object.
    Nothing else in the reply counts. Default: any place that the guide to judges describes."""
    verdict_pattern: Annotated[str, AfterValidator(_check_pattern)] | None = None
    """Regular expression with one group, whose text is the verdict. It is searched for in the whole
    reply, or in the line that `verdict_position` selects. All matches must have the same verdict.
    The syntax is that of Python's `re`. A search ends after 1 s of CPU time."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the judge model."""
        return (self.model_key,)

    @property
    @abstractmethod
    def verdict_schema(self) -> tuple[str, str, dict[str, Any]]:
        """Return the reply schema's name, the key of the verdict, and the verdict's schema."""

    @property
    def reply_schema(self) -> ReplySchema:
        """Return the schema of a structured reply, with the reasoning before the verdict."""
        name, key, verdict = self.verdict_schema
        confidence = {"type": ["number", "null"]}
        properties = {"reasoning": {"type": "string"}, key: verdict, "confidence": confidence}
        return ReplySchema(name, properties)

    @cached_property
    @abstractmethod
    def reader(self) -> VerdictReader[Any]:
        """Return the reader that defines what counts as a verdict."""

    @cached_property
    def _place(self) -> VerdictPlace | None:
        if self.verdict_pattern is None and self.verdict_position is None:
            return None
        pattern = None if self.verdict_pattern is None else BoundedPattern(self.verdict_pattern)
        return VerdictPlace(self.verdict_position, pattern)

    @abstractmethod
    def make_score(self, verdict: Any) -> Score:
        """Return the score for a verdict, with this scorer's metadata."""

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """Render the author's prompts."""
        variables = template_variables(case)
        system = self.system_prompt.render(**variables)
        user = Message("user", self.user_prompt.render(**variables))
        return (Message("system", system), user) if system else (user,)

    def _shown_text(self, case: Case) -> ShownText:
        def render_values() -> str:
            variables = template_variables(case)
            prompts = (self.system_prompt, self.user_prompt)
            return "\n".join(prompt.render_values(**variables) for prompt in prompts)

        return ShownText(list_judged_texts(case), render_values)

    async def score(self, case: Case) -> Score:
        """Query the judge; raise `NoVerdict` if the reply contains no verdict."""
        schema = self.reply_schema if self.use_structured_outputs else None
        reply = await ask(case, self.model_key, self.prompts(case), schema=schema)
        parsed = self._read(reply, self._shown_text(case))
        score = self.make_score(parsed.value)
        texts = (parsed.fields.get(key) for key in _REASONING_KEYS)
        reasoning = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        metadata = {
            **score.metadata,
            "reasoning": reasoning,
            "confidence": _parse_confidence(parsed.fields.get("confidence")),
            "raw_reply": reply.text,
            "verdict_rule": parsed.rule,
            "structured": reply.structured and parsed.is_json,
            "judge": self.model_key,
        }
        if reply.note:
            metadata["note"] = reply.note
        return structs.replace(score, reason=reasoning or score.reason, metadata=metadata)

    def _read(self, reply: JudgeReply, shown: ShownText) -> ParsedReply[Any]:
        if reply.refused:
            raise NoVerdict("it refused", reply.text, rule="refusal")
        hint = MORE_TOKENS_HINT if reply.cut else ""
        try:
            if self._place is None:
                parsed = read_verdict(reply.text, self.reader, shown=shown)
            else:
                parsed = self._place.read(reply.text, self.reader, shown=shown)
        except NoVerdict as error:
            error.hint = hint
            raise
        if reply.cut and not parsed.is_complete:
            raise NoVerdict("its reply was cut off", reply.text, rule="cut_off", hint=hint)
        return parsed


def _parse_confidence(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        confidence = float(value)
    except (ValueError, OverflowError):
        return None
    return confidence if 0 <= confidence <= 1 else None
