"""A function as a scorer.

    @ew.scorer
    def mentions_city(sample, output):
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
from functools import partial
from secrets import token_hex
from typing import Any, ClassVar, Literal, overload

from pydantic import PrivateAttr

from evalwright.errors import UsageError
from evalwright.functions.identity import NoIdentity, hash_function, name_of
from evalwright.objects import SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, answer_text, parse_score, short
from evalwright.types import Score

ScoreFunction = Callable[..., Any]
_PARAMETERS = ("sample", "output", "trace")
_DECORATED = "evalwright_scorer"


class FunctionScorer(ScorerSpec):
    """A scorer that calls a function."""

    type: Literal["function"] = "function"
    identity: str
    """Hash of the function and its parameters."""
    version: ClassVar[int] = 1

    _function: ScoreFunction = PrivateAttr()
    _takes: tuple[str, ...] = PrivateAttr()

    async def score(self, case: Case) -> Score:
        """Call the function; its exception is a failure of this score."""
        returned = self._function(*(_argument(name, case) for name in self._takes))
        if inspect.isawaitable(returned):
            returned = await returned
        return self._read(returned)

    def _read(self, returned: Any) -> Score:
        if isinstance(returned, Score):
            return returned
        return parse_score(returned, where=f"the scorer `{self.key}`")


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


class ScorerOptions:
    """What `@ew.scorer` was given."""

    def __init__(self, name: str, version: int, parameters: dict[str, Any]) -> None:
        self.name, self.version, self.parameters = name, version, parameters


@overload
def scorer(function: ScoreFunction, /) -> ScoreFunction: ...


@overload
def scorer(
    *, name: str = "", version: int = 1, **parameters: Any
) -> Callable[[ScoreFunction], ScoreFunction]: ...


def scorer(
    function: ScoreFunction | None = None, /, *, name: str = "", version: int = 1, **parameters: Any
) -> Any:
    """Mark a function as a scorer; it can still be called as before.

    `name` is the scorer's name in reports. Increase `version` if a change that evalwright cannot
    see changes its scores. `parameters` are passed to the function.

    >>> @ew.scorer(name="brief", limit=3)
    ... def count_words(sample, output, *, limit):
    ...     return len(output.split()) <= limit
    """

    def mark(function: ScoreFunction) -> ScoreFunction:
        options = ScorerOptions(name or name_of(function), version, parameters)
        _check_parameters(function, options)
        setattr(function, _DECORATED, options)
        return function

    return mark if function is None else mark(function)


def make_scorer(function: ScoreFunction) -> tuple[FunctionScorer, str]:
    """Return the scorer of a function, and why its scores are not reused, if they are not."""
    options = getattr(function, _DECORATED, None) or ScorerOptions(name_of(function), 1, {})
    takes = _check_parameters(function, options)
    called = partial(function, **options.parameters) if options.parameters else function
    note = ""
    try:
        identity = f"{options.version} {hash_function(called)}"
    except NoIdentity as error:
        identity = token_hex(8)
        note = f"the scores of `{options.name}` are not reused, because {error}"
    kind = FunctionScorer if _returns_several(function) else NumberScorer
    made = kind(key=options.name, identity=identity)
    made._function, made._takes = called, takes  # noqa: SLF001 - its own private attributes
    return made, note


def _returns_several(function: ScoreFunction) -> bool:
    try:
        returns = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return False
    name = returns if isinstance(returns, str) else getattr(returns, "__name__", "")
    return name.partition("[")[0].rpartition(".")[2] in {"dict", "Dict", "Mapping", "Score"}


def _check_parameters(function: ScoreFunction, options: ScorerOptions) -> tuple[str, ...]:
    """Return the arguments that a function takes; `UsageError` if it takes others."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ("sample", "output")
    required = [
        each.name
        for each in parameters.values()
        if each.default is each.empty
        and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
        and each.name not in options.parameters
    ]
    named = [name for name in parameters if name in _PARAMETERS]
    unknown = [name for name in required if name not in _PARAMETERS]
    missing = [name for name in options.parameters if name not in parameters]
    if unknown or missing or not named:
        raise UsageError(
            f"the scorer `{options.name}` "
            + (
                f"takes `{unknown[0]}`, which it is not given"
                if unknown
                else f"does not take `{missing[0]}`"
                if missing
                else "takes no argument"
            ),
            hint="a scorer takes `sample`, `output` and, if it needs the conversation, `trace`; "
            "other parameters are set with `@ew.scorer(NAME=VALUE)`",
        )
    return tuple(named)


def _argument(name: str, case: Case) -> Any:
    if name == "sample":
        return case.sample.data
    if name == "output":
        return answer_text(case)
    return SolverTrace.from_json(case.trace.conversation)
