from importlib.util import find_spec

import pytest
from tests.local_model import needs_local_model

from evalwright.clients.llama.model import Llama
from evalwright.clients.local import connect
from evalwright.clients.word_vectors import WordVectors
from evalwright.errors import UnknownName, UsageError
from evalwright.ports import weighs
from evalwright.types import ModelOptions


@needs_local_model
def test_a_file_is_a_model_that_chats_and_weighs() -> None:
    found = connect("smollm2")

    assert isinstance(found, Llama)
    assert weighs(found)
    assert found.slots == 4
    assert found.caveat == ""


@pytest.mark.skipif(find_spec("wordllama") is None, reason="pip install 'evalwright[local]'")
def test_word_vectors_embed_and_do_not_weigh() -> None:
    found = connect("wordllama")

    assert isinstance(found, WordVectors)
    assert not weighs(found)


@needs_local_model
def test_a_fingerprint_has_all_that_changes_an_answer_and_nothing_else() -> None:
    def print_of(**parameters: object) -> str:
        return connect("smollm2", ModelOptions(parameters=dict(parameters))).fingerprint

    plain = print_of()

    assert print_of(slots=1, threads=1, total_timeout_s=5) == plain
    assert print_of(temperature=0) == plain
    assert print_of(temperature=1) != plain
    assert print_of(context=512) != plain
    assert "/" not in plain, "the place of the file is not in it"


@needs_local_model
def test_a_parameter_is_checked_before_anything_is_loaded() -> None:
    with pytest.raises(UsageError, match="local/smollm2"):
        connect("smollm2", ModelOptions(parameters={"slots": "many"}))


@needs_local_model
def test_a_name_that_is_no_model_says_which_there_are() -> None:
    with pytest.raises(UnknownName, match=r"`local/llama` is not a model; use .*PATH\.gguf"):
        connect("llama")


@needs_local_model
def test_a_misspelt_name_gets_the_nearest_of_both_kinds() -> None:
    with pytest.raises(UnknownName, match="`local/wordllama`") as caught:
        connect("wordlama")
    assert caught.value.hint == "did you mean `local/wordllama`?"
