"""Judge one program in the zygote, before it forks for the first.

Each page of memory that a child writes to is copied, and a first run of code writes to many: it
fills the caches of method lookups, and specializes bytecode. Children of a zygote that has run it
all find both as they need it, which halves the time that they take.
"""

from __future__ import annotations

import _socket
import os
import sys

from . import candidate, evaluator, judging, wire

# What programs and targets do most.
_SOURCE = '''
from collections import Counter

class Account:
    """Holds money."""

    limit = 0

    def __init__(self, balance: int = 0) -> None:
        self.balance = balance

    def add(self, amount):
        if amount < 0:
            raise ValueError("a negative amount")
        self.balance += amount
        return self.balance

    def __len__(self):
        return self.balance

    def __eq__(self, other):
        return isinstance(other, Account) and self.balance == other.balance

def total(values, factor=1):
    result = 0
    for value in values:
        result += value * factor
    return result

def words(text):
    return sorted({word.lower(): len(word) for word in text.split()}.items())

def append(values, value):
    values.append(value)
    return [value / 2 for value in values if value], (True, None, "text")
'''
_TARGETS = [
    "total([1, 2, 3]) == 6",
    "all(total(list(range(n)), factor=2) == n * (n - 1) for n in range(12))",
    "assert words('The cat saw the Dog') == [('cat', 3), ('dog', 3), ('saw', 3), ('the', 3)]",
    "values = [1.5]; assert append(values, 3)[0] == [0.75, 1.5] and values == [1.5, 3]",
    "def check(candidate):\n    assert abs(candidate([0.1, 0.2]) - 0.3) < 1e-6\n\n\ncheck(total)",
    "account = Account(3); assert account.add(2) == 5 and account.balance == 5 == len(account)",
    "Account(1) == Account(1) and not Account(1) == Account(2)",
    "try:\n    Account().add(-1)\nexcept ValueError as error:\n    assert 'negative' in str(error)",
    "assert total([]) == 1, 'a failure'",
    "missing() == 1",
]


def run() -> None:
    """Rehearse the three parts: evaluator, candidate, and both in one process."""
    job = wire.pack_job("nonce", _SOURCE, _TARGETS)
    judging.ignore_syntax_warnings()
    builtins = sys.modules["builtins"]
    _rehearse_evaluator(job)
    _rehearse_candidate(job)
    sys.modules["builtins"] = builtins
    _rehearse_in_process(job)
    del sys.modules["candidate"]


def _rehearse_evaluator(job: bytes) -> None:
    engine, report = _make_job(job)
    near, far = _socket.socketpair()
    child = os.fork()
    if not child:
        near.close()
        wire.report_confinement(far.fileno())
        candidate.main(far.fileno())
    far.close()
    evaluator.judge(report.fileno(), near.fileno(), child, judging.speaker(report.fileno()))
    _end(child, near, report, engine)


def _rehearse_candidate(job: bytes) -> None:
    engine, report = _make_job(job)
    near, far = _socket.socketpair()
    child = os.fork()
    if not child:
        far.close()
        evaluator.main(report.fileno(), near.fileno(), 0)
    near.close()
    wire.report_confinement(far.fileno())
    candidate.serve(far.fileno())
    _end(child, far, report, engine)


def _rehearse_in_process(job: bytes) -> None:
    engine, report = _make_job(job)
    judging.report_verdicts(report.fileno(), *wire.read_job(report.fileno()))
    _end(None, report, engine)


def _make_job(job: bytes) -> tuple[_socket.socket, _socket.socket]:
    engine, report = _socket.socketpair()
    engine.sendall(job)
    return engine, report


def _end(child: int | None, *sockets: _socket.socket) -> None:
    for each in sockets:
        each.close()
    if child is not None:
        os.waitpid(child, 0)
