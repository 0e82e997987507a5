"""An author's sources, made into modules when one of their functions is first answer for.

A function gets as many of the arguments as it takes, the first ones. While a source is loaded, and
after, the folder of its file comes first in `sys.path`: it may import its neighbours, as a script
may. Sources do not share names, but they share `sys.modules`, as all of one process do.

Authors import `from latticeflow.core.dtypes import SolverTrace`: `ImportAliases` is found last, so
where the real package is installed it is the one that is imported. A function may get a model:

    response = await model.predict(trace.items)     in an `async def`
    response = model.predict("Why?")                in a `def`, which waits
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .results import CallFailed, describe_exception, encode_result

Objects = Callable[[], ModuleType]
"""Where the classes that an author's function gets are: answer for when one is needed."""

KINDS = frozenset({"", "Model", "SampleScores", "SolverTrace", "SolverTraces"})
"""What an argument may become."""

Ask = Callable[[bytes], "asyncio.Future[Any] | Future[Any]"]
"""Input and keyword arguments in, as a JSON list, the raw output later.

To one who runs in the loop that answers, a future of that loop; to others, one for any thread.
"""

_MAX_QUESTION_BYTES = 1024**3
_PACKAGES = {
    "latticeflow",
    "latticeflow.assessment",
    "latticeflow.core",
    "latticeflow.core.experimental",
}
_DTYPES = {"latticeflow.assessment.dtypes", "latticeflow.core.dtypes"}
_SCORERS = "latticeflow.core.experimental.scorers"


class Sources:
    """Every source of a project, by its key."""

    def __init__(self, sources: Mapping[str, Mapping[str, Any]], objects: Objects) -> None:
        self.objects = objects
        self._functions: dict[tuple[str, str, tuple[str, ...]], Function] = {}
        self._sources = {
            key: _LoadedSource(f"snippet_{number}", **source)
            for number, (key, source) in enumerate(sources.items())
        }

    def function(self, key: str, name: str, objects: Sequence[str]) -> "Function":
        """A function that gets such objects; `CallFailed` if there is none that can be called."""
        known = (key, name, tuple(objects))
        if known not in self._functions:
            found, place = self._sources[key].find(name)
            makers = [self._find_maker(kind) for kind in objects]
            self._functions[known] = Function(found, place, makers)
        return self._functions[known]

    def is_loaded(self, key: str) -> bool:
        """Whether the top level of a source has run."""
        return self._sources[key].is_loaded

    def _find_maker(self, kind: str) -> Callable[[Any], Any] | None:
        if kind == "SolverTrace":
            made: Callable[[Any], Any] = self.objects().SolverTrace.from_json
            return made
        if kind == "SolverTraces":
            make_trace = self.objects().SolverTrace.from_json
            return lambda traces: [make_trace(trace) for trace in traces]
        if kind == "SampleScores":
            make_score = self.objects().SampleScore.from_json
            return lambda scores: [make_score(score) for score in scores]
        return None


