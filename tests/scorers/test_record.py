import asyncio
import math
from typing import Any

import pytest
from msgspec import structs

from evalwright.clients.scripted import SCRIPTS, Scripted
from evalwright.ports import Case, Sandbox
from evalwright.sandbox.unsafe import Unsafe
from evalwright.scorers.record import TEXT_METRICS, RecordScorer, is_correct
from evalwright.types import Sample, Score, TaskSpec, Trace
from evalwright.vocabulary import EXACT_METRICS, METRIC_NAMES, MetricName

ADD = "def add(a, b):\n    return a + b\n"


def task(metric: MetricName, *targets: str, **metadata: Any) -> TaskSpec:
    return TaskSpec(
        task_id="a",
        category="code_exec" if metric == "code_exec" else "summary",
        prompt="go",
        targets=targets,
        metric_name=metric,
        post_process="none",
        metadata=metadata,
    )


def score(what: TaskSpec, answer: str, *, sandbox: Sandbox | None = None) -> Score:
    case = Case(
        sample=Sample("a", what),
        model=Scripted("echo", SCRIPTS["echo"]),
        sandbox=sandbox,
        # What came is not what is scored: only what post-processing made of it is.
        answer=Trace(input="go", output="raw", post_processed=answer),
    )
    return asyncio.run(RecordScorer().score(case))


def test_there_is_a_metric_for_every_name_and_a_name_for_every_metric() -> None:
    assert {*TEXT_METRICS, "code_exec"} == set(METRIC_NAMES)
    assert set(METRIC_NAMES) > EXACT_METRICS


@pytest.mark.parametrize(
    ("metric", "answer", "targets", "value"),
    [
        pytest.param("exact_match", " Paris ", ("paris", "Paris"), 1.0, id="exact, any target"),
        pytest.param("exact_match", "paris", ("Paris",), 0.0, id="exact minds case"),
        pytest.param("accuracy", "yes", ("yes",), 1.0, id="accuracy is the same comparison"),
        pytest.param("f1", "a b", ("b c",), 0.5, id="f1: one of two tokens each way"),
        pytest.param("rouge_l", "a b c d", ("a c",), 2 / 3, id="rouge_l: P 2/4, R 2/2"),
        pytest.param("rouge_l", "👍", ("👎",), 0, id="rouge_l: no words, another text"),
        pytest.param("f1", "👍", ("👎", "👍"), 1, id="f1: no words, the same text"),
        pytest.param("bleu_4", "a b c d e", ("a b c d e",), 1.0, id="bleu_4: the same text"),
        pytest.param("bleu_4", "", ("a",), 0.0, id="bleu_4: nothing"),
    ],
)
def test_a_record_is_scored_by_its_metric(
    metric: MetricName, answer: str, targets: tuple[str, ...], value: float
) -> None:
    found = score(task(metric, *targets), answer)

    assert found.values == {"score": pytest.approx(value)}
    assert found.metadata == ({"contains_target": True} if answer == "paris" else {})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"targets": ("b", "a")}, id="targets, in their order"),
        pytest.param({"metric_name": "rouge_l"}, id="the metric"),
        pytest.param({"post_process": "lower"}, id="the rule"),
        pytest.param({"metadata": {"timeout_s": 1}}, id="the time that code may take"),
    ],
)
def test_a_score_depends_on(other: dict[str, Any]) -> None:
    before = task("f1", "a", "b")

    after = structs.replace(before, **other)

    assert RecordScorer().describe_inputs(Sample("a", after)) != RecordScorer().describe_inputs(
        Sample("a", before)
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"prompt": "stop"}, id="the prompt, except through the trace"),
        pytest.param({"metadata": {"author": "me", "samples": 5}}, id="other metadata"),
        pytest.param({"task_id": "b"}, id="the id"),
    ],
)
def test_a_score_does_not_depend_on(other: dict[str, Any]) -> None:
    before = task("f1", "a", "b")

    after = structs.replace(before, **other)

    assert RecordScorer().describe_inputs(Sample("a", after)) == RecordScorer().describe_inputs(
        Sample("a", before)
    )


@pytest.mark.parametrize(
    ("metric", "scored_anew"),
    [("f1", True), ("rouge_l", True), ("bleu_4", False), ("exact_match", False)],
)
def test_only_metrics_whose_scores_can_have_changed_are_scored_anew(
    metric: MetricName, *, scored_anew: bool
) -> None:
    before = f'["none","{metric}",["👍"],3.0]'

    after = RecordScorer().describe_inputs(Sample("a", task(metric, "👍")))

    assert (after != before) is scored_anew


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("value", [0.0, 0.49, 0.5, 0.99, 1.0])
def test_exact_metrics_need_full_marks_and_graded_ones_a_half(
    metric: MetricName, value: float
) -> None:
    needed = 1 if metric in {"exact_match", "accuracy", "code_exec"} else 0.5

    assert is_correct(task(metric, "x"), value) is (value >= needed)


