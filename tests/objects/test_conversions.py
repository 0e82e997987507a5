"""The functions that snippets may import."""

from typing import Any

import pytest

from evalwright.objects.events import (
    derive_items_from_message_events,
    derive_items_from_model_calls,
    sort_events_by_span,
)
from evalwright.objects.evidence import (
    MetricData,
    SampleEvidence,
    SampleTrialEvidence,
    TaskResultEvidence,
)
from evalwright.objects.inputs import (
    ChatCompletionInput,
    convert_to_input_message,
    lf_messages_to_trace_items,
    messages_to_model_input,
    model_input_to_messages,
    model_input_to_trace_items,
    model_output_to_message,
    model_output_to_trace_items,
    trace_items_to_lf_messages,
    trace_items_to_model_input,
)
from evalwright.objects.items import is_trace_item, item, make_message
from evalwright.objects.keys import is_valid_key, sanitize_key, validate_key
from evalwright.objects.trace import Trace

CHAT: list[Any] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
COMPLETION = {"choices": [{"message": CHAT[1]}]}


def test_messages_of_a_chat_become_an_input_and_items_and_come_back() -> None:
    model_input = messages_to_model_input(CHAT)
    items = lf_messages_to_trace_items(CHAT)

    assert isinstance(model_input, ChatCompletionInput)
    assert model_input_to_messages(model_input) == CHAT
    assert model_input_to_messages({"messages": CHAT}) == CHAT
    assert trace_items_to_lf_messages(items) == CHAT
    assert trace_items_to_model_input(items) == model_input
    assert model_input_to_trace_items(model_input) == items


def test_messages_of_other_tasks_stay_what_they_are() -> None:
    items = lf_messages_to_trace_items([{"x": 1}])

    assert [(one.type, one["content"]) for one in items] == [
        ("custom_task_input_message", {"x": 1})
    ]
    assert trace_items_to_model_input(items) == {"x": 1}
    assert model_input_to_messages(["a", "b"]) == [["a", "b"]]
    assert messages_to_model_input([["a", "b"]]) == ["a", "b"]
    assert convert_to_input_message({"x": 1}) == {"x": 1}


def test_an_output_message_is_sent_without_its_refusal() -> None:
    message = {"role": "assistant", "content": None, "refusal": "no"}

    assert convert_to_input_message(CHAT[1]) == CHAT[1]
    assert convert_to_input_message(message) == {"role": "assistant", "content": "no"}


@pytest.mark.parametrize(
    ("output", "message", "types"),
    [
        pytest.param(COMPLETION, CHAT[1], ["message"], id="chat"),
        pytest.param({"items": [make_message("assistant", "a")]}, CHAT[1], ["message"], id="open"),
        pytest.param({"embeddings": [[1.0]]}, [[1.0]], [], id="embeddings"),
        pytest.param({"x": 1}, {"x": 1}, ["custom_task_output_message"], id="custom"),
    ],
)
def test_an_output_has_a_message_and_items(output: Any, message: Any, types: list[str]) -> None:
    assert model_output_to_message(output) == message
    assert [one.type for one in model_output_to_trace_items(output)] == types


def test_an_item_is_told_from_a_dict() -> None:
    assert is_trace_item(item(make_message("user", "q")))
    assert not is_trace_item(make_message("user", "q"))
    assert not is_trace_item(item({"type": "reasoning"}))


@pytest.mark.parametrize(
    ("text", "key"),
    [("GPT 4.1 (nano)", "gpt-4-1-nano"), ("a--b", "a-b"), ("-x_Y-", "x_y"), ("", "")],
)
def test_a_key_is_made_of_any_text(text: str, key: str) -> None:
    assert sanitize_key(text) == key
    assert is_valid_key(key) is bool(key)


def test_a_key_that_is_not_valid_raises_the_error_that_was_asked_for() -> None:
    validate_key("a_B-1")
    with pytest.raises(ValueError, match=r"expected a key: .*, got `a b`"):
        validate_key("a b")
    with pytest.raises(KeyError):
        validate_key("x" * 251, error_type=KeyError)


