from typing import Any

import pytest

from evalwright.components import Authored, Component
from evalwright.plan.row_checks import unknown_columns, unknown_values
from evalwright.spec.documents.models.task import BenchmarkTask
from evalwright.templates import Native, Template


class Asking(Component):
    prompts: list[Template]
    filter: Native | None = None


def found(*prompts: str, columns: tuple[str, ...] = ("question", "answer")) -> list[str]:
    asking = Asking.model_validate({"prompts": list(prompts)})
    return [str(one) for one in unknown_columns(asking, columns, dataset="quiz")]


@pytest.mark.parametrize(
    "prompt",
    [
        "no column at all",
        "{{ sample.question }}",
        '{{ sample["answer"] | upper }}',
        "{{ sample.hint | default('none') }}",
        "{% if sample.hint is defined %}{{ sample.question }}{% endif %}",
        "{{ messages[0].content }}",
        "{{ sample }}",
    ],
)
def test_what_is_there_or_need_not_be_is_fine(prompt: str) -> None:
    assert found(prompt) == []


def test_a_column_that_no_row_has_is_named_with_the_nearest() -> None:
    (line,) = found("{{ sample.qestion }}")

    assert line == (
        "dataset `quiz` has no column `qestion`; it has `question`, `answer`; "
        "did you mean `question`?"
    )


def test_it_says_where_the_template_stands() -> None:
    prompt = Authored("{{ sample.hint }}", file="tasks/quiz.yaml", line=7)

    asking = Asking.model_validate({"prompts": [prompt]})

    (one,) = unknown_columns(asking, ["question", "answer"], dataset="quiz")

    assert one[:3] == ("tasks/quiz.yaml", 7, "hint")
    assert one.text == "dataset `quiz` has no column `hint`; it has `question`, `answer`"
    assert str(one) == f"tasks/quiz.yaml:7: {one.text}"


def test_two_spellings_that_look_the_same_are_told_apart() -> None:
    (line,) = found("{{ sample['u\u0308bersetzung'] }}", columns=("\xfcbersetzung",))

    assert line.endswith(
        "; it has different code points (`u\\u0308bersetzung`, in the data "
        "`\\xfcbersetzung`): copy the name from the data"
    )


def test_each_place_is_named_once() -> None:
    assert len(found("{{ sample.hint }} {{ sample.hint }}", "{{ sample.hint }}")) == 1


def test_of_many_columns_some_are_listed() -> None:
    (line,) = found("{{ sample.hint }}", columns=tuple(f"c{n}" for n in range(20)))

    assert line.endswith("`c11` and 8 more")


def test_a_filter_has_columns_too() -> None:
    asking = Asking.model_validate({"prompts": [], "filter": "{{ sample.lang }}"})

    assert len(list(unknown_columns(asking, ["language"], dataset="quiz"))) == 1


def definition(**fields: Any) -> BenchmarkTask:
    return BenchmarkTask.model_validate(fields)


@pytest.mark.parametrize(
    ("filter_", "needed"),
    [
        pytest.param({"op": "exists"}, False, id="exists"),
        pytest.param({"op": "not_exists"}, False, id="not_exists"),
        pytest.param({"op": "is_true"}, True, id="is_true"),
        pytest.param({"op": "equals", "value": 1}, True, id="equals"),
        pytest.param({"op": "in", "values": [1]}, True, id="in"),
    ],
)
def test_whether_a_column_exists_may_be_asked_of_any(
    filter_: dict[str, Any], *, needed: bool
) -> None:
    rule = {"key": "r", "action": "exclude_from_metrics"}
    task = definition(actions=[{**rule, "filter": {**filter_, "expression": "{{ sample.lang }}"}}])

    assert bool(list(unknown_columns(task, ["language"], dataset="quiz"))) is needed


def test_behind_a_postprocessor_nobody_knows_the_columns() -> None:
    prompt = {"role": "user", "content": "{{ sample.qestion }}"}
    solver = {
        "type": "single_turn_solver",
        "input_builder": {"type": "chat_completion", "input_messages": [prompt]},
    }
    scorer = {"type": "string_equals", "ground_truth": "{{ sample.part }}"}
    made = {"type": "python", "postprocess_snippet": "def postprocess(sample, output): ..."}

    alone = definition(solver=solver, scorers=[scorer])
    parted = definition(solver={**solver, "postprocessor": made}, scorers=[scorer])

    assert len(list(unknown_columns(alone, ["question"], dataset="quiz"))) == 2
    (line,) = unknown_columns(parted, ["question"], dataset="quiz")
    assert line.column == "qestion"


def test_a_value_that_is_to_be_a_column_must_be_one() -> None:
    chosen = {"field": "qestion", "other": "answer", "none": None}

    (one,) = unknown_values(chosen, ["question", "answer"], dataset="quiz")

    assert one.column == "qestion"
    assert one.text == (
        "parameter `field`: dataset `quiz` has no column `qestion`; "
        "it has `question`, `answer`; did you mean `question`?"
    )
