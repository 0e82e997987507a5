"""The models of a project: a key becomes a client that can be asked.

A key is looked up in this order:

    openai/gpt-4.1-mini      a provider and its model; `openai:gpt-4.1-mini` is the same
    support-bot              a model document of the project
    openai$gpt-4-1-mini      an entry `$provider: openai/gpt-4.1-mini`: its key has lost characters
    latticeflow$placeholder  no model
    openai$gpt-4-1-mini      a model that the provider's own server lists

What is found nowhere is an `UnknownName` that says what to declare.
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
    select_logins,
    takes_sample,
)
from evalwright.clients.http import list_served_models
from evalwright.clients.parameters import resolve_extra
from evalwright.clients.providers import PROVIDERS
from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.components import provider_key
from evalwright.errors import EvalwrightError, UnknownName, UsageError
from evalwright.event_loop import run_async
from evalwright.nearest import nearest
from evalwright.plan.model_names import canonical_name
from evalwright.plan.options import RunOptions
from evalwright.plan.project import ResolvedProject
from evalwright.ports import Snippets
from evalwright.secrets import Redactor, Secret, secrets_in
from evalwright.session.models import Connection, Connector, connect_provider
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
    """An environment for those who ask a model nothing, and only want to know which it is.

    Where a provider needs a key and there is none, something stands in for it: no fingerprint has
    a key in it.
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
    """Connects the models that a project names, and those that are named in their place.

    The generation parameters of the command are for the `evaluated` models alone.
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
    """The model that `key` means; `UnknownName` where nothing answers to it."""
    if "/" in key or ":" in key:
        return _connect_provider(canonical_name(key), options)
    declared = project_models.get(key)
    if isinstance(declared, ModelDocument):
        return _connect_document(declared, adapters, snippets, options)
    for model in project_models.values():
        if isinstance(model, ProviderModel) and model.key == key:
            return _connect_provider(model.model, options)
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
    key = (config.api_key,) if config.api_key else ()
    return Connection(
        name=document.key, client=client, secrets=(*key, *select_logins(headers).values())
    )


def _connect_inference(
    document: ModelDocument,
    config: CustomInference,
    adapters: Mapping[str, AdapterDocument],
    snippets: Snippets | None,
    options: ModelOptions,
) -> Connection:
    if snippets is None:
        raise UsageError(
            f"the model `{document.key}` is a snippet of the project, and snippets are refused here"
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
        secrets=tuple(select_logins(environment).values()),
    )


def info_of(document: ModelDocument, config: CustomConnection | CustomInference) -> AdapterInfo:
    """What an adapter knows of a model."""
    name = config.model_key if isinstance(config, CustomConnection) else None
    return AdapterInfo(key=document.key, task=document.task, model_key=name or "")


def adapter_of(document: ModelDocument, adapters: Mapping[str, AdapterDocument]) -> Adapter:
    """What stands between a model and its endpoint."""
    key = document.adapter_key or ""
    if key in BUILT_IN:
        return BUILT_IN[key]()
    if key not in adapters:
        suggestion = nearest(key, (*BUILT_IN, *adapters))
        raise UnknownName(
            f"the model `{document.key}` goes through an adapter `{key}` that is not there",
            hint=f"did you mean `{suggestion}`?"
            if suggestion
            else f"declare it under `model_adapters`, or use one of {', '.join(BUILT_IN)}",
        )
    adapter = adapters[key]
    ways = (adapter.process_input, adapter.process_output)
    there, back = (way.source_code if way else None for way in ways)
    return TemplateAdapter(key, process_input=there, process_output=back)


def _refuse_unset(document: ModelDocument, values: Mapping[str, Secret | None]) -> None:
    """The name of a variable is no key: nobody would mean to send it."""
    for field, value in values.items():
        if value and (name := _UNSET.fullmatch(value.reveal())):
            raise UsageError(
                f"the model `{document.key}`: {name[1]}, the variable of `{field}`, is not set",
                hint=f"set {name[1]}, or put it into .env or a file for --env",
            )


def _with_keys(values: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, Secret]:
    """The same; what holds a key of the environment is a secret, whatever it is called here."""
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
    """`provider/model` of the one model at the provider's server that has this key."""
    provider, dollar, rest = key.partition("$")
    if not (dollar and rest) or provider not in PROVIDERS:
        raise _unknown_model(key, project_models, "the project declares none of that key")
    try:
        there = run_async(list_served_models(provider, environment))
    except EvalwrightError as error:
        raise _unknown_model(key, project_models, f"its server was not asked: {error}") from error
    matches = [name for name in there if provider_key(f"{provider}/{name}") == key]
    if len(matches) > 1:
        raise UsageError(
            f"`{key}` is the key of several models of {provider}: {', '.join(sorted(matches))}",
            hint=f"write `{provider}/{min(matches)}`, or declare one with `$provider`",
        )
    if not matches:
        raise _unknown_model(key, project_models, f"{provider} lists none of that key")
    return f"{provider}/{matches[0]}"


def _unknown_model(
    key: str, project_models: Mapping[str, ModelDocument | ProviderModel], why: str
) -> UnknownName:
    suggestion = nearest(key, (*project_models, PLACEHOLDER))
    provider, dollar, _ = key.partition("$")
    name = f"{provider}/MODEL" if dollar else "PROVIDER/MODEL"
    return UnknownName(
        f"there is no model `{key}`: {why}",
        hint=f"did you mean `{suggestion}`?"
        if suggestion
        else f"declare it under `models`: `$provider: {name}`, or a document with `key: {key}`",
    )
