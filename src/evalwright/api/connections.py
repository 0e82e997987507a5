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
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from evalwright.api.assembly import HERE, LOCAL, canonical, slots_of
from evalwright.components import provider_key
from evalwright.errors import EvalwrightError, UnknownName, UsageError
from evalwright.nearest import nearest
from evalwright.ports import Model, Snippets
from evalwright.secrets import Redactor, Secret, secrets_in
from evalwright.spec.documents.model import (
    AdapterDocument,
    CustomConnection,
    CustomInference,
    ModelDocument,
    ProviderConnection,
    ProviderModel,
)
from evalwright.types import MLTask, ModelOptions

if TYPE_CHECKING:
    from evalwright.clients.adapters import Adapter, Info

PLACEHOLDER = "latticeflow$placeholder"
_NO_KEY = "no-key-where-nobody-is-asked"
_UNSET = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class Keyless(dict[str, str]):
    """An environment for those who ask a model nothing, and only want to know which it is.

    Where a provider needs a key and there is none, something stands in for it: no fingerprint has
    a key in it.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        from evalwright.clients.providers import PROVIDERS

        super().__init__(environment)
        for provider in PROVIDERS.values():
            if not self.get(provider.key_variable, "").strip():
                self[provider.key_variable] = _NO_KEY


class ConnectionPlan(Struct, frozen=True, kw_only=True):
    """A client, and how it is to be asked."""

    name: str
    """`provider/model` where there is one, else the key: for prices and reports."""
    client: Model
    requests_per_minute: int | None = None
    at_once: int | None = None
    """The most requests at once; None for as many as the server can take."""
    task: MLTask | None = None
    """What it is declared for; None for whatever its API can do."""
    remote: bool = True
    """Whether a call may fail now and succeed later."""
    by_sample: bool = False
    """Whether it looks at the sample, which is no part of a cache's key: then it has no cache."""
    secrets: tuple[Secret, ...] = ()
    """What must not be written down."""


def connect_model(
    key: str,
    project_models: Mapping[str, ModelDocument | ProviderModel],
    adapters: Mapping[str, AdapterDocument],
    *,
    snippets: Snippets | None,
    options: ModelOptions,
) -> ConnectionPlan:
    """The model that `key` means; `UnknownName` where nothing answers to it."""
    if "/" in key or ":" in key:
        return _of_provider(canonical(key)[0], options)
    declared = project_models.get(key)
    if isinstance(declared, ModelDocument):
        return _of_document(declared, adapters, snippets, options)
    for one in project_models.values():
        if isinstance(one, ProviderModel) and one.key == key:
            return _of_provider(one.model, options)
    if key == PLACEHOLDER:
        return _placeholder(key)
    return _of_provider(_listed(key, project_models, options.environment), options)


def _of_document(
    document: ModelDocument,
    adapters: Mapping[str, AdapterDocument],
    snippets: Snippets | None,
    options: ModelOptions,
) -> ConnectionPlan:
    from msgspec import structs

    config = document.config
    if isinstance(config, ProviderConnection):
        plan = _of_provider(config.model, options)
    elif isinstance(config, CustomConnection):
        plan = _custom(document, config, adapters, options)
    elif isinstance(config, CustomInference):
        plan = _inference(document, config, adapters, snippets, options)
    else:
        plan = _placeholder(document.key)
    return structs.replace(
        plan,
        requests_per_minute=document.rate_limit,
        at_once=document.max_concurrent_requests or plan.at_once,
        task=document.task,
        secrets=(*plan.secrets, *document.secrets.values()),
    )


def _of_provider(name: str, options: ModelOptions) -> ConnectionPlan:
    from msgspec import structs

    from evalwright.registry import load

    provider, _, model = name.partition("/")
    if not provider or not model:
        raise UsageError(f"`{name}` is not a model", hint="a model is written provider/model")
    if provider_key(name) == PLACEHOLDER:
        return _placeholder(name)
    client: Model = load("models", provider)(model, structs.replace(options, provider=provider))
    return ConnectionPlan(
        name=name,
        client=client,
        at_once=slots_of(client),
        remote=provider not in HERE,
        by_sample=provider in LOCAL,
    )


def _placeholder(name: str) -> ConnectionPlan:
    from evalwright.clients.placeholder import Placeholder

    return ConnectionPlan(name=name, client=Placeholder(), remote=False)


