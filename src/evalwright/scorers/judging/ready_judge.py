"""The base of judges with built-in prompts: the author writes only the rubric.

Questions, references and answers are enclosed in a marker that cannot occur in them, so an answer
cannot pass for instructions. The rubric comes from the author and has no markers: it may refer to
`sample`, but not to a model's output.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator

from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import template_variables
from evalwright.scorers.judging.ask import DATA_NOTE, fence_text, make_mark
from evalwright.scorers.judging.judge_spec import VerdictScorer
from evalwright.scorers.judging.shown_text import ShownText
from evalwright.scorers.judging.verdict_values import LabelReader
from evalwright.templates import Template
from evalwright.types import Message

MODEL_OUTPUTS = frozenset(
    {"solver_output", "model_output", "model_outputs", "messages", "input_prompt", "trace"}
)
"""The variables that hold a model's output."""
VERDICT_KEY = "verdict"


def _refuse_outputs(rubric: Template) -> Template:
    for name in sorted(rubric.names() & MODEL_OUTPUTS):
        raise ValueError(
            f"a rubric may refer to `sample` only, got `{name}`: the answer is added to the "
            "prompt, fenced"
        )
    return rubric


Rubric = Annotated[Template, AfterValidator(_refuse_outputs)]
"""What makes an answer good, in the author's words."""


class PromptPart(NamedTuple):
    """Material for the judge, with a heading."""

    heading: str
    text: str
    is_required: bool = False
    """Whether it is shown even if it is empty."""


class ReadyJudge(VerdictScorer):
    """A judge with a built-in prompt: marked material, and a structured reply."""

    prompt_fields: ClassVar[tuple[str, ...]] = ("rubric",)

    question: Template | None = None
    """Question that was answered. May refer to the same names as `value`. Default: the last user
    message, if there is one. An empty string is not sent."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels that the judge may use."""

    def swap_parts(self) -> Self | None:
        """Return the judge with another order of the material; None if it has only one part."""
        return None

    @property
    def verdict_schema(self) -> tuple[str, str, dict[str, Any]]:
        """One of the labels."""
        return self.type, VERDICT_KEY, {"type": "string", "enum": [*self.labels]}

    @cached_property
    def reader(self) -> LabelReader:
        """Read one of the labels."""
        return LabelReader(self.labels, keys=(VERDICT_KEY, "label", "prediction"))

    def render_question(self, case: Case) -> str:
        """Return the rendered question; without one, the last user message."""
        if self.question is not None:
            return self.question.render(**template_variables(case))
        if case.answer is None:
            return ""
        messages = SolverTrace.from_json(case.answer.conversation).messages
        asked = [str(message.content) for message in messages if message.role == "user"]
        return asked[-1] if asked else ""


def build_prompt(
    task: str, rubric: str, parts: Iterable[PromptPart], reply: Sequence[str]
) -> tuple[Message, ...]:
    """Return the messages: the task, the rubric, the fenced parts, and how to reply.

    One mark fences all parts. It is a hash of all of them, so none of them can contain it.
    """
    filled = [part for part in parts if part.text or part.is_required]
    mark = make_mark(*(part.text for part in filled))
    material = [f"{part.heading}:\n{fence_text(part.text, mark)}" for part in filled]
    user = "\n\n".join([f"Rubric:\n{rubric}", *material, "\n".join(reply)])
    return (Message("system", f"{task} {DATA_NOTE}"), Message("user", user))


def explain_reply(question: str, labels: Iterable[str]) -> tuple[str, str]:
    """Return how the judge should reply: in words, and as an example."""
    choices = ", ".join(f"`{label}`" for label in labels)
    rule = (
        f"{question} Reply with one JSON object and nothing else: first `reasoning`, a few short "
        f"sentences, then `{VERDICT_KEY}`, one of {choices}."
    )
    return rule, f'{{"reasoning": "…", "{VERDICT_KEY}": "…"}}'


def show_parts(parts: Iterable[PromptPart]) -> ShownText:
    """Return the parts as text that the judge may quote."""
    return ShownText([part.text for part in parts])
