from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, TASK, project

from evalwright.objects import conversation, variables
from evalwright.spec.documents import names

PROMPT = '"{{ sample.country }}?"'


def said(folder: Path, prompt: str) -> list[tuple[str, int, str]]:
    files = {"tasks/t.yaml": TASK.replace(PROMPT, prompt), "datasets/d.yaml": DATASET}
    found = project(folder, files, "tasks/t.yaml")
    return [(one.detail, one.line, one.hint) for one in found.problems]


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param('"{{ sample.country }} {{ loop_index }}"', id="what there is"),
        pytest.param('"{{ more | default(3) }}"', id="what it does not need"),
        pytest.param('"{% set more = 3 %}{{ more }}"', id="what it sets"),
        pytest.param('"{% for one in range(3) %}{{ loop.index }}{% endfor %}"', id="a loop"),
    ],
)
def test_a_template_may_ask_for_what_there_is(prompt: str, tmp_path: Path) -> None:
    assert said(tmp_path, prompt) == []


def test_a_misspelt_variable_is_told_at_its_line(tmp_path: Path) -> None:
    there = "there are `sample`, `messages`, `loop_index`"

    found = said(tmp_path, '"a\\n{{ smaple.country }}"')

    assert found == [
        (f"no variable is called `smaple` here; {there}", 12, "did you mean `sample`?")
    ]


def test_scorers_see_what_a_solver_leaves_behind() -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    left = conversation([("user", "France?"), ("assistant", "Paris")], raw_outputs=[answer])

    assert set(names.AFTER) == set(variables({}, left))