class Function:
    """One of an author's functions, and how it is given its arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        place: str,
        makers: Sequence[Callable[[Any], Any] | None],
    ) -> None:
        self.place = place
        self.is_async = inspect.iscoroutinefunction(function)
        self._function = function
        self._makers = makers
        self._plain = not any(makers)
        self._taken: dict[int, int | CallFailed] = {}

    def call(self, arguments: list[Any]) -> Any:
        """What it returns, or the awaitable of it; `CallFailed` with what it raises."""
        try:
            return self._function(*self._prepare(arguments))
        except CallFailed:
            raise
        except BaseException as error:  # noqa: BLE001 - an author's function may raise anything
            raise describe_exception(error, self.place) from None

    async def wait(self, awaitable: Awaitable[Any]) -> Any:
        """What it returns at last; `CallFailed` with what it raises, if nobody cancels it."""
        try:
            return await awaitable
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise describe_exception(error, self.place) from None

    def _prepare(self, arguments: list[Any]) -> list[Any]:
        given = len(arguments)
        taken = self._taken.get(given)
        if taken is None:
            taken = self._taken[given] = self._count_taken(given)
        if isinstance(taken, CallFailed):
            raise taken.copy()
        if taken < given:
            arguments = arguments[:taken]
        if not self._plain:
            pairs = zip(arguments, self._pad_makers(taken), strict=True)
            arguments = [make(argument) if make else argument for argument, make in pairs]
        return arguments

    def _pad_makers(self, count: int) -> Iterable[Callable[[Any], Any] | None]:
        return [*self._makers[:count], *[None] * (count - len(self._makers))]

    def _count_taken(self, given: int) -> "int | CallFailed":
        """How many of so many arguments it gets."""
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (TypeError, ValueError):  # some of C's do not tell
            return given
        places = [
            parameter
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_ONLY, _EITHER)
        ]
        required = [parameter.name for parameter in places if parameter.default is parameter.empty]
        named = [
            parameter.name
            for parameter in parameters
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
        ]
        if len(required) > given or named:
            wanted = ", ".join(f"`{name}`" for name in required + named)
            most = f"{given} argument{'s'[: given != 1]}"
            problem = f"expected a function of {most}, got one that requires {wanted}"
            return CallFailed("TypeError", f"{self.place}: {problem}")
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
            return given
        return min(given, len(places))


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


class _LoadedSource:
    def __init__(self, name: str, *, text: str, path: str, line: int, folder: str) -> None:
        self._name, self._text, self._path, self._line = name, text, path, line
        self._folder = folder
        self._module: ModuleType | CallFailed | None = None

    @property
    def is_loaded(self) -> bool:
        return self._module is not None

    def find(self, function: str) -> tuple[Callable[..., Any], str]:
        if self._module is None:
            self._module = self._load()
        if isinstance(self._module, CallFailed):
            raise self._module.copy()
        found = getattr(self._module, function, None)
        if callable(found):
            return found, self._describe_place(found, function)
        text = f"{self._path}:{self._line}: expected a function `{function}`, got "
        raise CallFailed(
            "NameError", text + ("none" if found is None else f"`{type(found).__name__}`")
        )

    def _describe_place(self, found: Any, name: str) -> str:
        code = getattr(inspect.unwrap(found), "__code__", None)
        own = code is not None and code.co_filename == self._path
        line = code.co_firstlineno if code is not None and own else self._line
        return f"{self._path}:{line} in {name}"

    def _load(self) -> "ModuleType | CallFailed":
        module = ModuleType(self._name)
        sys.modules[self._name] = module  # where dataclasses, pickle and typing look for it
        module.__file__ = self._path
        if self._folder:
            sys.path[:] = [self._folder, *(entry for entry in sys.path if entry != self._folder)]
        try:
            # Lines are counted as in the file that the source stands in.
            text = "\n" * (self._line - 1) + self._text
            exec(compile(text, self._path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what this is for
        except BaseException as error:  # noqa: BLE001 - an author's module may raise anything
            return describe_exception(error, f"{self._path}:{self._line}", loading=True)
        return module


class Model:
    """The evaluated model."""

    def __init__(self, ask: Ask, objects: Objects) -> None:
        self._ask = ask
        self._objects = objects

    def predict(self, items: Any, *, sample: Any = None, **kwargs: Any) -> Any:
        """A `ModelResponse`: to be awaited where something can be awaited, else at once."""
        if sample is not None:
            kwargs["sample"] = sample
        try:
            question = encode_result([items, kwargs], "model.predict", _MAX_QUESTION_BYTES)
        except CallFailed as failed:
            raise TypeError(str(failed)) from None
        answer = self._ask(question)
        if isinstance(answer, asyncio.Future):
            return self._await_response(answer)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._make_response(answer.result())
        return self._await_response(asyncio.wrap_future(answer))

    async def _await_response(self, answer: "asyncio.Future[Any]") -> Any:
        return self._make_response(await answer)

    def _make_response(self, raw_output: Any) -> Any:
        return self._objects().ModelResponse.from_json(raw_output)


class ScorerBase:
    """What a scorer of an author's own may be derived from."""

    def compute_scores(self, sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
        """The scores of one sample."""
        raise NotImplementedError(f"{type(self).__name__} defines no `compute_scores`")


class ImportAliases(MetaPathFinder, Loader):
    """Finds stand-ins for modules that are not installed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def install(self) -> None:
        """Be answer, after everybody else."""
        sys.meta_path.append(self)

    def remove(self) -> None:
        """Be answer no more, and leave nothing behind."""
        sys.meta_path.remove(self)
        for name in [*_PACKAGES, *_DTYPES, _SCORERS]:
            module = sys.modules.get(name)
            if module is not None and getattr(module.__spec__, "loader", None) is self:
                del sys.modules[name]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A stand-in, for the names that we know."""
        del path, target
        if name in _PACKAGES:
            return ModuleSpec(name, self, is_package=True)
        if name in _DTYPES or name == _SCORERS:
            return ModuleSpec(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a stand-in."""
        if module.__name__ in _DTYPES:
            objects = self._objects()
            module.__dict__.update({name: getattr(objects, name) for name in objects.AUTHORS})
        elif module.__name__ == _SCORERS:
            module.__dict__["ScorerBase"] = ScorerBase
