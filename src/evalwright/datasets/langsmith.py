"""`langsmith`: traces from a LangSmith project, or examples from a LangSmith dataset.

    source:
      type: langsmith
      project: shop-assistant      # or `dataset: NAME`
      from_time: 2026-03-01
      tags: [production]
      limit: 200

The API key is taken from `api_key` (`<< secrets.NAME >>`) or the environment variable
`LANGSMITH_API_KEY`. The address is taken from `api_url` or `LANGSMITH_ENDPOINT`, and defaults to
`https://api.smith.langchain.com`. The rows are the root runs of traces, sorted from newest to
oldest, or dataset examples:

    sample_id    the id of the run or example
    input        the last user message, or the text of the input
    output       the text of the answer; for an example, the text of its reference output
    trace        the conversation, for `pass_through_solver`; null without an answer
    error        the run's error, or why the answer is missing; otherwise null
    model        the model that answered; null if the run does not name it
    metadata     the metadata of the run or example
    tags         the run's tags
    created_at   when the run started or the example was created
    inputs       the recorded inputs
    outputs      the recorded outputs
    feedback     the run's feedback statistics: {"helpful": {"n": 2, "avg": 0.5}}

Messages in the LangChain and OpenAI formats are recognized. Any other input or output is converted
to text. Only root runs are read, so a trace contains only the tool calls in the messages of its
root run.

The rows are stored in `.evalwright/downloads/` and are not fetched again. To fetch newer runs,
delete the file in that folder.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
from pydantic import Field, field_validator, model_validator

from evalwright.datasets.langchain_messages import read_conversation
from evalwright.datasets.reading import Reader
from evalwright.datasets.recorded import make_row
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.datasets.times import Instant, is_between, to_seconds
from evalwright.datasets.web_api import (
    ApiKey,
    JsonApi,
    check_address,
    read_pages,
    read_variable,
    store_rows,
)
from evalwright.errors import BadDataset

ADDRESS = "https://api.smith.langchain.com"
_HINT = "set `api_key` and `api_url`, or LANGSMITH_API_KEY and LANGSMITH_ENDPOINT"
_PAGE = 100
_VERSION = 1
"""Increase it when the same runs are converted to different rows."""
_SELECTED = (
    *("id", "name", "run_type", "inputs", "outputs", "error", "extra", "tags", "start_time"),
    *("end_time", "total_tokens", "trace_id", "feedback_stats", "status"),
)


class LangSmith(SourceSpec):
    """Traces or examples from a LangSmith account."""

    type: Literal["langsmith"]
    project: str | None = None
    """Name of the project to read traces from."""
    dataset: str | None = None
    """Name of the dataset to read examples from."""
    api_key: ApiKey | None = None
    """API key, as `<< secrets.NAME >>`. Default: `LANGSMITH_API_KEY`."""
    api_url: str | None = None
    """Address of the service. Default: `LANGSMITH_ENDPOINT`."""
    from_time: Instant | None = None
    """Earliest start time of a run or creation time of an example. Times without a time zone are
    UTC."""
    to_time: Instant | None = None
    """Time before which a run must have started or an example must have been created."""
    tags: tuple[str, ...] | None = None
    """Tags that a run must have."""
    filter: str | None = None
    """Filter for runs in LangSmith's query language, such as `eq(status, "success")`."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of rows, starting with the newest."""

    @field_validator("api_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        return None if value is None else check_address(value, field="api_url")

    @model_validator(mode="after")
    def _check_project_or_dataset(self) -> Self:
        if (self.project is None) == (self.dataset is None):
            got = "neither" if self.project is None else "both"
            raise ValueError(f"expected `project` or `dataset`, got {got}")
        for name in ("tags", "filter"):
            if self.dataset is not None and getattr(self, name) is not None:
                raise ValueError(
                    f"`{name}` selects runs of a `project` and cannot be used with a `dataset`"
                )
        return self

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that fetches the rows when the first row is read."""
        query = self.model_dump(mode="json", exclude={"api_key", "filters", "missing"})
        return store_rows(
            self.type,
            {**query, "api_url": self._address, "version": _VERSION},
            self._fetch,
            cache_dir=surroundings.cache_dir,
            name=self.label(),
        )

    def label(self) -> str:
        """Return the name of the project or dataset, for messages."""
        return f"langsmith: {self.project or self.dataset}"

    @property
    def _address(self) -> str:
        address = (
            self.api_url or read_variable("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT") or ADDRESS
        )
        # For a host without a path, add the path of the API. Self-hosted addresses include it.
        return (
            address.rstrip("/")
            if urlsplit(address).path.strip("/")
            else f"{address.rstrip('/')}/api/v1"
        )

    def _fetch(self) -> Iterator[dict[str, Any]]:
        key = (
            self.api_key.reveal()
            if self.api_key
            else read_variable("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")
        )
        api = JsonApi(self._address, headers={"x-api-key": key}, key=key, hint=_HINT)
        rows = self._fetch_runs(api) if self.project is not None else self._fetch_examples(api)
        for number, row in enumerate(rows, start=1):
            yield row
            if number == self.limit:
                return

    def _fetch_runs(self, api: JsonApi) -> Iterator[dict[str, Any]]:
        body: dict[str, Any] = {
            "session": [self._find_id(api, "/sessions", "project", self.project)],
            "is_root": True,
            "limit": min(self.limit or _PAGE, _PAGE),
            "order": "desc",
            "select": _SELECTED,
        }
        if self.from_time:
            body["start_time"] = self.from_time.isoformat()
        if conditions := self._conditions():
            whole = conditions[0] if len(conditions) == 1 else f"and({', '.join(conditions)})"
            body["filter"] = whole

        def fetch(cursor: Any) -> tuple[list[Any], Any]:
            reply = api.post("/runs/query", body if cursor is None else {**body, "cursor": cursor})
            runs = _take_list(reply, "runs", self.label())
            cursors = reply.get("cursors")
            return runs, cursors.get("next") if isinstance(cursors, Mapping) else None

        for run in read_pages(fetch, name=self.label()):
            has_tags = set(self.tags or ()) <= set(run.get("tags") or ())
            if has_tags and is_between(run.get("start_time"), self.from_time, self.to_time):
                yield self._make_row(run, _make_run_row)

    def _conditions(self) -> list[str]:
        quote = msgspec.json.encode
        conditions = [f"has(tags, {quote(tag).decode()})" for tag in self.tags or ()]
        if self.to_time:
            conditions.append(f"lt(start_time, {quote(self.to_time.isoformat()).decode()})")
        return [*conditions, self.filter] if self.filter else conditions

    def _fetch_examples(self, api: JsonApi) -> Iterator[dict[str, Any]]:
        dataset = self._find_id(api, "/datasets", "dataset", self.dataset)

        def fetch(offset: Any) -> tuple[list[Any], Any]:
            start = offset or 0
            query = {"dataset": dataset, "limit": _PAGE, "offset": start}
            examples = _take_list(api.get("/examples", query), None, self.label())
            return examples, start + len(examples) if len(examples) >= _PAGE else None

        seen: set[Any] = set()
        for example in read_pages(fetch, name=self.label()):
            if (id_ := example.get("id")) in seen:
                raise BadDataset(
                    f"{self.label()}: the pages do not end: "
                    f"the server sent the example `{id_}` twice"
                )
            seen.add(id_)
            if is_between(example.get("created_at"), self.from_time, self.to_time):
                yield self._make_row(example, _make_example_row)

    def _find_id(self, api: JsonApi, path: str, what: str, name: str | None) -> str:
        objects = _take_list(api.get(path, {"name": name, "limit": 1}), None, self.label())
        for value in objects:
            if isinstance(value, Mapping) and value.get("name", name) == name and value.get("id"):
                return str(value["id"])
        raise BadDataset(f"langsmith: no {what} `{name}`", hint="is it in this account?")

    def _make_row(self, recorded: Mapping[str, Any], make: Any) -> dict[str, Any]:
        id_ = recorded.get("id")
        if not isinstance(id_, str):
            raise BadDataset(f"{self.label()}: expected an `id`, got `{id_!r}`")
        try:
            row: dict[str, Any] = make(
                recorded, f"langsmith://{self.project or self.dataset}/{id_}"
            )
        except ValueError as error:
            raise BadDataset(f"{self.label()}: {id_}: {error}") from error
        return row


def _make_run_row(run: Mapping[str, Any], uri: str) -> dict[str, Any]:
    inputs, outputs = run.get("inputs"), run.get("outputs")
    items = read_conversation(inputs, outputs)
    extra = _take_object(run.get("extra"))
    metadata, parameters = (_take_object(extra.get(name)) for name in _MODEL_PLACES)
    error = run.get("error")
    row = make_row(
        items,
        sample_id=run["id"],
        source_type="langsmith",
        source_uri=uri,
        error=f"LangSmith recorded an error: {error}" if error else None,
        metadata=metadata,
        agent=run.get("name"),
        model=metadata.get("ls_model_name")
        or parameters.get("model")
        or parameters.get("model_name"),
        tags=run.get("tags") or None,
        created_at=run.get("start_time"),
        total_time=to_seconds(run.get("start_time"), run.get("end_time")),
        total_tokens=run.get("total_tokens"),
        message_count=sum(item["type"] == "message" for item in items),
    )
    feedback = _take_object(run.get("feedback_stats"))
    return {**row, "inputs": inputs, "outputs": outputs, "feedback": feedback}


_MODEL_PLACES = ("metadata", "invocation_params")


def _make_example_row(example: Mapping[str, Any], uri: str) -> dict[str, Any]:
    inputs, outputs = example.get("inputs"), example.get("outputs")
    items = read_conversation(inputs, outputs)
    row = make_row(
        items,
        sample_id=example["id"],
        source_type="langsmith",
        source_uri=uri,
        metadata=_take_object(example.get("metadata")),
        created_at=example.get("created_at"),
        message_count=sum(item["type"] == "message" for item in items),
    )
    return {**row, "inputs": inputs, "outputs": outputs, "feedback": {}}


def _take_list(reply: Any, name: str | None, label: str) -> list[Any]:
    value = reply.get(name) if name and isinstance(reply, Mapping) else reply
    if not isinstance(value, list):
        where = f" as `{name}`" if name else ""
        raise BadDataset(f"{label}: expected a list{where}, got `{type(value).__name__}`")
    return value


def _take_object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
