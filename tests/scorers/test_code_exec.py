import asyncio
from typing import Any

import pytest
from msgspec import structs
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat

from evalwright.ports import Case
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.record import RecordScorer
from evalwright.types import Sample, Score, TaskSpec, Trace
from evalwright.vocabulary import LEGAL

ADD = "def add(a, b):\n    return a + b\n"
FENCED = f"Here it is:\n```python\n{ADD}```\nGood luck!"
ROW = {"tests": ["add(1, 2) == 3", "assert add('it\\'s ', '{{ x }}') == 'it\\'s {{ x }}'"], "n": 4}


def score(answer: str | None, row: dict[str, Any] | None = None, **fields: Any) -> Score:
    scorer = SCORERS.validate_python({"type": "code_exec", **fields})
    conversation = None if answer is None else chat(answer)
    made: Score = asyncio.run(scorer.score(case(row or ROW, conversation, sandbox=Unsafe())))
    return made


@pytest.mark.parametrize(
    ("targets", "value", "correct"),
    [
        pytest.param("{{ sample.tests }}", 1.0, True, id="a template that gives a list"),
        pytest.param("{{ sample.tests | tojson }}", 1.0, True, id="the same as JSON"),
        pytest.param('["add(1, 2) == 3"]', 1.0, True, id="a list in a text"),
        pytest.param(["add(1, 2) == 3", "add(1, 2) == 4"], 0.5, False, id="a list"),
        pytest.param(["add({{ sample.n }}, 1) == 5"], 1.0, True, id="a list of templates"),
        pytest.param(["add('a', 1) == 5"], 0.0, False, id="a target that raises"),
    ],
)
def test_the_score_is_the_share_of_targets_that_pass(
    targets: Any, value: float, *, correct: bool
) -> None:
    found = score(FENCED, targets=targets)

    assert found.values == {"score": value, "is_correct": correct}
    assert found.correct is correct
    assert bool(found.reason) is not correct


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param(ADD, "pass", id="passes"),
        pytest.param("def add(a, b):\n    return a - b", "assertion_fail", id="wrong"),
        pytest.param("def add(a, b:", "syntax_error", id="no Python"),
        pytest.param("raise OSError", "error", id="raises"),
    ],
)
def test_it_is_what_the_same_record_would_score(answer: str, outcome: str) -> None:
    targets = ("add(1, 2) == 3", "add(2, 2) == 4")
    record = TaskSpec(
        task_id="a",
        category="code_exec",
        prompt="go",
        targets=targets,
        metric_name="code_exec",
        post_process="none",
    )
    trace = Trace(input="go", output=answer, post_processed=answer)
    of_record: Case = structs.replace(
        case({}, chat(answer), sandbox=Unsafe()), sample=Sample("a", record), answer=trace
    )

    expected = asyncio.run(RecordScorer().score(of_record))
    found = score(answer, targets=list(targets))

    assert found.metadata["outcome"] == outcome
    assert found.values["score"] == expected.values["score"]
    assert (found.metadata, found.correct, found.reason) == (
        expected.metadata,
        expected.correct,
        expected.reason,
    )


def test_the_whole_answer_is_the_program_where_no_block_is_to_be_found() -> None:
    targets = ["add(1, 2) == 3"]

    assert score(ADD, targets=targets).values["score"] == 1
    assert score(FENCED, targets=targets, post_process="none").values["score"] == 0


def test_a_value_takes_the_place_of_the_answer() -> None:
    row = {"solution": FENCED}

    assert score("no code", row, targets=["add(1, 2) == 3"], value="{{ sample.solution }}").correct
    assert score(None, row, targets=["add(1, 2) == 3"], value="{{ sample.solution }}").correct


def test_a_program_may_take_its_time_and_no_more() -> None:
    found = score("import time\ntime.sleep(9)", targets=["True"], timeout_s=0.2)

    assert (found.metadata["outcome"], found.values["score"]) == ("timeout", 0.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param({"tests": "add(1, 2) == 3"}, "must render to a JSON or Python", id="a text"),
        pytest.param({"tests": []}, "must render to a list of strings", id="none"),
        pytest.param({"tests": ["True", 3]}, "must render to a list of strings", id="a number"),
        pytest.param({"tests": ["add(1, 2 == 3"]}, "does not compile", id="no Python"),
    ],
)
def test_a_row_without_usable_targets_fails_and_is_no_0(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(ADD, row, targets="{{ sample.tests }}")


def test_without_a_sandbox_nothing_is_run() -> None:
    scorer = SCORERS.validate_python({"type": "code_exec", "targets": ["True"]})

    with pytest.raises(ValueError, match="needs a sandbox"):
        asyncio.run(scorer.score(case(ROW, chat(ADD))))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"targets": []}, id="no target"),
        pytest.param({"targets": ["add(1, 2 == 3"]}, id="a target that is no Python"),
        pytest.param({"targets": ["x == {{ sample.a"]}, id="a target that is no template"),
        pytest.param({"targets": [3]}, id="a number"),
        pytest.param({"targets": "add(1, 2) == 3"}, id="a target that is in no list"),
        pytest.param({"targets": ["True"], "timeout_s": 31}, id="too much time"),
        pytest.param({"targets": ["True"], "timeout_s": 0}, id="no time"),
        pytest.param({"targets": ["True"], "post_process": "lower"}, id="another rule"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        SCORERS.validate_python({"type": "code_exec", **fields})

    assert caught.value.error_count() == 1


def test_braces_of_python_are_no_template() -> None:
    assert score(ADD, targets=["add(*{'a': 1}.values(), 2) == 3"]).correct


def test_the_rules_are_those_that_records_of_code_may_have() -> None:
    for rule in LEGAL["code_exec"].post_processes:
        SCORERS.validate_python({"type": "code_exec", "targets": ["True"], "post_process": rule})


def test_a_score_depends_on_its_fields_and_on_the_row() -> None:
    first, second = (
        SCORERS.validate_python({"type": "code_exec", "targets": ["True"], "timeout_s": seconds})
        for seconds in (1, 2)
    )

    assert first.describe_inputs(Sample("a", ROW)) != second.describe_inputs(Sample("a", ROW))
    assert first.describe_inputs(Sample("a", ROW)) != first.describe_inputs(Sample("a", {}))
    assert first.needs_sandbox
