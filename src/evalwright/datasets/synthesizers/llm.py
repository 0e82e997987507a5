"""`llm`: call a model and store its reply in columns.

    synthesizers:
      - type: llm
        model_key: openai/gpt-4.1-mini
        system_prompt: You write questions for a quiz.
        user_prompt_template: "Write 3 questions about {{ source.topic }}, with their answers."
        sample_properties:
          question: { type: string }
          answer: { type: string }
        use_structured_outputs: true

`sample_properties` is the `properties` mapping of a JSON Schema: one property per column. The reply
is JSON: an object with these properties, or a list of objects. Each object becomes a row, with the
columns of the source row and the properties of the object. With structured outputs, a schema is
sent with the request. It requires an object whose `samples` key contains a list of rows. Without
structured outputs, `format_instructions` are appended to the user message. The default instructions
ask for the same JSON. If a server rejects the schema, the request is sent again with the
instructions instead.

The JSON may be the whole reply, in a code fence, between `<output_json>` tags, or surrounded by
prose. A row fails if the reply is empty, is a refusal or is cut off at the token limit. It also
fails if a property is missing or has the wrong type, or if the reply contains two different JSON
values that both match. In these cases, the error message quotes the reply.

The old syntax still works: `user_prompt` with `output_column`, which stores the text of the reply,
or with `output_columns`, which maps columns to types.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from evalwright.components import Flag, ModelKey, Title
from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.synthesizers.model_replies import (
    describe_format,
    parse_object,
    parse_rows,
    query_model,
    samples_schema,
)
from evalwright.datasets.synthesizers.synthesizer import (
    Columns,
    Row,
    SynthesizerSpec,
    template_variables,
)
from evalwright.ports import Case
from evalwright.scorers.judging.ask import ReplySchema
from evalwright.templates import Template
from evalwright.types import Message

ColumnType = Literal["string", "integer", "float", "boolean", "list"]
_SCHEMAS: Mapping[ColumnType, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
}
_DEPRECATED = {"deprecated": True}


class Llm(SynthesizerSpec):
    """Sets columns to the reply of a model."""

    type: Literal["llm"]
    """The kind of synthesizer."""
    model_key: ModelKey
    """Model to call: the key of a model in the project, or `provider/model`."""
    system_prompt: Template | None = None
    """System message. May refer to `source` (the row) and `index`."""
    user_prompt_template: Template | None = None
    """User message. May refer to `source` (the row) and `index`."""
    file_ids_field: Title | None = None
    """Column with the id of a file stored at the provider, or a list of ids. The files are sent
    with the user message."""
    format_instructions: str | None = None
    """Description of the reply format, appended to the user message if structured outputs are off.
    Default: instructions to return JSON with `sample_properties`."""
    sample_properties: (
        Annotated[dict[Title, Any], Field(min_length=1), AfterValidator(to_json_row)] | None
    ) = None
    """Columns of a row, as the `properties` of a JSON Schema."""
    use_structured_outputs: Flag = False
    """Whether to constrain the reply with a JSON Schema."""
    user_prompt: Annotated[Template | None, Field(json_schema_extra=_DEPRECATED)] = None
    """Deprecated: use `user_prompt_template`."""
    output_column: Annotated[Title | None, Field(json_schema_extra=_DEPRECATED)] = None
    """Deprecated: use `sample_properties`. Column for the text of the reply."""
    output_columns: Annotated[
        Annotated[dict[Title, ColumnType], Field(min_length=1)]
        | Annotated[list[Title], Field(min_length=1)]
        | None,
        Field(json_schema_extra=_DEPRECATED),
    ] = None
    """Deprecated: use `sample_properties`. Columns of a JSON reply and their types."""

    @model_validator(mode="after")
    def _check_prompts(self) -> Self:
        if self.user_prompt is not None and self.user_prompt_template is not None:
            raise ValueError("expected only `user_prompt_template`, got `user_prompt` as well")
        if self._user_prompt is None and self.file_ids_field is None:
            raise ValueError("expected `user_prompt_template` or `file_ids_field`, got neither")
        return self

    @model_validator(mode="after")
    def _check_outputs(self) -> Self:
        names = ("sample_properties", "output_column", "output_columns")
        written = [f"`{name}`" for name in names if getattr(self, name) is not None]
        if len(written) != 1:
            got = " and ".join(written) or "none"
            raise ValueError(f"expected `sample_properties`, got {got}")
        if self.use_structured_outputs and self.output_column is not None:
            raise ValueError("`use_structured_outputs` needs `sample_properties`")
        return self

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the queried model."""
        return (self.model_key,)

    @property
    def properties(self) -> dict[str, Any]:
        """The columns of a JSON reply as JSON Schema properties; empty for a text reply."""
        if self.sample_properties is not None:
            return self.sample_properties
        columns = self.output_columns or {}
        if isinstance(columns, list):
            return dict.fromkeys(columns, _SCHEMAS["string"])
        return {name: _SCHEMAS[kind] for name, kind in columns.items()}

    @property
    def uses_earlier_spelling(self) -> bool:
        """Whether it uses a field of the old syntax, or `sample` in a template."""
        fields = (self.user_prompt, self.output_column, self.output_columns)
        return any(field is not None for field in fields) or super().uses_earlier_spelling

    @property
    def _user_prompt(self) -> Template | None:
        return self.user_prompt_template or self.user_prompt

    def render_messages(self, case: Case, *, asks_for_format: bool) -> tuple[Message, ...]:
        """Render the prompts, with or without format instructions."""
        variables = template_variables(case)
        user = self._user_prompt.render(**variables) if self._user_prompt else ""
        if asks_for_format and self.sample_properties is not None:
            instructions = self.format_instructions or describe_format(self.sample_properties)
            user = f"{user}\n\n{instructions}" if user else instructions
        files = self._read_file_ids(case.sample.data)
        messages = (Message("user", user, file_ids=files),)
        if self.system_prompt is None:
            return messages
        return (Message("system", self.system_prompt.render(**variables)), *messages)

    def _read_file_ids(self, row: Row) -> tuple[str, ...]:
        if self.file_ids_field is None:
            return ()
        value = row.get(self.file_ids_field)
        ids = value if isinstance(value, list) else [value]
        if not ids or not all(isinstance(file_id, str) and file_id for file_id in ids):
            raise ValueError(
                f"column `{self.file_ids_field}` must contain a file id, or a list of file ids, "
                f"got `{value!r}`"
            )
        return tuple(ids)

    async def synthesize(self, case: Case) -> list[Row]:
        """Query the model once and parse its reply."""
        plain = self.render_messages(case, asks_for_format=True)
        messages, schema = plain, None
        if self.use_structured_outputs:
            messages = self.render_messages(case, asks_for_format=False)
            properties = self.properties
            is_list = self.sample_properties is not None
            schema = samples_schema(properties) if is_list else ReplySchema("row", properties)
        reply = await query_model(
            case, self.model_key, messages, schema=schema, plain_messages=plain
        )
        row = case.sample.data
        if self.output_column is not None:
            return [{**row, self.output_column: reply.strip()}]
        if self.sample_properties is None:
            return [{**row, **parse_object(reply, self.properties)}]
        return [{**row, **values} for values in parse_rows(reply, self.sample_properties)]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the existing and the new columns."""
        known = super().columns_after(columns)
        if self.file_ids_field is not None:
            self._require_columns([self.file_ids_field], columns)
        new_columns = {self.output_column} if self.output_column else {*self.properties}
        return None if known is None else known | new_columns
