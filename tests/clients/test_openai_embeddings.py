from typing import Any

import pytest
from tests.servers.asking import answered, asking, failed
from tests.servers.model_server import ModelServer, by_path, embeddings, json

from evalwright.clients.openai import Chat, connect
from evalwright.types import Completion, ModelOptions, Usage


def model(server: ModelServer, **parameters: Any) -> Chat:
    environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-0123456789"}
    return connect("e-1", ModelOptions(parameters=parameters, environment=environment))


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        pytest.param("four", ["four"], id="a text"),
        pytest.param(["four", "eleven"], ["four", "eleven"], id="texts"),
        pytest.param({"input": ["four", "eleven"]}, ["four", "eleven"], id="under `input`"),
    ],
)
def test_each_text_gets_its_vector_in_its_place(given: Any, texts: list[str]) -> None:
    with ModelServer(by_path(embeddings=embeddings())) as server:
        found = answered(model(server), asking("embeddings", given))

    (asked,) = server.log
    assert asked.path == "/v1/embeddings"
    assert asked.headers["Authorization"] == "Bearer sk-0123456789"
    assert asked.body == {"model": "e-1", "input": texts, "encoding_format": "float"}
    assert found == Completion(
        text="",
        usage=Usage(requests=1, prompt_tokens=5),
        output={
            "embeddings": [[float(len(text)), 1.0] for text in texts],
            "usage": {"num_prompt_tokens": 5, "num_completion_tokens": 0},
        },
    )


def test_of_the_runs_parameters_only_those_of_embeddings_are_sent() -> None:
    with ModelServer(embeddings()) as server:
        asked = asking("embeddings", {"input": "a", "user": "me"})
        answered(model(server, dimensions=8, temperature=0, seed=1), asked)

    body = server.log[0].body
    assert (body["dimensions"], body["user"]) == (8, "me")
    assert not {"temperature", "seed"} & body.keys()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param({"data": []}, "wrong_shape", id="too few"),
        pytest.param({"data": [{"embedding": ["a"]}]}, "wrong_shape", id="no numbers"),
        pytest.param({"error": {"message": "no"}}, "error_object", id="an error"),
        pytest.param({"data": [], "error": "no"}, "error_object", id="an error beside"),
    ],
)
def test_what_is_no_embedding_is_a_failure(reply: Any, kind: str) -> None:
    with ModelServer(json(reply)) as server:
        assert failed(model(server), asking("embeddings", "a")).kind == kind


@pytest.mark.parametrize("given", [3, [], [1], {"input": "a", "model": "other"}])
def test_what_cannot_be_embedded_is_not_sent(given: Any) -> None:
    with ModelServer(embeddings()) as server:
        assert failed(model(server), asking("embeddings", given)).kind == "bad_request"
        assert server.log == []


def test_an_address_that_ends_in_the_chat_has_its_embeddings_beside_it() -> None:
    with ModelServer(embeddings()) as server:
        environment = {"OPENAI_BASE_URL": f"{server.url}/chat/completions"}
        answered(connect("e-1", ModelOptions(environment=environment)), asking("embeddings", "a"))

    assert server.log[0].path == "/v1/embeddings"
