"""A function as a solver.

    @ew.solver
    async def check_twice(sample, model):
        answer = await model.ask(f"Capital of {sample['country']}?")
        return await model.ask(f"Is {answer} right? Reply with the name of the capital.")

A function takes `sample` (the row) and `model`, and returns the text of the answer or an
`ew.Completion`. If it is not async, it runs in a thread, and `model.ask` blocks until the model has
answered. All calls and answers are part of the trace. Retries, limits, the cache and costs apply to
each call.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from msgspec import structs
from pydantic import PrivateAttr

from evalwright.functions.decorators import (
    AnyFunction,
    Decoration,
    FunctionKind,
    Parameters,
    Result,
    call_in_thread,
    decorate,
    is_async,
    read_function,
)
from evalwright.objects import make_message, output_items
from evalwright.ports import Case
from evalwright.solvers.base import SolverSpec
from evalwright.solvers.conversation import (
    Conversation,
    ModelInput,
    conversation_answer,
    parse_role,
    raw_output,
)
from evalwright.types import NOTHING, Completion, Message, Trace

SOLVER = FunctionKind(
    noun="solver", arguments=("sample", "model"), rule="`sample` and, to query it, `model`"
)
Chat = str | Sequence[Mapping[str, str]]
"""A prompt, or messages such as `{"role": "user", "content": "…"}`."""


class AsyncModel:
    """The evaluated model, for an async solver."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._known: tuple[Message, ...] = ()
        """The messages of the conversation so far."""

    async def ask(self, chat: Chat, **parameters: object) -> str:
        """Return the answer to a prompt or a chat.

        `parameters` such as `temperature=0` become keys of the request.
        """
        messages = _read_chat(chat)
        asked = ModelInput(messages=messages, input=parameters or None)
        raw = await self._conversation.ask(asked)
        items = output_items(raw)
        new = messages
        if messages[: len(self._known)] == self._known:  # a longer chat that goes on
            new = messages[len(self._known) :]
        self._conversation.items += [make_message(each.role, each.content) for each in new]
        self._conversation.items += items
        answer = conversation_answer({"items": items, "raw_outputs": [raw]})
        self._known = (*messages, Message("assistant", answer))
        return answer


class BlockingModel:
    """The evaluated model, for a solver that is not an async function."""

    def __init__(self, model: AsyncModel, loop: asyncio.AbstractEventLoop) -> None:
        self._model, self._loop = model, loop

    def ask(self, chat: Chat, **parameters: object) -> str:
        """Return the answer to a prompt or a chat, as `AsyncModel.ask` does."""
        asking = self._model.ask(chat, **parameters)
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()


class FunctionSolver(SolverSpec):
    """A solver that calls a function."""

    type: Literal["function"] = "function"
    identity: str
    """Hash of the function and its parameters."""

    _function: AnyFunction = PrivateAttr()
    _name: str = PrivateAttr()
    _takes: tuple[str, ...] = PrivateAttr()

    @property
    def calls_model(self) -> bool:
        """Whether the function takes the model."""
        return "model" in self._takes

    async def solve(self, case: Case) -> Trace:
        """Call the function; its exception is a failure of the sample."""
        conversation = Conversation(case)
        asking = AsyncModel(conversation)
        model: Any = asking
        if not is_async(self._function):
            model = BlockingModel(asking, asyncio.get_running_loop())
        arguments = {"sample": case.sample.data, "model": model}
        returned = await call_in_thread(self._function, *(arguments[name] for name in self._takes))
        return self._build_trace(conversation, returned)

    def _build_trace(self, conversation: Conversation, returned: object) -> Trace:
        if isinstance(returned, str):
            completion = Completion(text=returned)
        elif isinstance(returned, Completion):
            completion = returned
        else:
            what = f"`{type(returned).__name__}`"
            what = "None: is a `return` missing?" if returned is None else what
            raise ValueError(  # noqa: TRY004 - what a function returned is a value
                f"the solver `{self._name}` must return the text of the answer, got {what}"
            )
        is_last_answer = conversation.items and conversation.to_json()["raw_outputs"]
        if is_last_answer and conversation_answer(conversation.to_json()) == completion.text:
            trace = conversation.trace()
        else:  # the text is the author's own: what the model said says nothing about it
            raw = raw_output(completion, "chat_completion")
            conversation.items += output_items(raw)
            conversation.raw_outputs.append(raw)
            trace = structs.replace(
                conversation.trace(),
                finish=completion.finish,
                nll=None,
                nll_tokens=0,
                confidence=None,
            )
        own = completion.usage if completion.usage.requests else NOTHING
        return structs.replace(trace, usage=trace.usage + own)


def _read_chat(chat: Chat) -> tuple[Message, ...]:
    if isinstance(chat, str):
        return (Message("user", chat),)
    if isinstance(chat, Mapping) or not all(isinstance(each, Mapping) for each in chat):
        raise ValueError(
            "`model.ask` takes a prompt, or a list of messages such as "
            '`{"role": "user", "content": "…"}`'
        )
    return tuple(
        Message(parse_role(each.get("role")), str(each.get("content", ""))) for each in chat
    )


@overload
def solver(function: Callable[Parameters, Result], /) -> Callable[Parameters, Result]: ...


@overload
def solver(
    *, name: str = "", version: int = 1, **parameters: object
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]: ...


def solver(
    function: AnyFunction | None = None, /, *, name: str = "", version: int = 1, **parameters: Any
) -> Any:
    """Mark a function as a solver; the function can still be called as before.

    The function takes `sample` and `model`, and returns the answer's text or an `ew.Completion`. In
    an async function, `await model.ask(…)` queries the model; in any other function, `model.ask(…)`
    does. Increase `version` if a change that evalwright cannot detect changes the function's
    answers. `parameters` are passed to the function.

    >>> @ew.solver(rounds=2)
    ... async def insist(sample, model, *, rounds):
    ...     for _ in range(rounds):
    ...         answer = await model.ask(f"{sample['question']} Be precise.")
    ...     return answer
    """

    def mark(function: AnyFunction) -> AnyFunction:
        decorate(SOLVER, function, Decoration(name, version, parameters))
        return function

    return mark if function is None else mark(function)


def make_solver(function: AnyFunction) -> tuple[FunctionSolver, str]:
    """Return the solver of a function, and a note if its answers are not reused."""
    read = read_function(SOLVER, function)
    function_solver = FunctionSolver(identity=read.identity)
    function_solver._function = read.call  # noqa: SLF001 - its own private attributes
    function_solver._name = read.name  # noqa: SLF001 - the same
    function_solver._takes = read.takes  # noqa: SLF001 - the same
    why = read.why_not_reused
    note = f"the answers of `{read.name}` are not reused, because {why}" if why else ""
    return function_solver, note
