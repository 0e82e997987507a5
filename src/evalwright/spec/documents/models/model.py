"""A model in a project, and the adapter that translates requests for its endpoint.

    key: support-bot
    display_name: Support bot
    task: chat_completion
    rate_limit: 600                      # requests per minute
    max_concurrent_requests: 8
    config:
      connection_type: custom_connection # the default
      url: https://bot.example.com/v1/chat/completions
      api_key: << secrets.BOT_KEY >>
      adapter: { key: latticeflow$openai_chat_completion }

Secrets are replaced by their values when the document is read. In output, they are shown as
`[redacted]`.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
)
from pydantic_core import PydanticCustomError

from evalwright.components import Component, Hidden, ReferencedKey, Snippet, provider_key
from evalwright.errors import UsageError
from evalwright.generation_parameters import correct_parameter, split_parameters, with_parameters
from evalwright.lines import refuse_nul
from evalwright.nearest import nearest
from evalwright.registry import BUILT_IN, find_failure, names
from evalwright.secrets import Secret
from evalwright.spec.documents.yaml.problems import Fault
from evalwright.templates import Template
from evalwright.types import MLTask

IDENTITY = "latticeflow$identity"
BUILT_IN_ADAPTERS = (IDENTITY, "latticeflow$openai_chat_completion", "latticeflow$openai_responses")
OLD_IDENTITIES = (
    "latticeflow$identity_chat_completion",
    "latticeflow$identity_embeddings",
    "latticeflow$identity_custom",
)
"""Old names of `latticeflow$identity`."""
CONNECTION_TYPES = ("custom_connection", "custom_inference", "provider_connection", "placeholder")
ELSEWHERE = ("aws_bedrock", "azure_foundry", "dify", "langsmith")
"""Platforms with their own interface, which can be called only from a snippet."""

_OPEN = re.compile(r"\$\w+|\$\{\w+\}|<<.*>>")
_NOT_IN_HEADERS = re.compile(r"[^\t -~]")

HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")]


def _check_parameter(name: str) -> str:
    if meant := correct_parameter(name):
        raise PydanticCustomError("misspelled_parameter", "{name}", {"name": name, "meant": meant})
    return str(name)


def _to_json_values(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return plain values: JSON has no dates, and texts of documents have places."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected values that JSON can contain: {error}") from error
    return plain


GenerationParameters = Annotated[
    dict[Annotated[str, AfterValidator(_check_parameter)], Any], AfterValidator(_to_json_values)
]
"""Generation parameters, by name."""


def _check_header(value: Secret) -> Secret:
    if _NOT_IN_HEADERS.search(value.reveal().strip()):
        raise ValueError("contains a character that is not allowed in a header")
    return value


Header = Annotated[Hidden, AfterValidator(_check_header)]
"""Header value, which is never printed."""


class AdapterReference(Component):
    """A reference to an adapter."""

    key: ReferencedKey = IDENTITY
    """Key of an adapter in the project, or of a built-in adapter."""


class ValidationContext(Component):
    """Which certificates to trust."""

    trusted_ca: Hidden | None = None
    """Custom CA certificates to trust instead of the default ones: PEM, encoded in base64."""
    trust_chain_verification: Literal["verify_trust_chain", "accept_untrusted"] = (
        "verify_trust_chain"
    )
    """`accept_untrusted` accepts any certificate, so anyone could pose as the server."""

    @field_validator("trusted_ca")
    @classmethod
    def _check_pem(cls, value: Secret | None) -> Secret | None:
        if value is None or _is_open(value.reveal()):
            return value
        try:
            pem = base64.b64decode("".join(value.reveal().split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(
                "expected a PEM certificate in base64, but this is not base64"
            ) from error
        if b"-----BEGIN CERTIFICATE-----" not in pem:
            raise ValueError(
                "expected a PEM certificate in base64, but the base64 contains something else"
            )
        return value


class TlsContext(Component):
    """Verification of the endpoint's certificate."""

    validation_context: ValidationContext = ValidationContext()
    """Which certificates to trust."""


