"""Adapters between evalwright's requests and an endpoint: build the body and parse the reply.

    input  →  process_input  →  body  →  the endpoint  →  body  →  process_output  →  output

An author's adapter consists of two Jinja templates. `process_input` renders the body from `input`
(alias `model_input`), `model_info` and `kwargs`. `process_output` renders the output as JSON from
`body` (text), `status_code` and `model_info`; `replies` documents the supported formats.

    input        {"messages": […], …} for chat, {"input": […]} for embeddings, anything for custom
    kwargs       the keys of a chat's input other than `messages`
    model_info   key, model_key (the name at the endpoint), task

Built-in adapters:

    latticeflow$identity                 the unchanged input, with `model` if there is a `model_key`
    latticeflow$openai_chat_completion   the same; both formats of token counts are supported
    latticeflow$openai_responses         messages become the `input` of the Responses API
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.clients.message_files import to_chat_messages
from evalwright.clients.openai_responses import translate_parameters
from evalwright.clients.parameters import chat_keys, parse_embedding_input
from evalwright.clients.replies import parse_completion, to_one_line
from evalwright.errors import ModelError
from evalwright.templates import Template
from evalwright.types import Completion, MLTask, Request

_MOST_SHOWN = 80
_NEVER = {"messages": "the task sets them"}


class AdapterInfo(Struct, frozen=True, kw_only=True):
    """The model facts that an adapter receives."""

    key: str
    """Key of the model in the project."""
    task: MLTask = "chat_completion"
    model_key: str = ""
    """Name of the model at the endpoint."""


class AdapterInput(Struct, frozen=True, kw_only=True):
    """A request in the form that adapters receive."""

    input: Any
    kwargs: dict[str, Any] = {}
    texts: int | None = None
    """Number of texts to embed."""


class Adapter:
    """Sends the input unchanged, plus the document's `model_key`. Base class of other adapters."""

    source = "identity 1"
    """Everything that determines the adapter's behaviour; part of a model's fingerprint."""

    def make_body(self, request: AdapterInput, info: AdapterInfo) -> str:
        """Return the body for the endpoint, which is the input as JSON."""
        body = request.input
        if info.model_key and info.task != "custom" and isinstance(body, dict):
            body = {"model": info.model_key, **body}
        return msgspec.json.encode(body).decode()

    def read_body(self, body: str, status: int, info: AdapterInfo) -> Any:  # noqa: ARG002 - for subclasses
        """Return the reply as JSON."""
        return parse_json(body, "the reply")


class ResponsesAdapter(Adapter):
    """Translates to and from OpenAI's Responses API."""

    source = "openai_responses 1"

    def make_body(self, request: AdapterInput, info: AdapterInfo) -> str:
        """Translate a chat; leave other input unchanged."""
        if info.task != "chat_completion":
            return super().make_body(request, info)
        keys = {name: value for name, value in request.input.items() if name != "messages"}
        body = {"store": False, **translate_parameters(keys), "input": request.input["messages"]}
        return super().make_body(AdapterInput(input=body), info)

    def read_body(self, body: str, status: int, info: AdapterInfo) -> Any:
        """Translate to open responses; leave other replies unchanged."""
        reply = super().read_body(body, status, info)
        if isinstance(reply, dict) and isinstance(reply.get("output"), list):
            names = ("usage", "error", "incomplete_details")
            facts = {name: reply[name] for name in names if reply.get(name)}
            return {"items": reply["output"], **facts}
        return reply


