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
from tests.sandbox.attacks.table import NAMESPACES
from tests.sandbox.corpus import CorpusProgram, read_programs
from tests.sandbox.corpus.broken_checks import BROKEN_CHECKS, HANGING_CHECKS
from tests.sandbox.corpus.forged_checks import FORGED_CHECKS, UNVERIFIED_CHECKS
from tests.sandbox.corpus.forgeries import FORGERIES
from tests.sandbox.corpus.honest_classes import CLASSES
from tests.sandbox.corpus.honest_functions import FUNCTIONS
from tests.sandbox.corpus.honest_more import MORE
from tests.sandbox.corpus.honest_values import HEAD, VALUES, WAYS
from tests.sandbox.corpus.plain import judge_plainly

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS
from evalwright.types import Execution, Program

FORGING_GROUPS = ("lies", "patches", "tricks", "looks", "exits", "prints")
_INSPECTS = "an honest program may inspect a callback, for instance to count its parameters"
_READS_TWICE = "a property or method that gives something new at each call is ordinary Python"
_CONTAINS = "an honest `in`, on a trie or an interval, looks the same"
UNVERIFIED = {
    "lies: with everything in it": _CONTAINS,
    "looks: around a callback": _INSPECTS,
    "looks: at the namespace of a callback": _INSPECTS,
    "looks: into a callback": _INSPECTS,
    "tricks: a package of its own, where the target imports from": (
        "the target imports a module that only the program can provide"
    ),
    "4 in f(2)": _CONTAINS,
    "@decorate\ndef check(): assert f(2) == 4\ncheck()": (
        "a program need not call every function that it is given, such as a callback for errors"
    ),
    "r = f(2); assert r.value == 8 and r.value == 4": _READS_TWICE,
    "r = f(2); assert len(r) == 1 and len(r) == 2": _READS_TWICE,
    "r = f(2); assert r[0] == 1 and r[0] == 2": _READS_TWICE,
    **UNVERIFIED_CHECKS,
}
"""Forgeries that pass, unverified, with the reason why they cannot be refused.

Those of `attacks` and `corpus/forged_checks` by name, those of `corpus/forgeries` by target.
"""
NEED_FILES = {"tricks: a package of its own, where the target imports from"}
"""Those that fail where no file can be written."""


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


def judge_all(
    sandbox: Jailed, programs: Sequence[CorpusProgram], timeout_s: float = 20
) -> list[Execution]:
    async def judge() -> list[Execution]:
        return await asyncio.gather(
            *(
                sandbox.judge(
                    Program(source=each.source, targets=each.targets, timeout_s=timeout_s)
                )
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
    assert sum(each.verified for each in passes) >= 0.95 * len(passes)
    assert all(each.verified or each.reason for each in passes)


@pytest.mark.parametrize("way", WAYS)
def test_no_honest_value_breaks_off_the_check(best: Jailed, way: str) -> None:
    definition, target = WAYS[way]
    makers = ", ".join(f"lambda: {value}" for value in VALUES)
    source = f"{HEAD}\nmakers = [{makers}]\ndef make(n): return makers[n]()\n{definition}\n"
    targets = tuple(target.replace("{0}", str(number)) for number in range(len(VALUES)))

    (execution,) = judge_all(best, [CorpusProgram(source, targets)])

    failed = [value for value, passed in zip(VALUES, execution.targets, strict=True) if not passed]
    assert (execution.outcome, failed) == ("pass", []), execution.detail
    assert len(VALUES) >= 140


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

    named = [(each.targets[0], each) for each in programs]
    named += [*attacks.items(), *BROKEN_CHECKS.items(), *FORGED_CHECKS.items()]

    executions = judge_all(sandbox, [program for _, program in named])

    passed = [
        (name, execution)
        for (name, _), execution in zip(named, executions, strict=True)
        if execution.outcome == "pass"
    ]
    refused = {
        name: execution
        for (name, _), execution in zip(named, executions, strict=True)
        if name in BROKEN_CHECKS and execution.outcome != "refused"
    }
    assert [each for each in passed if each[1].verified] == []
    expected = set(UNVERIFIED) - (set() if sandbox.tier == NAMESPACES else NEED_FILES)
    assert sorted(name for name, _ in passed) == sorted(expected)
    assert refused == {}
    assert len(executions) >= 220


def test_a_program_that_hangs_only_in_the_check_is_refused(best: Jailed) -> None:
    executions = judge_all(best, [HANGING_CHECKS["a sleep"]], timeout_s=4)

    assert [each.outcome for each in executions] == ["refused"]
    assert "to answer in the check" in executions[0].detail


@pytest.mark.slow
def test_every_way_to_hang_only_in_the_check_is_refused(sandbox: Jailed) -> None:
    executions = judge_all(sandbox, list(HANGING_CHECKS.values()), timeout_s=4)

    assert {each.outcome for each in executions} == {"refused"}


HONEST_AND_UNCHECKED = {
    "a large value": ("def f(): return 'x' * 9_000_000\n", "len(f()) == 9_000_000"),
    "a large argument of a callback": (
        "def f(call): return call('x' * 9_000_000)\n",
        "f(lambda text: len(text)) == 9_000_000",
    ),
    "a deep value": (
        "def f():\n    value = []\n    for _ in range(200): value = [value]\n    return value\n",
        "len(f()) == 1",
    ),
    "objects in a set that have a hash of their own": (
        "class Row(list):\n    def __hash__(self): return 1\ndef f(): return {(Row([1]), 2)}\n",
        "len(f()) == 1",
    ),
    "little stack": (
        (
            "import sys\ndef f():\n    sys.setrecursionlimit(60)\n"
            "    value = []\n    for _ in range(40): value = [value]\n    return value\n"
        ),
        "len(f()) == 1",
    ),
}


@pytest.mark.parametrize("name", HONEST_AND_UNCHECKED)
def test_an_honest_program_that_cannot_be_checked_passes_unverified(
    best: Jailed, name: str
) -> None:
    source, target = HONEST_AND_UNCHECKED[name]

    (execution,) = judge_all(best, [CorpusProgram(source, (target,))])

    assert (execution.outcome, execution.verified) == ("pass", False)
    assert execution.reason
