"""One process judges candidate and targets: what it says, and that it ends there."""

import json
from typing import Any

import pytest
from tests.sandbox.inside import bare

# A child judges; its parent prints how it ended and what it said.
JUDGE = """
import json, os
from inside import judging

source, *targets = sys.argv[1:]
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    judging.main(writing, [text.encode() for text in ("N", source, *targets)])
os.close(writing)
with open(reading) as report:
    said = [json.loads(line) for line in report]
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("\\n" + json.dumps([status, said]))
"""
READY = {"type": "ready"}
DONE = {"type": "done", "nonce": "N"}


def judged(source: str, *targets: str) -> Any:
    """How the child ended, and its records."""
    return json.loads(bare.run(JUDGE, source, *targets).splitlines()[-1])


def candidate(outcome: str, detail: str = "") -> dict[str, str]:
    return {"type": "candidate", "outcome": outcome, "detail": detail}


def target(outcome: str, detail: str = "") -> dict[str, str]:
    return {"type": "target", "outcome": outcome, "detail": detail}


def test_a_candidate_that_passes() -> None:
    source = "def add(a, b):\n    return a + b\n"

    said = judged(source, "add(1, 2) == 3", "assert add('a', 'b') == 'ab'")

    assert said == [0, [READY, candidate("ran"), target("passed"), target("passed"), DONE]]


def test_every_target_is_judged_and_said_in_order() -> None:
    targets = ["x == 2", "x == 1", "raise ValueError('no')", "x ==", "x - 1"]

    assert judged("x = 1", *targets) == [
        0,
        [
            READY,
            candidate("ran"),
            target("failed", "evaluated to False"),
            target("passed"),
            target("failed", "ValueError: no"),
            target("uncompilable", "SyntaxError: invalid syntax (<target 4>, line 1)"),
            target("failed", "evaluated to 0"),
            DONE,
        ],
    ]


def test_targets_share_what_the_candidate_made() -> None:
    said = judged("seen = []", "seen.append(1)", "seen == [1]", "y = seen", "y is seen")

    assert [one["outcome"] for one in said[1][2:-1]] == ["failed", "passed", "passed", "passed"]


def test_a_syntax_error_ends_it_without_targets() -> None:
    status, records = judged("def f(:\n", "True")

    assert (status, len(records)) == (0, 3)
    assert (records[0], records[2]) == (READY, DONE)
    assert records[1]["outcome"] == "syntax_error"
    assert records[1]["detail"].startswith("SyntaxError: ")
    assert records[1]["detail"].endswith("(<candidate>, line 1)")


@pytest.mark.parametrize(
    ("source", "detail"),
    [
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="an error"),
        pytest.param("raise SystemExit(0)", "SystemExit: 0", id="an exit"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt", id="an interrupt"),
    ],
)
def test_a_candidate_that_raises_ends_it_without_targets(source: str, detail: str) -> None:
    assert judged(source, "True") == [0, [READY, candidate("error", detail), DONE]]


def test_a_candidate_that_exits_for_good_says_no_more() -> None:
    assert judged("import os\nos._exit(3)", "True") == [3, [READY]]
    assert judged("x = 1", "__import__('os')._exit(0)", "True") == [0, [READY, candidate("ran")]]


def test_a_copy_that_the_candidate_forked_has_no_say() -> None:
    source = "import os\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n"

    assert judged(source, "x is None") == [
        0,
        [
            READY,
            candidate("ran"),
            target("failed", "NameError: name 'x' is not defined"),
            DONE,
        ],
    ]


def test_no_hook_runs_on_the_way_out() -> None:
    source = "import atexit, os\natexit.register(os._exit, 7)\nprint('printed')"

    assert judged(source) == [0, [READY, candidate("ran"), DONE]]


def test_what_was_printed_comes_out_before_the_end() -> None:
    printed = bare.run(JUDGE, "print('by the candidate')", "print('by a target') is None")

    assert printed.splitlines()[:2] == ["by the candidate", "by a target"]


def test_streams_that_the_candidate_closed_are_no_matter() -> None:
    said = judged("import sys\nsys.stdout.close()\nsys.stderr = None", "True")

    assert said == [0, [READY, candidate("ran"), target("passed"), DONE]]


def test_a_report_that_cannot_be_written_is_said_elsewhere() -> None:
    script = "from inside import judging\njudging.judge_in_process(-1, 'N', '', [])"

    ended = bare.ended_with(script)

    assert ended.returncode == 1
    assert ended.stderr == "the evaluator: OSError: [Errno 9] Bad file descriptor\n"


def test_a_job_comes_and_its_report_goes_over_one_socket() -> None:
    script = """
import json, os, socket
from inside import judging, wire

ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    ours.close()
    judging.judge_in_process(theirs.fileno(), *wire.read_job(theirs.fileno()))
theirs.close()
ours.sendall(wire.pack_job("N", "x = 1", ["x == 1"]))
with ours.makefile() as report:
    print(json.dumps([json.loads(line) for line in report]))
os.waitpid(child, 0)
"""

    assert json.loads(bare.run(script)) == [READY, candidate("ran"), target("passed"), DONE]


def test_a_warning_about_style_is_nobodys_output() -> None:
    ended = bare.ended_with(JUDGE, "1 is 1\n'\\d'", "1 is 1")

    assert (ended.returncode, ended.stderr) == (0, "")
