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
from evalwright.snippets.calls import (
    Answer,
    SnippetCall,
    encode_answers,
    encode_calls,
    find_definition,
)
from evalwright.snippets.process import Log, SnippetProcess, SnippetSettings
from evalwright.snippets.sources import Source

# How often to look at what no descriptor can tell: who takes too long, and a process that died
# while a copy of it holds its socket.
_LOOK_S = 0.5
_AGAIN_S = 0.02
# What a thread may take longer than it should: the process itself ends its call in time.
_GRACE_S = 1.0


class PoolState(Struct, frozen=True, kw_only=True):
    """What all the processes of a pool share."""

    sources: dict[str, Source]
    settings: SnippetSettings
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


class _Message(Struct, frozen=True):
    done: list[_Done] = []
    asks: list[tuple[int, int, tuple[Any, dict[str, Any]]]] = []
    ready: bool = False
    worn: bool = False


_MESSAGE = msgspec.json.Decoder(_Message)


class SnippetWorker:
    """One process. `changed` is called when it has answered all, or is dead.

    `back` gets the calls that another is to make.
    """

    def __init__(
        self,
        state: PoolState,
        *,
        talks: bool,
        changed: Callable[[], None],
        back: Callable[[list[SnippetCall]], None],
    ) -> None:
        self.owed: dict[int, SnippetCall] = {}
        self.worn = False
        """Whether it should get no more calls."""
        self.dead = False
        self._state, self._changed, self._back = state, changed, back
        self._numbers = {key: number for number, key in enumerate(state.sources)}
        self._talks = talks
        self.ready = False
        """Whether it has begun to serve."""
        self._answers: list[Answer] = []
        self._suspect: tuple[int, int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._process = SnippetProcess(
            state.settings, state.log, heard=self._read_message, lost=self._handle_loss
        )
        self._process.greet(state.sources, state.settings, talks=talks)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def give(self, calls: Sequence[SnippetCall]) -> None:
        """Have calls of one group made."""
        group = calls[0].group
        path = self._state.sources[group.key].path
        if not self.owed:
            self._process.printed.begin(path)
        elif self._process.printed.name != path:
            self._process.printed.begin("")  # who of them prints is not known
        line, good = encode_calls(group, self._numbers[group.key], calls)
        if good:
            self.owed.update({call.number: call for call in good})
            self._process.link.send(line)
            self._look_soon()

    def forget(self, call: SnippetCall) -> None:
        """Nobody waits for it any more."""
        if call.number not in self.owed:
            return
        if self._talks:
            self._drop(call)
        elif all(each.future.done() for each in self.owed.values()):
            self.end()
            self._changed()

    def end(self) -> list[SnippetCall]:
        """End the process; what it still owes."""
        self.dead = True
        if self._timer is not None:
            self._timer.cancel()
        self._process.kill()
        owed, self.owed = list(self.owed.values()), {}
        return owed

    def _drop(self, call: SnippetCall) -> None:
        del self.owed[call.number]
        self._process.link.send(b'{"cancelled":[%d]}\n' % call.number)
        if not self.owed:
            self._changed()

    def _read_message(self, line: bytearray) -> None:
        try:
            message = _MESSAGE.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._loop.call_soon(self._handle_loss)
            return
        self.ready = self.ready or message.ready
        for done in message.done:
            if call := self.owed.pop(done.number, None):
                self._settle(call, done)
        for number, ask, question in message.asks:
            if call := self.owed.get(number):
                self._ask(call, ask, question)
        self.worn = self.worn or message.worn
        if (message.done or message.worn) and not self.owed and not self.dead:
            self._process.link.listen()
            self._changed()

    def _settle(self, call: SnippetCall, done: _Done) -> None:
        if done.failure is None:
            try:
                value = msgspec.json.decode(done.value)
            except (msgspec.MsgspecError, RecursionError) as error:
                self._fail(call, "result", f"the result cannot be read: {error}")
            else:
                call.succeed(value)
            return
        reason = done.failure
        original = call.questions.failure(reason.ask) if call.questions else None
        call.fail(original or SnippetFailed(reason.kind, reason.message, hint=reason.hint))

    def _ask(self, call: SnippetCall, ask: int, question: tuple[Any, dict[str, Any]]) -> None:
        questions = call.questions
        if questions is None:
            self._answer((call.number, ask, None, ("TypeError", "there is no model here")))
            return

        def pass_on(ask: int, answer: Any, reason: tuple[str, str] | None) -> None:
            if call.number not in self.owed:
                return
            if questions.stopped is not None:
                call.fail(questions.stopped)
                self._drop(call)
                return
            self._answer((call.number, ask, answer, reason))

        questions.begin(ask, question, pass_on)

    def _answer(self, answer: Answer) -> None:
        """Send it with the others of this moment."""
        self._answers.append(answer)
        if len(self._answers) == 1:
            self._loop.call_soon(self._send_answers)

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, []
        if not self.dead:
            self._process.link.send(encode_answers(answers))

    def _look_soon(self) -> None:
        if self._timer is None:
            shortest = min(call.group.timeout_s for call in self.owed.values())
            delay = max(_AGAIN_S, min(_LOOK_S, shortest / 4, self._state.settings.load_s / 4))
            self._timer = self._loop.call_later(_AGAIN_S if self._suspect else delay, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.dead or not self.owed:
            return
        now = time.monotonic()
        if self._process.has_exited():
            self._process.link.drain()
            self._handle_loss()
            return
        if not self.ready and now > self._process.started_at + START_S:
            self._blame([], "timeout", "it says nothing")
            return
        suspect, self._suspect = self._suspect, self._find_overdue(now)
        if suspect is not None and suspect == self._suspect:
            _, number, _ = suspect
            self._blame([number], "timeout", f"ran longer than {self._allowed_s(number):g} s")
            return
        if self._is_stalled(now):
            self._blame([], "timeout", "its loop stood still")
            return
        self._look_soon()

    def _is_stalled(self, now: float) -> bool:
        """Whether the loop of the process goes round no more, by no call that is known."""
        beaten, marks = self._process.marks.last_beat(), self._process.marks.read()
        longest = max(call.group.timeout_s for call in self.owed.values())
        return bool(beaten) and not marks and now - beaten > longest + _GRACE_S

    def _find_overdue(self, now: float) -> tuple[int, int, float] | None:
        for slot, number, since in self._process.marks.read():
            call = self.owed.get(number)
            if slot and call and call.questions and call.questions.waits:
                continue
            if now - since > self._allowed_s(number) + (_GRACE_S if slot else 0):
                return slot, number, since
        return None

    def _allowed_s(self, number: int) -> float:
        settings = self._state.settings
        if number < 0:
            return settings.load_s
        call = self.owed.get(number)
        return call.group.timeout_s if call else settings.timeout_s

    def _handle_loss(self) -> None:
        if not self.dead:
            self.dead = True
            reason, busy = self._process.end()
            self._blame(busy, "crashed", reason)

    def _blame(self, numbers: list[int], kind: str, reason: str) -> None:
        """Tell those who are at fault, and give back the others."""
        self.dead = True
        self._process.kill()  # what it message before that is heard
        guilty = [self.owed[number] for number in numbers if number in self.owed]
        loading = [number for number in numbers if number < 0]
        owed = self.end()
        if not self.ready:
            words = self._process.printed.last or reason
            guilty = self._fail_all(owed, "crashed", f"the process did not start: {words}")
        elif loading:
            guilty = self._break(list(self._state.sources)[-1 - loading[0]], owed, kind, reason)
        else:
            if not numbers and len(owed) == 1:
                guilty = owed
            several = f"this call or another of {len(guilty)}: " if len(guilty) > 1 else ""
            for call in guilty:
                self._fail(call, kind, several + reason)
        rest = [call for call in owed if call not in guilty]
        self._give_back(rest, reason, known=bool(guilty or numbers))
        self._changed()

    def _break(
        self, key: str, owed: list[SnippetCall], kind: str, reason: str
    ) -> list[SnippetCall]:
        source = self._state.sources[key]
        text = f"{source.path}:{source.line}: {reason}, while its top level ran"
        self._state.broken[key] = kind, text
        return self._fail_all([call for call in owed if call.group.key == key], kind, text)

    def _fail_all(self, calls: list[SnippetCall], kind: str, text: str) -> list[SnippetCall]:
        for call in calls:
            call.fail(SnippetFailed(kind, text))
        return calls

    def _give_back(self, calls: list[SnippetCall], reason: str, *, known: bool) -> None:
        again = []
        for call in calls:
            asked = call.questions is not None and call.questions.asked
            if self._talks and (asked or call.returned):
                why = "after it had asked the model" if asked else "for the second time"
                self._fail(call, "crashed", f"another call ended its process, {why}: {reason}")
            else:
                call.returned, call.alone = True, call.alone or not known
                again.append(call)
        self._back(again)

    def _fail(self, call: SnippetCall, kind: str, reason: str) -> None:
        hint = ""
        if kind == "timeout":
            allowed = f"{call.group.timeout_s:g} s"
            hint = f"a call may run {allowed}; the time that a model takes does not count"
        elif reason.endswith("SIGKILL"):
            hint = "there may not be enough memory"
        source, name = self._state.sources[call.group.key], call.group.name
        line, _ = find_definition(source, name)
        call.fail(SnippetFailed(kind, f"{source.path}:{line} in {name}: {reason}", hint=hint))
