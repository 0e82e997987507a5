"""How a log says that its task ended is how it is taken."""

from typing import Any

import pytest

from evalwright.report.logs.ends import broken_in, stopped_by
from evalwright.report.logs.taken import Crooked

ERROR = {"error_type": "X", "message": "boom", "stage": "metric"}
STOPPED = {"error_type": "stopped", "message": "samples are missing", "stage": "solver"}


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param({}, "", id="nothing is said"),
        pytest.param({"status": "success"}, "", id="success"),
        pytest.param({"status": "failure", "errors": [ERROR]}, "", id="failure"),
        pytest.param({"status": "failure", "errors": [STOPPED]}, "samples are missing", id="ours"),
        pytest.param({"status": "cancelled"}, "`status: cancelled`", id="cancelled"),
        pytest.param({"status": "stopped"}, "`status: stopped`", id="stopped"),
        pytest.param(
            {"status": "success", "execution": {"execution_status": "pending"}},
            "`execution_status: pending`",
            id="pending",
        ),
        pytest.param({"status": 7, "execution": [], "errors": {}}, "", id="nonsense"),
    ],
)
def test_whether_it_came_to_its_end(known: dict[str, Any], said: str) -> None:
    assert said in stopped_by(known)
    assert bool(stopped_by(known)) == bool(said)


@pytest.mark.parametrize(
    ("known", "evidence", "said"),
    [
        pytest.param({"errors": [ERROR]}, {}, ["boom"], id="of the whole"),
        pytest.param({}, {"errors": [ERROR]}, ["boom"], id="of the evidence"),
        pytest.param({"errors": [ERROR]}, {"errors": [ERROR]}, ["boom"], id="the same twice"),
        pytest.param({"errors": [STOPPED], "status": "failure"}, {}, [], id="only stopped"),
        pytest.param({"status": "failure"}, {}, ["failed, and not why"], id="no reason"),
        pytest.param({"status": "success"}, {}, [], id="whole"),
    ],
)
def test_what_broke(known: dict[str, Any], evidence: dict[str, Any], said: list[str]) -> None:
    broken = broken_in(known, evidence)

    assert len(broken) == len(said)
    assert all(text in one.failure.message for one, text in zip(broken, said, strict=True))


@pytest.mark.parametrize("errors", [7, "x", [1]])
def test_errors_that_are_none_are_refused(errors: Any) -> None:
    with pytest.raises(Crooked):
        broken_in({"errors": errors}, {})
