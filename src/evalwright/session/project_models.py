"""The models of a project: resolve a key to a client.

A key is looked up in this order:

    openai/gpt-4.1-mini      a provider and its model; `openai:gpt-4.1-mini` is the same
    support-bot              a model document of the project
    openai$gpt-4-1-mini      an entry `$provider: openai/gpt-4.1-mini`: the key replaces some
                             characters, unless the entry has its own `key`
    latticeflow$placeholder  no model
    openai$gpt-4-1-mini      a model that the provider's own server lists

`?NAME=VALUE&…` after a key sets generation parameters. They take precedence over the parameters of
the document or entry, which take precedence over those of the options.

An unknown key is an `UnknownName` that says what to declare.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import structs

from evalwright.clients.adapters import BUILT_IN, Adapter, AdapterInfo, TemplateAdapter
from evalwright.clients.custom import (
    FUNCTION,
    ConnectionConfig,
    CustomConnectionModel,
    CustomInferenceModel,
    InferenceConfig,
    find_secret_values,
    takes_sample,
)
from evalwright.clients.http import list_served_models
from evalwright.clients.parameters import reject_misspelled_parameters, resolve_extra
from evalwright.clients.providers import PROVIDERS
from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.components import provider_key
from evalwright.engine.redact import refuse_secrets
from evalwright.errors import EvalwrightError, UnknownName, UsageError
from evalwright.event_loop import run_async
from evalwright.generation_parameters import split_parameters
from evalwright.nearest import nearest
from evalwright.plan.model_names import canonical_name
from evalwright.plan.options import RunOptions
from evalwright.plan.project import ResolvedProject
from evalwright.ports import Snippets
from evalwright.secrets import Redactor, Secret, find_credentials, secrets_in
from evalwright.session.models import Connection, Connector, connect_provider, override_parameters
from evalwright.spec.documents.models.model import (
    AdapterDocument,
    CustomConnection,
    CustomInference,
    ModelDocument,
    ProviderConnection,
    ProviderModel,
)
from evalwright.types import ModelOptions

PLACEHOLDER = "latticeflow$placeholder"
_NO_KEY = "no-key-where-nobody-is-asked"
_UNSET = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class Keyless(dict[str, str]):
    """An environment for looking up a model without calling it.

    If a provider needs a key and there is none, a stand-in is used: fingerprints contain no
    keys.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        for provider in PROVIDERS.values():
            if not self.get(provider.key_variable, "").strip():
                self[provider.key_variable] = _NO_KEY


def project_connector(
    resolved: ResolvedProject,
    options: RunOptions,
    *,
    evaluated: Collection[str],
    tell: Callable[[str], None] = lambda _: None,
) -> Connector:
    """Connects the models that a project names, and those that replace them.

    The generation parameters of the command apply only to the `evaluated` models.
    """
    declared: Any = {key: entity.document for key, entity in resolved.project.models.items()}
    adapters: Any = {key: entity.document for key, entity in resolved.project.adapters.items()}

    def connect_name(name: str, snippets: Snippets | None) -> Connection:
        return connect_model(
            name or PLACEHOLDER,
            declared,
            adapters,
            snippets=snippets,
            options=ModelOptions(
                parameters=options.parameters if name in evaluated else {},
                environment=resolved.environment,
                tell=tell,
                keeps_bodies=True,
            ),
        )

    return connect_name


def connect_model(
    key: str,
    project_models: Mapping[str, ModelDocument | ProviderModel],
    adapters: Mapping[str, AdapterDocument],
    *,
    snippets: Snippets | None,
    options: ModelOptions,
) -> Connection:
    """Connect the model with this key; `UnknownName` if there is none."""
    key, own = split_parameters(key)
    reject_misspelled_parameters(own, model=key, in_name=own)
    declared = None if "/" in key or ":" in key else project_models.get(key)
    specific = {**(declared.parameters if declared is not None else {}), **own}
    # Fingerprints, which contain parameters, are stored.
    refuse_secrets((), specific, map(Secret, secrets_in(options.environment)))
    options = override_parameters(options, specific, model=key)
    if "/" in key or ":" in key:
        return _connect_provider(canonical_name(key), options)
    if isinstance(declared, ModelDocument):
        return _connect_document(declared, adapters, snippets, options)
    if declared is not None:
        return _connect_provider(declared.model, options)
    if key == PLACEHOLDER:
        return _placeholder(key)
    return _connect_provider(_find_at_server(key, project_models, options.environment), options)


def _connect_document(
    document: ModelDocument,
    adapters: Mapping[str, AdapterDocument],
    snippets: Snippets | None,
    options: ModelOptions,
) -> Connection:
    config = document.config
    if isinstance(config, ProviderConnection):
        plan = _connect_provider(config.model, options)
    elif isinstance(config, CustomConnection):
        plan = _connect_custom(document, config, adapters, options)
    elif isinstance(config, CustomInference):
        plan = _connect_inference(document, config, adapters, snippets, options)
    else:
        plan = _placeholder(document.key)
    return structs.replace(
        plan,
        requests_per_minute=document.rate_limit,
        at_once=document.max_concurrent_requests or plan.at_once,
        task=document.task,
        secrets=(*plan.secrets, *document.secrets.values()),
    )


def _connect_provider(name: str, options: ModelOptions) -> Connection:
    return (
        _placeholder(name) if provider_key(name) == PLACEHOLDER else connect_provider(name, options)
    )


def _placeholder(name: str) -> Connection:
    return Connection(name=name, client=PlaceholderModel(), remote=False)


