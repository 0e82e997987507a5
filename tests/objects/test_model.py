from typing import Any

import pytest

from evalwright.objects.items import FunctionCall, InputImageContent, Message, UserMessage
from evalwright.objects.model import LFBaseModel
from evalwright.objects.output import ChatCompletionModelOutput, ModelUsage
from evalwright.objects.scores import SampleScore, SystemTaskOutput
from evalwright.objects.trace import TraceMetadata


class Part(LFBaseModel):
    name: str


class Verdict(LFBaseModel):
    score: float
    reason: str = ""
    parts: list[Part] = []  # noqa: RUF012 - a field, as in a snippet
    unknown: "NoSuchType | None" = None  # type: ignore[name-defined] # noqa: F821 - as in a snippet


class Strict(Verdict):
    limit: int

    def model_post_init(self, context: Any, /) -> None:
        del context
        if self.score > self.limit:
            raise ValueError("above the limit")


def test_annotations_are_fields_of_the_class_and_of_classes_derived_from_it() -> None:
    made = Strict(score=1, limit=2, parts=[{"name": "a"}])

    assert (made.score, made["limit"], made.reason) == (1, 2, "")
    assert isinstance(made.parts[0], Part)
    assert repr(made) == "Strict(score=1, parts=[Part(name='a')], limit=2)"
    assert "score" in made
    assert {**made}["reason"] == ""
    assert made.get("nothing", 7) == 7


def test_fields_that_were_not_given_are_dumped_on_request() -> None:
    made = Verdict(score=0.5, reason="x")

    assert made.model_dump() == {"score": 0.5, "reason": "x"}
    assert made.model_dump_include_unset() == {
        "score": 0.5,
        "reason": "x",
        "parts": [],
        "unknown": None,
    }
    assert made.model_dump_json_include_unset(exclude_none=True) == (
        '{"score":0.5,"reason":"x","parts":[]}'
    )
    assert made.model_dump(include={"score"}) == made.model_dump(exclude={"reason"})
    assert Verdict(score=0.5, reason="").model_dump(exclude_defaults=True) == {"score": 0.5}
    assert made == Verdict(score=0.5, reason="x", parts=[])


def test_a_default_list_belongs_to_one_object() -> None:
    first, second = Verdict(score=1), Verdict(score=1)

    first.parts.append(Part(name="a"))

    assert (len(first.parts), second.parts) == (1, [])
    assert first != second


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({}, "Verdict: missing required field `score`: expected `float`", id="missing"),
        pytest.param({"score": "x"}, "expected `float`, got 'x' - at `score`", id="a type"),
        pytest.param({"score": 1, "parts": [{"name": 1}]}, "at `parts[0]`", id="a type inside"),
        pytest.param({"score": 1, "parts": [{}]}, "missing required field `name`", id="inside"),
        pytest.param({"score": 1, "resaon": ""}, "unknown field `resaon`", id="a name"),
        pytest.param({"x": 1, "reason": 3}, "got `int` - at `reason`", id="all problems at once"),
    ],
)
def test_an_error_names_the_class_the_field_and_what_is_expected(
    fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=r"^Verdict: ") as caught:
        Verdict(**fields)

    assert problem in str(caught.value)


def test_a_class_may_check_more_when_it_is_constructed_or_validated() -> None:
    with pytest.raises(ValueError, match="above the limit"):
        Strict(score=3, limit=2)
    with pytest.raises(ValueError, match="above the limit"):
        Strict.model_validate({"score": 3, "limit": 2})
    with pytest.raises(ValueError, match="Verdict: expected an object, got `list`"):
        Verdict.model_validate([])


def test_what_a_model_added_is_kept_by_model_validate_and_refused_in_a_constructor() -> None:
    reply = {"id": "x", "choices": [{"message": {"role": "assistant", "content": "a", "n": 1}}]}

    made: Any = ChatCompletionModelOutput.model_validate(reply)

    assert (made.id, made.choices[0].message.n) == ("x", 1)
    assert made.model_dump() == reply
    with pytest.raises(ValueError, match="ChatCompletionModelOutput: unknown field `id`"):
        ChatCompletionModelOutput(**reply)


def test_dates_and_enums_are_objects_in_python_and_text_in_json() -> None:
    metadata = TraceMetadata(created_at="2026-05-12T10:00:00")
    image = InputImageContent(detail="low")

    assert metadata.model_dump()["created_at"] is metadata.created_at
    assert metadata.created_at is not None
    assert metadata.created_at.year == 2026
    assert metadata.model_dump(mode="json") == {"created_at": "2026-05-12T10:00:00"}
    assert metadata.to_json() == metadata.model_dump(mode="json")
    assert (image.detail.name, image.detail) == ("low", "low")
    with pytest.raises(ValueError, match=r"expected `'low' .*, got 'tall'"):
        InputImageContent(detail="tall")


def test_objects_are_matched_by_class_and_by_key() -> None:
    call: Any = FunctionCall(call_id="c", name="search", arguments="{}")

    names = []
    match call:
        case Message():
            names.append("message")
        case FunctionCall(name=name):
            names.append(name)
    match call:
        case {"type": "message"}:
            names.append("message")
        case {"type": "function_call", "name": name}:
            names.append(name)

    assert names == ["search", "search"]


def test_a_message_of_json_is_of_the_class_of_its_role() -> None:
    fields = {"type": "message", "role": "user", "content": "hi", "id": "m"}

    made = Message.model_validate(fields)

    assert type(made) is type(Message.from_json(fields)) is UserMessage
    assert made == Message(**fields)
    assert made.model_dump()["content"] == [{"type": "input_text", "text": "hi"}]


def test_values_by_position_are_fields_in_their_order() -> None:
    assert SampleScore({"x": 1}, {"m": 2}).metadata == {"m": 2}
    with pytest.raises(ValueError, match="SystemTaskOutput: expected at most 1 values"):
        SystemTaskOutput({}, 1)


def test_a_number_of_tokens_may_be_unknown_and_must_not_be_text() -> None:
    assert ModelUsage().num_prompt_tokens is None
    with pytest.raises(ValueError, match=r"ModelUsage: .*`num_prompt_tokens`"):
        ModelUsage(num_prompt_tokens="3")


def test_what_was_read_can_be_replaced_and_copied() -> None:
    made = SampleScore.from_json({"values": {"x": 1}})
    copy = made.model_copy(update={"metadata": {"m": 1}})

    made.direct_ios = [{"input": "{}", "output": "{}"}]  # type: ignore[list-item] # JSON is wrapped

    assert made.direct_ios[0].direct_output.status_code == 200
    assert (copy.values, copy.metadata, copy.direct_ios) == ({"x": 1}, {"m": 1}, [])
