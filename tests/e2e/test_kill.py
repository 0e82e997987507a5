"""kill -9: a run that was killed, and killed again, ends as if nobody had. Full size: `bench/`."""

from pathlib import Path
from typing import Any

import pytest
from bench.durability import Found, Kill, Reply, Size, experiment, problems

SIZE = Size(samples=300, connections=20, kills=4, latency=0.05, seed=3)


def test_a_killed_run_loses_nothing_and_pays_again_only_for_what_was_in_flight(
    tmp_path: Path,
) -> None:
    found = experiment(tmp_path, SIZE)

    assert list(problems(found)) == []
    assert any(0 < kill.stored < SIZE.samples for kill in found.kills), "killed in the middle"
    assert found.arrived > SIZE.samples, "while something was in flight"
    assert found.report["summary"]["reused"] > 0


def made(**changes: Any) -> Found:
    """Two samples on one connection, killed once after the first."""
    usage = {"requests": 2, "prompt_tokens": 8, "completion_tokens": 4}
    parts = ("status", "metrics", "leaderboard", "calibration", "failures", "notes")
    report = {"usage": {"m": usage}, **dict.fromkeys(parts, "the same")}
    replies = [Reply("a", 4, 1), Reply("b", 4, 2), Reply("b", 4, 3)]
    fair = Found(
        size=Size(samples=2, connections=1, kills=1),
        kills=[Kill(arrived=2, stored=1, lost=1)],
        arrived=3,
        delivered=replies,
        stored=[("t0", replies[0]), ("t1", replies[2])],
        report=report,
        uninterrupted=report,
    )
    return fair._replace(**changes)


def test_the_experiment_accepts_what_is_fair() -> None:
    assert list(problems(made())) == []


@pytest.mark.parametrize(
    ("foul", "said"),
    [
        pytest.param({"stored": [("t0", Reply("a", 4, 1))]}, "not 2", id="a sample is lost"),
        pytest.param(
            {"stored": [("t0", Reply("a", 4, 1)), ("t0", Reply("a", 4, 1))]},
            "2 outcomes of 1 samples",
            id="a sample is there twice",
        ),
        pytest.param({"kills": [Kill(3, 1, 2)]}, "kill 1 cost 2 requests", id="a kill is dear"),
        pytest.param({"arrived": 4}, "4 requests were sent", id="so are all of them"),
        pytest.param(
            {"delivered": [Reply("a", 4, 1)]}, "was not delivered", id="a reply from nowhere"
        ),
        pytest.param(
            {"stored": [("t0", Reply("a", 4, 1)), ("t1", Reply("b", 4, 2))]},
            "the report has 4 `completion_tokens`, but stored outcomes have 3",
            id="tokens of a reply that was lost",
        ),
        pytest.param({"uninterrupted": {**made().report, "metrics": 0}}, "`metrics`", id="numbers"),
    ],
)
def test_the_experiment_notices_what_is_not(foul: dict[str, Any], said: str) -> None:
    assert said in "\n".join(problems(made(**foul)))