def _connect_custom(
    document: ModelDocument,
    config: CustomConnection,
    adapters: Mapping[str, AdapterDocument],
    options: ModelOptions,
) -> Connection:
    if not isinstance(options.environment, Keyless):
        _refuse_unset(document, {"api_key": config.api_key, **config.custom_headers})
    headers = _with_keys(config.custom_headers, options.environment)
    trust = config.tls_context.validation_context if config.tls_context else None
    connection = ConnectionConfig(
        url=config.url,
        api_key=config.api_key,
        headers=headers,
        trusted_ca=trust.trusted_ca if trust else None,
        accept_untrusted=bool(trust and trust.trust_chain_verification == "accept_untrusted"),
    )
    adapter, info = adapter_of(document, adapters), info_of(document, config)
    client = CustomConnectionModel(connection, adapter, info, options)
    secrets = [*map(Secret, find_credentials(config.url)), *find_secret_values(headers)]
    if config.api_key:
        secrets.append(config.api_key)
    return Connection(name=document.key, client=client, secrets=tuple(secrets))


def _connect_inference(
    document: ModelDocument,
    config: CustomInference,
    adapters: Mapping[str, AdapterDocument],
    snippets: Snippets | None,
    options: ModelOptions,
) -> Connection:
    if snippets is None:
        raise UsageError(
            f"the model `{document.key}` runs Python code from the project, "
            "which is not allowed here"
        )
    if not isinstance(options.environment, Keyless):
        _refuse_unset(document, config.environment)
    environment = _with_keys(config.environment, options.environment)
    snippet = config.run_inference_snippet
    client = CustomInferenceModel(
        snippets,
        InferenceConfig(
            function=snippet.function(FUNCTION),
            text=snippet.text_for_keys,
            environment=environment,
            timeout_s=config.timeout,
        ),
        adapter_of(document, adapters),
        info_of(document, config),
        parameters=resolve_extra(options.parameters),
    )
    return Connection(
        name=document.key,
        client=client,
        by_sample=takes_sample(snippet.text),
        secrets=find_secret_values(environment),
    )


def info_of(document: ModelDocument, config: CustomConnection | CustomInference) -> AdapterInfo:
    """Return what an adapter knows about a model."""
    name = config.model_key if isinstance(config, CustomConnection) else None
    return AdapterInfo(key=document.key, task=document.task, model_key=name or "")


def adapter_of(document: ModelDocument, adapters: Mapping[str, AdapterDocument]) -> Adapter:
    """Return the adapter between a model and its endpoint."""
    key = document.adapter_key or ""
    if key in BUILT_IN:
        return BUILT_IN[key]()
    if key not in adapters:
        suggestion = nearest(key, (*BUILT_IN, *adapters))
        raise UnknownName(
            f"the model `{document.key}` uses the adapter `{key}`, which does not exist",
            hint=f"did you mean `{suggestion}`?"
            if suggestion
            else f"declare it under `model_adapters`, or use one of {', '.join(BUILT_IN)}",
        )
    adapter = adapters[key]
    ways = (adapter.process_input, adapter.process_output)
    there, back = (way.source_code if way else None for way in ways)
    return TemplateAdapter(key, process_input=there, process_output=back)


def _refuse_unset(document: ModelDocument, values: Mapping[str, Secret | None]) -> None:
    """Refuse to send the name of an unset variable as a key."""
    for field, value in values.items():
        if value and (name := _UNSET.fullmatch(value.reveal())):
            raise UsageError(
                f"the model `{document.key}`: {name[1]}, the environment variable for `{field}`, "
                "is not set",
                hint=f"set {name[1]}, or add it to .env or a file for --env",
            )


def _with_keys(values: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, Secret]:
    """The same; a value that holds a key of the environment is a secret, whatever its name."""
    clean = Redactor(secrets_in(environment)).clean
    return {
        name: Secret(value.reveal(), declared=True)
        if clean(value.reveal()) != value.reveal()
        else value
        for name, value in values.items()
    }


def _find_at_server(
    key: str,
    project_models: Mapping[str, ModelDocument | ProviderModel],
    environment: Mapping[str, str],
) -> str:
    """Return `provider/model` of the only model on the provider's server with this key."""
    provider, dollar, rest = key.partition("$")
    if not (dollar and rest) or provider not in PROVIDERS:
        raise _unknown_model(key, project_models, "the project does not declare it")
    try:
        there = run_async(list_served_models(provider, environment))
    except EvalwrightError as error:
        raise _unknown_model(
            key, project_models, f"its server was not queried: {error.message}"
        ) from error
    matches = [name for name in there if provider_key(f"{provider}/{name}") == key]
    if len(matches) > 1:
        raise UsageError(
            f"`{key}` matches several models of {provider}: {', '.join(sorted(matches))}",
            hint=f"write `{provider}/{min(matches)}`, or declare one with `$provider`",
        )
    if not matches:
        raise _unknown_model(key, project_models, f"{provider} does not list it")
    return f"{provider}/{matches[0]}"


def _unknown_model(
    key: str, project_models: Mapping[str, ModelDocument | ProviderModel], why: str
) -> UnknownName:
    suggestion = nearest(key, (*project_models, PLACEHOLDER))
    provider, dollar, _ = key.partition("$")
    name = f"{provider}/MODEL" if dollar else "PROVIDER/MODEL"
    return UnknownName(
        f"unknown model `{key}`: {why}",
        hint=f"did you mean `{suggestion}`?"
        if suggestion
        else f"declare it under `models`: `$provider: {name}`, or a document with `key: {key}`",
    )
