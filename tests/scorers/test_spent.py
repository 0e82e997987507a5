import pytest
from tests.scorers.cases import case, chat

from evalwright.scorers.spent import find_request
from evalwright.types import Trace, Usage


@pytest.mark.parametrize(
    ("requests", "replies", "is_measured"),
    [
        pytest.param(1, 1, True, id="requested"),
        pytest.param(3, 1, True, id="with retries"),
        pytest.param(2, 2, True, id="two turns"),
        pytest.param(0, 1, False, id="from the cache"),
        pytest.param(1, 2, False, id="one of two from the cache"),
        pytest.param(0, 0, False, id="a recording"),
    ],
)
def test_only_what_was_requested_is_measured(
    requests: int, replies: int, *, is_measured: bool
) -> None:
    conversation = {**chat("a"), "raw_outputs": chat("a")["raw_outputs"] * replies}
    trace = Trace(
        input="?",
        output="a",
        post_processed="a",
        usage=Usage(requests=requests),
        conversation=conversation,
    )

    assert (find_request(case({}).with_trace(trace)) is trace) is is_measured


def test_without_a_solver_nothing_can_be_measured() -> None:
    with pytest.raises(ValueError, match="a task without a solver sends no requests"):
        find_request(case({}))
