import json
from typing import Any

import pytest
from tests.servers.asking import asking, chat

from evalwright.clients.adapters import (
    BUILT_IN,
    AdapterInfo,
    AdapterInput,
    TemplateAdapter,
    adapt_request,
)
from evalwright.errors import ModelError
from evalwright.templates import Template
from evalwright.types import Message, MLTask, Request, Sample

HELLO = [{"role": "user", "content": "hello"}]


def info(task: MLTask = "chat_completion", model_key: str = "m-1") -> AdapterInfo:
    return AdapterInfo(key="bot", task=task, model_key=model_key)


def jinja(there: str | None = None, back: str | None = None) -> TemplateAdapter:
    return TemplateAdapter(
        "mine",
        process_input=Template(there) if there else None,
        process_output=Template(back) if back else None,
    )


def out(adapter: str, given: Any, about: AdapterInfo) -> Any:
    return json.loads(BUILT_IN[adapter]().make_body(AdapterInput(input=given), about))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(chat("hello"), {"messages": HELLO}, id="messages"),
        pytest.param(
            chat("hello", keys={"response_format": {"type": "json_object"}}),
            {"messages": HELLO, "response_format": {"type": "json_object"}},
            id="more keys",
        ),
        pytest.param(asking("embeddings", "a"), {"input": ["a"]}, id="a text to embed"),
        pytest.param(
            asking("embeddings", {"input": ["a", "b"], "dimensions": 8}),
            {"input": ["a", "b"], "dimensions": 8},
            id="texts to embed, and how",
        ),
        pytest.param(asking("custom", {"x": [1]}), {"x": [1]}, id="custom"),
        pytest.param(asking("custom", "x"), "x", id="custom text"),
    ],
)
def test_a_request_becomes_an_input(request_: Request, expected: Any) -> None:
    assert adapt_request(request_, {}).input == expected


def test_a_chat_takes_the_runs_parameters_unless_it_brings_its_own() -> None:
    found = adapt_request(
        chat("hello", keys={"temperature": 1}), {"temperature": 0, "max_tokens": 5}
    )

    assert found.input == {"messages": HELLO, "temperature": 1, "max_tokens": 5}
    assert found.kwargs == {"temperature": 1, "max_tokens": 5}


def test_only_a_chat_takes_the_runs_parameters() -> None:
    assert adapt_request(asking("embeddings", "a"), {"temperature": 0}).input == {"input": ["a"]}
    assert adapt_request(asking("custom", {}), {"temperature": 0}).input == {}


def test_each_trial_has_a_seed_of_its_own() -> None:
    sample = Sample("0", {})
    request = Request(messages=(Message("user", "hello"),), sample=sample, trial=2)

    assert adapt_request(request, {"seed": 5}).input["seed"] == 7


@pytest.mark.parametrize("given", [{}, {"input": []}, {"input": [1]}, None, 3, []])
def test_embeddings_need_texts(given: Any) -> None:
    with pytest.raises(ModelError, match="a string or a list of strings"):
        adapt_request(asking("embeddings", given), {})


@pytest.mark.parametrize("keys", [["a"], "a", {"messages": []}, {"stream": True}])
def test_a_chats_more_keys_are_an_object_and_not_the_messages(keys: Any) -> None:
    with pytest.raises(ModelError) as caught:
        adapt_request(chat("hello", keys=keys), {})

    assert caught.value.kind == "bad_request"


@pytest.mark.parametrize("name", ["latticeflow$identity", "latticeflow$openai_chat_completion"])
def test_the_input_goes_out_as_it_is_with_the_models_name_if_there_is_one(name: str) -> None:
    assert out(name, {"messages": HELLO}, info()) == {"model": "m-1", "messages": HELLO}
    assert out(name, {"messages": HELLO}, info(model_key="")) == {"messages": HELLO}


def test_a_custom_input_goes_out_untouched() -> None:
    assert out("latticeflow$identity", {"x": 1}, info("custom")) == {"x": 1}
    assert out("latticeflow$identity", "x", info("custom")) == "x"


