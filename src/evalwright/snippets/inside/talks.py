"""Calls that wait: of async functions, and of all that ask the model. Many are in flight at once.

    engine   {"key": "…", "name": "run_solver", …, "timeout_s": 60.0}     calls, as in `calls`
    child    {"done": [], "asks": [[7, 1, [input, {}]]]}                  call 7 has a question
    engine   {"answers": [[7, 1, raw_output, null]]}                      or null, [kind, message]
    engine   {"cancelled": [7]}                                           nobody waits for it

An `async def` runs in the loop of the main thread. A `def` runs in a thread, so that it can wait
for an answer; one that runs out of its time cannot be ended, and leaves the process `worn`.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import count
from typing import Any, NoReturn

from .channel import Channel, Streams
from .failed import Failed
from .functions import Sources
from .marks import SLOTS, Marks
from .model import Model
from .results import encoded
from .steps import current, marked
from .talk import Talk, here

_BEAT_S = 0.5


class Talks:
    """Serves functions that wait."""

    def __init__(self, channel: Channel, marks: Marks, sources: Sources, max_bytes: int) -> None:
        self.marks, self.max_bytes = marks, max_bytes
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(marked(marks))
        slots = count(1)
        self.threads = ThreadPoolExecutor(
            SLOTS - 1, initializer=lambda: setattr(here, "slot", next(slots))
        )
        self._channel, self._sources = channel, sources
        self.streams = Streams()
        self._talks: dict[int, Talk] = {}
        self._unloaded: list[dict[str, Any]] = []
        self._flushing = False
        self._heart: asyncio.TimerHandle | None = None

    def serve(self) -> NoReturn:
        """Answer until the engine goes away."""
        self.loop.add_reader(self._channel, self._read)
        self.loop.call_soon(self._read)  # what came with the first words
        while True:
            self.streams.restore()
            try:
                self.loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as raised:  # by a task that an author started
                del raised
            self._load_all()

    def asks(self, number: int, ask: int, question: bytes) -> None:
        """A call has a question."""
        self._channel.ask(number, ask, question)
        self._flush_soon()

    def ended(self, talk: Talk, value: Any) -> None:
        """A call has its value, or `Failed`. What it says later is not heard."""
        if self._talks.pop(talk.number, None):
            self._tell(talk.number, value, talk.function.place)
            talk.cancel()

    def worn(self) -> None:
        """A thread is lost: the process finishes what it is at, and gets no more."""
        self._channel.say(worn=True)

    def _read(self) -> None:
        for words in self._channel.waiting():
            if "calls" in words:
                if self._unloaded or not self._sources.is_loaded(words["key"]):
                    self._unloaded.append(words)
                    self.loop.stop()
                else:
                    self._begin(words)
            for number, ask, output, failure in words.get("answers", ()):
                if talk := self._talks.get(number):
                    talk.answered(ask, output, failure)
            for number in words.get("cancelled", ()):
                if talk := self._talks.pop(number, None):
                    talk.cancel()

    def _load_all(self) -> None:
        """Outside the loop: a top level may do what a loop that runs forbids."""
        orders, self._unloaded = self._unloaded, []
        for talk in self._talks.values():
            talk.clock.stop()
        for order in orders:
            self.marks.begin(-1 - order["source"])
            self._find(order)
            self.marks.end()
            self.loop.call_soon(self._begin, order)
        for talk in self._talks.values():
            talk.clock.go()

    def _find(self, order: dict[str, Any]) -> Any:
        try:
            return self._sources.function(order["key"], order["name"], order["objects"])
        except Failed as failed:
            return failed

    def _begin(self, order: dict[str, Any]) -> None:
        function, objects = self._find(order), order["objects"]
        for number, arguments in zip(order["numbers"], order["calls"], strict=True):
            if isinstance(function, Failed):
                self._tell(number, function)
                continue
            talk = self._talks[number] = Talk(self, number, function, order["timeout_s"])
            model = Model(talk.ask, self._sources.objects)
            for place, kind in enumerate(objects):
                if kind == "Model" and place < len(arguments):
                    arguments[place] = model
            context = copy_context()
            context.run(current.set, number)
            context.run(talk.begin, arguments, apart=not function.is_async)
        self._beat()

    def _beat(self) -> None:
        """While there are calls, the loop is seen to go round."""
        if self._heart is not None:
            self._heart.cancel()
        self._heart = self.loop.call_later(_BEAT_S, self._beat) if self._talks else None
        self.marks.beat(alive=bool(self._talks))

    def _tell(self, number: int, value: Any, place: str = "") -> None:
        self.marks.begin(number)  # the author's code may say how its objects become JSON
        try:
            if isinstance(value, Failed):
                self._channel.failed(number, value)
            else:
                self._channel.done(number, encoded(value, place, self.max_bytes))
        except Failed as failed:
            self._channel.failed(number, failed)
        self.marks.end()
        self._flush_soon()

    def _flush_soon(self) -> None:
        """Send, after all that is due now."""
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self.streams.restore()
        self.streams.flush()
        self._channel.flush()
