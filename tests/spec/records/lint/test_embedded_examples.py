import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import TaskSpec


def details(prompt: str, category: str = "summary") -> list[str]:
    is_code = category == "code_exec"
    task = TaskSpec(
        task_id="t",
        category="code_exec" if is_code else "summary",
        prompt=prompt,
        targets=("True",),
        metric_name="code_exec" if is_code else "exact_match",
        post_process="none",
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "embedded_examples"]


@pytest.mark.parametrize(
    ("prompt", "word"),
    [
        pytest.param("Input: 1\nOutput: 2\n\nInput: 2\nOutput:", "Input", id="input, output"),
        pytest.param("Text: good\nLabel: +\nText: bad\nLabel:", "Text", id="text, label"),
        pytest.param("PROBLEM: 1\nSOLUTION: 2\nProblem: 2", "Problem", id="problem, solution"),
        pytest.param("Sort. Input: b a Output: a b Input: d c", "Input", id="in one line"),
        pytest.param("\u5206\u7c7bText: 好\nLabel: +\nText: 坏", "Text", id="Chinese in front"),
        pytest.param("Input: 1\nInput: 2\nOutput: 3\nInput: 4", "Input", id="two inputs"),
    ],
)
def test_a_pair_that_repeats_is_found(prompt: str, word: str) -> None:
    (detail,) = details(prompt)

    assert detail.startswith(f"`{word}:` occurs again")


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Input: 1\nOutput:", id="one pair"),
        pytest.param("Input: 1\nOutput: 2", id="one pair, answered"),
        pytest.param("Input: 1\nInput: 2\nOutput:", id="nothing is answered"),
        pytest.param("Input: 1\nOutput:\nInput: 2\nOutput:", id="an answer is left open"),
        pytest.param("Input: 1\nLabel: 2\nInput: 3", id="another word's answer"),
        pytest.param("Context: 1\nLabel: 2\nContext: 3", id="the end of a longer word"),
    ],
)
def test_what_is_no_block_is_left_alone(prompt: str) -> None:
    assert details(prompt) == []


def test_code_may_show_inputs_and_outputs() -> None:
    assert details("Input: 1\nOutput: 2\nInput: 2\nOutput: 3", "code_exec") == []
