import asyncio
import json
from typing import Any

import pytest
from tests.scorers.cases import SCORERS, case, chat, said
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER, Judge, judged

from evalwright.errors import ModelError
from evalwright.scorers.judging.verdicts import NoVerdict
from evalwright.types import Message, Request

EVERY = [pytest.param(fields, id=fields["type"]) for fields in (CLASSIFIER, SCORER, LABELER)]
CONVERSATION = {
    "items": [said("user", "the question"), said("assistant", "the answer")],
    "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": "the answer"}}]}],
    "direct_ios": [],
}


def prompts(**fields: Any) -> tuple[Message, ...]:
    scorer = SCORERS.validate_python({**CLASSIFIER, **fields})
    found: tuple[Message, ...] = scorer.prompts(case({"target": "right"}, CONVERSATION))
    return found


@pytest.mark.parametrize("field", ["system_prompt", "user_prompt"])
@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ sample.target }}", "right"),
        ("{{ solver_output.output }}", "the answer"),
        ("{{ solver_output.output.choices[0].message.content }}", "the answer"),
        ("{{ model_output }}", "the answer"),
        ("{{ model_output.choices[0].message.content }}", "the answer"),
        ("{{ messages[0]['content'] }}", "the question"),
        ("{{ messages[-1].content }}", "the answer"),
        ("{{ input_prompt }}", "the answer"),
        ("{{ model_outputs[0].choices[0].message.content }}", "the answer"),
        ("{{ trace.get_last_assistant_text() }}", "the answer"),
        ("{{ trace['items'][0].role }}", "user"),
    ],
)
def test_both_prompts_know_every_variable_of_both_formats(
    field: str, template: str, text: str
) -> None:
    told = prompts(**{field: template})

    assert told[field == "user_prompt"].content == text


def test_the_authors_words_reach_the_judge_and_no_others() -> None:
    told = prompts(system_prompt="You\njudge.  ", user_prompt="{{ sample.target }}?\n\n")

    assert told == (Message("system", "You\njudge.  "), Message("user", "right?\n"))


def test_an_empty_system_prompt_is_not_sent() -> None:
    assert prompts(system_prompt="", user_prompt="?") == (Message("user", "?"),)


def test_a_row_may_be_judged_where_there_is_no_solver() -> None:
    judge = Judge("a")
    fields = {**LABELER, "user_prompt": "{{ sample.text }}"}

    found = judged(fields, judge, answer=None, row={"text": "نص"})

    assert found.values == {"label": "a"}
    assert judge.requests[0].messages[-1].content == "نص"


def test_what_a_template_asks_for_and_is_not_there_is_told() -> None:
    fields = {**CLASSIFIER, "user_prompt": "{{ sample.nothing }}"}

    with pytest.raises(ValueError, match="nothing"):
        judged(fields, Judge("correct"))


@pytest.mark.parametrize("fields", EVERY)
def test_the_judge_is_one_of_the_models_that_the_task_asks(fields: dict[str, Any]) -> None:
    scorer = SCORERS.validate_python(fields)

    assert scorer.model_keys == ("judge",)
    assert scorer.calls_model


@pytest.mark.parametrize(
    ("fields", "reply", "told"),
    [
        (CLASSIFIER, {"prediction": "correct"}, {"prediction": "correct"}),
        (SCORER, {"score": 4}, {"raw_score": 4}),
        (LABELER, {"label": "a"}, {"label": "a"}),
    ],
    ids=["classifier", "scorer", "labeler"],
)
def test_the_reply_the_reasons_and_how_it_was_asked_are_stored(
    fields: dict[str, Any], reply: dict[str, Any], told: dict[str, Any]
) -> None:
    text = json.dumps({"reasoning": "Because.", **reply, "confidence": 0.5})

    found = judged({**fields, "use_structured_outputs": True}, Judge(text))

    assert found.metadata == {
        **told,
        "reasoning": "Because.",
        "confidence": 0.5,
        "raw_reply": text,
        "verdict_rule": "json",
        "structured": True,
        "judge": "judge",
    }
    assert found.reason == "Because."


@pytest.mark.parametrize("fields", EVERY)
def test_the_schema_asks_for_reasons_first_and_for_certainty_last(fields: dict[str, Any]) -> None:
    schema = SCORERS.validate_python(fields).reply_schema
    names = [*schema.properties]

    assert (names[0], names[-1], len(names)) == ("reasoning", "confidence", 3)
    whole = schema.response_format["json_schema"]["schema"]
    assert whole["required"] == names
    assert whole["additionalProperties"] is False


