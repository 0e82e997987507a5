"""Call an author's functions: the script that `process` starts, once for many calls.

Engine and child speak over a socket of their own, one JSON value a line:

    engine   {"sources": {name: {text, path, line}}, "limits": {...}, "max_bytes": n}      once
    child    {"type": "ready"}
    engine   {"source": "...", "function": "...", "count": 2, "load_s": 60.0, "timeout_s": 3.0}
    engine   [sample, output]                      the arguments of a call, `count` times
    child    {"type": "loaded"}                    the source's top level has run, well or not
    child    {"type": "value", "value": ...}       or {"type": "error", ...}; one for each call

Whatever the author's code does to its standard streams, the socket is not one of them. A copy of
this process that the code forks has no say. The alarm and the limit on CPU time are for an orphan:
whoever keeps the deadline may be killed.

Imports nothing of ours: it runs in the author's interpreter.
"""

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import IO, Any, NoReturn

_MAX_MESSAGE = 4000
_MAX_FRAMES = 20
_MAX_DEPTH = 200
_ORPHAN_S = 30
_LIBRARY = os.path.dirname(os.__file__)  # noqa: PTH120 - frames have paths as text


class Server:
    """The child's end of the socket."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._lines = open(channel, "rb", closefd=False)  # noqa: SIM115 - as long as the process
        self._pid = os.getpid()
        self._streams = _Streams()
        self._sources: dict[str, _Source] = {}
        self._loop: Any = None
        self._cpu_s = 1
        self._max_bytes = 0

    def serve(self) -> NoReturn:
        """Answer until the engine goes away."""
        orders = self._read()
        self._max_bytes = orders["max_bytes"]
        self._limit(orders["limits"])
        for number, (name, source) in enumerate(orders["sources"].items()):
            self._sources[name] = _Source(f"snippet_{number}", **source)
        self._say({"type": "ready"})
        while True:
            order = self._read()
            with self._held(order["load_s"]):
                function = self._sources[order["source"]].find(order["function"])
            self._say({"type": "loaded"})
            for _ in range(order["count"]):
                arguments = self._read()
                with self._held(order["timeout_s"]):
                    answer = self._call(function, arguments)
                self._send(answer)

    def _call(self, function: Any, arguments: list[Any]) -> bytes:
        if isinstance(function, _Unusable):
            return _encode(function.error)
        try:
            value = function(*arguments)
            if isinstance(value, Awaitable):
                value = self._wait(value)
        except BaseException as error:  # noqa: BLE001 - an author's function may raise anything
            return _encode(_describe(error, "raised"))
        try:
            answer = _encode({"type": "value", "value": value})
        except BaseException as error:  # noqa: BLE001 - a value may be of any class, or too deep
            return _encode(_not_json(value, error))
        if len(answer) > self._max_bytes:
            text = f"the result has {len(answer)} bytes, at most {self._max_bytes} are taken"
            return _encode(_error("result", "ValueError", text))
        return answer

    def _wait(self, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            import asyncio

            # One for all calls: what a function keeps from call to call belongs to its loop.
            self._loop = asyncio.new_event_loop()

        async def wait() -> Any:
            return await awaitable

        return self._loop.run_until_complete(wait())

    def _limit(self, limits: dict[str, int]) -> None:
        self._cpu_s = limits.pop("cpu_s")
        for name, value in limits.items():
            _set_limit(getattr(resource, name), value, hard=True)

    @contextmanager
    def _held(self, timeout_s: float) -> Iterator[None]:
        """Of CPU time all that a deadline allows on all cores, and a little more."""
        self._streams.restore()
        allowed = (math.ceil(timeout_s) + self._cpu_s) * (os.cpu_count() or 1)
        _set_limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + allowed, hard=False)
        signal.setitimer(signal.ITIMER_REAL, timeout_s + _ORPHAN_S)
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._streams.flush()

    def _read(self) -> Any:
        line = self._lines.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def _say(self, record: dict[str, Any]) -> None:
        self._send(_encode(record))

    def _send(self, line: bytes) -> None:
        if os.getpid() != self._pid:
            os._exit(0)
        unsent = memoryview(line)
        while unsent:
            unsent = unsent[os.write(self._channel, unsent) :]


class _Source:
    """A module that is made when the first of its functions is asked for."""

    def __init__(self, name: str, *, text: str, path: str, line: int) -> None:
        self._name, self._text, self._path, self._line = name, text, path, line
        self._module: ModuleType | _Unusable | None = None

    def find(self, function: str) -> Any:
        if self._module is None:
            self._module = self._load()
        if isinstance(self._module, _Unusable):
            return self._module
        found = getattr(self._module, function, None)
        if callable(found):
            return found
        problem = f"{self._path} defines no function `{function}`"
        return _Unusable(_error("loading", "NameError", problem))

    def _load(self) -> "ModuleType | _Unusable":
        module = ModuleType(self._name)
        sys.modules[self._name] = module  # where dataclasses, pickle and typing look for it
        module.__file__ = self._path
        try:
            # Lines are counted as in the file that the source stands in.
            text = "\n" * (self._line - 1) + self._text
            exec(compile(text, self._path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what this script is for
        except BaseException as error:  # noqa: BLE001 - an author's module may raise anything
            return _Unusable(_describe(error, "loading"))
        return module


class _Unusable:
    """What stands for a function that cannot be called."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.error = error


