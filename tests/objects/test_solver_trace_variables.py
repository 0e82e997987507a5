from typing import Any

import pytest
from tests.objects.conversations import conversation

from evalwright.objects import variables
from evalwright.templates import Template

CHAT: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
SOLVED = conversation([("system", "s"), ("user", "q"), ("assistant", "Paris")], raw_outputs=[CHAT])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ sample.target }}", "T"),
        ("{{ solver_output.output }}", "Paris"),
        ("{{ solver_output.output.choices[0].message.content }}", "Paris"),
        ("{{ solver_output.output['choices'][0]['message']['content'] }}", "Paris"),
        ("{{ solver_output.messages[1].content }}", "q"),
        ("{{ solver_output.trace.items[1].content }}", "q"),
        ("{{ solver_output.items | length }}", "3"),
        ("{{ model_output }}", "Paris"),
        ("{{ model_output.choices[0].message.content }}", "Paris"),
        ("{{ messages[0]['content'] }}{{ messages[1].content }}", "sq"),
        ("{{ input_prompt }}", "Paris"),
        ("{{ model_outputs[-1].choices[0].message.content }}", "Paris"),
        ("{{ trace.get_last_assistant_text() }}", "Paris"),
        ("{{ trace.turns[0].user_message.text }}", "q"),
        ("{{ trace.items[0].content | upper }}", "S"),
        ("{{ solver_output['output']['choices'] | length }}", "1"),
        (
            "{{ model_output.choices | tojson }}",
            '[{"message": {"role": "assistant", "content": "Paris"}}]',
        ),
        ("{{ solver_output.output | tojson | length }}", "69"),
        ("{{ trace | tojson | length > 100 }}", "True"),
        ("{{ trace }}", "system: s\n\nuser: q\n\nassistant: Paris"),
        ("{{ solver_output }}", "Paris"),
        (
            "{% for one in messages %}{{ one.role }}:{{ one.content }};{% endfor %}",
            "system:s;user:q;assistant:Paris;",
        ),
        ("{{ model_output.choices[0].message.refusal is none }}", "True"),
    ],
)
def test_every_name_of_the_format_is_there(template: str, expected: str) -> None:
    names = variables({"target": "T"}, SOLVED)

    assert Template(template).render(**names) == expected


def test_a_dataset_task_has_the_sample_alone() -> None:
    assert variables({"a": 1}) == {"sample": {"a": 1}}


def test_input_prompt_is_there_for_chats_alone() -> None:
    assert "input_prompt" not in variables({}, conversation(raw_outputs=[{"x": 1}]))
    assert variables({}, conversation([("assistant", "a")]))["input_prompt"] == "a"
    silent = {"choices": [{"message": {"role": "assistant", "content": None}}]}
    assert variables({}, conversation(raw_outputs=[silent]))["input_prompt"] == ""


@pytest.mark.parametrize(
    "template", ["{{ solver_output.append_user_message('x') }}", "{{ trace.items.append(1) }}"]
)
def test_a_template_may_not_change_what_it_reads(template: str) -> None:
    with pytest.raises(ValueError, match="append"):
        Template(template).render(**variables({}, SOLVED))
