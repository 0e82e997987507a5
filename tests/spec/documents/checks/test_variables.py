from pathlib import Path

import pytest
from tests.objects.conversations import conversation
from tests.spec.documents.made import DATASET, TASK, project

from evalwright.objects import variables
from evalwright.spec.documents.checks import build

PROMPT = '"{{ sample.country }}?"'
SOLVER = f"""    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{{role: user, content: {PROMPT}}}]
"""
TURNS = """    type: multi_turn_solver
    message_builders:
      - {type: chat_message, role: user, content: "OUTSIDE"}
      - type: loop
        message_builders:
          - {type: chat_message, role: user, content: "INSIDE"}
          - {type: generate}
"""


def said(folder: Path, prompt: str) -> list[tuple[str, int, str]]:
    files = {"tasks/t.yaml": TASK.replace(PROMPT, prompt), "datasets/d.yaml": DATASET}
    found = project(folder, files, "tasks/t.yaml")
    return [(one.detail, one.line, one.hint) for one in found.problems]


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param('"{{ sample.country }} {{ sample.capital }}"', id="what there is"),
        pytest.param('"{{ more | default(3) }}"', id="what it does not need"),
        pytest.param('"{% set more = 3 %}{{ more }}"', id="what it sets"),
        pytest.param('"{% for one in range(3) %}{{ loop.index }}{% endfor %}"', id="a loop"),
    ],
)
def test_a_template_may_ask_for_what_there_is(prompt: str, tmp_path: Path) -> None:
    assert said(tmp_path, prompt) == []


def test_a_misspelt_variable_is_told_at_its_line(tmp_path: Path) -> None:
    detail = "unknown variable `smaple`; expected `sample`"

    found = said(tmp_path, '"a\\n{{ smaple.country }}"')

    assert found == [(detail, 12, "did you mean `sample`?")]


def test_one_question_has_no_conversation_before_it(tmp_path: Path) -> None:
    ((detail, _, _),) = said(tmp_path, '"{{ messages[0].content }}"')

    assert detail == "unknown variable `messages`; expected `sample`"


@pytest.mark.parametrize(
    ("outside", "inside", "told"),
    [
        pytest.param("{{ messages }}", "{{ messages }} {{ loop_index }}", [], id="what there is"),
        pytest.param(
            "{{ loop_index }}",
            "a",
            ["unknown variable `loop_index`; expected `sample`, `messages`"],
            id="the count of a loop, outside",
        ),
        pytest.param(
            "a",
            "{{ scores }}",
            ["unknown variable `scores`; expected `sample`, `messages`, `loop_index`"],
            id="what comes later",
        ),
    ],
)
def test_a_conversation_knows_itself_and_a_loop_its_count(
    outside: str, inside: str, told: list[str], tmp_path: Path
) -> None:
    turns = TURNS.replace("OUTSIDE", outside).replace("INSIDE", inside)
    files = {"tasks/t.yaml": TASK.replace(SOLVER, turns), "datasets/d.yaml": DATASET}
    found = project(tmp_path, files, "tasks/t.yaml")

    assert [one.detail for one in found.problems] == told


def test_scorers_see_what_a_solver_leaves_behind() -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    left = conversation([("user", "France?"), ("assistant", "Paris")], raw_outputs=[answer])

    assert set(build.SCORER_VARIABLES) == set(variables({}, left))