USER, ANSWER = make_message("user", "q"), make_message("assistant", "a")
CALLED = {
    "type": "function_call_event",
    "call_id": "c",
    "function": "f",
    "arguments": "{}",
    "result": "1",
    "status": "completed",
    "span_id": "inner",
}
EVENTS: list[dict[str, Any]] = [
    {"type": "span_begin", "span_id": "outer", "name": "plan"},
    {"type": "span_begin", "span_id": "inner", "parent_span_id": "outer", "name": "tool"},
    {"type": "message_event", "item": USER, "span_id": "outer"},
    CALLED,
    {"type": "span_end", "span_id": "outer"},
    {"type": "message_event", "item": ANSWER, "model_call_id": "m"},
    {
        "type": "model_call_event",
        "id": "m",
        "model": "x",
        "input_context": [USER],
        "output_items": [ANSWER],
    },
    {"type": "span_end", "span_id": "inner"},
]


def test_published_events_become_items_and_an_answer_is_there_once() -> None:
    kinds = ["message", "function_call", "function_call_output", "message"]

    assert [one.type for one in Trace.from_events(EVENTS).items] == kinds
    assert [one.type for one in derive_items_from_message_events(EVENTS)] == kinds
    assert derive_items_from_model_calls(EVENTS) == [item(USER), item(ANSWER)]
    assert Trace.from_events(EVENTS[:5]).get_function_call_pairs()[0][1] is not None


def test_events_belong_to_the_span_whose_id_they_have() -> None:
    inner = derive_items_from_message_events(EVENTS, span_id="inner")
    outer, nested = Trace.from_events(EVENTS).spans()

    assert [one.type for one in inner] == ["function_call", "function_call_output"]
    assert (outer.span_name, len(outer.items)) == ("plan", 3)
    assert (nested.span_name, len(nested.items)) == ("tool", 2)


def test_a_span_is_sorted_into_one_piece() -> None:
    ordered = [(one["type"], one.get("span_id")) for one in sort_events_by_span(EVENTS)]

    assert ordered == [
        ("span_begin", "outer"),
        ("span_begin", "inner"),
        ("function_call_event", "inner"),
        ("span_end", "inner"),
        ("message_event", "outer"),
        ("span_end", "outer"),
        ("message_event", None),
        ("model_call_event", None),
    ]


def test_the_context_of_later_model_calls_adds_what_is_new() -> None:
    more = make_message("user", "more")
    later = {
        "type": "model_call_event",
        "id": "n",
        "input_context": [USER, ANSWER, more],
        "output_items": [ANSWER],
    }
    compacted = {**later, "input_context": [make_message("system", "summary"), more]}

    texts = [one["content"][0].text for one in derive_items_from_model_calls([*EVENTS, later])]
    shortened = derive_items_from_model_calls([*EVENTS, later, compacted])

    assert texts == ["q", "a", "more", "a"]
    assert [str(one["content"]) for one in shortened] == ["q", "a", "more", "a", "summary", "a"]


def test_the_evidence_of_a_sample_is_built_from_its_trials() -> None:
    error = {"error_type": "E", "message": "m"}
    trials = [
        SampleTrialEvidence(
            index=index,
            sample_id=1,
            sample={"data": {"n": index}},
            solver=None,
            scores=[],
            errors=[error],
        )
        for index in range(2)
    ]

    made = SampleEvidence.build(trials)
    single = SampleEvidence.build_with_1_trial(sample_id="a", sample={"data": {}})  # type: ignore[arg-type] # JSON is taken

    assert (made.sample_id, made.sample, len(made.errors)) == (1, trials[0].sample, 2)
    assert made.trials == trials
    assert [trial.sample_id for trial in single.trials] == ["a"]
    with pytest.raises(ValueError, match="at least one trial"):
        SampleEvidence.build([])


def test_metrics_are_flat_under_the_shortest_names_that_are_unique() -> None:
    metrics = [
        MetricData(metric_key="m", scorer_key="a", values={"x": 1, "mean": 2}),
        MetricData(metric_key="m", scorer_key="b", values={"mean": 3}),
        MetricData(metric_key="n", scorer_key="b", values={"mean": 4}),
    ]

    flat = TaskResultEvidence(metrics=metrics).build_flat_metrics_dict()

    assert flat == {"x": 1, "a_m_mean": 2, "b_m_mean": 3, "n_mean": 4}
    assert TaskResultEvidence(metrics=None).build_flat_metrics_dict() == {}


def test_metrics_of_older_logs_become_a_list() -> None:
    adapted = TaskResultEvidence.adapt_metrics_if_needed({"mean": {"x": 1}, "n": 2})

    assert [(one.metric_key, one.values) for one in adapted] == [
        ("mean", {"x": 1}),
        ("n", {"n": 2}),
    ]
    assert TaskResultEvidence.adapt_metrics_if_needed(adapted) is adapted
