import asyncio
from math import nan, sqrt
from typing import Any

import pytest
from tests.scorers.cases import SCORERS, case, chat

from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.scorers.semantic_similarity import SemanticSimilarity, cosine
from evalwright.types import Completion, Request, Score, first_number

TARGET = {"type": "semantic_similarity", "ground_truth": "{{ sample.target }}"}


class Embedding:
    """Gives `output` for everything, or what `vectors` has for each text."""

    caveat = ""
    fingerprint = ""

    def __init__(self, vectors: dict[str, list[float]] | None = None, output: Any = None) -> None:
        self._vectors, self._output = vectors, output
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        if self._vectors is None:
            return Completion(text="", output=self._output)
        texts = request.input["input"]
        return Completion(
            text="", output={"embeddings": [self._vectors[text] for text in texts], "usage": {}}
        )

    async def close(self) -> None: ...


class Failing:
    """Raises the error, whatever it is asked."""

    caveat = ""
    fingerprint = ""

    def __init__(self, error: ModelError) -> None:
        self._error = error

    async def complete(self, request: Request) -> Completion:  # noqa: ARG002 - the port's
        raise self._error

    async def close(self) -> None: ...


def score(model: Model, answer: str = "a", **fields: Any) -> Score:
    scorer = SCORERS.validate_python({**TARGET, **fields})
    models = {"embedder": model} if "model_key" in fields else {}
    more = {} if models else {"model": model}
    found: Score = asyncio.run(
        scorer.score(case({"target": "b"}, chat(answer), models=models, **more))
    )
    return found


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        pytest.param([1, 0], [1, 0], 1.0, id="the same"),
        pytest.param([1, 0], [5, 0], 1.0, id="length does not count"),
        pytest.param([1, 0], [0, 1], 0.0, id="at right angles"),
        pytest.param([1, 0], [-2, 0], -1.0, id="opposite"),
        pytest.param([1, 0], [1, 1], 1 / sqrt(2), id="half way"),
        pytest.param([0.1] * 1000, [0.3] * 1000, 1.0, id="rounding stays in bounds"),
        pytest.param([1e-200, 0], [1e-200, 0], 1.0, id="very short ones"),
        pytest.param([1e200, 0], [1e200, 0], 1.0, id="very long ones"),
    ],
)
def test_the_score_is_the_cosine(one: list[float], other: list[float], value: float) -> None:
    found = score(Embedding({"a": one, "b": other}))

    assert found.values["similarity"] == pytest.approx(value)
    assert -1 <= (first_number(found.values) or 0) <= 1
    assert found.metadata == {"answer_gt": "b", "answer_pred": "a"}


def test_both_texts_are_embedded_by_one_request() -> None:
    model = Embedding({"größer": [1, 0], "b": [1, 0]})

    score(model, "größer")

    assert [one.input for one in model.requests] == [{"input": ["größer", "b"]}]
    assert model.requests[0].task == "embeddings"
    assert model.requests[0].messages == ()


def test_a_named_model_is_asked_in_place_of_the_evaluated_one() -> None:
    found = score(Embedding({"a": [1, 0], "b": [1, 0]}), model_key="embedder")

    assert found.values == {"similarity": 1.0}
    assert found.reason == ""


def test_less_than_the_same_gives_its_reason() -> None:
    assert score(Embedding({"a": [1, 0], "b": [0, 1]})).reason == "'a' against 'b'"


def test_a_model_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(ValueError, match="`other` is not one of the models: `embedder`"):
        score(Embedding(), model_key="other")


def test_the_models_that_it_asks_are_known_before_it_runs() -> None:
    named = SemanticSimilarity.model_validate({**TARGET, "model_key": "openai$small"})

    assert named.model_keys == ("openai$small",)
    assert SemanticSimilarity.model_validate(TARGET).model_keys == ()


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(None, id="nothing"),
        pytest.param({"choices": []}, id="a chat completion"),
        pytest.param({"embeddings": []}, id="no vectors"),
        pytest.param({"embeddings": [[1.0]]}, id="one vector"),
        pytest.param({"embeddings": [[1.0]] * 3}, id="three vectors"),
        pytest.param({"embeddings": [[1.0], [1.0, 2.0]]}, id="of two lengths"),
        pytest.param({"embeddings": [[], []]}, id="empty vectors"),
        pytest.param({"embeddings": [["1"], ["2"]]}, id="texts"),
        pytest.param({"embeddings": [[None], [1.0]]}, id="null"),
        pytest.param({"embeddings": [1.0, 2.0]}, id="numbers"),
        pytest.param({"embeddings": "ab"}, id="a text"),
    ],
)
def test_what_is_no_pair_of_vectors_is_an_error(output: Any) -> None:
    with pytest.raises(ValueError, match="must return `embeddings`"):
        score(Embedding(output=output))


@pytest.mark.parametrize(
    "vector", [pytest.param([0, 0], id="zeros"), pytest.param([nan, 1], id="no numbers")]
)
def test_a_vector_without_a_direction_is_an_error_and_no_zero(vector: list[float]) -> None:
    with pytest.raises(ValueError, match="no direction"):
        cosine(vector, [1.0, 0.0])


CANNOT = [
    pytest.param(
        "unsupported", "this API does not support `embeddings`, only chat", id="by its client"
    ),
    pytest.param("not_found", "no such address", id="by its server"),
    pytest.param("auth", "not allowed to generate embeddings from this model", id="by its words"),
    pytest.param("bad_request", "the model does not support the Embeddings API", id="by others"),
]


@pytest.mark.parametrize(("kind", "said"), CANNOT)
def test_a_model_that_cannot_embed_is_told_which_can(kind: str, said: str) -> None:
    with pytest.raises(
        ModelError, match=f"the evaluated model cannot embed text: .*{said}"
    ) as caught:
        score(Failing(ModelError(kind, said)))

    assert caught.value.kind == kind
    assert caught.value.hint == "name an embedding model: `model_key: local/wordllama`"


def test_a_named_model_that_cannot_embed_is_named() -> None:
    error = ModelError("unsupported", "it is for chat")
    error.attempts = 3

    with pytest.raises(ModelError, match="`embedder` cannot embed text: it is for chat") as caught:
        score(Failing(error), model_key="embedder")

    assert caught.value.attempts == 3


@pytest.mark.parametrize(
    ("kind", "said"), [("bad_request", "the text is too long"), ("server", "embeddings are down")]
)
def test_another_error_of_the_model_stays_as_it_is(kind: str, said: str) -> None:
    error = ModelError(kind, said, hint="wait")

    with pytest.raises(ModelError) as caught:
        score(Failing(error))

    assert caught.value is error


def test_what_a_chat_model_gives_back_names_a_model_that_embeds() -> None:
    with pytest.raises(ValueError, match="name an embedding model: `model_key: local/wordllama`"):
        score(Embedding(output={"choices": []}))


def test_a_model_of_this_machine_may_be_named() -> None:
    named = SemanticSimilarity.model_validate({**TARGET, "model_key": "local/wordllama"})

    assert named.model_keys == ("local/wordllama",)
