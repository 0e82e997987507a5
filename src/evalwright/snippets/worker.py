"""A process and the calls that it owes: what it says, how long it takes, who ended it.

A call that ends the process is known by its mark: it fails, and the others are made again in
another process, unless they have asked the model: what was paid for is not asked for twice.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from evalwright.errors import SnippetFailed
from evalwright.processes import START_S
from evalwright.snippets.calls import Answer, Call, answered, failure, order
from evalwright.snippets.log import Log
from evalwright.snippets.process import Process
from evalwright.snippets.settings import Settings
from evalwright.snippets.sources import Source

# How often to look at what no descriptor can tell: who takes too long, and a process that died
# while a copy of it holds its socket.
_LOOK_S = 0.5
_AGAIN_S = 0.02
# What a thread may take longer than it should: the process itself ends its call in time.
_GRACE_S = 1.0


class Home(Struct, frozen=True, kw_only=True):
    """What all the processes of a pool share."""

    sources: dict[str, Source]
    settings: Settings
    log: Log
    broken: dict[str, tuple[str, str]] = {}
    """Sources whose top level ends a process, kind and message: they are not tried again."""


class _Failure(Struct, frozen=True):
    kind: str
    message: str
    hint: str
    ask: int | None


class _Done(Struct, frozen=True, array_like=True):
    number: int
    value: Raw
    failure: _Failure | None = None


class _Said(Struct, frozen=True):
    done: list[_Done] = []
    asks: list[tuple[int, int, tuple[Any, dict[str, Any]]]] = []
    ready: bool = False
    worn: bool = False


_SAID = msgspec.json.Decoder(_Said)


class Worker:
    """One process. `changed` is called when it has answered all, or is dead.

    `back` gets the calls that another is to make.
    """

    def __init__(
        self,
        home: Home,
        *,
        talks: bool,
        changed: Callable[[], None],
        back: Callable[[list[Call]], None],
    ) -> None:
        self.owed: dict[int, Call] = {}
        self.worn = False
        """Whether it should get no more calls."""
        self.dead = False
        self._home, self._changed, self._back = home, changed, back
        self._numbers = {key: number for number, key in enumerate(home.sources)}
        self._talks = talks
        self.ready = False
        """Whether it has begun to serve."""
        self._answers: list[Answer] = []
        self._suspect: tuple[int, int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._process = Process(home.settings, home.log, heard=self._hear, lost=self._lose)
        self._process.greet(home.sources, home.settings, talks=talks)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def give(self, calls: Sequence[Call]) -> None:
        """Have calls of one group made."""
        group = calls[0].group
        path = self._home.sources[group.key].path
        if not self.owed:
            self._process.printed.begin(path)
        elif self._process.printed.name != path:
            self._process.printed.begin("")  # who of them prints is not known
        line, good = order(group, self._numbers[group.key], calls)
        if good:
            self.owed.update({call.number: call for call in good})
            self._process.link.send(line)
            self._look_soon()

    def forget(self, call: Call) -> None:
        """Nobody waits for it any more."""
        if call.number not in self.owed:
            return
        if self._talks:
            self._drop(call)
        elif all(each.future.done() for each in self.owed.values()):
            self.end()
            self._changed()

    def end(self) -> list[Call]:
        """End the process; what it still owes."""
        self.dead = True
        if self._timer is not None:
            self._timer.cancel()
        self._process.kill()
        owed, self.owed = list(self.owed.values()), {}
        return owed

    def _drop(self, call: Call) -> None:
        del self.owed[call.number]
        self._process.link.send(b'{"cancelled":[%d]}\n' % call.number)
        if not self.owed:
            self._changed()

    def _hear(self, line: bytearray) -> None:
        try:
            said = _SAID.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._loop.call_soon(self._lose)
            return
        self.ready = self.ready or said.ready
        for done in said.done:
            if call := self.owed.pop(done.number, None):
                self._settle(call, done)
        for number, ask, question in said.asks:
            if call := self.owed.get(number):
                self._ask(call, ask, question)
        self.worn = self.worn or said.worn
        if (said.done or said.worn) and not self.owed and not self.dead:
            self._process.link.listen()
            self._changed()

    def _settle(self, call: Call, done: _Done) -> None:
        if done.failure is None:
            try:
                value = msgspec.json.decode(done.value)
            except (msgspec.MsgspecError, RecursionError) as error:
                self._fail(call, "result", f"the result cannot be read: {error}")
            else:
                call.succeed(value)
            return
        told = done.failure
        original = call.asking.failure(told.ask) if call.asking else None
        call.fail(original or SnippetFailed(told.kind, told.message, hint=told.hint))

    def _ask(self, call: Call, ask: int, question: tuple[Any, dict[str, Any]]) -> None:
        asking = call.asking
        if asking is None:
            self._answer((call.number, ask, None, ("TypeError", "there is no model here")))
            return

        def pass_on(ask: int, answer: Any, told: tuple[str, str] | None) -> None:
            if call.number not in self.owed:
                return
            if asking.stopped is not None:
                call.fail(asking.stopped)
                self._drop(call)
                return
            self._answer((call.number, ask, answer, told))

        asking.begin(ask, question, pass_on)

    def _answer(self, answer: Answer) -> None:
        """Send it with the others of this moment."""
        self._answers.append(answer)
        if len(self._answers) == 1:
            self._loop.call_soon(self._send_answers)

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, []
        if not self.dead:
            self._process.link.send(answered(answers))

    def _look_soon(self) -> None:
        if self._timer is None:
            shortest = min(call.group.timeout_s for call in self.owed.values())
            delay = max(_AGAIN_S, min(_LOOK_S, shortest / 4, self._home.settings.load_s / 4))
            self._timer = self._loop.call_later(_AGAIN_S if self._suspect else delay, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.dead or not self.owed:
            return
        now = time.monotonic()
        if self._process.has_exited():
            self._process.link.drain()
            self._lose()
            return
        if not self.ready and now > self._process.started_at + START_S:
            self._blame([], "timeout", "it says nothing")
            return
        suspect, self._suspect = self._suspect, self._overdue(now)
        if suspect is not None and suspect == self._suspect:
            _, number, _ = suspect
            self._blame([number], "timeout", f"ran longer than {self._allowed_s(number):g} s")
            return
        if self._stands(now):
            self._blame([], "timeout", "its loop stood still")
            return
        self._look_soon()

    def _stands(self, now: float) -> bool:
        """Whether the loop of the process goes round no more, by no call that is known."""
        beaten, marks = self._process.marks.beaten(), self._process.marks.read()
        longest = max(call.group.timeout_s for call in self.owed.values())
        return bool(beaten) and not marks and now - beaten > longest + _GRACE_S

    def _overdue(self, now: float) -> tuple[int, int, float] | None:
        for slot, number, since in self._process.marks.read():
            call = self.owed.get(number)
            if slot and call and call.asking and call.asking.waits:
                continue
            if now - since > self._allowed_s(number) + (_GRACE_S if slot else 0):
                return slot, number, since
        return None

    def _allowed_s(self, number: int) -> float:
        settings = self._home.settings
        if number < 0:
            return settings.load_s
        call = self.owed.get(number)
        return call.group.timeout_s if call else settings.timeout_s

    def _lose(self) -> None:
        if not self.dead:
            self.dead = True
            told, busy = self._process.end()
            self._blame(busy, "crashed", told)

    def _blame(self, numbers: list[int], kind: str, told: str) -> None:
        """Tell those who are at fault, and give back the others."""
        self.dead = True
        self._process.kill()  # what it said before that is heard
        guilty = [self.owed[number] for number in numbers if number in self.owed]
        loading = [number for number in numbers if number < 0]
        owed = self.end()
        if not self.ready:
            words = self._process.printed.last or told
            guilty = self._fail_all(owed, "crashed", f"the process did not start: {words}")
        elif loading:
            guilty = self._break(list(self._home.sources)[-1 - loading[0]], owed, kind, told)
        else:
            if not numbers and len(owed) == 1:
                guilty = owed
            several = f"this call or another of {len(guilty)}: " if len(guilty) > 1 else ""
            for call in guilty:
                self._fail(call, kind, several + told)
        rest = [call for call in owed if call not in guilty]
        self._give_back(rest, told, known=bool(guilty or numbers))
        self._changed()

    def _break(self, key: str, owed: list[Call], kind: str, told: str) -> list[Call]:
        source = self._home.sources[key]
        text = f"{source.path}:{source.line}: {told}, while its top level ran"
        self._home.broken[key] = kind, text
        return self._fail_all([call for call in owed if call.group.key == key], kind, text)

    def _fail_all(self, calls: list[Call], kind: str, text: str) -> list[Call]:
        for call in calls:
            call.fail(SnippetFailed(kind, text))
        return calls

    def _give_back(self, calls: list[Call], told: str, *, known: bool) -> None:
        again = []
        for call in calls:
            asked = call.asking is not None and call.asking.asked
            if self._talks and (asked or call.returned):
                why = "after it had asked the model" if asked else "for the second time"
                self._fail(call, "crashed", f"another call ended its process, {why}: {told}")
            else:
                call.returned, call.alone = True, call.alone or not known
                again.append(call)
        self._back(again)

    def _fail(self, call: Call, kind: str, told: str) -> None:
        hint = ""
        if kind == "timeout":
            allowed = f"{call.group.timeout_s:g} s"
            hint = f"a call may run {allowed}; the time that a model takes does not count"
        elif told.endswith("SIGKILL"):
            hint = "there may not be enough memory"
        call.fail(failure(self._home.sources[call.group.key], call.group, kind, told, hint))
