"""One worker: a small jailed interpreter that forks for every candidate.

The engine holds the other end of `control`, a socket that keeps packets apart:

    engine   {"tier", "packages"}                           once
    zygote   {"ready": true} or {"broken": why}
    engine   {"cpu_s", "silence_us", "verdicts"} + descriptors   one candidate
    zygote   {} + pidfd                                      what the engine kills at the deadline
    zygote   {"ended": status}                               nothing of it is left
             or {"broken": why}                              it was not begun

`verdicts` says who judges. The descriptors are a socket for the job and a pipe for the output, of
each who does:

    plain    one process that is candidate and evaluator, as plain Python would run it
    split    an evaluator and the candidate's process
    both     the split evaluator; when it has finished, the plain one, which is forked before and
             waits. Its job waits in its socket, where only the kernel can read it. No process that
             has held a target runs before the split verdict is complete, so nothing can carry a
             target to the candidate that it rests on.

Source and targets never pass through here: an evaluator reads them from its socket after it has
forked the candidate's process. When the engine's end closes, everything ends.
"""

from __future__ import annotations

import _socket
import gc
import json
import os
import select
from struct import calcsize, pack, unpack
from typing import Any, NoReturn

from . import (
    candidate,
    evaluator,
    judging,
    landlock,
    layout,
    libc,
    namespaces,
    packages,
    rehearsal,
    walls,
    wire,
)

Cell = namespaces.NamespaceCell | landlock.LandlockCell

PACKET_BYTES = 1 << 16
# What candidates import most. Each makes every fork a little slower, so none is large or rare, or
# runs something at every fork (`random` does).
_WARM = (
    "bisect", "collections", "functools", "heapq", "itertools", "math", "operator", "re", "string",
    "typing",
)  # fmt: skip


def main(control_fd: int) -> NoReturn:
    """Serve until the engine goes away."""
    # `socket` would add size, and nothing that is needed here.
    control = _socket.socket(fileno=control_fd)
    os.set_inheritable(control_fd, False)  # noqa: FBT003 - it has no name
    cell = _enter(control)
    rehearsal.run()
    # All this stays: the collector of a child need not look at it, nor copy its pages.
    gc.collect()
    gc.freeze()
    _send(control, {"ready": True})
    while True:
        packet, beside, _, _ = control.recvmsg(PACKET_BYTES, _socket.CMSG_LEN(calcsize("=4i")))
        if not packet:
            os._exit(0)
        ((_, _, descriptors),) = beside
        passed = unpack(f"={len(descriptors) // calcsize('=i')}i", descriptors)
        _run_candidate(cell, control, json.loads(packet), passed)


def _enter(control: _socket.socket) -> Cell:
    orders = json.loads(control.recv(PACKET_BYTES))
    locations = orders["packages"]
    try:
        packages.install(locations)
        shown = layout.survey(list(locations.values()))
        for name in _WARM:
            __import__(name)
        os.environ.clear()
        if orders["tier"] == namespaces.TIER:
            return namespaces.enter(shown)
        return landlock.enter(shown)
    except OSError as error:
        why = namespaces.explain_error(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine must hear of it
        why = f"{type(error).__name__}: {error}"
    _send(control, {"broken": why})
    os._exit(1)


def _run_candidate(
    cell: Cell, control: _socket.socket, order: dict[str, Any], descriptors: tuple[int, ...]
) -> None:
    try:
        cell.before_fork()
        first = os.fork()
    except OSError as error:
        _close_all(descriptors)
        _send(control, {"broken": libc.describe_error(error)})
        return
    if not first:
        _run_first_process(cell, order, descriptors)
    _close_all(descriptors)
    pidfd = os.pidfd_open(first)
    control.sendmsg([b"{}"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pack("=i", pidfd))])
    poll = select.poll()
    poll.register(control, 0)  # its end is reported all the same
    poll.register(pidfd, select.POLLIN)
    if any(descriptor != pidfd for descriptor, _ in poll.poll()):
        os.kill(first, libc.SIGKILL)
    os.close(pidfd)
    _send(control, {"ended": cell.reap(first)})


def _run_first_process(cell: Cell, order: dict[str, Any], descriptors: tuple[int, ...]) -> NoReturn:
    """The evaluator; its children are the candidate, and the plain evaluator if there is one."""
    job, output, *plain = descriptors
    follower = None
    kept = [job]
    try:
        # Opened anew: its flags are shared by all who share the descriptor.
        os.dup2(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), 0)
        cell.after_fork(cpu_s=order["cpu_s"])
        if order["verdicts"] == "plain":
            os._exit(_wait_for(_fork_plain(cell, job, output)))
        if plain:
            plain_job, plain_output = plain
            wait, start = os.pipe()
            waiting = _fork_plain(cell, plain_job, plain_output, wait)
            follower = evaluator.Follower(waiting, start, cell.scratch)
            kept.append(start)
        _print_to(output)
        near, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        channel, candidates = near.fileno(), far.detach()
        child = os.fork()
        if not child:
            _run_second_process(cell, candidates)
        os.close(candidates)
        silence = pack("ll", *divmod(order["silence_us"], 1_000_000))
        near.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVTIMEO, silence)
        near.detach()
        cell.seal(*kept, channel)
    except BaseException as error:  # noqa: BLE001 - the zygote's loop must not go on in here
        _report_broken(job, error)
    evaluator.main(job, channel, child, follower)
    os._exit(_wait_for(follower.process if follower else child))


def _fork_plain(cell: Cell, job: int, output: int, wait: int = -1) -> int:
    """Fork a candidate that is its own evaluator: the first process would ignore its own signals.

    With `wait` it reads its job when a byte comes there, and ends if none does.
    """
    kept = (job,) if wait < 0 else (job, wait)
    child = os.fork()
    if child:
        _close_all((*kept, output))
        return child
    try:
        _print_to(output)
        cell.seal(*kept)
    except BaseException as error:  # noqa: BLE001 - the zygote's loop must not go on in here
        _report_broken(job, error)
    if wait >= 0:
        if not os.read(wait, 1):
            os._exit(0)  # it is not needed
        os.close(wait)
    return judging.judge_in_process(job, *wire.read_job(job))


def _wait_for(child: int) -> int:
    return walls.exit_status(os.waitpid(child, 0)[1])


def _print_to(output: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)


def _run_second_process(cell: Cell, channel: int) -> NoReturn:
    try:
        cell.seal(channel)
        wire.report_confinement(channel)
    except BaseException as error:  # noqa: BLE001 - the zygote's loop must not go on in here
        os.write(2, f"{error}\n".encode())
        os._exit(1)
    candidate.main(channel)


def _report_broken(job: int, error: BaseException) -> NoReturn:
    """Report why no candidate was run: this is no wrong answer."""
    detail = libc.describe_error(error) if isinstance(error, OSError) else judging.describe(error)
    os.write(job, json.dumps({"type": "broken", "detail": detail}).encode() + b"\n")
    os._exit(1)


def _close_all(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _send(control: _socket.socket, packet: dict[str, object]) -> None:
    try:
        control.send(json.dumps(packet).encode())
    except OSError:
        os._exit(1)  # the engine has gone
