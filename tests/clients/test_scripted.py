import asyncio
import math
import os
import subprocess
import sys

import pytest
from tests.servers.asking import answered, asking, chat, failed

from evalwright.clients.scripted import SCRIPTS, Answer, Scripted, connect
from evalwright.errors import UnknownName
from evalwright.ports import Case
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.spec.records.fixtures import load_fixtures
from evalwright.text.prompt import render
from evalwright.types import Message, Request, Sample, Score, TaskSpec, Trace

FIXTURES = load_fixtures()
ARITHMETIC = FIXTURES[0]


def request(task: TaskSpec, trial: int = 0) -> Request:
    sample = Sample(task.task_id, task)
    return Request(messages=(Message("user", render(task)),), sample=sample, trial=trial)


def judged(name: str, task: TaskSpec, trial: int = 0) -> tuple[Trace, Score]:
    async def judge() -> tuple[Trace, Score]:
        case = Case(
            sample=Sample(task.task_id, task), model=connect(name), sandbox=Unsafe(), trial=trial
        )
        trace = await RecordSolver().solve(case)
        return trace, await RecordScorer().score(case.with_trace(trace))

    return asyncio.run(judge())


def many(name: str, category: str, count: int = 300) -> list[tuple[float, bool]]:
    """Confidence and correctness of many trials of the fixtures of a category."""
    tasks = [task for task in FIXTURES if task.category == category]
    found = [judged(name, task, trial) for trial in range(count // len(tasks)) for task in tasks]
    return [(trace.confidence or 0, bool(score.correct)) for trace, score in found]


@pytest.mark.parametrize("task", FIXTURES, ids=lambda task: task.task_id)
def test_the_oracle_is_right_on_every_fixture(task: TaskSpec) -> None:
    trace, score = judged("oracle", task)

    assert score.values == {"score": 1.0}, score.reason
    assert trace.confidence is not None
    assert 0.95 <= trace.confidence <= 0.99


def test_noisy_is_mostly_wrong_and_sure_of_itself() -> None:
    found = many("noisy", "arithmetic")

    right = sum(correct for _, correct in found) / len(found)
    sure = math.fsum(confidence for confidence, _ in found) / len(found)
    assert 0.03 < right < 0.2
    assert sure > 0.8


def test_biased_is_good_at_arithmetic_and_poor_at_the_rest() -> None:
    arithmetic, mcq = many("biased", "arithmetic"), many("biased", "mcq")

    assert sum(correct for _, correct in arithmetic) / len(arithmetic) > 0.85
    assert 0.2 < sum(correct for _, correct in mcq) / len(mcq) < 0.5


def test_echo_says_the_prompt_word_for_word() -> None:
    completion = asyncio.run(connect("echo").complete(request(ARITHMETIC)))

    assert completion.text == render(ARITHMETIC)


@pytest.mark.parametrize("name", SCRIPTS)
def test_answers_depend_on_the_record_and_the_trial_alone(name: str) -> None:
    async def answers() -> list[str]:
        model = connect(name)
        said = [await model.complete(request(task, trial)) for task in FIXTURES for trial in (0, 1)]
        return [repr(one) for one in said]

    assert asyncio.run(answers()) == asyncio.run(answers())


def test_answers_are_the_same_in_every_process_whatever_the_hash_seed() -> None:
    script = (
        "import asyncio, sys\n"
        "from evalwright.clients.scripted import SCRIPTS, connect\n"
        "from evalwright.spec.records.fixtures import load_fixtures\n"
        "from evalwright.types import Message, Request, Sample\n"
        "for name in sorted(SCRIPTS):\n"
        "    for task in load_fixtures():\n"
        "        sample = Sample(task.task_id, task)\n"
        "        asked = Request(messages=(Message('user', 'x'),), sample=sample, trial=3)\n"
        "        print(ascii(asyncio.run(connect(name).complete(asked))))\n"
    )

    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(said) == 1
    assert len(said.pop().splitlines()) == len(SCRIPTS) * len(FIXTURES)


def test_trials_differ() -> None:
    said = {
        asyncio.run(connect("noisy").complete(request(ARITHMETIC, trial))).text
        for trial in range(10)
    }

    assert len(said) > 5


def test_tokens_are_counted_and_every_one_has_the_same_log_probability() -> None:
    model = Scripted("test", lambda _: Answer("one two three", 0.25))

    completion = asyncio.run(model.complete(request(ARITHMETIC)))

    assert completion.logprobs == (math.log(0.25),) * 3
    assert completion.usage.completion_tokens == 3
    assert completion.usage.prompt_tokens == len(render(ARITHMETIC).split())
    assert (completion.usage.requests, completion.usage.cost) == (1, 0.0)


def test_an_empty_answer_still_has_a_confidence() -> None:
    model = Scripted("test", lambda _: Answer("", 0.25))

    assert asyncio.run(model.complete(request(ARITHMETIC))).logprobs == (math.log(0.25),)


def test_calls_are_remembered_when_asked_for() -> None:
    asked = request(ARITHMETIC)
    remembers = Scripted("test", SCRIPTS["echo"], remember=True)
    forgets = connect("echo")

    asyncio.run(remembers.complete(asked))
    asyncio.run(forgets.complete(asked))

    assert remembers.calls == [asked]
    assert forgets.calls == []


def test_a_program_that_nobody_wrote_down_is_a_failure_and_no_wrong_answer() -> None:
    task = TaskSpec(
        task_id="a",
        category="code_exec",
        prompt="go",
        targets=("True",),
        metric_name="code_exec",
        post_process="none",
    )

    with pytest.raises(LookupError, match=r"metadata\.solution"):
        asyncio.run(connect("oracle").complete(request(task)))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("orcale", "did you mean `scripted/oracle`?", id="misspelt"),
        pytest.param("gpt-4.1", "", id="nothing like it"),
        pytest.param("", "", id="nothing at all"),
    ],
)
def test_an_unknown_script_names_those_that_there_are(name: str, hint: str) -> None:
    with pytest.raises(UnknownName) as unknown:
        connect(name)

    assert all(f"`scripted/{known}`" in str(unknown.value) for known in SCRIPTS)
    assert unknown.value.hint == hint


def test_every_report_is_told_that_a_script_is_no_model() -> None:
    assert "not from a model" in connect("oracle").caveat


def test_texts_that_share_words_have_vectors_that_are_near() -> None:
    texts = ["a red house", "the red house", "quantum chromodynamics"]

    found = answered(connect("oracle"), asking("embeddings", {"input": texts}))

    first, second, third = found.output["embeddings"]
    assert math.isclose(sum(value * value for value in first), 1)
    near = sum(one * other for one, other in zip(first, second, strict=True))
    far = sum(one * other for one, other in zip(first, third, strict=True))
    assert near > far
    assert found == answered(connect("echo"), asking("embeddings", {"input": texts}))


def test_the_echo_gives_anything_back() -> None:
    found = answered(connect("echo"), asking("custom", {"a": [1]}))

    assert (found.text, found.output) == ('{"a":[1]}', {"a": [1]})
    assert failed(connect("oracle"), asking("custom", {"a": [1]})).kind == "unsupported"


def test_a_row_has_no_targets_that_a_script_knows() -> None:
    assert answered(connect("echo"), chat("hello", row={"a": 1})).text == "hello"
    for name in ("oracle", "noisy", "biased"):
        with pytest.raises(TypeError, match="use scripted/echo"):
            answered(connect(name), chat("hello", row={"a": 1}))