class TemplateAdapter(Adapter):
    """An author's two templates. Without a template, nothing is changed."""

    def __init__(
        self, key: str, *, process_input: Template | None, process_output: Template | None
    ) -> None:
        self._key = key
        self._input, self._output = process_input, process_output
        sources = [item.source if item else None for item in (process_input, process_output)]
        self.source = msgspec.json.encode(sources).decode()

    def make_body(self, request: AdapterInput, info: AdapterInfo) -> str:
        """Render `process_input`."""
        if self._input is None:
            return super().make_body(request, info)
        inputs = {"input": request.input, "model_input": request.input, "kwargs": request.kwargs}
        return self._render("process_input", self._input, info, inputs)

    def read_body(self, body: str, status: int, info: AdapterInfo) -> Any:
        """Render `process_output` and parse the result as JSON."""
        if self._output is None:
            return super().read_body(body, status, info)
        inputs = {"body": body, "status_code": status}
        text = self._render("process_output", self._output, info, inputs)
        return parse_json(text, f"the result of `process_output` of `{self._key}`")

    def _render(
        self, field: str, template: Template, info: AdapterInfo, inputs: dict[str, Any]
    ) -> str:
        try:
            return template.render(**inputs, model_info=msgspec.to_builtins(info)).strip()
        except ValueError as error:
            raise ModelError(
                "adapter", f"`{field}` of `{self._key}`: {to_one_line(str(error))}"
            ) from error


BUILT_IN: dict[str, Callable[[], Adapter]] = {
    "latticeflow$identity": Adapter,
    "latticeflow$openai_chat_completion": Adapter,
    "latticeflow$openai_responses": ResponsesAdapter,
}


class AdaptedModel:
    """A model behind an adapter. Subclasses send the bodies."""

    caveat = ""

    def __init__(
        self,
        adapter: Adapter,
        info: AdapterInfo,
        *,
        parameters: dict[str, Any],
        facts: Mapping[str, Any],
        clean: Callable[[str], str],
    ) -> None:
        """`facts` become part of the fingerprint; `clean` removes secrets from messages."""
        details = {
            "adapter": blake2b(adapter.source.encode(), digest_size=16).hexdigest(),
            "model_key": info.model_key,
            "task": info.task,
            "parameters": parameters,
            **facts,
        }
        self.fingerprint = msgspec.json.encode(details, order="sorted").decode()
        self._adapter, self._info = adapter, info
        self._parameters, self._clean = parameters, clean

    @abstractmethod
    async def _exchange(self, body: str, request: Request) -> tuple[str, int]:
        """Send a body; return the reply and its status."""

    async def complete(self, request: Request) -> Completion:
        """Answer one request; `ModelError` if the model is not declared for it."""
        info = self._info
        if request.task != info.task:
            raise ModelError(
                "unsupported",
                f"the model `{info.key}` is declared for `{info.task}`, but the request is for "
                f"`{request.task}`",
            )
        adapted = adapt_request(request, self._parameters)
        body = self._adapter.make_body(adapted, info)
        reply, status = await self._exchange(body, request)
        completion = parse_completion(
            self._adapter.read_body(reply, status, info),
            request.task,
            clean=self._clean,
            texts=adapted.texts,
            takes_all=request.takes_all,
        )
        return structs.replace(completion, bodies=(body, reply))


def adapt_request(request: Request, parameters: dict[str, Any]) -> AdapterInput:
    """Convert a request to the form that adapters receive.

    Generation parameters apply only to chat. Keys of the request take precedence.
    """
    if request.task == "custom":
        return AdapterInput(input=request.input)
    if request.task == "embeddings":
        texts, keys = parse_embedding_input(request)
        return AdapterInput(input={**keys, "input": texts}, texts=len(texts))
    keys = {**parameters, **chat_keys(request, never=_NEVER)}
    if request.trial and isinstance(seed := keys.get("seed"), int):
        keys["seed"] = seed + request.trial  # so that trials differ
    messages = [msgspec.to_builtins(item) for item in to_chat_messages(request.messages)]
    for index, fields in request.message_fields:
        messages[index] = {**fields, **messages[index]}
    return AdapterInput(input={**keys, "messages": messages}, kwargs=keys)


def parse_json(text: str, what: str) -> Any:
    """Parse JSON; `what` names the text in error messages."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        shown = to_one_line(text, most=_MOST_SHOWN)
    raise ModelError("not_json", f"{what} is not JSON: {shown or 'it is empty'}")
