import socket
import threading
from typing import Any, cast

from evalwright.sandbox.verdict import _FINAL, _LEFT
from evalwright.sandbox.worker import SandboxWorker, _CandidateWatch, _Evaluation
from evalwright.types import Program


class Zygote:
    """The engine's side of a zygote whose program has ended already."""

    def __init__(self) -> None:
        self.control, self.far_end = socket.socketpair()
        self.far_end.send(b"ended")

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        self.control.recv(100)
        return {"ended": 0}, []


def test_events_that_arrive_together_are_read_in_any_order() -> None:
    """The end of the process, the final report and the end of the output are there at once."""
    program = Program(source="def f(: pass", targets=("f() == 1",))
    zygote = Zygote()
    with _Evaluation(program) as check, _Evaluation(program) as plain:
        check._far_end.send(_FINAL + _LEFT)
        check.close_theirs()
        worker = cast("SandboxWorker", zygote)
        watch = _CandidateWatch(worker, 3.0, [check, plain], lambda: None)

        ((ended, nonce),) = watch.run(threading.Event())

    assert (ended.why, ended.status, nonce) == ("exited", 0, check.nonce)
    zygote.control.close()
    zygote.far_end.close()
