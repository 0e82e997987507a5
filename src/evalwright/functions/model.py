"""A function, or an object, as a model.

    async def ask(prompt): ...            the text of the last message
    def ask(messages): ...                [{"role": "user", "content": "…"}, …]
    def ask(prompt) -> ew.Completion: ... an answer with its usage

A function that is not async runs in a thread, so that several can wait at the same time.
"""

import inspect
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any

from msgspec import structs

from evalwright.errors import UsageError
from evalwright.functions.decorators import call_in_thread, is_async
from evalwright.functions.identity import NoIdentity, hash_function, name_of
from evalwright.plan.model_names import canonical_names
from evalwright.ports import Model
from evalwright.session.models import Connection
from evalwright.types import Completion, Request, Usage

Answer = str | Completion
ModelFunction = Callable[[Any], Any]
"""Takes a prompt or messages; returns text or a `Completion`, or awaits one."""
AnyModel = str | Model | ModelFunction
_METHODS = ("complete", "close")
_TAKES_MESSAGES = {"messages", "conversation", "chat"}


class FunctionModel:
    """A model that calls a function."""

    caveat = ""

    def __init__(self, function: ModelFunction) -> None:
        """Raise `UsageError` if the function does not take exactly one argument."""
        self._function = function
        self._name = name_of(function)
        self._takes_messages = _find_parameter(function, self._name) in _TAKES_MESSAGES
        self._is_async = is_async(function)
        try:
            self.fingerprint = f"function {hash_function(function)}"
        except NoIdentity as error:
            self.fingerprint = f"function {token_hex(8)}"
            self.caveat = f"its answers are not reused, because {error}"

    async def complete(self, request: Request) -> Completion:
        """Call the function; its exception is a failure of the sample."""
        if self._takes_messages:
            asked: Any = [
                {"role": message.role, "content": message.content} for message in request.messages
            ]
        else:
            asked = request.messages[-1].content if request.messages else request.input
        if self._is_async:
            answer = await self._function(asked)
        else:
            answer = await call_in_thread(self._function, asked)
        return _read_answer(answer, self._name)

    async def close(self) -> None:
        """Do nothing: the function is its author's."""


def _find_parameter(function: ModelFunction, name: str) -> str:
    """Return the name of the only required parameter."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return "prompt"
    required = [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
    ]
    taken = required or [each.name for each in parameters]
    if len(required) > 1 or not taken:
        raise UsageError(
            f"the model `{name}` must take one argument, the prompt; it takes "
            f"{', '.join(f'`{each}`' for each in required) or 'none'}",
            hint="name it `messages` to receive the whole chat",
        )
    return taken[0]


def _read_answer(answer: Any, name: str) -> Completion:
    if isinstance(answer, Completion):
        has_usage = answer.usage != Usage()
        return answer if has_usage else structs.replace(answer, usage=Usage(requests=1))
    if isinstance(answer, str):
        return Completion(text=answer, usage=Usage(requests=1))
    what = "None: is a `return` missing?" if answer is None else f"`{type(answer).__name__}`"
    raise ValueError(f"the model `{name}` must return text or a `Completion`, got {what}")


def is_model_object(value: Any) -> bool:
    """Whether a value has the methods of a model."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in _METHODS
    )


def connect_objects(models: Any) -> tuple[list[str], dict[str, Connection]]:
    """Return the names of models in order, and connections for those that are not only names."""
    given = models if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    names: list[str] = []
    connections: dict[str, Connection] = {}
    for model in given:
        if isinstance(model, str):
            names += [name for name in canonical_names(model) if name not in names]
            continue
        name, client = _as_client(model)
        if name in names:
            raise UsageError(
                f"two models are named `{name}`", hint="give one of the functions another name"
            )
        names.append(name)
        connections[name] = Connection(name=name, client=client)
    return names, connections


def _as_client(model: Any) -> tuple[str, Model]:
    if is_model_object(model):
        for attribute in ("caveat", "fingerprint"):
            if not isinstance(getattr(model, attribute, None), str):
                raise UsageError(
                    f"the model `{type(model).__name__}` has no `{attribute}`",
                    hint='`caveat = ""` and a `fingerprint` that changes when its answers may',
                )
        return str(getattr(model, "name", "") or type(model).__name__), model
    if callable(model) and not isinstance(model, type):
        return name_of(model), FunctionModel(model)
    raise UsageError(
        f"`{model!r}` is not a model",
        hint="a model is a name such as `openai/gpt-4.1-mini`, a function, or an `ew.Model`",
    )
