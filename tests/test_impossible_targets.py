import asyncio
import subprocess
import sys

import pytest

from evalwright.impossible_targets import explain_impossible
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.execution import score_program
from evalwright.types import Program

IMPOSSIBLE = [
    ("False", "always false"),
    ("1 == 2", "always false"),
    ("  1 == 2", "always false"),
    ("not (1, 2)", "always false"),
    ("0 or ''", "always false"),
    ("(2 or 1) == 1", "always false"),
    ("'x' in ('a', 'b')", "always false"),
    ("1 < 2 > 2", "always false"),
    ("assert 1 == 2", "always false"),
    ("'What it does.'\nassert 0", "always false"),
    ("import math\nassert 1 > 2, f(2)", "always false"),
    ("1 / 0", "always raises ZeroDivisionError"),
    ("1 < 'a'", "always raises TypeError"),
    ("x = 1 % 0", "always raises ZeroDivisionError"),
    ("raise NotImplementedError", "always raises"),
    ("raise f(2)", "always raises"),
    ("def check(one, *others): return one\npass\nraise ValueError('unfinished')", "always raises"),
    ("import nowhere.at.all\nf(2)", "imports `nowhere`"),
    ("from nowhere import thing\nf(2)", "imports `nowhere`"),
    ("import math, nowhere\nraise ValueError", "imports `nowhere`"),
]
"""Targets that fail whatever the program is, and why."""
POSSIBLE = [
    "f(2) == 4",
    "True",
    "1 or 1 / 0",
    "not (0 and 1 / 0)",
    "(1,) != [1]",
    "1 == 2 == 1 / 0 or True",
    "assert f(2), 1 / 0",
    "f(2)\nassert False or g()",
    "import math\nassert math.pi",
    "from candidate import f\nimport candidate.part",
    "try: import nowhere\nexcept ImportError: pass",
    "if f(2):\n    raise ValueError",
    "f(2)\nimport nowhere",
    "def check(): raise ValueError",
    "def check(one=f(2)): pass",
    "x = 5\nassert f(x)",
    "9 ** 9 ** 9",
    "1 is 1",
    "assert True",
    "return 5",
]


@pytest.mark.parametrize(("target", "why"), IMPOSSIBLE)
def test_a_target_that_always_fails_is_explained(target: str, why: str) -> None:
    assert why in explain_impossible(target)


@pytest.mark.parametrize("target", POSSIBLE)
def test_any_other_target_is_left_to_the_program(target: str) -> None:
    assert explain_impossible(target) == ""


def test_python_fails_every_target_that_is_impossible() -> None:
    script = (
        "def judge(text):\n"
        "    try:\n"
        "        try: code = compile(text.lstrip(), '', 'eval')\n"
        "        except SyntaxError: return exec(text, {'f': lambda n: ValueError()}) is None\n"
        "        return eval(code)\n"
        "    except BaseException: return False\n"
        f"print([text for text in {[target for target, _ in IMPOSSIBLE]!r} if judge(text)])"
    )

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_a_package_of_the_sandbox_can_be_imported() -> None:
    target = "import numpy\nassert f(numpy.ones(3)) == 3"

    assert explain_impossible(target, {"numpy"}) == ""
    assert explain_impossible(target, set()) == "it imports `numpy`, which is not in the sandbox"


def test_an_impossible_target_is_a_mistake_of_the_task_and_not_of_the_program() -> None:
    program = Program(source="def f(n): return n", targets=("f(1) == 1", "assert False"))

    with pytest.raises(ValueError, match="no program can pass target 2 of 2: it is always false"):
        asyncio.run(score_program(Unsafe(1), program))
