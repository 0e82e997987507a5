from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.made import crew, job, model, right

from evalwright.engine.keys import key_of
from evalwright.engine.run import Crew, Known, held_by, score_key_of, solve_key_of
from evalwright.plan.plan import Job
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.types import Example, Trace

PARTS = st.lists(st.text(st.characters(codec=None), max_size=5), max_size=5)
CODE: dict[str, Any] = {"category": "code_exec", "metric_name": "code_exec"}


class NewerSolver(RecordSolver):
    version = RecordSolver.version + 1


class NewerScorer(RecordScorer):
    version = RecordScorer.version + 1


class Isolated(Unsafe):
    tier = "container"


class Verified(Unsafe):
    verified = True


def solve_key(what: Job | None = None, who: Crew | None = None) -> str:
    return solve_key_of(what or job(), who or crew())


def score_key(what: Job | None = None, who: Crew | None = None, output: str = "4") -> str:
    what, who = what or job(), who or crew()
    trace = Trace(input="", output=output, post_processed="")
    scorers = who.teams[what.task].scorers
    known = Known(scorers, solve_key_of(what, who), held=held_by(who))
    return score_key_of(who.case(what).solved(trace), "record", known)


def fingerprinted(fingerprint: str) -> Crew:
    client = model(right)
    client.fingerprint = fingerprint
    return crew(models={"m": client})


@given(PARTS, PARTS)
def test_no_two_lists_of_parts_have_the_same_key(one: list[str], two: list[str]) -> None:
    assert (key_of(*one) == key_of(*two)) is (one == two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(["ab", "c"], ["a", "bc"], id="where one part ends"),
        pytest.param(["a", ""], ["a"], id="an empty part"),
        pytest.param(["a", "b"], ["b", "a"], id="their order"),
        pytest.param(["1:a"], ["", "a"], id="a part that looks like a length"),
        pytest.param(["\ud800"], ["\ud801"], id="halves of surrogate pairs"),
    ],
)
def test_a_key_minds(one: list[str], two: list[str]) -> None:
    assert key_of(*one) != key_of(*two)


def test_a_key_is_the_same_in_every_process_and_version() -> None:
    assert key_of("solver", "1", "2 + 2 =") == "c609abdd396b9a64af234ba6607b0c02"


@pytest.mark.parametrize(
    ("what", "who"),
    [
        pytest.param(job(prompt="another"), crew(), id="the prompt"),
        pytest.param(job(few_shot_examples=(Example("p", "c"),)), crew(), id="an example"),
        pytest.param(job(task_id="another"), crew(), id="the id, by which answers are recorded"),
        pytest.param(job(trial=1), crew(), id="the trial"),
        pytest.param(job(model="n"), crew(models={"n": model(right)}), id="the model"),
        pytest.param(job(), fingerprinted("another"), id="endpoint and parameters of the model"),
        pytest.param(job(), crew(solver=NewerSolver()), id="the version of the solver"),
    ],
)
def test_an_answer_depends_on(what: Job, who: Crew) -> None:
    assert solve_key(what, who) != solve_key()


@pytest.mark.parametrize(
    ("what", "who"),
    [
        pytest.param(job(targets=("5", "6")), crew(), id="the targets"),
        pytest.param(job(metric_name="f1"), crew(), id="the metric"),
        pytest.param(job(post_process="lower"), crew(), id="the post-process rule"),
        pytest.param(job(metadata={"author": "me"}), crew(), id="what nobody reads"),
        pytest.param(job(ordinal=7), crew(), id="the place in the file"),
        pytest.param(job(), crew(scorers={"record": NewerScorer()}), id="the scorer"),
        pytest.param(job(), crew(sandbox=Unsafe()), id="the sandbox"),
    ],
)
def test_an_answer_does_not_depend_on(what: Job, who: Crew) -> None:
    assert solve_key(what, who) == solve_key()


@pytest.mark.parametrize(
    ("what", "who"),
    [
        pytest.param(job(targets=("4", "5")), crew(), id="the targets"),
        pytest.param(job(metric_name="f1"), crew(), id="the metric"),
        pytest.param(job(post_process="lower"), crew(), id="the post-process rule"),
        pytest.param(job(metadata={"timeout_s": 7}), crew(), id="the time that code may take"),
        pytest.param(job(), crew(scorers={"record": NewerScorer()}), id="the scorer's version"),
        pytest.param(job(), crew(sandbox=Unsafe()), id="whether there is a sandbox"),
        pytest.param(job(prompt="another"), crew(), id="whatever the answer depends on"),
    ],
)
def test_a_score_depends_on(what: Job, who: Crew) -> None:
    assert score_key(what, who) != score_key()


def test_a_score_depends_on_the_answer_itself() -> None:
    assert score_key(output="5") != score_key(output="4")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"sandbox": Isolated()}, id="the tier"),
        pytest.param({"sandbox": Verified()}, id="whether a verdict can be forged"),
        pytest.param({"packages": ("numpy",)}, id="what a program may import"),
    ],
)
def test_a_score_depends_on_how_programs_are_held(other: dict[str, Any]) -> None:
    what = job(**CODE)

    held = crew(**{"sandbox": Unsafe(), **other})

    assert score_key(what, held) != score_key(what, crew(sandbox=Unsafe()))


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(job(metadata={"author": "me"}), id="what nobody reads"),
        pytest.param(job(ordinal=7), id="the place in the file"),
    ],
)
def test_a_score_does_not_depend_on(what: Job) -> None:
    assert score_key(what) == score_key()


def test_each_scorer_has_its_own_key() -> None:
    case = crew().case(job())
    known = Known({"one": RecordScorer(), "two": RecordScorer()}, "solved")

    assert score_key_of(case, "one", known) != score_key_of(case, "two", known)