class _Streams:
    """`sys.stdout` and `sys.stderr`, whole again for every call."""

    def __init__(self) -> None:
        self._log = os.dup(1)
        self._own: list[IO[str]] = []

    def restore(self) -> None:
        if [sys.stdout, sys.stderr] != self._own or any(stream.closed for stream in self._own):
            self._own = [self._open(), self._open()]
            sys.stdout, sys.stderr = self._own

    def flush(self) -> None:
        for stream in self._own:
            try:
                stream.flush()
            except (OSError, ValueError) as closed:
                del closed

    def _open(self) -> IO[str]:
        return open(
            self._log, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )


def _set_limit(kind: int, value: int, *, hard: bool) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        value = min(value, ceiling)
    try:
        resource.setrlimit(kind, (value, value if hard else ceiling))
    except (OSError, ValueError) as refused:  # address space on macOS
        del refused


def _encode(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _error(kind: str, name: str, message: str, frames: list[Any] | None = None) -> dict[str, Any]:
    name, message = (
        text[:_MAX_MESSAGE].encode("utf-8", "replace").decode() for text in (name, message)
    )
    return {
        "type": "error",
        "error": {"kind": kind, "type": name, "message": message, "frames": frames or []},
    }


def _describe(error: BaseException, kind: str) -> dict[str, Any]:
    name, message = "Exception", ""
    try:
        name = str(type(error).__name__)
        message = str(error)
    except BaseException as unprintable:  # noqa: BLE001 - the author wrote its __str__
        message = "it cannot be printed"
        del unprintable
    frames = _frames(error.__traceback__)
    if isinstance(error, SyntaxError) and kind == "loading":
        message = str(error.msg)
        frames.append(
            {"file": str(error.filename), "line": error.lineno or 0, "function": "<module>"}
        )
    return _error(kind, name, message, frames)


def _frames(traceback: TracebackType | None) -> list[dict[str, Any]]:
    """The author's own: neither this script nor a library."""
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        is_library = file.startswith((_LIBRARY, "<frozen ")) or "-packages" in file
        if file != __file__ and not is_library:
            frames.append({"file": file, "line": traceback.tb_lineno, "function": code.co_name})
        traceback = traceback.tb_next
    return frames[-_MAX_FRAMES:]


def _not_json(value: object, error: BaseException) -> dict[str, Any]:
    """Say which part of a result cannot be JSON."""
    pending: list[tuple[str, object, int]] = [("$", value, 0)]
    while pending:
        path, part, depth = pending.pop()
        problem = _problem(part, depth)
        if problem:
            return _error("result", "TypeError", f"{problem} - at `{path}`")
        if isinstance(part, dict):
            inner = [(f"{path}.{key}", each, depth + 1) for key, each in part.items()]
            pending += reversed(inner)
        elif isinstance(part, list | tuple):
            inner = [(f"{path}[{index}]", each, depth + 1) for index, each in enumerate(part)]
            pending += reversed(inner)
    return _describe(error, "result")


def _problem(part: object, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return "nested too deep, or holds itself"
    if isinstance(part, str):
        return "" if part.isascii() or _is_unicode(part) else "expected text, got half a surrogate"
    if isinstance(part, float):
        return "" if math.isfinite(part) else f"expected a finite number, got `{part}`"
    if isinstance(part, int):
        return "" if part.bit_length() < _MAX_MESSAGE else "expected a number, got one too long"
    if isinstance(part, dict):
        odd = [key for key in part if not isinstance(key, str | int | float | None)]
        return f"expected a name, got a key of type `{_named(odd[0])}`" if odd else ""
    if part is None or isinstance(part, list | tuple):
        return ""
    return f"expected JSON, got `{_named(part)}`"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(part: object) -> str:
    kind = type(part)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


if __name__ == "__main__":
    # What an author imports or pickles as `__main__` is not this script.
    sys.modules["__main__"] = ModuleType("__main__")
    Server(int(sys.argv.pop())).serve()
