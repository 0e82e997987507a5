"""Load an author's sources as modules when one of their functions is first called.

A function receives as many of the arguments as it accepts, starting with the first. When a source
is loaded, the folder of its file is put first in `sys.path`, so that it can import modules next to
it, like a script. Sources do not share names, but they share `sys.modules`.

Authors may write `from latticeflow.core.dtypes import SolverTrace`. `ImportAliases` is the last
finder, so the real package is imported if it is installed. Annotations are not evaluated, so they
may name classes that are not imported. A function may receive a model:

    response = await model.predict(trace.items)     in an `async def`
    response = model.predict("Why?")                in a `def`, which waits
"""

import __future__

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from inspect import Parameter
from itertools import zip_longest
from types import ModuleType
from typing import Any

from .results import CallFailed, describe_exception, encode_result
from .secrets import fill_secrets

Objects = Callable[[], ModuleType]
"""Imports the classes of an author's arguments when they are first needed."""

_CLASSES = {
    "SampleScores": "SampleScore",
    "SolverTrace": "SolverTrace",
    "SolverTraces": "SolverTrace",
}
KINDS = frozenset({"", "Model", *_CLASSES})
"""Classes of arguments. A plural name is a list."""

Ask = Callable[[bytes], "asyncio.Future[Any] | Future[Any]"]
"""Takes input and keyword arguments as a JSON list; returns a future of the raw output.

Code in the event loop receives an asyncio future; other code receives a thread-safe future.
"""

_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_KEYWORD_ONLY = Parameter.KEYWORD_ONLY
_MAX_QUESTION_BYTES = 1024**3
_VENDOR = "latticeflow"
_LAZY_ANNOTATIONS = __future__.annotations.compiler_flag


class Sources:
    """All sources of a project, by key."""

    def __init__(self, sources: Mapping[str, Mapping[str, Any]], objects: Objects) -> None:
        self.objects = objects
        self._functions: dict[tuple[str, str, tuple[str, ...]], Function] = {}
        self._sources = {
            key: _LoadedSource(f"snippet_{number}", **source)
            for number, (key, source) in enumerate(sources.items())
        }

    def find_function(self, key: str, name: str, objects: Sequence[str]) -> "Function":
        """Return a function that receives these objects; `CallFailed` if it cannot be called."""
        known = (key, name, tuple(objects))
        if known not in self._functions:
            function, place = self._sources[key].find(name)
            makers = [self._find_maker(kind) for kind in objects]
            self._functions[known] = Function(function, place, makers)
        return self._functions[known]

    def needs_loading(self, key: str) -> bool:
        """Whether the top level of a source has not run yet."""
        return self._sources[key].module is None

    def _find_maker(self, kind: str) -> Callable[[Any], Any] | None:
        if kind not in _CLASSES:
            return None
        make: Callable[[Any], Any] = getattr(self.objects(), _CLASSES[kind]).from_json
        return make if kind in _CLASSES.values() else lambda items: [make(item) for item in items]


