"""What a model is sent, and messages of the older format: conversions between them and items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from .items import (
    CustomTaskInputMessage,
    CustomTaskOutputMessage,
    Item,
    Message,
    chat_items,
    items_from,
)
from .model import JsonModel
from .output import (
    AnswerText,
    ChatCompletionModelOutput,
    ChatCompletionOutputMessage,
    EmbeddingsModelOutput,
    LFModelOutput,
    OpenResponsesModelOutput,
    RAGCompletionOutput,
    old_message,
    old_view,
    output_items,
    wrap_output,
)

Role = Literal["user", "system", "assistant"]


class FileRef(JsonModel):
    """A stored file."""

    file_id: str


class FileContentItem(JsonModel):
    """A file in the content of a message."""

    type: Literal["file"]
    file: FileRef


InputMessageContent = str | list[FileContentItem]


class ChatCompletionInputMessage(JsonModel):
    """A message that a chat model is sent."""

    role: Literal["user", "system", "assistant", "tool"]
    """`tool`: the result of a call that an earlier answer asked for."""
    content: InputMessageContent


class ChatCompletionJSONSchema(JsonModel):
    """The JSON Schema that an answer must meet."""

    name: str
    description: str | None = None
    schema_dict: dict[str, Any] | None = None
    strict: bool


class ChatCompletionResponseFormatJSONSchema(JsonModel):
    """The answer is JSON that meets a schema."""

    type: Literal["json_schema"]
    json_schema: ChatCompletionJSONSchema


class ChatCompletionResponseFormatText(JsonModel):
    """The answer is text."""

    type: Literal["text"]


ChatCompletionResponseFormat = (
    ChatCompletionResponseFormatJSONSchema | ChatCompletionResponseFormatText
)


class ChatCompletionInput(JsonModel):
    """What a chat model is sent."""

    messages: list[ChatCompletionInputMessage | ChatCompletionOutputMessage]
    response_format: ChatCompletionResponseFormat | None = None


RAGCompletionInput = ChatCompletionInput
RAGCompletionInputMessage = ChatCompletionInputMessage
RAGCompletionOutputMessage = ChatCompletionOutputMessage
EmbeddingsModelInput = list[str]
EmbeddingsModelInputMessage = list[str]
EmbeddingsModelOutputMessage = list[list[float]]
CustomTaskModelInput = Any
CustomTaskModelInputMessage = Any
CustomTaskModelOutput = Any
CustomTaskModelOutputMessage = Any

LFInputMessage = ChatCompletionInputMessage | Any | list[str]
LFOutputMessage = ChatCompletionOutputMessage | Any | list[list[float]]
LFMessage = (
    ChatCompletionInputMessage | Any | list[str] | ChatCompletionOutputMessage | list[list[float]]
)
LFModelInput = ChatCompletionInput | list[str] | Any

_Input_contra = TypeVar("_Input_contra", contravariant=True)
_Output_co = TypeVar("_Output_co", covariant=True)


@runtime_checkable
class ModelProtocol(Protocol[_Input_contra, _Output_co]):
    """A model that answers one input."""

    async def predict(self, model_input: _Input_contra, /, **options: Any) -> _Output_co:
        """Return the output of the model."""
        ...


ChatCompletionModelProtocol = ModelProtocol[ChatCompletionInput, ChatCompletionModelOutput]
RAGCompletionModelProtocol = ModelProtocol[ChatCompletionInput, RAGCompletionOutput]


def convert_to_input_message(message: Any) -> LFInputMessage:
    """A message of a chat with its role and content alone; any other message as it is."""
    if not _is_chat_message(message):
        return message
    content = message.get("content")
    text = message.get("refusal") or "" if content is None else content
    return ChatCompletionInputMessage.from_json({"role": message["role"], "content": text})


def lf_messages_to_trace_items(messages: Iterable[Any]) -> list[Item]:
    """Items of messages; what is not a message of a chat becomes the input of a custom task."""
    items: list[Item] = []
    for message in messages:
        if _is_chat_message(message):
            items += items_from(chat_items(message))
        else:
            items.append(CustomTaskInputMessage.from_json(_custom("input", message)))
    return items


def trace_items_to_lf_messages(items: Iterable[Any]) -> list[LFMessage]:
    """Messages of items: of custom items their content; calls of functions are left out."""
    messages: list[Any] = []
    for item in items_from(items):
        if isinstance(item, Message):
            messages.append(old_message(item))
        elif isinstance(item, CustomTaskInputMessage | CustomTaskOutputMessage):
            messages.append(item["content"])
    return messages


def messages_to_model_input(messages: list[LFMessage]) -> LFModelInput:
    """The input of a model: of a chat all messages, of another task its last message."""
    if all(map(_is_chat_message, messages)):
        return ChatCompletionInput.from_json({"messages": list(messages)})
    return messages[-1]


def model_input_to_messages(model_input: LFModelInput) -> list[LFMessage]:
    """The messages of an input: those of a chat, or the input itself."""
    if isinstance(model_input, Mapping) and isinstance(model_input.get("messages"), list):
        return list(ChatCompletionInput.from_json(model_input)["messages"])
    return [model_input]


def model_input_to_trace_items(model_input: LFModelInput) -> list[Item]:
    """The items of an input."""
    return lf_messages_to_trace_items(model_input_to_messages(model_input))


def trace_items_to_model_input(items: Iterable[Any]) -> LFModelInput:
    """The input of a model: a chat of the messages, or the content of the last custom item."""
    return messages_to_model_input(trace_items_to_lf_messages(items))


def model_output_to_message(model_output: LFModelOutput) -> LFMessage:
    """The message of an output: of a chat the answer, of embeddings the vectors, else all of it."""
    if isinstance(model_output, AnswerText):
        model_output = model_output.completion
    output = wrap_output(model_output)
    if isinstance(output, ChatCompletionModelOutput | OpenResponsesModelOutput):
        return old_view(output).choices[0].message
    return output.embeddings if isinstance(output, EmbeddingsModelOutput) else output


def model_output_to_trace_items(output: LFModelOutput) -> list[Item]:
    """The items that an output adds to a trace."""
    return items_from(output_items(output))


def _is_chat_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _custom(direction: str, content: Any) -> dict[str, Any]:
    return {"type": f"custom_task_{direction}_message", "content": content}
