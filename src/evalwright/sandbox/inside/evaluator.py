"""Process E: holds the targets and makes the verdict.

It forks the candidate's process before it reads the job: no target and no expected value is in any
memory that the candidate has a copy of.
"""

from __future__ import annotations

import builtins
import os
import re
import signal
import sys
from os import _exit
from types import ModuleType
from typing import Any, NamedTuple

from . import doubts, judging, packages, process_state, proxies, values, wire
from .link import CandidateStopped, Link

_BUILTINS = frozenset(dir(builtins))
_MUTABLE = (list, dict, set)
# Modules that only look at a value. None that runs it, such as pickle: what the candidate returns
# would then run here.
_HARMLESS = frozenset({
    "array", "asyncio", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "copy",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib",
    "heapq", "io", "itertools", "json", "math", "numbers", "operator", "random", "re",
    "statistics", "string", "struct", "textwrap", "time", "typing", "unicodedata", "uuid", "zlib",
})  # fmt: skip


class Follower(NamedTuple):
    """The process that judges next. It waits for a byte before it reads its job."""

    process: int
    start: int
    """Where to write that byte. If this end is closed without it, the process ends."""
    scratch: str
    """The folder to leave empty, if there is one."""


def main(job: int, channel: int, candidate: int, follower: Follower | None = None) -> None:
    """Judge what comes over `job`, and report there. Return only to leave the jail to another."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say = judging.speaker(job)
        outcome = judge(job, channel, candidate, say)
        if follower is not None:
            os.close(channel)
            os.waitpid(candidate, 0)
            if follower.scratch:
                _empty(follower.scratch)
            say("left")
            if outcome != "syntax_error":  # or else it has nothing to do
                os.write(follower.start, b"!")
            os.close(follower.start)
            return
        status = 0
    except BaseException as error:  # noqa: BLE001 - a report without its end says enough
        del error
    _exit(status)


def _empty(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)  # noqa: PTH101 - no pathlib here
                _empty(entry.path)
                os.rmdir(entry.path)  # noqa: PTH106 - no pathlib here
            else:
                os.unlink(entry.path)  # noqa: PTH108 - no pathlib here


def judge(job: int, channel: int, candidate: int, say: judging.Say) -> str:
    """Judge what comes over `job`, by what the candidate answers over `channel`.

    Return how the program ran.
    """
    nonce, source, targets = wire.read_job(job)
    streams = (sys.stdout, sys.stderr)
    compiled = judging.compile_targets(targets)
    link = Link(channel, candidate, say)
    say("ready")
    outcome, detail, defined = link.run(source)
    say("candidate", outcome=outcome, detail=detail)
    if outcome == "ran":
        names = TargetNames(link, defined, compiled)
        sys.modules["candidate"] = _CandidateModule(names)
        verdicts = _judge_targets(link, names, compiled, source)
        if names.builtins_used and not names.names_used and not link.calls:
            # They do not ask about anything but builtins: the program is about one of them.
            names.put_to_test()
            verdicts = _judge_targets(link, names, compiled, source)
        for verdict, detail in verdicts:
            say("target", outcome=verdict, detail=detail)
    for stream in streams:
        judging.flush(stream)
    say("done", nonce=nonce)
    return outcome


def _judge_targets(
    link: Link, names: TargetNames, targets: list[judging.Target], source: str
) -> list[tuple[str, str]]:
    verdicts = []
    for at, target in enumerate(targets):
        link.begin_target(target)
        verdict, detail = target.judge(names)
        if verdict == "passed":
            is_decided, fault = link.callbacks.find_fault()
            if fault:
                (link.refuse if is_decided else link.distrust)(fault)
            if link.unsent:
                link.distrust(link.unsent)
        if link.refused:
            verdict, detail = "refused", link.refused
        elif link.untrusted:
            verdict, detail = "untrusted", link.untrusted
        elif verdict == "failed":
            doubt = _find_doubt(link, names, targets[: at + 1], source)
            if doubt:
                verdict, detail = "differs", f"{detail}; {doubt}"
            elif link.note:
                detail = f"{detail}: {link.note}"
        verdicts.append((verdict, judging.shorten(detail)))
    return verdicts


def _find_doubt(link: Link, names: TargetNames, targets: list[judging.Target], source: str) -> str:
    """Why the last of these targets may have failed only because there are two processes."""
    error, texts = targets[-1].error, [target.text for target in targets]
    if type(error) is CandidateStopped:
        return "it handles errors" if doubts.handles_errors(texts) else ""
    if error is not None and type(error) is not AssertionError:
        if names.uses_other_module(texts[-1]):
            return ""
        doubt = _find_doubt_about_error(link, error)
        if doubt:
            return doubt
    if link.keeps:
        return "a target keeps a container of the program across a call"
    return doubts.find_doubt(texts, source)


def _find_doubt_about_error(link: Link, error: BaseException) -> str:
    """Why only this process, or only the candidate's, may raise this error."""
    if isinstance(error, MemoryError | ImportError) or "new thread" in str(error):
        return "it may lack something that the program's own process has"
    if proxies.candidate_form(error) is not None:
        if isinstance(error, RecursionError):
            return "the stack may be deeper in the program's own process"
        if link.callbacks.functions or link.has_hidden_words:
            return "the program received a substitute for an object of the target"
        return ""
    if link.stand_ins and not _is_raised_by_target(error):
        return "a library handles a substitute for an object of the program"
    return ""