class Function:
    """An author's function and the conversion of its arguments."""

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
        """Call the function; return its value or awaitable. Its exceptions become `CallFailed`."""
        try:
            return self._function(*self._prepare(arguments))
        except CallFailed:
            raise
        except BaseException as error:  # noqa: BLE001 - an author's function may raise anything
            raise describe_exception(error, self.place) from None

    async def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Await the value. Exceptions become `CallFailed`, except cancellation."""
        try:
            return await awaitable
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise describe_exception(error, self.place) from None

    def _prepare(self, arguments: list[Any]) -> list[Any]:
        count = len(arguments)
        taken = self._taken.get(count)
        if taken is None:
            taken = self._taken[count] = self._count_taken(count)
        if isinstance(taken, CallFailed):
            raise taken.copy()
        if taken < count:
            arguments = arguments[:taken]
        if not self._plain:
            pairs = zip_longest(arguments, self._makers[:taken])
            arguments = [make(argument) if make else argument for argument, make in pairs]
        return arguments

    def _count_taken(self, count: int) -> "int | CallFailed":
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (TypeError, ValueError):  # some C functions have no signature
            return count
        places = [parameter for parameter in parameters if parameter.kind in _PLACES]
        mandatory = [parameter for parameter in parameters if parameter.default is Parameter.empty]
        required = [parameter.name for parameter in mandatory if parameter.kind in _PLACES]
        named = [parameter.name for parameter in mandatory if parameter.kind is _KEYWORD_ONLY]
        if len(required) > count or named:
            wanted = ", ".join(f"`{name}`" for name in required + named)
            most = f"{count} argument{'s'[: count != 1]}"
            problem = f"expected a function that takes {most}, but it requires {wanted}"
            return CallFailed("TypeError", f"{self.place}: {problem}")
        if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
            return count
        return min(count, len(places))


class _LoadedSource:
    def __init__(
        self,
        name: str,
        *,
        text: str,
        path: str,
        line: int,
        folder: str,
        secrets: Sequence[Sequence[str]] = (),
    ) -> None:
        self._name, self._text, self._path, self._line = name, text, path, line
        self._folder, self._secrets = folder, secrets
        self.module: ModuleType | CallFailed | None = None

    def find(self, name: str) -> tuple[Callable[..., Any], str]:
        if self.module is None:
            self.module = self._load()
        if isinstance(self.module, CallFailed):
            raise self.module.copy()
        function = getattr(self.module, name, None)
        if callable(function):
            return function, self._describe_place(function, name)
        got = "none" if function is None else f"`{type(function).__name__}`"
        text = f"{self._path}:{self._line}: expected a function `{name}`, got {got}"
        raise CallFailed("NameError", text)

    def _describe_place(self, function: Any, name: str) -> str:
        code: Any = getattr(inspect.unwrap(function), "__code__", None)
        is_own_code = code is not None and code.co_filename == self._path
        line = code.co_firstlineno if is_own_code else self._line
        return f"{self._path}:{line} in {name}"

    def _load(self) -> "ModuleType | CallFailed":
        module = ModuleType(self._name)
        sys.modules[self._name] = module  # dataclasses, pickle and typing look it up there
        module.__file__ = self._path
        if self._folder:
            sys.path[:] = [self._folder, *(entry for entry in sys.path if entry != self._folder)]
        try:
            # Line numbers match the file of the source.
            text = "\n" * (self._line - 1) + self._text
            source = fill_secrets(text, self._path, self._secrets) if self._secrets else text
            code = compile(source, self._path, "exec", flags=_LAZY_ANNOTATIONS, dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - runs the author's code
        except BaseException as error:  # noqa: BLE001 - an author's module may raise anything
            return describe_exception(error, f"{self._path}:{self._line}", loading=True)
        return module


class SnippetModel:
    """The evaluated model, as an author's function receives it."""

    def __init__(self, ask: Ask, objects: Objects) -> None:
        self._ask = ask
        self._objects = objects

    def predict(self, items: Any, *, sample: Any = None, **kwargs: Any) -> Any:
        """Return a `ModelResponse`, or an awaitable if an event loop is running."""
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
        return self._objects().ModelResponse.from_json({"raw_output": raw_output})


class ImportAliases(MetaPathFinder, Loader):
    """Import finder of substitutes for modules that are not installed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def install(self) -> None:
        """Install the finder after all others."""
        sys.meta_path.append(self)

    def remove(self) -> None:
        """Remove the finder and the substitutes."""
        sys.meta_path.remove(self)
        for name in self._names().MODULES:
            module = sys.modules.get(name)
            if module is not None and getattr(module.__spec__, "loader", None) is self:
                del sys.modules[name]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a substitute for a known name."""
        del path, target
        if not name.startswith(_VENDOR) or name not in (modules := self._names().MODULES):
            return None
        return ModuleSpec(name, self, is_package=not modules[name])

    def exec_module(self, module: ModuleType) -> None:
        """Set up a substitute, whose names are looked up when they are first imported."""
        names, objects, name = self._names(), self._objects().__name__, module.__name__
        module.__dict__["__all__"] = names.list_names(name) if names.MODULES[name] else []

        def find(wanted: str) -> Any:
            module_name = names.find_home(name, wanted)
            if module_name is None:
                raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
            return getattr(import_module(f"{objects}.{module_name}"), wanted)

        module.__dict__["__getattr__"] = find
        module.__dict__["__dir__"] = lambda: module.__dict__["__all__"]

    def _names(self) -> ModuleType:
        return import_module(f"{self._objects().__name__}.names")
