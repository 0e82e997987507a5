"""Process E: it holds the targets and makes the verdict.

It was forked before the job was read and has forked the candidate's process before that, too: no
target and no expected value is in any memory that the candidate has a copy of.
"""

from __future__ import annotations

import signal
import sys
from os import _exit

from . import jobs, judging, proxies, valued
from .link import Link
from .names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn
else:
    ModuleType = type(sys)


def main(job: int, channel: int, candidate: int) -> NoReturn:
    """Judge what comes over `job`, and report there."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _judge(job, channel, candidate)
        status = 0
    finally:
        _exit(status)


def _judge(job: int, channel: int, candidate: int) -> None:
    say = judging.speaker(job)
    nonce, source, targets = jobs.read(job)
    streams = (sys.stdout, sys.stderr)
    compiled = judging.compiled(targets)
    link = Link(channel, candidate, say)
    link.proxy, link.valued = proxies.proxy, valued.valued
    say("ready")
    outcome, detail, found = link.run(source)
    say("candidate", outcome=outcome, detail=detail)
    if outcome == "ran":
        names = Names(link, found, compiled)
        _pose_as_module(names)
        for target in compiled:
            link.untrusted = ""
            verdict, detail = target.judge(names)
            if link.untrusted:
                verdict, detail = "untrusted", link.untrusted
            say("target", outcome=verdict, detail=detail)
    for stream in streams:
        judging.flush(stream)
    say("done", nonce=nonce)


def _pose_as_module(names: Names) -> None:
    """For targets that say `from candidate import add`."""

    class Candidate(ModuleType):
        def __getattr__(self, name: str) -> object:
            try:
                return names[name]
            except KeyError:
                raise AttributeError(name) from None

    sys.modules["candidate"] = Candidate("candidate")
