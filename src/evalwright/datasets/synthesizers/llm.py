"""`llm`: queries a model and stores its reply in columns.

    synthesizers:
      - type: llm
        model_key: openai/gpt-4.1-mini
        system_prompt: You write questions for a quiz.
        user_prompt: "Write one about {{ sample.topic }}, with its answer."
        output_columns: { question: string, answer: string }
        use_structured_outputs: true

With `output_column`, the text of the reply is the value of that column, without surrounding white
space. With `output_columns`, the reply is a JSON object with a key per column. Nothing is added to
the prompts: ask for JSON in the prompt, or use structured outputs. A server that rejects
the schema is queried again without it.

A row fails if its reply is empty, was cut off at the token limit, or does not have the columns. The
reply must contain one JSON object that has them: alone, in a fence, or in prose. Two different
objects that both have them, a missing column and a value of another type are errors that quote the
reply.
"""

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from evalwright.components import Flag, ModelKey, Title
from evalwright.datasets.json_files import refuse_constant
from evalwright.datasets.synthesizers.synthesizer import (
    Columns,
    Row,
    SynthesizerSpec,
    template_variables,
)
from evalwright.ports import Case
from evalwright.scorers.judging.ask import ReplySchema, ask
from evalwright.scorers.judging.verdicts import find_json
from evalwright.templates import Template
from evalwright.types import Message

ColumnType = Literal["string", "integer", "float", "boolean", "list"]
_JSON_TYPES: Mapping[ColumnType, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
}
_PYTHON_TYPES: Mapping[ColumnType, Any] = {
    "string": str,
    "integer": int,
    "float": int | float,
    "boolean": bool,
    "list": list,
}
_MAX_QUOTED = 200
_OBJECT = re.compile("{")
_MAX_OBJECT_STARTS = 1000
"""Maximum number of braces that are tried as the start of an object."""


class Llm(SynthesizerSpec):
    """Sets columns to the reply of a model."""

    type: Literal["llm"]
    """The kind of synthesizer."""
    model_key: ModelKey
    """Model to query: a key of the project, or `provider/model`."""
    system_prompt: Template | None = None
    """System message. May refer to `sample` and `index`."""
    user_prompt: Template
    """User message. May refer to `sample` and `index`."""
    output_column: Title | None = None
    """Column for the text of the reply."""
    output_columns: (
        Annotated[dict[Title, ColumnType], Field(min_length=1)]
        | Annotated[list[Title], Field(min_length=1)]
        | None
    ) = None
    """Columns of a JSON reply, each with its type: `string`, `integer`, `float`, `boolean` or
    `list`. In a list of names, all are strings."""
    use_structured_outputs: Flag = False
    """Whether to send a JSON Schema of `output_columns` that constrains the reply."""

    @model_validator(mode="after")
    def _check_outputs(self) -> Self:
        if (self.output_column is None) == (self.output_columns is None):
            got = "none" if self.output_column is None else "both"
            raise ValueError(f"expected `output_column` or `output_columns`, got {got}")
        if self.use_structured_outputs and self.output_columns is None:
            raise ValueError("`use_structured_outputs` needs `output_columns`")
        return self

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The model that it queries."""
        return (self.model_key,)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The columns of a JSON reply; empty with `output_column`."""
        columns = self.output_columns or {}
        return columns if isinstance(columns, dict) else dict.fromkeys(columns, "string")

    def render_messages(self, case: Case) -> tuple[Message, ...]:
        """Render the prompts; nothing is added to them."""
        variables = template_variables(case)
        user = Message("user", self.user_prompt.render(**variables))
        if self.system_prompt is None:
            return (user,)
        return (Message("system", self.system_prompt.render(**variables)), user)

    async def synthesize(self, case: Case) -> list[Row]:
        """Query the model once and parse its reply."""
        schema = None
        if self.use_structured_outputs:
            schema = ReplySchema("row", schema_properties(self.columns))
        answer = await ask(case, self.model_key, self.render_messages(case), schema=schema)
        if answer.cut:
            raise ValueError("the reply was cut off at the token limit")
        if not answer.text.strip():
            raise ValueError("the reply is empty")
        if self.output_column is not None:
            values = {self.output_column: answer.text.strip()}
        else:
            values = parse_columns(answer.text, self.columns)
        return [{**case.sample.data, **values}]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing columns and its own."""
        known = super().columns_after(columns)
        own = {self.output_column} if self.output_column else {*self.columns}
        return None if known is None else known | own


def schema_properties(columns: Mapping[str, ColumnType]) -> dict[str, Any]:
    """Return the properties of a JSON Schema for a reply with these columns."""
    return {name: _JSON_TYPES[kind] for name, kind in columns.items()}


def parse_columns(reply: str, columns: Mapping[str, ColumnType]) -> dict[str, Any]:
    """Return the values of the columns; ValueError if the reply is ambiguous or incomplete."""
    candidates: list[dict[str, Any]] = []
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    for json_object, _, _ in islice(find_json(reply, _OBJECT, decoder), _MAX_OBJECT_STARTS):
        if json_object is not None and columns.keys() <= json_object.keys():
            values = {name: json_object[name] for name in columns}
            if values not in candidates:
                candidates.append(values)
    if len(candidates) != 1:
        count = f"{len(candidates)} different JSON objects" if candidates else "no JSON object"
        names = ", ".join(f"`{name}`" for name in columns)
        raise ValueError(
            f"expected one JSON object with {names}, but the reply has {count}: {_quote(reply)}"
        )
    (values,) = candidates
    for name, kind in columns.items():
        if not _has_type(values[name], kind):
            got = type(values[name]).__name__
            raise ValueError(f"expected `{name}` to be a `{kind}`, got a `{got}`: {_quote(reply)}")
    return values


def _has_type(value: Any, kind: ColumnType) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    is_blank = isinstance(value, str) and not value.strip()
    return isinstance(value, _PYTHON_TYPES[kind]) and not is_blank


def _quote(reply: str) -> str:
    words = " ".join(reply.split())
    return repr(words if len(words) <= _MAX_QUOTED else f"{words[:_MAX_QUOTED]}…")
