"""What every test relies on: no network beyond this machine, and no store but its own."""

import gc
import signal
import socket
from collections.abc import Generator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_numbers = count()

# A shell that starts `make test` in the background ignores these signals, and children inherit
# that. Tests interrupt the processes that they start.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        )

# A busy machine is slow, and no test is about that. `_own_store` is a fixture per test function,
# and examples of one test may share it.
settings.register_profile(
    "busy machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("busy machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from the tests: they live until the end.

    This halves the time that collection takes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A run of a test, or of a process that it starts, is never kept in the checkout.

    The folder is made by the store itself: most tests need none.
    """
    folder = tmp_path_factory.getbasetemp() / f"store-{next(_numbers)}"
    monkeypatch.setenv("EVALWRIGHT_STORE", str(folder / "runs.db"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for another machine fails at once, and says so."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {
            "127.0.0.1",
            "::1",
            "localhost",
        }:
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