def test_the_responses_api_is_spoken() -> None:
    schema = {"name": "n", "schema": {"type": "object"}}
    given = {
        "messages": HELLO,
        "max_tokens": 9,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }

    sent = out("latticeflow$openai_responses", given, info())

    assert sent == {
        "model": "m-1",
        "store": False,
        "input": HELLO,
        "max_output_tokens": 9,
        "text": {"format": {"type": "json_schema", **schema}},
    }


def test_what_the_responses_api_says_becomes_open_responses() -> None:
    items = [{"type": "message", "role": "assistant", "content": []}]
    reply = {"id": "r", "status": "completed", "output": items, "usage": {"input_tokens": 1}}
    adapter = BUILT_IN["latticeflow$openai_responses"]()

    found = adapter.read_body(json.dumps(reply), 200, info())

    assert found == {"items": items, "usage": {"input_tokens": 1}}
    assert adapter.read_body('{"answer": 4}', 200, info()) == {"answer": 4}


def test_the_responses_api_has_no_other_words_for_what_is_no_chat() -> None:
    sent = out("latticeflow$openai_responses", {"input": ["a"]}, info("embeddings"))

    assert sent == {"model": "m-1", "input": ["a"]}


def test_a_template_makes_the_body_from_input_model_and_keys() -> None:
    adapter = jinja(
        '{"q": {{ input.messages[-1].content | tojson }}, "same": {{ model_input == input }}, '
        '"m": "{{ model_info.model_key }} {{ model_info.task }} {{ model_info.key }}", '
        '"t": {{ kwargs.temperature }}}'
    )
    asked = adapt_request(chat('say "hi"', keys={"temperature": 0.5}), {})

    body = adapter.make_body(asked, info())

    assert body == ('{"q": "say \\"hi\\"", "same": True, "m": "m-1 chat_completion bot", "t": 0.5}')


def test_a_template_reads_the_reply() -> None:
    adapter = jinja(
        back='{% set reply = body | fromjson %}\n{"choices": [{"message": {"role": "assistant", '
        '"content": {{ (reply.text ~ " " ~ status_code) | tojson }} }}]}\n'
    )

    found = adapter.read_body('{"text": "4"}', 201, info())

    assert found == {"choices": [{"message": {"role": "assistant", "content": "4 201"}}]}


def test_a_way_that_is_not_given_changes_nothing() -> None:
    adapter = jinja()

    assert json.loads(adapter.make_body(AdapterInput(input={"a": 1}), info(model_key=""))) == {
        "a": 1
    }
    assert adapter.read_body('{"b": 2}', 200, info()) == {"b": 2}


@pytest.mark.parametrize(
    ("adapter", "kind", "says"),
    [
        pytest.param(jinja(back="hello"), "not_json", "`process_output` of `mine`", id="no JSON"),
        pytest.param(jinja(back="{# #}"), "not_json", "it is empty", id="nothing"),
        pytest.param(jinja(back="{{ bdy }}"), "adapter", "`process_output` of `mine`", id="a typo"),
    ],
)
def test_a_broken_template_is_a_failure_that_names_it(
    adapter: TemplateAdapter, kind: str, says: str
) -> None:
    with pytest.raises(ModelError) as caught:
        adapter.read_body("{}", 200, info())

    assert caught.value.kind == kind
    assert says in str(caught.value)


def test_a_broken_template_on_the_way_out_is_one_too() -> None:
    with pytest.raises(ModelError, match="`process_input` of `mine`") as caught:
        jinja("{{ input.mesages[0] }}").make_body(adapt_request(chat("hello"), {}), info())

    assert caught.value.kind == "adapter"


def test_a_reply_that_is_no_json_is_shown_from_its_start() -> None:
    with pytest.raises(ModelError, match="the reply is not JSON: <html>"):
        BUILT_IN["latticeflow$identity"]().read_body("<html>\n</html>", 200, info())


def test_adapters_that_do_different_things_have_different_sources() -> None:
    made = [
        jinja(),
        jinja("a"),
        jinja(back="a"),
        jinja("a", "b"),
        *(f() for f in BUILT_IN.values()),
    ]

    assert len({one.source for one in made}) == len(made) - 1  # two built-in ones are the same
