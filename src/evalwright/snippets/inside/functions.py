"""An author's sources, made into modules when one of their functions is first asked for.

A function gets as many of the arguments as it takes, the first ones. While a source is loaded, and
after, the folder of its file comes first in `sys.path`: it may import its neighbours, as a script
may. Sources do not share names, but they share `sys.modules`, as all of one process do.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .failed import Failed, described

Objects = Callable[[], ModuleType]
"""Where the classes that an author's function gets are: asked for when one is needed."""

KINDS = frozenset({"", "Model", "SampleScores", "SolverTrace", "SolverTraces"})
"""What an argument may become."""


class Sources:
    """Every source of a project, by its key."""

    def __init__(self, sources: Mapping[str, Mapping[str, Any]], objects: Objects) -> None:
        self.objects = objects
        self._functions: dict[tuple[str, str, tuple[str, ...]], Function] = {}
        self._sources = {
            key: _Source(f"snippet_{number}", **source)
            for number, (key, source) in enumerate(sources.items())
        }

    def function(self, key: str, name: str, objects: Sequence[str]) -> "Function":
        """A function that gets such objects; `Failed` if there is none that can be called."""
        known = (key, name, tuple(objects))
        if known not in self._functions:
            found, place = self._sources[key].find(name)
            makers = [self._maker(kind) for kind in objects]
            self._functions[known] = Function(found, place, makers)
        return self._functions[known]

    def is_loaded(self, key: str) -> bool:
        """Whether the top level of a source has run."""
        return self._sources[key].is_loaded

    def _maker(self, kind: str) -> Callable[[Any], Any] | None:
        if kind == "SolverTrace":
            made: Callable[[Any], Any] = self.objects().SolverTrace.from_json
            return made
        if kind == "SolverTraces":
            each = self.objects().SolverTrace.from_json
            return lambda traces: [each(one) for one in traces]
        if kind == "SampleScores":
            one = self.objects().SampleScore.from_json
            return lambda scores: [one(score) for score in scores]
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
        self._taken: dict[int, int | Failed] = {}

    def call(self, arguments: list[Any]) -> Any:
        """What it returns, or the awaitable of it; `Failed` with what it raises."""
        try:
            return self._function(*self._made(arguments))
        except Failed:
            raise
        except BaseException as error:  # noqa: BLE001 - an author's function may raise anything
            raise described(error, self.place) from None

    async def wait(self, awaitable: Awaitable[Any]) -> Any:
        """What it returns at last; `Failed` with what it raises, if nobody cancels it."""
        try:
            return await awaitable
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise described(error, self.place) from None

    def _made(self, arguments: list[Any]) -> list[Any]:
        given = len(arguments)
        taken = self._taken.get(given)
        if taken is None:
            taken = self._taken[given] = self._takes(given)
        if isinstance(taken, Failed):
            raise taken.again()
        if taken < given:
            arguments = arguments[:taken]
        if not self._plain:
            pairs = zip(arguments, self._padded(taken), strict=True)
            arguments = [make(one) if make else one for one, make in pairs]
        return arguments

    def _padded(self, count: int) -> Iterable[Callable[[Any], Any] | None]:
        return [*self._makers[:count], *[None] * (count - len(self._makers))]

    def _takes(self, given: int) -> "int | Failed":
        """How many of so many arguments it gets."""
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (TypeError, ValueError):  # some of C's do not tell
            return given
        places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, _EITHER)]
        required = [one.name for one in places if one.default is one.empty]
        named = [
            one.name
            for one in parameters
            if one.kind is one.KEYWORD_ONLY and one.default is one.empty
        ]
        if len(required) > given or named:
            wanted = ", ".join(f"`{name}`" for name in required + named)
            most = f"{given} argument{'s'[: given != 1]}"
            problem = f"expected a function of {most}, got one that requires {wanted}"
            return Failed("TypeError", f"{self.place}: {problem}")
        if any(one.kind is one.VAR_POSITIONAL for one in parameters):
            return given
        return min(given, len(places))


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


class _Source:
    def __init__(self, name: str, *, text: str, path: str, line: int, folder: str) -> None:
        self._name, self._text, self._path, self._line = name, text, path, line
        self._folder = folder
        self._module: ModuleType | Failed | None = None

    @property
    def is_loaded(self) -> bool:
        return self._module is not None

    def find(self, function: str) -> tuple[Callable[..., Any], str]:
        if self._module is None:
            self._module = self._load()
        if isinstance(self._module, Failed):
            raise self._module.again()
        found = getattr(self._module, function, None)
        if callable(found):
            return found, self._place(found, function)
        text = f"{self._path}:{self._line}: expected a function `{function}`, got "
        raise Failed("NameError", text + ("none" if found is None else f"`{type(found).__name__}`"))

    def _place(self, found: Any, name: str) -> str:
        code = getattr(inspect.unwrap(found), "__code__", None)
        own = code is not None and code.co_filename == self._path
        line = code.co_firstlineno if code is not None and own else self._line
        return f"{self._path}:{line} in {name}"

    def _load(self) -> "ModuleType | Failed":
        module = ModuleType(self._name)
        sys.modules[self._name] = module  # where dataclasses, pickle and typing look for it
        module.__file__ = self._path
        if self._folder:
            sys.path[:] = [self._folder, *(one for one in sys.path if one != self._folder)]
        try:
            # Lines are counted as in the file that the source stands in.
            text = "\n" * (self._line - 1) + self._text
            exec(compile(text, self._path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what this is for
        except BaseException as error:  # noqa: BLE001 - an author's module may raise anything
            return described(error, f"{self._path}:{self._line}", loading=True)
        return module
