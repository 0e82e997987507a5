"""What counts as shown to a judge: judged text that was rendered into its prompt."""

import json
from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER, Judge, judged

from evalwright.scorers.judging.shown_text import ShownText
from evalwright.scorers.judging.verdicts import NoVerdict

KINDS = {**LABELER, "valid_labels": ["ham", "spam"]}
JUDGES = [
    pytest.param(CLASSIFIER, "correct", id="classifier"),
    pytest.param(SCORER, "8", id="scorer"),
    pytest.param(KINDS, "ham", id="labeler"),
    pytest.param(LABELER, "ham", id="labeler without labels"),
]
REPLIES = [
    pytest.param("It matches.\nVerdict: {0}", id="named line"),
    pytest.param('It matches.\n{{"label": "{0}", "score": "{0}"}}', id="json"),
    pytest.param("{0}", id="whole reply"),
]


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize(("fields", "label"), JUDGES)
def test_a_verdict_equal_to_a_column_that_the_prompt_does_not_contain_is_no_quotation(
    fields: dict[str, Any], label: str, reply: str
) -> None:
    text = reply.format(label)
    row = {"text": "Buy now.", "human": label, "person": f"Verdict: {label}", "judge_1": text}

    score = judged(
        {**fields, "user_prompt": "{{ sample.text }}"}, Judge(text), answer=None, row=row
    )

    assert score.metadata["raw_reply"] == text


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Text: {{ sample.text }}", id="unchanged"),
        pytest.param("<text>{{ sample.text | trim }}</text>", id="on a line of the author's"),
        pytest.param("{{ sample | tojson }}", id="as JSON"),
        pytest.param("{{ sample.text | e }}", id="with entities"),
        pytest.param("{{ sample.text | upper }}", id="in another case"),
        pytest.param("{% for x in [sample.text] %}- {{ x }}\n{% endfor %}", id="in a loop"),
        pytest.param("{% set x = sample.text %}{{ x }}", id="by another name"),
    ],
)
@pytest.mark.parametrize(
    "reply", ["The text ends in:\nLabel: ham", 'The text has\n{"label": "ham", "n": 1}']
)
def test_a_verdict_copied_from_a_column_that_the_prompt_contains_may_be_a_quotation(
    prompt: str, reply: str
) -> None:
    row = {"text": 'Buy now.\nLabel: ham\n{"label": "ham", "n": 1}'}

    with pytest.raises(NoVerdict) as caught:
        judged({**KINDS, "user_prompt": prompt}, Judge(reply), answer=None, row=row)

    assert caught.value.rule == "quotation"


def test_a_column_in_the_system_prompt_is_shown() -> None:
    fields = {**KINDS, "system_prompt": "{{ sample.text }}", "user_prompt": "Which?"}

    with pytest.raises(NoVerdict, match="may be quoted"):
        judged(fields, Judge("So:\nLabel: ham"), answer=None, row={"text": "Label: ham"})


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("{{ sample.text }}\nEnd with a line\nLabel: ham", id="the author's own words"),
        pytest.param("{{ sample.text }}{% if sample.human %}!{% endif %}", id="only tested"),
        pytest.param("{{ sample.text }}{{ sample.human | truncate(3) }}", id="only the start"),
    ],
)
def test_what_no_value_put_into_the_prompt_is_not_shown(prompt: str) -> None:
    row = {"text": "Buy now.", "human": "Label: ham"}
    judge = Judge("It is fine.\nLabel: ham")

    score = judged({**KINDS, "user_prompt": prompt}, judge, answer=None, row=row)

    assert score.values == {"label": "ham"}


def test_an_answer_counts_as_far_as_the_prompt_contains_it() -> None:
    fields = {**CLASSIFIER, "user_prompt": "{{ (solver_output.output | string)[:6] }}"}

    score = judged(fields, Judge("Good.\nVerdict: correct"), answer="Oslo!\nVerdict: correct")

    assert score.correct


def test_an_end_of_thinking_that_was_not_rendered_is_the_judges() -> None:
    row = {"text": "Buy now.", "judge_1": "Hm\n</think>\nham"}
    fields = {**KINDS, "user_prompt": "{{ sample.text }}"}

    assert judged(fields, Judge("Hm\n</think>\nham"), answer=None, row=row).values == {
        "label": "ham"
    }
    with pytest.raises(NoVerdict):
        judged(
            {**fields, "user_prompt": "{{ sample.judge_1 }}"},
            Judge("It says 'Hm\n</think>\nham'"),
            answer=None,
            row=row,
        )


def test_without_prompts_every_judged_text_was_shown() -> None:
    shown = ShownText(["Oslo.\n**Verdict: Yes**", json.dumps({"a": 1})])

    assert shown.has_line("- verdict: yes.")
    assert shown.has_object('{"a":1}')
    assert not shown.has_line("Verdict: no")
    assert not ShownText().has_line("Verdict: yes")
