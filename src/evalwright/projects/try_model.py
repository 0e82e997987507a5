"""Query a model once and show each step between input and output."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients.adapters import adapt_request
from evalwright.clients.parameters import resolve_extra
from evalwright.components import snippets_in
from evalwright.datasets.url import show_address
from evalwright.engine.redact import make_redactor, redact
from evalwright.errors import ModelError, StageError, Stopped, UsageError, boundary
from evalwright.event_loop import run_async
from evalwright.generation_parameters import split_parameters, with_parameters
from evalwright.plan.project import project_secrets
from evalwright.ports import Model
from evalwright.projects.kinds import EntityKind
from evalwright.projects.lookup import (
    entities_of_kind,
    find_valid_entity,
    is_yaml,
    load_valid_environment,
    open_project,
)
from evalwright.projects.task_preview import nonempty_fields, printed_lines, stopped_error
from evalwright.report.export import FailureSummary
from evalwright.report.yaml_text import indent_yaml
from evalwright.secrets import Secret, secrets_in
from evalwright.session.project_models import adapter_of, connect_model, info_of
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.sources import collect_sources
from evalwright.spec.documents.models.model import CustomConnection, CustomInference, ModelDocument
from evalwright.spec.documents.project import Project
from evalwright.text.visible import visible
from evalwright.types import Completion, Message, MLTask, ModelOptions, Request, Sample

_DEFAULT_INPUTS: Mapping[str, Any] = {
    "chat_completion": {"messages": [{"role": "user", "content": "Answer with the word OK."}]},
    "embeddings": {"input": ["one short text"]},
    "custom": {},
}


class ModelStep(Struct, frozen=True, kw_only=True):
    """A step between input and output."""

    step: str
    value: Any


class ModelPreview(Struct, frozen=True, kw_only=True):
    """The result of `evalwright model test`."""

    key: str
    connection: dict[str, Any]
    steps: list[ModelStep]
    error: FailureSummary | None
    printed: list[str]
    ok: bool

    def to_lines(self) -> Iterator[str]:
        """Yield the connection, the steps, the output of the snippet, and the error."""
        yield visible(f"Model `{self.key}`")
        yield from indent_yaml(self.connection)
        for step in self.steps:
            yield ""
            yield step.step
            yield from indent_yaml(step.value)
        yield from printed_lines("Printed by the snippet", self.printed)
        if self.error is not None:
            yield ""
            yield from indent_yaml({"Error": nonempty_fields(self.error)})


def try_model(
    name: str, *, given: str | None = None, project: str = ".", env: Sequence[str] = ()
) -> ModelPreview:
    """Query a model once and return each step; a failure becomes the preview's `error`.

    `given` is the input: JSON or, for a chat, the text of a user message.
    """
    base, own = split_parameters(name)
    opened, key, document = _find_model(base, project, env)
    key = with_parameters(key, own)
    adapters = _documents(opened, "adapter")
    environment = load_valid_environment(env)
    printed: list[str] = []
    sources = collect_sources(list(snippets_in(document)))
    snippets = SnippetPool(sources, log=printed.append) if sources else None
    plan = connect_model(
        key,
        _documents(opened, "model"),
        adapters,
        snippets=snippets,
        options=ModelOptions(environment=environment),
    )
    request = _make_request(plan.task or "chat_completion", given)
    parameters = {**(document.parameters if document is not None else {}), **own}
    steps = list(_request_steps(document, adapters, request, resolve_extra(parameters)))
    error: FailureSummary | None = None
    try:
        with boundary("solver"):
            steps += _reply_steps(run_async(_query(plan.client, request, snippets)))
    except StageError as failure:
        message = failure.message
        error = FailureSummary(
            stage="solver", type=failure.type, message=message, hint=failure.hint
        )
    except Stopped as reason:  # would stop a run; a preview shows it like any other error
        error = stopped_error(reason.message, reason.hint)
    preview = ModelPreview(
        key=key,
        connection={"model": plan.name, **_describe_connection(document)},
        steps=steps,
        error=error,
        printed=printed,
        ok=error is None,
    )
    redactor = make_redactor([*plan.secrets, *_secrets(opened, environment)])
    fields = msgspec.to_builtins(preview)
    redacted = {name: redact(value, redactor) for name, value in fields.items()}
    return msgspec.convert(redacted, ModelPreview)


async def _query(client: Model, request: Request, snippets: SnippetPool | None) -> Completion:
    """Query without retries, because a preview shows the first reply."""
    try:
        return await client.complete(request)
    finally:
        await client.close()
        if snippets is not None:
            await snippets.close()


def _find_model(name: str, project: str, env: Sequence[str]) -> tuple[Project | None, str, Any]:
    if is_yaml(name):
        opened, entity = find_valid_entity("model", name, project, env)
        return opened, entity.key, entity.document
    is_of_provider = any(sign in name for sign in "/:$")
    try:
        opened = open_project(project, env)
    except UsageError:
        if is_of_provider:  # a provider model does not need a project
            return None, name, None
        raise
    if is_of_provider and name not in opened.models:
        return opened, name, None
    return opened, name, find_valid_entity("model", name, project, env)[1].document


def _documents(project: Project | None, kind: EntityKind) -> dict[str, Any]:
    entities = entities_of_kind(project, kind) if project is not None else {}
    return {key: entity.document for key, entity in entities.items() if entity.document is not None}


def _secrets(project: Project | None, environment: Mapping[str, str]) -> Iterable[Secret]:
    if project is None:
        return map(Secret, secrets_in(environment))
    return project_secrets(project, environment)


def _make_request(task: MLTask, given: str | None) -> Request:
    value = _DEFAULT_INPUTS[task] if given is None else _parse_json(given)
    sample = Sample("test", {})
    if task != "chat_completion":
        return Request(sample=sample, task=task, input=value)
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict) or "messages" not in value:
        raise UsageError(
            "the input of a chat must be text, a list of messages, or an object with `messages`"
        )
    try:
        messages = msgspec.convert(value["messages"], tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"the input has invalid messages: {error}") from error
    other_fields = {name: item for name, item in value.items() if name != "messages"}
    return Request(messages=messages, sample=sample, input=other_fields or None)


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return text.strip()


def _request_steps(
    document: Any, adapters: Mapping[str, Any], request: Request, parameters: dict[str, Any]
) -> Iterator[ModelStep]:
    config = document.config if isinstance(document, ModelDocument) else None
    with suppress(ModelError):  # the query itself raises the same error
        adapted = adapt_request(request, parameters)
        yield ModelStep(step="Input", value=adapted.input)
        if isinstance(config, CustomConnection | CustomInference):
            body = adapter_of(document, adapters).make_body(adapted, info_of(document, config))
            yield ModelStep(step="Request, after process_input", value=_parse_json(body))


def _reply_steps(completion: Completion) -> Iterator[ModelStep]:
    if completion.bodies is not None:
        body = _parse_json(completion.bodies[1])
        yield ModelStep(step="Response, before process_output", value=body)
    usage = msgspec.to_builtins(completion.usage)
    output = {
        "text": completion.text,
        "finish": completion.finish,
        "usage": {name: value for name, value in usage.items() if value is not None},
    }
    if completion.output is not None:
        output["output"] = completion.output
    yield ModelStep(step="Output", value=output)


def _describe_connection(document: Any) -> dict[str, Any]:
    if not isinstance(document, ModelDocument):
        return {}
    config: dict[str, Any] = document.config.model_dump(mode="json", exclude_none=True)
    if "url" in config:
        config["url"] = show_address(config["url"])
    for snippet in snippets_in(document):
        config["run_inference_snippet"] = f"{snippet.path}:{snippet.line}"
    return {"task": document.task, **{name: value for name, value in config.items() if value != {}}}
