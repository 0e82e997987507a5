from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.made import job, model, resources, right

import evalwright as ew
from evalwright.engine.run import KnownScores, Resources, sandbox_facts, score_key_of, solve_key_of
from evalwright.plan.keys import key_of
from evalwright.plan.plan import Job
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.store.sqlite import SqliteStore
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


def solve_key(what: Job | None = None, who: Resources | None = None) -> str:
    return solve_key_of(what or job(), who or resources())


def score_key(what: Job | None = None, who: Resources | None = None, output: str = "4") -> str:
    what, who = what or job(), who or resources()
    trace = Trace(input="", output=output, post_processed="")
    scorer = who.tasks[what.task].scorers["record"]
    known = KnownScores(solve_key_of(what, who), sandbox=sandbox_facts(who))
    return score_key_of(who.case(what).with_trace(trace), "record", scorer, known)


def fingerprinted(fingerprint: str) -> Resources:
    client = model(right)
    client.fingerprint = fingerprint
    return resources(models={"m": client})


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
        pytest.param(job(prompt="another"), resources(), id="the prompt"),
        pytest.param(job(few_shot_examples=(Example("p", "c"),)), resources(), id="an example"),
        pytest.param(
            job(task_id="another"), resources(), id="the id, by which answers are recorded"
        ),
        pytest.param(job(trial=1), resources(), id="the trial"),
        pytest.param(job(model="n"), resources(models={"n": model(right)}), id="the model"),
        pytest.param(job(), fingerprinted("another"), id="endpoint and parameters of the model"),
        pytest.param(job(), resources(solver=NewerSolver()), id="the version of the solver"),
    ],
)
def test_an_answer_depends_on(what: Job, who: Resources) -> None:
    assert solve_key(what, who) != solve_key()


@pytest.mark.parametrize(
    ("what", "who"),
    [
        pytest.param(job(targets=("5", "6")), resources(), id="the targets"),
        pytest.param(job(metric_name="f1"), resources(), id="the metric"),
        pytest.param(job(post_process="lower"), resources(), id="the post-process rule"),
        pytest.param(job(metadata={"author": "me"}), resources(), id="what nobody reads"),
        pytest.param(job(ordinal=7), resources(), id="the place in the file"),
        pytest.param(job(), resources(scorers={"record": NewerScorer()}), id="the scorer"),
        pytest.param(job(), resources(sandbox=Unsafe()), id="the sandbox"),
    ],
)
def test_an_answer_does_not_depend_on(what: Job, who: Resources) -> None:
    assert solve_key(what, who) == solve_key()


@pytest.mark.parametrize(
    ("what", "who"),
    [
        pytest.param(job(targets=("4", "5")), resources(), id="the targets"),
        pytest.param(job(metric_name="f1"), resources(), id="the metric"),
        pytest.param(job(post_process="lower"), resources(), id="the post-process rule"),
        pytest.param(job(metadata={"timeout_s": 7}), resources(), id="the time that code may take"),
        pytest.param(
            job(), resources(scorers={"record": NewerScorer()}), id="the scorer's version"
        ),
        pytest.param(job(), resources(sandbox=Unsafe()), id="whether there is a sandbox"),
        pytest.param(job(prompt="another"), resources(), id="whatever the answer depends on"),
    ],
)
def test_a_score_depends_on(what: Job, who: Resources) -> None:
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

    held = resources(**{"sandbox": Unsafe(), **other})

    assert score_key(what, held) != score_key(what, resources(sandbox=Unsafe()))


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
    case = resources().case(job())
    scorer, known = RecordScorer(), KnownScores("solved")

    first, second = (score_key_of(case, name, scorer, known) for name in ("first", "second"))

    assert first != second


RECORD = (
    '{"task_id": "sum-1", "category": "arithmetic", "prompt": "2 + 2 =", "targets": ["4"], '
    '"metric_name": "exact_match", "post_process": "strip_whitespace"}\n'
)
PROJECT = {
    "run.yaml": """
models:
  - $provider: scripted/echo
evaluation:
  key: elements
  display_name: Elements
  task_specifications:
    - {key: echo, task_key: symbols, model_key: scripted$echo}
""",
    "tasks/symbols.yaml": """
key: symbols
display_name: Chemical symbols
description: Whether a model knows the symbols of the elements.
tasks: [chat_completion]
definition:
  evaluated_entity_type: model
  dataset: {key: elements}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - role: system
          content: Answer with the symbol and nothing else.
        - role: user
          content: "What is the chemical symbol of {{ sample.element | lower }}?"
  scorers:
    - type: string_equals
      ground_truth: "{{ sample.symbol }}"
""",
    "datasets/elements.yaml": """
key: elements
display_name: Elements
source: {type: local, file_path: elements.csv}
""",
    "datasets/elements.csv": "element,symbol\nHydrogen,H\n",
}


def stored_keys(path: Path, models: Sequence[str], store: Path) -> tuple[str, dict[str, str]]:
    ew.run(path, models=models, store=str(store))
    with closing(SqliteStore(store)) as opened:
        (run,) = opened.runs()
        (landed,) = opened.outcomes(run.id)
    return landed.solve_key, landed.score_keys


def test_keys_of_a_record_are_those_of_earlier_versions(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(RECORD)

    keys = stored_keys(file, ["scripted/echo"], tmp_path / "runs.db")

    assert keys == (
        "5e3b9096f74e7ce4477745321c69807a",
        {"record": "5955e3d926349953482a271b3c34cea5"},
    )


def test_keys_of_a_document_are_those_of_earlier_versions(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    keys = stored_keys(tmp_path / "run.yaml", [], tmp_path / "runs.db")

    assert keys == (
        "f2b19cc7a5f750c8bc086d8ac7b2c676",
        {"string_equals": "a0d81db1905ef51841185783b012664d"},
    )
