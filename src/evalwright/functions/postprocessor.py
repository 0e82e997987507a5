"""A function as a postprocessor: what it makes of an answer is scored instead of the answer.

    @ew.postprocessor
    def last_line(output) -> str:
        return output.strip().splitlines()[-1]

    @ew.postprocessor
    def split_answers(sample, output):
        return [({**sample, "answer": each}, each) for each in output.split(";")]

A function takes `sample` (the row), `output` (the text of the answer) or both. It returns the text
that is scored, or a list of pairs of a row and a text, each of which is scored by itself. What is
stored is the model's own answer, so changing the function needs no new model calls.
"""

from collections.abc import Callable
from typing import Any, Literal, overload

from pydantic import PrivateAttr

from evalwright.components import Component
from evalwright.functions.decorators import (
    AnyFunction,
    Decoration,
    FunctionKind,
    Parameters,
    Result,
    call_in_thread,
    decorate,
    read_function,
)
from evalwright.objects import make_message
from evalwright.ports import Snippets
from evalwright.solvers.conversation import conversation_answer

POSTPROCESSOR = FunctionKind(
    noun="postprocessor", arguments=("sample", "output"), rule="`sample`, `output` or both"
)
_PAIR = 2


class FunctionPostprocessor(Component):
    """A postprocessor that calls a function."""

    type: Literal["function"] = "function"
    identity: str
    """Hash of the function and its parameters."""

    _function: AnyFunction = PrivateAttr()
    _name: str = PrivateAttr()
    _takes: tuple[str, ...] = PrivateAttr()

    async def apply(
        self, sample: dict[str, Any], conversation: dict[str, Any], snippets: Snippets | None
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the pairs of sample and conversation that are scored instead of this one."""
        del snippets
        arguments = {"sample": sample, "output": conversation_answer(conversation)}
        returned = await call_in_thread(self._function, *(arguments[name] for name in self._takes))
        pairs = [(sample, returned)] if isinstance(returned, str) else returned
        if not isinstance(pairs, list | tuple):
            got = f"`{type(returned).__name__}`"
            got = "None: is a `return` missing?" if returned is None else got
            raise ValueError(  # noqa: TRY004 - what a function returned is a value
                f"the postprocessor `{self._name}` must return text, or a list of pairs of a row "
                f"and a text, got {got}"
            )
        return [self._read_pair(pair, conversation) for pair in pairs]

    def _read_pair(
        self, pair: Any, conversation: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        is_pair = isinstance(pair, list | tuple) and len(pair) == _PAIR
        if not (is_pair and isinstance(pair[0], dict) and isinstance(pair[1], str)):
            raise ValueError(
                f"the postprocessor `{self._name}` must return pairs of a row and a text, got "
                f"`{pair!r:.80}`"
            )
        row, text = pair
        return row, _replace_answer(conversation, text)


def _replace_answer(conversation: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the conversation with another text as the last answer."""
    items = [*conversation["items"]]
    if items and items[-1].get("role") == "assistant":
        items.pop()
    items.append(make_message("assistant", text))
    raw = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return {**conversation, "items": items, "raw_outputs": [*conversation["raw_outputs"][:-1], raw]}


@overload
def postprocessor(function: Callable[Parameters, Result], /) -> Callable[Parameters, Result]: ...


@overload
def postprocessor(
    *, name: str = "", version: int = 1, **parameters: object
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]: ...


def postprocessor(
    function: AnyFunction | None = None, /, *, name: str = "", version: int = 1, **parameters: Any
) -> Any:
    """Mark a function as a postprocessor; the function can still be called as before.

    The function takes `sample`, `output` or both, and returns the text to score, or a list of
    `(row, text)` pairs, each of which is scored separately. Answers are stored unchanged, so
    changing the postprocessor needs no new model calls. `parameters` are passed to the function.

    >>> @ew.postprocessor
    ... def last_line(output):
    ...     return output.strip().splitlines()[-1]
    """

    def mark(function: AnyFunction) -> AnyFunction:
        decorate(POSTPROCESSOR, function, Decoration(name, version, parameters))
        return function

    return mark if function is None else mark(function)


def make_postprocessor(function: AnyFunction) -> FunctionPostprocessor:
    """Return the postprocessor of a function."""
    read = read_function(POSTPROCESSOR, function)
    function_postprocessor = FunctionPostprocessor(identity=read.identity)
    function_postprocessor._function = read.call  # noqa: SLF001 - its own private attributes
    function_postprocessor._name = read.name  # noqa: SLF001 - the same
    function_postprocessor._takes = read.takes  # noqa: SLF001 - the same
    return function_postprocessor
