from typing import Any

import pytest
from tests.servers.asking import answered, asking, chat

from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.types import Completion, Request, Usage


@pytest.mark.parametrize(
    ("request_", "output"),
    [
        pytest.param(chat("hello"), None, id="chat"),
        pytest.param(asking("embeddings", ["a"]), {"embeddings": []}, id="embeddings"),
        pytest.param(asking("custom", {"a": 1}), {}, id="custom"),
    ],
)
def test_it_says_nothing_and_asks_nobody(request_: Request, output: Any) -> None:
    assert answered(PlaceholderModel(), request_) == Completion(
        text="", usage=Usage(), output=output
    )


def test_a_reader_is_told_that_it_is_no_model() -> None:
    assert PlaceholderModel().caveat == "a placeholder with empty answers, not a model"
