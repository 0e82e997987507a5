"""Many programs: honest ones are judged as plain Python judges them, and forgeries never pass.

The programs are in `corpus/`; forgeries that go for the process are in `attacks/`.
"""

import ast
import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from tests.sandbox import test_split, test_split_objects, test_split_state
from tests.sandbox.attacks import GROUPS
from tests.sandbox.corpus import CorpusProgram, read_programs
from tests.sandbox.corpus.forgeries import FORGERIES
from tests.sandbox.corpus.honest_classes import CLASSES
from tests.sandbox.corpus.honest_functions import FUNCTIONS
from tests.sandbox.corpus.honest_more import MORE
from tests.sandbox.corpus.plain import judge_plainly

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS
from evalwright.types import Execution, Program

FORGING_GROUPS = ("lies", "patches", "tricks", "looks", "exits", "prints")
# They pass in their own process; the check meets something that it does not reproduce.
UNVERIFIED = {
    "lies: a text, made on demand",
    "lies: a lie to a callback",
    "lies: with everything in it",
    "looks: around a callback",
    "looks: at the namespace of a callback",
    "looks: into a callback",
    "patches: the names of the target",
    "prints: a verdict on every descriptor, with the nonce that it finds",
    "tricks: a module under the name of another that runs what it is given",
    "tricks: a package of its own, where the target imports from",
    "tricks: an end of another kind",
    "tricks: an iteration that ends before it is checked",
}
# `Low`, `Zero`, a `Bag` that cannot be read, a decorator that drops the check, and values with two
# faces: nothing that the check receives contradicts them.
UNVERIFIED_FORGERIES = 7


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    try:
        sandbox = Jailed(tier=request.param)
    except NoTier as error:
        pytest.skip(str(error))
    yield sandbox
    asyncio.run(sandbox.close())


@pytest.fixture(scope="module")
def best() -> Iterator[Jailed]:
    try:
        sandbox = Jailed()
    except NoTier as error:
        pytest.skip(str(error))
    yield sandbox
    asyncio.run(sandbox.close())


def judge_all(sandbox: Jailed, programs: Sequence[CorpusProgram]) -> list[Execution]:
    async def judge() -> list[Execution]:
        return await asyncio.gather(
            *(
                sandbox.judge(Program(source=each.source, targets=each.targets, timeout_s=20))
                for each in programs
            )
        )

    return asyncio.run(judge())


def honest_programs() -> list[CorpusProgram]:
    programs = [each for text in (CLASSES, FUNCTIONS, MORE) for each in read_programs(text)]
    for module in (test_split, test_split_objects, test_split_state):
        for case in module.CASES.values():
            source, targets, holds = test_split.parse(case)
            right = tuple(t for t, held in zip(targets, holds, strict=True) if held)
            programs.append(CorpusProgram(source, right))
    return programs


def test_honest_programs_are_judged_as_plain_python_judges_them(best: Jailed) -> None:
    programs = honest_programs()
    expected = judge_plainly(programs)

    executions = judge_all(best, programs)

    different = [
        (program, verdicts, execution)
        for program, verdicts, execution in zip(programs, expected, executions, strict=True)
        if verdicts != list(execution.targets)
    ]
    passes = [execution for execution in executions if execution.outcome == "pass"]
    assert different == []
    assert len(programs) >= 300
    assert len(passes) == len(programs)
    assert sum(each.verified for each in passes) >= 0.9 * len(passes)
    assert all(each.verified or each.reason for each in passes)


def test_wrong_programs_never_pass(best: Jailed) -> None:
    programs = [mutant for program in honest_programs() for mutant in mutate(program)][::4]
    expected = judge_plainly(programs)
    wrong = [
        (program, verdicts)
        for program, verdicts in zip(programs, expected, strict=True)
        if verdicts is None or not all(verdicts)
    ]

    executions = judge_all(best, [program for program, _ in wrong])

    passed = [
        (program, execution)
        for (program, _), execution in zip(wrong, executions, strict=True)
        if execution.outcome == "pass"
    ]
    assert passed == []
    assert len(wrong) >= 60


class _Mutation(ast.NodeTransformer):
    """Changes the node of that number among those that can be changed."""

    swaps: ClassVar[dict[type, Any]] = {
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.Add,
        ast.Lt: ast.GtE,
        ast.Gt: ast.LtE,
        ast.Eq: ast.NotEq,
        ast.In: ast.NotIn,
    }

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def _is_next(self) -> bool:
        self.count += 1
        return self.count - 1 == self.at

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in self.swaps and self._is_next():
            node.op = self.swaps[type(node.op)]()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if type(node.ops[0]) in self.swaps and self._is_next():
            node.ops[0] = self.swaps[type(node.ops[0])]()
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if self._is_next():
            node.value = ast.Constant(None)
        return node


def mutate(program: CorpusProgram) -> Iterator[CorpusProgram]:
    for at in range(3):
        tree = ast.parse(program.source)
        mutation = _Mutation(at)
        mutated = ast.unparse(mutation.visit(tree))
        if mutation.count > at and not has_loop_risk(program.source):
            yield CorpusProgram(mutated, program.targets)


def has_loop_risk(source: str) -> bool:
    """Whether a mutant could run for ever."""
    return "while" in source or "primes" in source


def test_no_forgery_passes_verified(sandbox: Jailed) -> None:
    programs = read_programs(FORGERIES)
    attacks = {
        f"{group}: {attack.name}": CorpusProgram(attack.source, attack.targets)
        for group in FORGING_GROUPS
        for attack in GROUPS[group]
        if attack.unheld == "pass" and "pass" not in attack.outcomes
    }

    executions = judge_all(sandbox, [*programs, *attacks.values()])

    passed = [each for each in executions if each.outcome == "pass"]
    names = {
        name
        for name, execution in zip(attacks, executions[len(programs) :], strict=True)
        if execution.outcome == "pass"
    }
    assert [each for each in passed if each.verified] == []
    assert names <= UNVERIFIED
    forged = executions[: len(programs)]
    assert sum(each.outcome == "pass" for each in forged) <= UNVERIFIED_FORGERIES
    assert len(executions) >= 130