@pytest.mark.parametrize(
    ("confidence", "kept"),
    [("0.5", 0.5), (1, 1.0), (0, 0.0), (90, None), (True, None), (None, None), ("high", None)],
)
def test_a_confidence_is_a_share_or_not_known(confidence: Any, kept: float | None) -> None:
    reply = json.dumps({"prediction": "correct", "confidence": confidence})

    assert judged(CLASSIFIER, Judge(reply)).metadata["confidence"] == kept


def test_a_schema_that_is_refused_is_noted_in_the_score() -> None:
    def reply(request: Request) -> str:
        if request.input is not None:
            raise ModelError("bad_request", "HTTP 400: no response_format here")
        return "Correct."

    found = judged({**CLASSIFIER, "use_structured_outputs": True}, Judge(reply))

    assert found.correct
    assert found.metadata["structured"] is False
    assert "HTTP 400: no response_format here" in str(found.metadata["note"])


@pytest.mark.parametrize(
    ("reply", "structured"),
    [("Correct.", False), ('{"prediction": "correct"}', True), ('{"verdict": "correct"}', True)],
)
def test_structured_is_only_a_reply_that_is_an_object(reply: str, *, structured: bool) -> None:
    found = judged({**CLASSIFIER, "use_structured_outputs": True}, Judge(reply))

    assert found.metadata["structured"] is structured


def test_a_refusal_is_a_failure_even_if_it_reads_like_a_label() -> None:
    declined = {"choices": [{"message": {"content": None, "refusal": "unsafe"}}]}

    with pytest.raises(NoVerdict, match="it refused; its reply: unsafe"):
        judged(LABELER, Judge("unsafe", output=declined))


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        pytest.param(SCORER, "1", id="a number may go on"),
        pytest.param(LABELER, "water", id="any label may go on"),
        pytest.param(CLASSIFIER, "because of the", id="no verdict yet"),
        pytest.param(SCORER, '{"score": 1', id="half an object"),
        pytest.param(SCORER, '{"score": 1} is what', id="words that may take it back"),
        pytest.param(CLASSIFIER, "Correct. Or is", id="a sentence that may take it back"),
        pytest.param(
            {**LABELER, "valid_labels": ["good", "good enough"]}, "good", id="half a label"
        ),
    ],
)
def test_what_was_cut_short_is_a_failure_that_says_how_to_mend_it(
    fields: dict[str, Any], reply: str
) -> None:
    with pytest.raises(NoVerdict) as caught:
        judged(fields, Judge(reply, finish="length"))

    assert "max_tokens" in caught.value.hint


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        pytest.param(CLASSIFIER, "correct", id="a whole label"),
        pytest.param(SCORER, '{"score": 1}', id="a whole object"),
        pytest.param({**LABELER, "valid_labels": ["a"]}, "a", id="one of the labels"),
    ],
)
def test_what_was_cut_behind_its_verdict_counts(fields: dict[str, Any], reply: str) -> None:
    assert judged(fields, Judge(reply, finish="length")).values


@pytest.mark.parametrize("name", ["user_prompt", "system_prompt", "use_structured_outputs"])
def test_what_can_move_a_verdict_is_part_of_the_key(name: str) -> None:
    changed: Any = True if name == "use_structured_outputs" else "Another."

    one, other = (SCORERS.validate_python({**CLASSIFIER, **more}) for more in ({}, {name: changed}))
    assert one.settings != other.settings
    renamed = SCORERS.validate_python({**CLASSIFIER, "display_name": "J", "key": "k"})
    assert one.settings == renamed.settings


def test_an_answer_of_another_trial_is_judged_by_another_call() -> None:
    judge = Judge("correct")
    scorer = SCORERS.validate_python(CLASSIFIER)
    cases = [case({"target": "a"}, chat("b"), models={"judge": judge}, trial=n) for n in range(2)]

    async def work() -> None:
        for one in cases:
            await scorer.score(one)

    asyncio.run(work())
    assert [request.trial for request in judge.requests] == [0, 1]


@pytest.mark.parametrize("fields", EVERY)
def test_verdicts_read_by_older_rules_are_not_reused(fields: dict[str, Any]) -> None:
    assert SCORERS.validate_python(fields).version == 2