class CustomConnection(Component):
    """An endpoint that accepts JSON in POST requests."""

    connection_type: Literal["custom_connection"] = "custom_connection"
    url: str
    """Full URL. Nothing is appended to it."""
    api_key: Header | None = None
    """Sent as `Authorization: Bearer …`."""
    model_key: str | None = None
    """Name of the model at the endpoint, sent as `model` in the body."""
    adapter: AdapterReference = AdapterReference()
    """Builds the body and parses the reply."""
    custom_headers: dict[HeaderName, Header] = Field(default_factory=dict)
    """Additional headers."""
    tls_context: TlsContext | None = None
    """How to verify the endpoint's certificate. Default: standard verification."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if _is_open(value):
            return value
        try:
            parts = urlsplit(value)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("expected a URL that starts with http:// or https://")
        refuse_nul(value)
        if "@" in parts.netloc:
            raise ValueError("expected a URL without a user name and password: use `api_key`")
        return value


class CustomInference(Component):
    """A model that a Python snippet calls."""

    connection_type: Literal["custom_inference"]
    run_inference_snippet: Snippet
    """Python code that defines
    `run_inference(body: str, environment: dict[, sample: dict | None]) -> str`."""
    environment: dict[str, Hidden] = Field(default_factory=dict)
    """Values passed to the snippet as `environment`, such as API keys and URLs."""
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Time limit per call, in seconds."""
    adapter: AdapterReference = AdapterReference()
    """Builds the body and parses the return value of the snippet."""


class ProviderConnection(Component):
    """A model from a built-in provider or a plugin."""

    connection_type: Literal["provider_connection"]
    provider_id: str
    """Provider, such as `openai`, `anthropic` or `gemini`."""
    model_key: Annotated[str, StringConstraints(min_length=1)]
    """Name of the model at the provider."""

    @field_validator("provider_id")
    @classmethod
    def _check_provider(cls, value: str) -> str:
        return _check_provider(value)

    @property
    def model(self) -> str:
        """`provider/model`."""
        return f"{self.provider_id}/{self.model_key}"


class PlaceholderConnection(Component):
    """A placeholder that returns an empty answer without calling a model."""

    connection_type: Literal["placeholder"]


def _connection_type(value: Any) -> str:
    get = value.get if isinstance(value, dict) else partial(getattr, value)
    return str(get("connection_type", "custom_connection"))


Connection = Annotated[
    Annotated[CustomConnection, Tag("custom_connection")]
    | Annotated[CustomInference, Tag("custom_inference")]
    | Annotated[ProviderConnection, Tag("provider_connection")]
    | Annotated[PlaceholderConnection, Tag("placeholder")],
    Discriminator(_connection_type),
]


class ModelDocument(Component):
    """A model that tasks and evaluations can use."""

    model_config = ConfigDict(hide_input_in_errors=True)  # pydantic would quote the key

    key: ReferencedKey
    """Key of the model."""
    display_name: str = ""
    """Display name."""
    description: str = ""
    """Description."""
    rate_limit: Annotated[int, Field(ge=1)] | None = None
    """Maximum requests per minute."""
    max_concurrent_requests: Annotated[int, Field(ge=1)] | None = None
    """Maximum concurrent requests."""
    task: MLTask = "chat_completion"
    """Kind of request that the model answers."""
    parameters: GenerationParameters = Field(default_factory=dict)
    """Generation parameters, such as `{ temperature: 0 }`. They override `-p`."""
    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """Values for `<< secrets.NAME >>` in this document."""
    config: Connection
    """How to connect to the model."""

    @field_validator("config", mode="before")
    @classmethod
    def _check_connection_type(cls, value: Any) -> Any:
        kind = _connection_type(value)
        if kind in ELSEWHERE:
            raise PydanticCustomError(
                "unsupported",
                "connection_type `{tag}` is not supported here: "
                "use `custom_inference`, with a snippet that calls the platform",
                {"tag": kind},
            )
        if kind not in CONNECTION_TYPES:
            raise PydanticCustomError(
                "unknown_connection",
                "unknown connection_type `{tag}`",
                {"tag": kind, "known": CONNECTION_TYPES},
            )
        return value

    @property
    def adapter_key(self) -> str | None:
        """The current name of the adapter; None if there is none."""
        key = self._written_adapter
        return IDENTITY if key in OLD_IDENTITIES else key

    def warnings(self) -> Iterator[Fault]:
        """Yield warnings about deprecated fields."""
        if (key := self._written_adapter) in OLD_IDENTITIES:
            detail, hint = f"`{key}` is the old name of `{IDENTITY}`", f"write `{IDENTITY}`"
            yield Fault(("config", "adapter", "key"), "deprecated", detail, hint, "warning")

    @property
    def _written_adapter(self) -> str | None:
        adapter = getattr(self.config, "adapter", None)
        return str(adapter.key) if adapter else None


