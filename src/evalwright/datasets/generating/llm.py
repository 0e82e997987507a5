"""`llm`: asks a model, and keeps what it says.

    synthesizers:
      - type: llm
        model_key: openai/gpt-4.1-mini
        system_prompt: You write questions for a quiz.
        user_prompt: "Write one about {{ sample.topic }}, with its answer."
        output_columns: { question: string, answer: string }
        use_structured_outputs: true

With `output_column` the text of the reply is the value of that column, without the white space
around it. With `output_columns` the reply is JSON with a key for each. Nothing is added to what the
author wrote: say in the prompt that JSON is wanted, or ask for structured outputs. A server that
takes no schema is asked without one.

An empty reply, one that was cut at its token limit, and one without the columns fail their row.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from evalwright.components import Flag, ModelKey, Title
from evalwright.datasets.generating.base import Columns, Row, SynthesizerSpec, merged, seen_by
from evalwright.datasets.generating.replies import ColumnType, columns_in, properties_of
from evalwright.ports import Case
from evalwright.scorers.judging.asking import Schema, ask
from evalwright.templates import Template
from evalwright.types import Message


class Llm(SynthesizerSpec):
    """Sets columns to what a model says."""

    type: Literal["llm"]
    """The kind of synthesizer."""
    model_key: ModelKey
    """The model that is asked: a key of the project, or `provider/model`."""
    system_prompt: Template | None = None
    """What it is told first. May refer to `sample` and `index`."""
    user_prompt: Template
    """What it is asked. May refer to `sample` and `index`."""
    output_column: Title | None = None
    """The column that the text of the reply goes into."""
    output_columns: (
        Annotated[dict[Title, ColumnType], Field(min_length=1)]
        | Annotated[list[Title], Field(min_length=1)]
        | None
    ) = None
    """The columns that a JSON reply has, each with its type: `string`, `integer`, `float`,
    `boolean` or `list`. A list of names: all are strings."""
    use_structured_outputs: Flag = False
    """Whether the server is given a schema of `output_columns` to hold the reply to."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.output_column is None) == (self.output_columns is None):
            got = "none" if self.output_column is None else "both"
            raise ValueError(f"expected `output_column` or `output_columns`, got {got}")
        if self.use_structured_outputs and self.output_columns is None:
            raise ValueError("`use_structured_outputs` needs `output_columns`")
        return self

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The one that it asks."""
        return (self.model_key,)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The columns of a JSON reply; none where its text is the value of one."""
        named = self.output_columns or {}
        return named if isinstance(named, dict) else dict.fromkeys(named, "string")

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """What the model is told: the author's words, and nothing else."""
        seen = seen_by(case)
        asked = Message("user", self.user_prompt.render(**seen))
        if self.system_prompt is None:
            return (asked,)
        return (Message("system", self.system_prompt.render(**seen)), asked)

    async def synthesize(self, case: Case) -> list[Row]:
        """Ask once, and read the reply."""
        wants = self.use_structured_outputs
        schema = Schema("row", properties_of(self.columns)) if wants else None
        answer = await ask(case, self.model_key, self.prompts(case), schema=schema)
        if answer.cut:
            raise ValueError("the reply was cut: the model's tokens ran out")
        if not answer.text.strip():
            raise ValueError("the model said nothing")
        if self.output_column is not None:
            made = {self.output_column: answer.text.strip()}
        else:
            made = columns_in(answer.text, self.columns)
        return [merged(case.sample.data, made)]

    def after(self, columns: Columns) -> Columns:
        """Those of before, and its own."""
        known = super().after(columns)
        own = {self.output_column} if self.output_column else {*self.columns}
        return None if known is None else known | own
