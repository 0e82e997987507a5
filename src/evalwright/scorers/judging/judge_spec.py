"""Base classes of the judge scorers: the model, the prompts and the stored verdict.

A reply without a verdict is never a score: the sample fails, and the failure quotes the reply.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct, structs
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
from evalwright.types import JudgedAnswer, Message, Score

_REASONING_KEYS = ("reasoning", "reason", "explanation", "rationale")


def _check_pattern(text: str) -> str:
    groups = BoundedPattern(text).groups
    if groups != 1:
        count = "none" if groups == 0 else groups
        raise ValueError(f"expected a regular expression with one group, got {count}: `{text}`")
    return text


class JudgeVerdict(Struct, frozen=True):
    """The verdict in a judge's reply."""

    value: Any
    """A label or a number, as the reader of the scorer returns it."""
    reasoning: str | None
    metadata: dict[str, Any]
    """What is stored of the reply."""


class VerdictScorer(ScorerSpec):
    """A scorer that queries a judge model for a verdict."""

    model_key: ModelKey
    """Judge model: the key of a model in the project, or `provider/model`."""

    prompt_fields: ClassVar[tuple[str, ...]] = ()
    """The fields whose text is not fenced in the prompt."""
    orders: ClassVar[tuple[Literal["answer", "opponent"] | None, ...]] = (None,)
    """What is shown first in each request about an answer; None if nothing else is shown."""
    is_structured: ClassVar[bool] = True
    """Whether the reply is constrained by a JSON schema, if the server accepts it."""

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
        return ReplySchema(name, {"reasoning": {"type": "string"}, key: verdict})

    @cached_property
    @abstractmethod
    def reader(self) -> VerdictReader[Any]:
        """Return the reader that defines what counts as a verdict."""

    @cached_property
    def verdict_place(self) -> VerdictPlace | None:
        """Where the author says that the verdict is; None for any place."""
        return None

    @abstractmethod
    def make_score(self, verdict: Any) -> Score:
        """Return the score for a verdict, with this scorer's metadata."""

    @abstractmethod
    def prompts(self, case: Case) -> tuple[Message, ...]:
        """Return the messages for the judge."""

    @abstractmethod
    def shown_text(self, case: Case) -> ShownText:
        """Return the judged text that the judge is shown, and may quote."""

    async def score(self, case: Case) -> Score:
        """Query the judge; raise `NoVerdict` if the reply contains no verdict."""
        verdict = await self.ask_verdict(case, self.prompts(case), self.shown_text(case))
        score = self.make_score(verdict.value)
        metadata = {**score.metadata, "reasoning": verdict.reasoning, **verdict.metadata}
        return structs.replace(score, reason=verdict.reasoning or score.reason, metadata=metadata)

    async def ask_verdict(
        self,
        case: Case,
        messages: Sequence[Message],
        shown: ShownText,
        *,
        judged: JudgedAnswer | None = None,
    ) -> JudgeVerdict:
        """Query the judge with these messages; raise `NoVerdict` if the reply has no verdict."""
        schema = self.reply_schema if self.is_structured else None
        reply = await ask(case, self.model_key, messages, schema=schema, judged=judged)
        parsed = self._read(reply, shown)
        texts = (parsed.fields.get(key) for key in _REASONING_KEYS)
        reasoning = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        metadata = {
            "confidence": _parse_confidence(parsed.fields.get("confidence")),
            "raw_reply": reply.text,
            "verdict_rule": parsed.rule,
            "structured": reply.structured and parsed.is_json,
            "judge": self.model_key,
        }
        if reply.note:
            metadata["note"] = reply.note
        return JudgeVerdict(parsed.value, reasoning, metadata)

    def _read(self, reply: JudgeReply, shown: ShownText) -> ParsedReply[Any]:
        if reply.refused:
            raise NoVerdict("it refused", reply.text, rule="refusal")
        hint = MORE_TOKENS_HINT if reply.cut else ""
        try:
            if self.verdict_place is None:
                parsed = read_verdict(reply.text, self.reader, shown=shown)
            else:
                parsed = self.verdict_place.read(reply.text, self.reader, shown=shown)
        except NoVerdict as error:
            error.hint = hint
            raise
        if reply.cut and not parsed.is_complete:
            raise NoVerdict("its reply was cut off", reply.text, rule="cut_off", hint=hint)
        return parsed


class JudgeSpec(VerdictScorer):
    """A judge with the author's prompts, which are sent as rendered; nothing is added to them."""

    version: ClassVar[int] = 2
    not_in_keys_if_unset: ClassVar[frozenset[str]] = frozenset(
        {"verdict_pattern", "verdict_position"}
    )
    prompt_fields: ClassVar[tuple[str, ...]] = ("system_prompt", "user_prompt")

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
    Nothing else in the reply counts. Default: any of the places that the guide to judges
    describes."""
    verdict_pattern: Annotated[str, AfterValidator(_check_pattern)] | None = None
    """Regular expression with one group, whose text is the verdict. It is searched for in the whole
    reply, or in the line that `verdict_position` selects. All matches must give the same verdict.
    The syntax is that of Python's `re`. A search ends after 1 s of CPU time."""

    @property
    def is_structured(self) -> bool:  # type: ignore[override] # its fields decide
        """Whether the author asks for it."""
        return self.use_structured_outputs

    @property
    def reply_schema(self) -> ReplySchema:
        """Return the schema of a structured reply, with reasoning, verdict and confidence."""
        schema = super().reply_schema
        confidence = {"type": ["number", "null"]}
        return structs.replace(schema, properties={**schema.properties, "confidence": confidence})

    @cached_property
    def verdict_place(self) -> VerdictPlace | None:
        """Where the author says that the verdict is; None for any place."""
        if self.verdict_pattern is None and self.verdict_position is None:
            return None
        pattern = None if self.verdict_pattern is None else BoundedPattern(self.verdict_pattern)
        return VerdictPlace(self.verdict_position, pattern)

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """Render the author's prompts."""
        variables = template_variables(case)
        system = self.system_prompt.render(**variables)
        user = Message("user", self.user_prompt.render(**variables))
        return (Message("system", system), user) if system else (user,)

    def shown_text(self, case: Case) -> ShownText:
        """Return the answer, or the text columns, as far as values put them into the prompts."""

        def render_values() -> str:
            variables = template_variables(case)
            prompts = (self.system_prompt, self.user_prompt)
            return "\n".join(prompt.render_values(**variables) for prompt in prompts)

        return ShownText(list_judged_texts(case), render_values)


def _parse_confidence(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        confidence = float(value)
    except (ValueError, OverflowError):
        return None
    return confidence if 0 <= confidence <= 1 else None
