"""`question_answering`: ask a model to write a question about a passage, with its answer.

    synthesizers:
      - type: question_answering
        model_key: openai/gpt-4.1-mini
        qa_type: multiple_choice          # or open_ended
        content_column: text

The new columns are `question` and `expected_answer`. With `multiple_choice`, there are two more:
`choices`, a list of four, and `expected_choice`, the letter of the correct one. `expected_answer`
is then the text of the correct choice. You can pass these columns to `string_equals_mcqa`.

`system_prompt` and `user_prompt` replace the built-in prompts. They are templates that may refer to
`source` (the row) and `index`. The title and summary columns may be missing. If a model does not
accept a schema, instructions to reply with JSON are appended to the user message. A reply with
several questions produces several rows. If the question or its answer is missing, or if there are
not four different choices, the row fails, and the error message quotes the reply.
"""

from typing import Any, Literal

from evalwright.components import ModelKey, Title
from evalwright.datasets.synthesizers.claim_columns import read_text
from evalwright.datasets.synthesizers.model_replies import (
    describe_format,
    parse_rows,
    query_model,
    quote_reply,
    samples_schema,
)
from evalwright.datasets.synthesizers.synthesizer import (
    Columns,
    Row,
    SynthesizerSpec,
    template_variables,
)
from evalwright.ports import Case
from evalwright.scorers.judging.ask import DATA_NOTE, fence_text, make_mark
from evalwright.templates import Template
from evalwright.types import Message

_TASK = """\
You write questions that test whether somebody knows a text. Write one question that the text \
answers: about something that matters in it, in the language of the text, and clear to a reader \
who does not have the text (say the thing itself, not `the text` or `the author`). The answer \
follows from the text alone.
"""
_OPEN = "The answer is one or two sentences."
_CHOICES = """\
Give four choices that differ: one is right, the others are wrong and plausible. They are of the \
same kind and length, and nothing but the text shows which is right. `correct_choice` is the \
letter of the right one, by its place in the list. Vary that place.\
"""
_LETTERS = "ABCD"
_TEXT = {"type": "string"}
_OPEN_PROPERTIES: dict[str, Any] = {"question": _TEXT, "answer": _TEXT}
_CHOICE_PROPERTIES: dict[str, Any] = {
    "question": _TEXT,
    "choices": {"type": "array", "items": _TEXT},
    "correct_choice": {"type": "string", "enum": [*_LETTERS]},
}


class QuestionAnswering(SynthesizerSpec):
    """Sets columns to a question about a passage and its answer."""

    type: Literal["question_answering"]
    """The kind of synthesizer."""
    model_key: ModelKey
    """Model to call: the key of a model in the project, or `provider/model`."""
    qa_type: Literal["multiple_choice", "open_ended"]
    """Kind of question: with choices, or open-ended."""
    content_column: Title | None = "text"
    """Column with the passage."""
    title_column: Title | None = "document_title"
    """Column with the document title. Rows may lack it."""
    summary_column: Title | None = "document_summary"
    """Column with the document summary. Rows may lack it."""
    system_prompt: Template | None = None
    """System message. Default: a built-in prompt."""
    user_prompt: Template | None = None
    """User message. Default: a built-in prompt."""
    additional_instructions: str | None = "none"
    """Instructions to append to the prompt, or `none`."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the queried model."""
        return (self.model_key,)

    @property
    def _properties(self) -> dict[str, Any]:
        return _CHOICE_PROPERTIES if self.qa_type == "multiple_choice" else _OPEN_PROPERTIES

    async def synthesize(self, case: Case) -> list[Row]:
        """Query the model once and parse its reply."""
        system, user = self._render_prompts(case)
        properties = self._properties
        plain = f"{user}\n\n{describe_format(properties)}"
        reply = await query_model(
            case,
            self.model_key,
            (Message("system", system), Message("user", user)),
            schema=samples_schema(properties),
            plain_messages=(Message("system", system), Message("user", plain)),
        )
        row = case.sample.data
        return [
            {**row, **self._make_columns(item, reply)} for item in parse_rows(reply, properties)
        ]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing and the new columns."""
        known = super().columns_after(columns)
        if self.content_column is not None and self.user_prompt is None:
            self._require_columns([self.content_column], columns)
        new_columns = {"question", "expected_answer"}
        if self.qa_type == "multiple_choice":
            new_columns |= {"choices", "expected_choice"}
        return None if known is None else known | new_columns

    def _render_prompts(self, case: Case) -> tuple[str, str]:
        variables = template_variables(case)
        if self.system_prompt is not None:
            system = self.system_prompt.render(**variables)
        else:
            answer = _CHOICES if self.qa_type == "multiple_choice" else _OPEN
            system = f"{_TASK}{answer}\n{DATA_NOTE}"
        if self.user_prompt is not None:
            user = self.user_prompt.render(**variables)
        else:
            user = self._format_material(case.sample.data)
        instructions = (self.additional_instructions or "").strip()
        if instructions and instructions.casefold() != "none":
            user = f"{user}\n\n{instructions}"
        return system, user

    def _format_material(self, row: Row) -> str:
        material: dict[str, str] = {}
        for title, column in (("title", self.title_column), ("summary", self.summary_column)):
            if column is not None and row.get(column) not in (None, ""):
                material[f"The {title} of the document"] = read_text(row, column)
        if self.content_column is not None:
            material["The text"] = read_text(row, self.content_column)
        if not any(text.strip() for text in material.values()):
            raise ValueError("the row has no text for a question")
        mark = make_mark(*material.values())
        return "\n\n".join(f"{name}:\n{fence_text(text, mark)}" for name, text in material.items())

    def _make_columns(self, item: Row, reply: str) -> Row:
        if self.qa_type == "open_ended":
            return {"question": item["question"], "expected_answer": item["answer"]}
        choices, letter = item["choices"], item["correct_choice"]
        if len(choices) != len(_LETTERS) or len({choice.strip() for choice in choices}) != len(
            choices
        ):
            raise ValueError(f"expected {len(_LETTERS)} different choices: {quote_reply(reply)}")
        return {
            "question": item["question"],
            "choices": choices,
            "expected_choice": letter,
            "expected_answer": choices[_LETTERS.index(letter)],
        }
