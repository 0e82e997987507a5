"""One process runs the candidate and its targets: fast, and open to forgery by who means it."""

from __future__ import annotations

import sys
from os import _exit, write

from . import judging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main(job: int) -> NoReturn:
    """Judge what comes over `job`, and report there."""
    from . import jobs  # needs `json`, which a child of `unsafe` does without

    judge(job, *jobs.read(job))


def judge(report: int, nonce: str, source: str, targets: list[str]) -> NoReturn:
    """Never returns, and runs no hook on its way out."""
    status = 1
    try:
        _judge(judging.speaker(report), nonce, source, targets)
        status = 0
    except BaseException as error:  # noqa: BLE001 - a handler the candidate left can raise anything
        write(2, f"the evaluator: {judging.describe(error)}\n".encode())
    finally:
        _exit(status)


def _judge(say: judging.Say, nonce: str, source: str, targets: list[str]) -> None:
    streams = (sys.stdout, sys.stderr)
    compiled = judging.compiled(targets)
    module = judging.new_module()
    say("ready")
    outcome, detail = judging.run(source, module.__dict__)
    say("candidate", outcome=outcome, detail=detail)
    for target in compiled if outcome == "ran" else ():
        verdict, detail = target.judge(module.__dict__)
        say("target", outcome=verdict, detail=detail)
    for stream in streams:
        judging.flush(stream)
    say("done", nonce=nonce)