@pytest.mark.parametrize(
    ("metric", "answer", "correct"),
    [
        pytest.param("exact_match", "a b", True, id="exact"),
        pytest.param("exact_match", "a", False, id="nearly exact is wrong"),
        pytest.param("f1", "a c", True, id="f1 of a half is right"),
        pytest.param("f1", "a c d", False, id="f1 below a half is wrong"),
    ],
)
def test_a_score_says_whether_it_counts_as_right(
    metric: MetricName, answer: str, *, correct: bool
) -> None:
    assert score(task(metric, "a b"), answer).correct is correct


def test_less_than_full_marks_gives_its_reason() -> None:
    assert score(task("exact_match", "4"), "5").reason == "'5' against '4'"
    assert score(task("exact_match", "4"), "4").reason == ""


def test_a_reason_is_short_however_long_the_answer() -> None:
    assert len(score(task("exact_match", "4" * 999), "5" * 999).reason) < 200


@pytest.mark.parametrize(
    ("source", "targets", "outcome", "value", "verdicts"),
    [
        pytest.param(ADD, ["add(1, 2) == 3"], "pass", 1.0, [True], id="all targets pass"),
        pytest.param(
            ADD,
            ["add(1, 2) == 3", "add(1, 2) == 4", "assert add(0, 0) == 0"],
            "assertion_fail",
            2 / 3,
            [True, False, True],
            id="passed of all",
        ),
        pytest.param("def add(", ["1", "1"], "syntax_error", 0.0, [False] * 2, id="no Python"),
        pytest.param("1 / 0", ["True"], "error", 0.0, [False], id="the top level raises"),
    ],
)
def test_code_is_scored_by_its_targets(
    source: str, targets: list[str], outcome: str, value: float, verdicts: list[bool]
) -> None:
    found = score(task("code_exec", *targets, timeout_s=20), source, sandbox=Unsafe())

    metadata = dict(found.metadata)
    detail = str(metadata.pop("detail"))
    assert found.values == {"score": pytest.approx(value)}
    assert found.correct is (outcome == "pass")
    assert metadata == {
        "outcome": outcome,
        "passed": sum(verdicts),
        "total": len(verdicts),
        "targets": verdicts,
        "tier": "rlimits",
        "verified": False,
        "reason": "the targets were judged in the program's own process",
    }
    assert bool(detail) is (outcome != "pass")
    assert found.reason == detail


def test_the_time_of_the_record_is_the_time_of_the_candidate() -> None:
    found = score(task("code_exec", "1", timeout_s=0.2), "while True: pass", sandbox=Unsafe())

    assert (found.metadata["outcome"], found.values) == ("timeout", {"score": 0.0})
    assert found.reason.startswith("ran longer than 0.2 s")


def test_a_target_that_does_not_compile_is_the_tasks_fault_and_no_score() -> None:
    with pytest.raises(ValueError, match="target 2 of 2 does not compile"):
        score(task("code_exec", "True", "1 +"), ADD, sandbox=Unsafe())


def test_code_without_a_sandbox_is_never_run() -> None:
    with pytest.raises(ValueError, match="needs a sandbox"):
        score(task("code_exec", "True"), ADD)


def test_a_case_that_was_not_solved_cannot_be_scored() -> None:
    case = Case(sample=Sample("a", task("f1", "x")), model=Scripted("echo", SCRIPTS["echo"]))

    with pytest.raises(ValueError, match="not been solved"):
        asyncio.run(RecordScorer().score(case))


def test_options_that_were_weighed_stand_beside_the_score_as_probabilities() -> None:
    what = task("exact_match", "B")
    weighed = {"A": math.log(0.1), "B": math.log(0.3)}
    case = Case(
        sample=Sample("a", what),
        model=Scripted("echo", SCRIPTS["echo"]),
        answer=Trace(input="go", output="B", post_processed="B", options=weighed),
    )

    found = asyncio.run(RecordScorer().score(case))

    assert found.correct
    assert found.metadata == {"options": pytest.approx({"A": 0.25, "B": 0.75})}


def test_where_none_were_weighed_nothing_is_said_of_them() -> None:
    assert score(task("exact_match", "B"), "B").metadata == {}