def _custom(
    document: ModelDocument,
    config: CustomConnection,
    adapters: Mapping[str, AdapterDocument],
    options: ModelOptions,
) -> ConnectionPlan:
    from evalwright.clients.connection import Where, connect

    if not isinstance(options.environment, Keyless):
        _refuse_unset(document, {"api_key": config.api_key, **config.custom_headers})
    headers = _with_keys(config.custom_headers, options.environment)
    trust = config.tls_context.validation_context if config.tls_context else None
    where = Where(
        url=config.url,
        api_key=config.api_key,
        headers=headers,
        trusted_ca=trust.trusted_ca if trust else None,
        accept_untrusted=bool(trust and trust.trust_chain_verification == "accept_untrusted"),
    )
    client = connect(where, adapter_of(document, adapters), info_of(document, config), options)
    key = (config.api_key,) if config.api_key else ()
    return ConnectionPlan(name=document.key, client=client, secrets=(*key, *_logins(headers)))


def _inference(
    document: ModelDocument,
    config: CustomInference,
    adapters: Mapping[str, AdapterDocument],
    snippets: Snippets | None,
    options: ModelOptions,
) -> ConnectionPlan:
    from evalwright.clients.inference import FUNCTION, Inference, Inferring, takes_sample

    if snippets is None:
        raise UsageError(
            f"the model `{document.key}` is a snippet of the project, and snippets are refused here"
        )
    if not isinstance(options.environment, Keyless):
        _refuse_unset(document, config.environment)
    environment = _with_keys(config.environment, options.environment)
    snippet = config.run_inference_snippet
    client = Inference(
        snippets,
        Inferring(
            function=snippet.function(FUNCTION),
            text=snippet.keyed,
            environment=environment,
            timeout_s=config.timeout,
        ),
        adapter_of(document, adapters),
        info_of(document, config),
        parameters=dict(options.parameters),
    )
    return ConnectionPlan(
        name=document.key,
        client=client,
        by_sample=takes_sample(snippet.text),
        secrets=_logins(environment),
    )


def info_of(document: ModelDocument, config: CustomConnection | CustomInference) -> "Info":
    """What an adapter knows of a model."""
    from evalwright.clients.adapters import Info

    name = config.model_key if isinstance(config, CustomConnection) else None
    return Info(key=document.key, task=document.task, model_key=name or "")


def adapter_of(document: ModelDocument, adapters: Mapping[str, AdapterDocument]) -> "Adapter":
    """What stands between a model and its endpoint."""
    from evalwright.clients.adapters import BUILT_IN, Jinja

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
    found = adapters[key]
    ways = (found.process_input, found.process_output)
    there, back = (way.source_code if way else None for way in ways)
    return Jinja(key, process_input=there, process_output=back)


def _refuse_unset(document: ModelDocument, values: Mapping[str, Secret | None]) -> None:
    """The name of a variable is no key: nobody would mean to send it."""
    for field, value in values.items():
        if value and (name := _UNSET.fullmatch(value.reveal())):
            raise UsageError(
                f"the model `{document.key}`: {name[1]}, the variable of `{field}`, is not set",
                hint=f"set {name[1]}, or put it into .env or a file for --env",
            )


def _logins(values: Mapping[str, Secret]) -> tuple[Secret, ...]:
    from evalwright.clients.connection import logins

    return tuple(logins(values).values())


def _with_keys(values: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, Secret]:
    """The same; what holds a key of the environment is a secret, whatever it is called here."""
    clean = Redactor(secrets_in(environment)).clean
    return {
        name: Secret(value.reveal(), declared=True)
        if clean(value.reveal()) != value.reveal()
        else value
        for name, value in values.items()
    }


def _listed(
    key: str,
    project_models: Mapping[str, ModelDocument | ProviderModel],
    environment: Mapping[str, str],
) -> str:
    """`provider/model` of the one model at the provider's server that has this key."""
    from evalwright.api.loops import complete
    from evalwright.clients.listing import models_at
    from evalwright.clients.providers import PROVIDERS

    provider, dollar, rest = key.partition("$")
    if not (dollar and rest) or provider not in PROVIDERS:
        raise _unknown(key, project_models, "the project declares none of that key")
    try:
        there = complete(models_at(provider, environment))
    except EvalwrightError as error:
        raise _unknown(key, project_models, f"its server was not asked: {error}") from error
    found = [one for one in there if provider_key(f"{provider}/{one}") == key]
    if len(found) > 1:
        raise UsageError(
            f"`{key}` is the key of several models of {provider}: {', '.join(sorted(found))}",
            hint=f"write `{provider}/{min(found)}`, or declare one with `$provider`",
        )
    if not found:
        raise _unknown(key, project_models, f"{provider} lists none of that key")
    return f"{provider}/{found[0]}"


def _unknown(
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
