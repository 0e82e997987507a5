from typing import Any

import pytest

from evalwright.datasets.langchain_messages import read_conversation

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
YO = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yo"}]}


def constructor(name: str, **fields: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        pytest.param("hi", "yo", id="texts"),
        pytest.param({"question": "hi", "user": 7}, {"answer": "yo", "n": 1}, id="usual keys"),
        pytest.param({"anything": "hi"}, {"else": "yo"}, id="the only key"),
        pytest.param(
            {"messages": [{"role": "user", "content": "hi"}]},
            {"choices": [{"message": {"role": "assistant", "content": "yo"}}]},
            id="OpenAI",
        ),
        pytest.param(
            {"messages": [["human", "hi"]]}, {"role": "assistant", "content": "yo"}, id="pairs"
        ),
        pytest.param(
            {"messages": [{"type": "human", "data": {"content": "hi"}}]},
            {"output": {"type": "ai", "content": "yo"}},
            id="older messages",
        ),
        pytest.param(
            {"messages": [[constructor("HumanMessage", content="hi")]]},
            {
                "generations": [
                    [{"text": "", "message": constructor("AIMessageChunk", content="yo")}]
                ]
            },
            id="a call of a model",
        ),
        pytest.param({"prompts": "hi"}, {"generations": [[{"text": "yo"}]]}, id="a completion"),
        pytest.param(
            {"messages": [{"type": "human", "content": "hi", "id": "1"}]},
            {"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "yo"}]},
            id="a graph that returns all messages",
        ),
    ],
)
def test_a_conversation_is_read_in_each_of_its_shapes(inputs: Any, outputs: Any) -> None:
    assert read_conversation(inputs, outputs) == [HI, YO]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            {
                "type": "ai",
                "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
                "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
            },
            id="calls that are written twice",
        ),
        pytest.param(
            constructor(
                "AIMessage",
                content="",
                additional_kwargs={
                    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]
                },
            ),
            id="OpenAI's calls",
        ),
    ],
)
def test_calls_and_results_of_tools_are_read(message: Any) -> None:
    gave = {"type": "tool", "content": "down", "tool_call_id": "c", "status": "error"}

    call, result = read_conversation([], {"messages": [message, gave]})

    assert (call["type"], call["name"], call["arguments"]) == ("function_call", "f", '{"a": 1}')
    assert (result["call_id"], result["output"], result["status"]) == ("c", "down", "incomplete")


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        pytest.param({"a": 1, "b": "ü"}, '{"a": 1, "b": "ü"}', id="an object"),
        pytest.param([1, 2], "[1, 2]", id="a list"),
    ],
)
def test_any_other_input_is_json(inputs: Any, text: str) -> None:
    (item,) = read_conversation(inputs, None)

    assert item["content"] == [{"type": "input_text", "text": text}]


def test_nothing_is_nothing() -> None:
    assert read_conversation(None, {}) == []