def _is_raised_by_target(error: BaseException) -> bool:
    """Whether the target's own code raised an error, and not a module that it uses."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith("<target")


class _CandidateModule(ModuleType):
    """For targets that say `from candidate import add`."""

    def __init__(self, names: TargetNames) -> None:
        super().__init__("candidate")
        self.__dict__["_p_names"] = names

    def __getattr__(self, name: str) -> object:
        try:
            return self.__dict__["_p_names"][name]
        except KeyError:
            raise AttributeError(name) from None


class TargetNames(dict[str, object]):
    """The globals of all targets: their own names, the candidate's, and the builtins.

    Functions and classes of the candidate are stand-ins, its modules are the evaluator's own, its
    other globals are fetched each time. What a target itself defines comes first.

    A builtin stays Python's, whatever the candidate says, and so does a module of the standard
    library whose name it uses for something else (`class math`): it does not decide. Where targets
    use no name but one builtin, that is what the program is about (`put_to_test`).
    """

    def __init__(self, link: Link, defined: list[Any], targets: list[judging.Target]) -> None:
        super().__init__(__name__="candidate")
        self._link = link
        self._text = "\n".join(target.text for target in targets)
        self.builtins_used: set[str] = set()
        self.names_used: set[str] = set()
        self._under_test = False
        self._tested: frozenset[str] = frozenset()
        self._kinds: dict[str, Any] = {}
        for entry in defined:
            match entry:
                case [str(name), kind]:
                    self._kinds[name] = kind
        self._mirrors: dict[str, Any] = {}
        self._sent: dict[str, str] = {}
        self._process_state = process_state.ProcessState(self._text)
        self["__builtins__"] = _BUILTINS_OF_TARGETS
        _BUILTINS_OF_TARGETS.names = self
        link.before_request = self._send_changes

    def __missing__(self, name: str) -> object:
        if name[:2] == "__":
            raise KeyError(name)  # Python asks for these, and would do what they say
        if name in _BUILTINS:
            if name[:1].islower():  # no program is about an exception of Python's
                self.builtins_used.add(name)
            if not self._is_under_test(name):
                raise KeyError(name)
        else:
            self.names_used.add(name)
        if name not in self._kinds:
            return self._fetch(name)
        kind = self._kinds[name]
        if kind is None:
            return self._find_own_module(name) or self._fetch(name)
        try:
            value = self._resolve(name, kind) or self._find_own_module(name)
            value = value or self._make_stub(name)
        except (values.BadValue, LookupError, TypeError, ValueError):
            value = self._make_stub(name)
        if name not in _BUILTINS:
            self[name] = value
        return value

    def _make_stub(self, name: str) -> object:
        """The stand-in of a name; of an object that has a number, always the same."""
        match self._kinds[name]:
            case ["h", *_]:
                return self._link.decode(self._kinds[name])
        return proxies.FUNCTION(self._link, ["g", name], name, alike=True)

    def _resolve(self, name: str, kind: Any) -> object | None:
        """What the evaluator has itself."""
        match kind:
            case ["m", str(module)] if module == name or name not in sys.stdlib_module_names:
                return _import(module)
            case ["q", *_]:
                function: object = values.Decoder([]).decode(kind)
                return function
            case ["e", *form]:
                return self._link.exceptions.find_class(form)
        return None

    def _find_own_module(self, name: str) -> object | None:
        """A candidate that calls something else `math` does not decide what `math.isclose` says."""
        if re.search(rf"\b{re.escape(name)}\s*\.", self._text) is None:
            return None
        return _import(name)

    def uses_other_module(self, text: str) -> bool:
        """Whether a target uses a module by whose name the candidate calls another module."""
        return any(
            kind[:1] == ["m"] and kind[1:] != [name] and self._find_own_module(name) is not None
            for name, kind in self._kinds.items()
            if type(kind) is list and re.search(rf"\b{re.escape(name)}\s*\.", text)
        )

    def put_to_test(self) -> None:
        """From now on the one builtin that the targets use is the candidate's."""
        functions = {
            name for name in self.builtins_used if not isinstance(getattr(builtins, name), type)
        }
        self._under_test = True
        self.builtins_used = functions or self.builtins_used
        self._tested = frozenset(self.builtins_used)

    def _is_under_test(self, name: str) -> bool:
        """Whether the targets are about a function that is named like a builtin."""
        if not self._under_test or name not in self._tested:
            return False
        if len(self._tested) > 1 or name not in self._kinds:
            listed = " and ".join(f"`{each}`" for each in sorted(self._tested))
            raise self._link.distrust(f"the targets use {listed} and no name from the program")
        return True

    def _fetch(self, name: str) -> object:
        """A global of the candidate's, as it is now. A container is always the same object here."""
        try:
            value = self._link.ask("get", name)
        except KeyError:
            raise KeyError(name) from None
        mirror: Any = self._mirrors.get(name)
        if type(value) not in _MUTABLE:
            return value
        if type(mirror) is type(value):
            mirror.clear()
            (mirror.extend if type(mirror) is list else mirror.update)(value)
            value = mirror
        self._mirrors[name] = value
        self._sent[name] = self._link.encode(value)
        return value

    def _send_changes(self) -> None:
        """Before a request, send what targets have done to the candidate's globals, and around."""
        self._process_state.send_changes(self._link.ask)
        for name, mirror in self._mirrors.items():
            now = self._link.encode(mirror)
            if now != self._sent[name]:
                self._sent[name] = now
                self._link.ask("put", name, mirror)


class _Builtins(dict[str, object]):
    """Python's builtins and, where a class body asks, the names of the program.

    The body of a class looks into globals without `__missing__`, and then here.
    """

    names: TargetNames

    def __missing__(self, name: str) -> object:
        return self.names[name]


# Made before any fork, because to copy builtins is to write to each.
_BUILTINS_OF_TARGETS = _Builtins(vars(builtins))


def _import(name: str) -> ModuleType | None:
    """A module of our own, for a module of the candidate's."""
    top = name.partition(".")[0]
    if top not in _HARMLESS and top not in packages.NAMES:
        return None
    try:
        __import__(name)
    except ImportError:
        return None
    return sys.modules[name]
