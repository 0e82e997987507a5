"""Look at what a task would be given: the rows of a dataset, the answer of a model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from evalwright.api.assembly import STATE, open_store, store_name
from evalwright.api.discretion import redactor_here
from evalwright.api.entities import environment_from, find_entity, of_kind, open_project
from evalwright.api.loops import complete
from evalwright.errors import ModelError, StageError, Stopped, UsageError, boundary
from evalwright.report.entities import Kind
from evalwright.secrets import Secret, secrets_in
from evalwright.types import ModelOptions

if TYPE_CHECKING:
    from evalwright.datasets.reading import Reader
    from evalwright.datasets.rows import Rows
    from evalwright.ports import Model
    from evalwright.report.generated import GenerationTrial
    from evalwright.report.trial import DatasetTrial, ModelStep, ModelTrial
    from evalwright.snippets.pool import SnippetPool
    from evalwright.spec.documents.entities import Entity
    from evalwright.spec.documents.project import Project
    from evalwright.types import Completion, MLTask, Request

_ASKED: Mapping[str, Any] = {
    "chat_completion": {"messages": [{"role": "user", "content": "Answer with the word OK."}]},
    "embeddings": {"input": ["one short text"]},
    "custom": {},
}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "text", dict: "object"}


def try_dataset(
    name: str,
    *,
    samples: int = 3,
    anew: bool = False,
    project: str = ".",
    env: Sequence[str] = (),
) -> "DatasetTrial | GenerationTrial":
    """Read a dataset to its end, and show how it looks; `BadDataset` if it cannot be read.

    Of one whose rows a generator makes, and that are not made yet, the first are made to be shown;
    `anew`: even if they are.
    """
    from evalwright.report.trial import DatasetTrial

    opened, entity = _entity("dataset", name, project, env)
    document: Any = entity.document
    files: Mapping[str, Path] = {}
    if document.generator_specification is not None:
        from evalwright.api.previewing import made_already, try_generation

        files = {} if anew else made_already(opened, entity.key, env=env)
        if entity.key not in files:
            return try_generation(opened, entity, samples=samples, env=env)
    source = document.origin
    rows = _rows(source, files)
    total = rows.check()
    passed = [total]
    for count in range(len(source.filters) - 1, -1, -1):
        fewer = source.model_copy(update={"filters": source.filters[:count]})
        passed.insert(0, _rows(fewer).check())
    return DatasetTrial(
        key=entity.key,
        name=document.display_name,
        file=entity.file,
        source=f"{source.type}, {source.label()}",
        rows=total,
        read=passed[0],
        filters=[
            {**one.model_dump(mode="json", exclude_none=True), "dropped": before - after}
            for one, before, after in zip(source.filters, passed[:-1], passed[1:], strict=True)
        ],
        columns=_columns(rows, total),
        samples=[{"id": id_, "row": row} for id_, row in islice(rows.identified(), samples)],
    )


def _rows(source: Any, files: Mapping[str, Path] = MappingProxyType({})) -> "Rows":
    from evalwright.datasets.source import Surroundings

    around = Surroundings(cache_dir=STATE, task_results=_result, generated=files)
    rows: Rows = source.rows(around)
    return rows


def _result(key: str) -> "Reader":
    """Of an earlier run."""
    from evalwright.api.crews import result_of

    store = open_store(store_name(), create=False)
    return result_of(key, store=store)


def _columns(rows: "Rows", total: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in rows.rows():
        for name, value in row.items():
            kinds = found.setdefault(name, {})
            kind = _TYPES.get(type(value)) or ("null" if value is None else "list")
            kinds[kind] = kinds.get(kind, 0) + 1
    for kinds in found.values():
        if missing := total - sum(kinds.values()):
            kinds["missing"] = missing
    return found


def try_model(
    name: str, *, given: str | None = None, project: str = ".", env: Sequence[str] = ()
) -> "ModelTrial":
    """Ask a model once, and show every step; what breaks is in the trial's `error`.

    `given` is the text of an input: JSON, or for a chat simply what the user says.
    """
    from evalwright.api.connections import connect_model
    from evalwright.engine.clean import cleaned_value
    from evalwright.report.trial import ModelTrial, TriedError, stopped_by

    opened, key, document = _model(name, project, env)
    adapters = _documents(opened, "adapter")
    environment = environment_from(env)
    heard: list[str] = []
    snippets = _pool(document, heard)
    plan = connect_model(
        key,
        _documents(opened, "model"),
        adapters,
        snippets=snippets,
        options=ModelOptions(environment=environment),
    )
    request = _request(plan.task or "chat_completion", given)
    steps = list(_going_out(document, adapters, request))
    error: TriedError | None = None
    try:
        with boundary("solver"):
            steps += _coming_back(complete(_asked(plan.client, request, snippets)))
    except StageError as broken:
        told = {"type": broken.type, "message": str(broken), "hint": broken.hint}
        error = TriedError(stage="solver", **told)
    except Stopped as reason:  # a run would end here; a trial shows it as it shows the others
        error = stopped_by(str(reason), reason.hint)
    trial = ModelTrial(
        key=key,
        connection={"model": plan.name, **_connection(document)},
        steps=steps,
        error=error,
        printed=heard,
        ok=error is None,
    )
    redactor = redactor_here([*plan.secrets, *_secrets(opened, environment)])
    facts = msgspec.to_builtins(trial)
    shown = {name: cleaned_value(value, redactor) for name, value in facts.items()}
    return msgspec.convert(shown, ModelTrial)


def _secrets(project: "Project | None", environment: Mapping[str, str]) -> Iterator[Secret]:
    """Of the project, and of the files with variables."""
    yield from map(Secret, secrets_in(environment))
    for value in project.secrets.values() if project is not None else ():
        yield value if isinstance(value, Secret) else Secret(str(value))


async def _asked(
    client: "Model", request: "Request", snippets: "SnippetPool | None"
) -> "Completion":
    """Once: who tries a model wants to see what it says, not that it is tried again."""
    try:
        return await client.complete(request)
    finally:
        await client.close()
        if snippets is not None:
            await snippets.close()


def _model(name: str, project: str, env: Sequence[str]) -> "tuple[Project | None, str, Any]":
    """The project, the key, and the document if the project has one of that key."""
    if name.endswith((".yaml", ".yml")):
        opened, entity = _entity("model", name, project, env)
        return opened, entity.key, entity.document
    of_provider = any(sign in name for sign in "/:$")
    try:
        known = open_project(project, env)
    except UsageError:
        if of_provider:  # needs no project
            return None, name, None
        raise
    if of_provider and name not in known.models:
        return known, name, None
    return known, name, _entity("model", name, project, env)[1].document


def _entity(kind: Kind, name: str, project: str, env: Sequence[str]) -> "tuple[Project, Entity]":
    """What a key or a file means, as it should be; `BadTasks` if it is not."""
    from evalwright.api.prepare import refuse
    from evalwright.spec.documents.project import read_project

    if name.endswith((".yaml", ".yml")):
        opened = read_project(name, environment=environment_from(env))
        if opened.kind not in {kind, None}:
            raise UsageError(f"{name}: expected a {kind}, it is of the kind `{opened.kind}`")
        refuse(name, opened.problems)
        found = of_kind(opened, kind).values()
        return opened, next(one for one in found if Path(one.file).samefile(name))
    opened = open_project(project, env)
    entity = find_entity(opened, kind, name)
    making = opened.generations.problems(entity) if kind == "dataset" else ()
    refuse(entity.file, [*entity.part.raw.problems, *entity.problems, *making])
    return opened, entity


def _documents(project: "Project | None", kind: Kind) -> dict[str, Any]:
    found = of_kind(project, kind) if project is not None else {}
    return {key: one.document for key, one in found.items() if one.document is not None}


def _pool(document: Any, heard: list[str]) -> "SnippetPool | None":
    from evalwright.components import snippets_in
    from evalwright.snippets.pool import SnippetPool
    from evalwright.snippets.sources import sources_of

    found = list(snippets_in(document))
    return SnippetPool(sources_of(found), log=heard.append) if found else None


def _request(task: "MLTask", given: str | None) -> "Request":
    from evalwright.types import Message, Request, Sample

    asked = _ASKED[task] if given is None else _parsed(given)
    sample = Sample("test", {})
    if task != "chat_completion":
        return Request(sample=sample, task=task, input=asked)
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    if isinstance(asked, list):
        asked = {"messages": asked}
    if not isinstance(asked, dict) or "messages" not in asked:
        raise UsageError("the input of a chat is a text, a list of messages, or has `messages`")
    try:
        messages = msgspec.convert(asked["messages"], tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"the input has messages that are none: {error}") from error
    more = {name: value for name, value in asked.items() if name != "messages"}
    return Request(messages=messages, sample=sample, input=more or None)


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return text.strip()


def _going_out(
    document: Any, adapters: Mapping[str, Any], request: "Request"
) -> "Iterator[ModelStep]":
    """What is asked, in our words and in the endpoint's, as far as we know these."""
    from evalwright.api.connections import adapter_of, info_of
    from evalwright.clients.adapters import asked_by
    from evalwright.report.trial import ModelStep
    from evalwright.spec.documents.model import CustomConnection, CustomInference, ModelDocument

    config = document.config if isinstance(document, ModelDocument) else None
    with suppress(ModelError):  # who is asked says the same again
        asked = asked_by(request, {})
        yield ModelStep(step="Input", value=asked.input)
        if isinstance(config, CustomConnection | CustomInference):
            body = adapter_of(document, adapters).outgoing(asked, info_of(document, config))
            yield ModelStep(step="What went out, after process_input", value=_parsed(body))


def _coming_back(found: "Completion") -> "Iterator[ModelStep]":
    from evalwright.report.trial import ModelStep

    if found.bodies is not None:
        yield ModelStep(
            step="What came back, before process_output", value=_parsed(found.bodies[1])
        )
    usage = {name: one for name, one in msgspec.to_builtins(found.usage).items() if one is not None}
    output = {"text": found.text, "finish": found.finish, "usage": usage}
    more = {"output": found.output} if found.output is not None else {}
    yield ModelStep(step="Output", value={**output, **more})


def _connection(document: Any) -> dict[str, Any]:
    """How it is reached, without secrets."""
    from evalwright.components import snippets_in
    from evalwright.datasets.url import shown
    from evalwright.spec.documents.model import ModelDocument

    if not isinstance(document, ModelDocument):
        return {}
    told: dict[str, Any] = document.config.model_dump(mode="json", exclude_none=True)
    if "url" in told:
        told["url"] = shown(told["url"])
    for one in snippets_in(document):
        told["run_inference_snippet"] = f"{one.path}:{one.line}"
    return {"task": document.task, **{name: one for name, one in told.items() if one != {}}}