class ProviderModel(Component):
    """An entry in `models:` for a provider's model, such as `$provider: openai/gpt-4o`."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    model: Annotated[str, Field(alias="$provider")]
    """`provider/model`."""
    own_key: Annotated[ReferencedKey | None, Field(alias="key")] = None
    """Key of the model in tasks and evaluations, and its name in reports. Default for
    `openai/gpt-4.1-mini`: `openai$gpt-4-1-mini`."""
    parameters: GenerationParameters = Field(default_factory=dict)
    """Generation parameters, such as `{ temperature: 0 }`. They override `-p`."""

    @field_validator("model")
    @classmethod
    def _check_model(cls, value: str) -> str:
        provider, slash, name = value.partition("/")
        if not (provider and slash and name):
            raise ValueError(f"expected `provider/model`, got `{value}`")
        try:
            plain, parameters = split_parameters(value)
        except UsageError as error:
            raise ValueError(error.message) from error
        if parameters:
            names = ", ".join(parameters)
            raise ValueError(f"expected `{plain}`, with {names} under `parameters`")
        _check_provider(provider)
        return str(value)

    @property
    def key(self) -> str:
        """Key of the model in tasks and evaluations."""
        return self.own_key or provider_key(self.model)

    @property
    def name(self) -> str:
        """Name of the model in reports."""
        return self.own_key or with_parameters(self.model, self.parameters)


class Process(Component):
    """The template for one direction of an adapter."""

    language: Literal["jinja"] = "jinja"
    """Language of the source."""
    source_code: Template
    """Template that renders to JSON."""


class AdapterDocument(Component):
    """Translates between a solver and an endpoint with its own request format.

    If `process_input` or `process_output` is omitted, data in that direction is passed on
    unchanged.
    """

    key: ReferencedKey
    """Key of the adapter."""
    display_name: str = ""
    """Display name."""
    description: str = ""
    """Description."""
    long_description: str = ""
    """Long description."""
    provider: Literal["user", "latticeflow"] = "user"
    """Author."""
    process_input: Process | None = None
    """Builds the body from `input`, `model_info` and `kwargs`."""
    process_output: Process | None = None
    """Builds the output from `body`, `status_code` and `model_info`."""
    task: MLTask | None = None
    """Deprecated; has no effect: any model can use the adapter."""

    def warnings(self) -> Iterator[Fault]:
        """Yield warnings about deprecated fields."""
        if self.task is not None:
            detail = "the `task` of an adapter no longer has an effect"
            yield Fault(("task",), "deprecated", detail, "remove it", "warning")


def _is_open(value: str) -> bool:
    """Whether the value starts with an unset variable or unknown secret (reported elsewhere)."""
    return bool(_OPEN.match(value.strip()))


def _check_provider(name: str) -> str:
    if name in BUILT_IN["models"]:  # no search for plugins is needed
        return str(name)
    if failure := find_failure("models", name):
        raise PydanticCustomError(
            "broken_plugin", "{failure}", {"failure": str(failure), "hint": failure.plugin.advice}
        )
    known = names("models")
    if name not in known:
        suggestion = nearest(name, known)
        hint = f"did you mean `{suggestion}`?" if suggestion else f"there are {', '.join(known)}"
        raise ValueError(f"`{name}` is not a provider; {hint}")
    return str(name)
