"""How a model is named: `provider/model` and `provider:model` are the same model.

`@URL` after either sets the address. `?NAME=VALUE&…` before the address sets generation parameters;
their order does not matter.
"""

from collections.abc import Sequence

from evalwright.errors import NoInput, UsageError
from evalwright.generation_parameters import split_parameters, with_parameters


def canonical_name(model: str) -> str:
    """Return the first form, which reports show; `UsageError` for an address without a model."""
    if model.startswith(("http://", "https://")):
        address = "http://…" if "@" in model else model  # what stands before an `@` may be secret
        raise UsageError(
            f"`{address}` is an address, not a model",
            hint=f"write `-m openai/MODEL@{address}`, or set OPENAI_BASE_URL and write "
            "`-m openai/MODEL`",
        )
    base, parameters = split_parameters(model)
    provider, colon, rest = base.partition(":")
    base = f"{provider}/{rest}" if colon and "/" not in provider else base
    return with_parameters(base, parameters)


def canonical_names(models: str | Sequence[str]) -> list[str]:
    """Return each model once; `NoInput` if there is none."""
    if not models:
        raise NoInput("no model was given", hint="-m scripted/oracle, or -m replay/outputs.jsonl")
    names = map(canonical_name, [models] if isinstance(models, str) else models)
    return list(dict.fromkeys(names))


def check_names(names: Sequence[str]) -> None:
    """Refuse names that JSON, and so a report, cannot contain; file names may be like that."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(f"{name!a}: a name that is not UTF-8 cannot be written to a report")
