"""HumanEval and MBPP: every reference solution passes verified, and no wrong mutant passes.

The problems are in `shared/data`, next to the source tree. Without that folder nothing is tested.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandbox.corpus import CorpusProgram
from tests.sandbox.corpus.plain import judge_plainly
from tests.sandbox.test_corpus import has_loop_risk, judge_all, mutate

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier

DATA = Path(__file__).parents[3] / "shared" / "data"
HUMANEVAL, MBPP = DATA / "humaneval.jsonl", DATA / "sanitized-mbpp.json"

needs_data = pytest.mark.skipif(not HUMANEVAL.exists(), reason="the public data is not here")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Jailed]:
    try:
        sandbox = Jailed()
    except NoTier as error:
        pytest.skip(str(error))
    yield sandbox
    asyncio.run(sandbox.close())


def read_humaneval() -> list[CorpusProgram]:
    """A target is the whole check of a problem."""
    problems = map(json.loads, HUMANEVAL.read_text().splitlines())
    return [
        CorpusProgram(
            each["prompt"] + each["canonical_solution"],
            (f"{each['test'].strip()}\n\ncheck({each['entry_point']})",),
        )
        for each in problems
    ]


def read_mbpp() -> list[CorpusProgram]:
    """Imports of the tests go before each target."""
    return [
        CorpusProgram(
            each["code"],
            tuple("\n".join([*each["test_imports"], test]) for test in each["test_list"]),
        )
        for each in json.loads(MBPP.read_text())
    ]


def check_all(sandbox: Jailed, programs: list[CorpusProgram]) -> int:
    """Compare outcomes with plain Python's, and return the number of verified passes."""
    expected = judge_plainly(programs)
    executions = judge_all(sandbox, programs)
    wrong = [
        (program, execution)
        for program, verdicts, execution in zip(programs, expected, executions, strict=True)
        if list(execution.targets) != (verdicts or [False] * len(program.targets))
        or (any(execution.targets) and not execution.verified)
    ]
    assert wrong == []
    return sum(each.outcome == "pass" for each in executions)


@needs_data
def test_a_sample_of_the_reference_solutions_passes_verified(sandbox: Jailed) -> None:
    programs = [*read_humaneval()[::16], *read_mbpp()[::40]]

    assert check_all(sandbox, programs) == len(programs)


@needs_data
@pytest.mark.slow
def test_all_reference_solutions_pass_verified(sandbox: Jailed) -> None:
    programs = [*read_humaneval(), *read_mbpp()]

    assert check_all(sandbox, programs) == len(programs)


@needs_data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid escape")
def test_mutants_are_judged_as_plain_python_judges_them(sandbox: Jailed) -> None:
    mutants = [
        mutant
        for program in [*read_humaneval(), *read_mbpp()]
        if not has_loop_risk(program.source)
        for mutant in mutate(program)
    ]

    passes = check_all(sandbox, mutants)

    assert len(mutants) >= 1_000
    assert passes < len(mutants) / 2
