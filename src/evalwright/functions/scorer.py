"""A function as a scorer.

    @ew.scorer
    def mentions_city(sample, output) -> bool:
        return sample["city"] in output

    @ew.scorer(name="brief", version=2, limit=50)
    def count_words(sample, output, *, limit) -> dict:
        words = len(output.split())
        return {"is_brief": words <= limit, "words": words}

A function takes `sample` (the row) and `output` (the text of the answer), or only `sample` for a
task without a model, and also `trace` if it needs the whole conversation. It returns a number or a
boolean, which is the score `score`. If it is annotated with `-> dict` or `-> ew.Score`, it returns
several named scores. It may be async.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, overload

from pydantic import PrivateAttr

from evalwright.functions.decorators import (
    AnyFunction,
    Decoration,
    FunctionKind,
    Parameters,
    Result,
    decorate,
    read_function,
    returns_type,
)
from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, answer_text, parse_score, short
from evalwright.types import Score

SCORER = FunctionKind(
    noun="scorer",
    arguments=("sample", "output", "trace"),
    rule="`sample`, `output` and, if it needs the conversation, `trace`",
)
_SEVERAL = {"dict", "Dict", "Mapping", "Score"}
"""Annotated results that may hold several scores."""


class FunctionScorer(ScorerSpec):
    """A scorer that calls a function."""

    type: Literal["function"] = "function"
    identity: str
    """Hash of the function and its parameters."""
    version: ClassVar[int] = 1

    _function: AnyFunction = PrivateAttr()
    _takes: tuple[str, ...] = PrivateAttr()

    async def score(self, case: Case) -> Score:
        """Call the function; its exception is a failure of this score."""
        try:
            returned = self._function(*(read_argument(name, case) for name in self._takes))
            if inspect.isawaitable(returned):
                returned = await returned
        except KeyError as error:
            raise _explain_missing_key(error, self.key, case) from error
        return self._read(returned)

    def _read(self, returned: Any) -> Score:
        if isinstance(returned, Score):
            return returned
        return parse_score(returned, where=f"the scorer `{self.key}`")


def _explain_missing_key(error: KeyError, scorer: str | None, case: Case) -> LookupError:
    """Return an error that names the columns, if the key is not one of them."""
    if error.args and error.args[0] not in case.sample.data:
        columns = ", ".join(f"`{column}`" for column in case.sample.data)
        return LookupError(
            f"the scorer `{scorer}` found no {error.args[0]!r}; the row has {columns}"
        )
    return error


class NumberScorer(FunctionScorer):
    """A function that returns one number or boolean."""

    score_names: ClassVar[tuple[str, ...] | None] = ("score",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "score"),)

    def _read(self, returned: Any) -> Score:
        value = returned.item() if hasattr(returned, "item") else returned  # a number of numpy
        if isinstance(value, bool):
            return Score(values={"score": value}, correct=value)
        if isinstance(value, int | float) and math.isfinite(value):
            return Score(values={"score": value}, correct=bool(value) if value in {0, 1} else None)
        if isinstance(value, dict | Score):
            raise ValueError(  # noqa: TRY004 - what a function returned is a value
                f"the scorer `{self.key}` returned several scores: annotate it with `-> dict`"
            )
        what = "None: is a `return` missing?" if returned is None else short(returned)
        raise ValueError(f"the scorer `{self.key}` must return a number or a boolean, got {what}")


@overload
def scorer(function: Callable[Parameters, Result], /) -> Callable[Parameters, Result]: ...


@overload
def scorer(
    *, name: str = "", version: int = 1, **parameters: object
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]: ...


def scorer(
    function: AnyFunction | None = None, /, *, name: str = "", version: int = 1, **parameters: Any
) -> Any:
    """Mark a function as a scorer; the function can still be called as before.

    The function takes `sample`, `output` or both, and `trace` if it needs the conversation. It
    returns a number or a boolean; a function annotated with `-> dict` returns several scores by
    name. `name` is the scorer's name in reports. Increase `version` if a change that evalwright
    cannot detect changes the function's scores. `parameters` are passed to the function.

    >>> @ew.scorer(name="brief", limit=3)
    ... def count_words(sample, output, *, limit):
    ...     return len(output.split()) <= limit
    """

    def mark(function: AnyFunction) -> AnyFunction:
        decorate(SCORER, function, Decoration(name, version, parameters))
        return function

    return mark if function is None else mark(function)


def make_scorer(function: AnyFunction) -> tuple[FunctionScorer, str]:
    """Return the scorer of a function, and a note if its scores are not reused."""
    read = read_function(SCORER, function)
    kind = FunctionScorer if returns_type(function) in _SEVERAL else NumberScorer
    function_scorer = kind(key=read.name, identity=read.identity)
    function_scorer._function = read.call  # noqa: SLF001 - its own private attributes
    function_scorer._takes = read.takes  # noqa: SLF001 - the same
    why = read.why_not_reused
    note = f"the scores of `{read.name}` are not reused, because {why}" if why else ""
    return function_scorer, note


def read_argument(name: str, case: Case) -> Any:
    """Return what a function gets as `sample`, `output` or `trace`."""
    if name == "sample":
        return case.sample.data
    if name == "output":
        return answer_text(case)
    return SolverTrace.from_json(case.trace.conversation)
