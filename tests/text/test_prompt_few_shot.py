from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.prompt import render
from evalwright.types import TaskSpec

TASK: dict[str, Any] = {
    "task_id": "arith_001",
    "category": "arithmetic",
    "prompt": "Question: 17 + 24\nAnswer:",
    "targets": ["41"],
    "metric_name": "exact_match",
    "post_process": "strip_whitespace",
}


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        pytest.param([], "Question: 17 + 24\nAnswer:", id="no examples: the prompt alone"),
        pytest.param(
            [("Question: 2 + 2\nAnswer:", "4")],
            "Question: 2 + 2\nAnswer: 4\n\nQuestion: 17 + 24\nAnswer:",
            id="one space inside an example, one blank line after it",
        ),
        pytest.param(
            [("a", "b"), ("c", "d")],
            "a b\n\nc d\n\nQuestion: 17 + 24\nAnswer:",
            id="examples keep their order",
        ),
        pytest.param(
            [(" a ", "\n"), ("", "")],
            " a  \n\n\n \n\nQuestion: 17 + 24\nAnswer:",
            id="nothing is stripped",
        ),
        pytest.param(
            [("سؤال:", "جواب"), ("问", "👍")],
            "سؤال: جواب\n\n问 👍\n\nQuestion: 17 + 24\nAnswer:",
            id="any script",
        ),
    ],
)
def test_examples_come_first(examples: list[tuple[str, str]], expected: str) -> None:
    shown = [{"prompt": asked, "completion": answered} for asked, answered in examples]
    record = TASK | {"few_shot_examples": shown}

    assert render(record) == expected
    assert render(msgspec.convert(record, TaskSpec)) == expected


def test_a_record_need_not_have_examples() -> None:
    assert render(TASK) == TASK["prompt"]
    assert render(msgspec.convert(TASK, TaskSpec)) == TASK["prompt"]


@given(
    st.text(),
    st.lists(st.fixed_dictionaries({"prompt": st.text(), "completion": st.text()}), max_size=8),
)
def test_the_prompt_is_last_and_nothing_is_added(
    prompt: str, examples: list[dict[str, str]]
) -> None:
    record = TASK | {"prompt": prompt, "few_shot_examples": examples}

    rendered = render(record)

    parts = [f"{example['prompt']} {example['completion']}" for example in examples]
    assert rendered.endswith(prompt)
    assert len(rendered) == sum(map(len, parts)) + 2 * len(parts) + len(prompt)
    assert rendered == render(msgspec.convert(record, TaskSpec))
