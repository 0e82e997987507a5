import asyncio
import threading
from importlib.metadata import PackageNotFoundError
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.clients.word_files import COLUMNS, VOCAB, write_pieces, write_table, write_words

from evalwright.clients import word_vectors
from evalwright.clients.word_vectors import PIECES, TABLE, WordVectors, connect, read_table
from evalwright.errors import ModelError, Unreadable, UsageError
from evalwright.scorers.semantic_similarity import cosine
from evalwright.types import Completion, Message, ModelOptions, Request, Sample

SAMPLE = Sample("a", {})


@pytest.fixture
def model(tmp_path: Path) -> WordVectors:
    return WordVectors(write_words(tmp_path))


@pytest.fixture
def installed() -> WordVectors:
    try:
        return connect()
    except UsageError as error:
        pytest.skip(f"{error}: {error.hint}")


def ask(model: WordVectors, given: Any) -> Completion:
    return asyncio.run(model.complete(Request(sample=SAMPLE, task="embeddings", input=given)))


def vectors(model: WordVectors, *texts: str, **keys: Any) -> list[list[float]]:
    found: list[list[float]] = ask(model, {"input": list(texts), **keys}).output["embeddings"]
    return found


def refused(model: WordVectors, given: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, given)
    return caught.value


def test_a_vector_is_the_direction_of_the_mean_of_its_pieces(tmp_path: Path) -> None:
    table = np.zeros((len(VOCAB), COLUMNS))
    table[VOCAB["▁a"], :2] = (3, 0)
    table[VOCAB["▁not"], :2] = (0, 4)
    model = WordVectors(write_words(tmp_path, table))

    (both,) = vectors(model, "a not")

    assert both == [0.6, 0.8, *[0.0] * (COLUMNS - 2)]


def test_vectors_come_in_the_order_of_the_texts_and_have_length_1(model: WordVectors) -> None:
    one, other, again = vectors(model, "a not", "an", "a not")

    assert one == again != other
    assert [hypot(*one), hypot(*other)] == pytest.approx([1, 1], abs=1e-4)


def test_tokens_are_counted_and_cost_nothing(model: WordVectors) -> None:
    found = ask(model, ["a not", "an"])

    assert found.usage.prompt_tokens == 3
    assert found.usage.cost == 0
    assert found.output["usage"] == {"num_prompt_tokens": 3, "num_completion_tokens": 0}


@pytest.mark.parametrize("given", ["an", ["an"], {"input": "an"}, {"input": ["an"]}])
def test_texts_come_in_every_shape_of_the_port(given: Any, model: WordVectors) -> None:
    assert ask(model, given).output["embeddings"] == vectors(model, "an")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("مرحبا بالعالم", id="arabic"),
        pytest.param("👩‍👩‍👧 😀", id="emoji"),
        pytest.param("\ud83d", id="half a surrogate pair"),
        pytest.param("\x00\x1b[31m", id="controls"),
        pytest.param("漢字" * 20_000, id="long and without a space"),
        pytest.param("a not " * 100_000, id="long"),
        pytest.param("</s>", id="a marker"),
    ],
)
def test_any_text_has_a_vector(text: str, model: WordVectors, installed: WordVectors) -> None:
    for one in (model, installed):
        first, again = vectors(one, text), vectors(one, text)
        assert first == again
        assert hypot(*first[0]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "\u3000"])
def test_an_empty_text_has_no_direction(text: str, model: WordVectors) -> None:
    error = refused(model, ["a", text])

    assert error.kind == "bad_request"
    assert str(error) == "string 2 of 2 is empty and cannot be embedded"
    assert not error.retryable


def test_a_text_that_ends_late_counts_to_its_end(
    model: WordVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "a not " * 200 + "an " * 300
    whole = vectors(model, long)
    monkeypatch.setattr(word_vectors, "_ROWS", 64)

    assert vectors(model, long) == whole
    assert whole != vectors(model, "a not " * 200)


@pytest.mark.parametrize("task", ["chat_completion", "custom"])
def test_asked_for_anything_else_it_says_what_it_is_for(task: Any, model: WordVectors) -> None:
    request = Request(sample=SAMPLE, task=task, messages=(Message("user", "Hello"),))

    with pytest.raises(
        ModelError, match=f"does not support `{task}`: it only embeds text"
    ) as caught:
        asyncio.run(model.complete(request))

    assert caught.value.kind == "unsupported"
    assert "semantic_similarity" in caught.value.hint


def test_a_vector_can_be_cut_to_the_first_of_its_numbers(model: WordVectors) -> None:
    (whole,) = vectors(model, "a not")
    (cut,) = vectors(model, "a not", dimensions=64)

    assert len(whole) == COLUMNS
    assert len(cut) == 64
    assert cut == pytest.approx([one / hypot(*whole[:64]) for one in whole[:64]], abs=1e-4)


@pytest.mark.parametrize("size", [0, 1, 512, 64.0, "64", True, None])
def test_other_sizes_are_refused(size: Any, model: WordVectors) -> None:
    assert refused(model, {"input": "a", "dimensions": size}).hint == "use one of 64, 128, 256"


def test_keys_that_it_does_not_know_are_refused(model: WordVectors) -> None:
    assert "does not support `inputs: b`" in str(refused(model, {"input": "a", "inputs": "b"}))
    assert "base64" in str(refused(model, {"input": "a", "encoding_format": "base64"}))
    assert vectors(model, "a", user="me", encoding_format="float") == vectors(model, "a")


def test_much_text_is_embedded_beside_the_event_loop(tmp_path: Path) -> None:
    model = WordVectors(write_words(tmp_path))
    seen: list[bool] = []
    inside = model._embed

    def watched(texts: Any, size: int) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        return inside(texts, size)

    model._embed = watched  # type: ignore[method-assign] # to see where it runs
    for texts in (["a"], ["a"], ["a not " * 10_000]):
        ask(model, texts)

    assert seen == [False, True, False]  # the first reads the files


def test_many_at_once_read_the_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = WordVectors(write_words(tmp_path))
    read: list[Path] = []
    inside = word_vectors._read

    def watched(folder: Path) -> Any:
        read.append(folder)
        return inside(folder)

    monkeypatch.setattr(word_vectors, "_read", watched)
    request = Request(sample=SAMPLE, task="embeddings", input=["a not"])

    async def together() -> list[Completion]:
        return await asyncio.gather(*(model.complete(request) for _ in range(20)))

    found = asyncio.run(together())

    assert len(read) == 1
    assert all(one.output == found[0].output for one in found)


def test_what_is_closed_can_be_asked_again(model: WordVectors) -> None:
    before = vectors(model, "an")
    asyncio.run(model.close())

    assert vectors(model, "an") == before


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("F32", (4, COLUMNS)), ("F16", (4, 64)), ("F16", (4,)), ("F16", (2, 2, COLUMNS))],
)
def test_a_table_of_another_kind_is_unreadable(
    dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    path = write_table(tmp_path / "a", np.zeros(shape, "<f2"), dtype=dtype)

    with pytest.raises(Unreadable, match="not a table of 256 half floats per row"):
        read_table(path)


@pytest.mark.parametrize("size", [0, 7, 8, 20, 60, 500])
def test_a_table_that_is_cut_short_is_unreadable(size: int, tmp_path: Path) -> None:
    path = write_table(tmp_path / "a", np.zeros((4, COLUMNS), "<f2"))
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(Unreadable, match="not a table"):
        read_table(path)


def test_fewer_vectors_than_pieces_are_noticed(tmp_path: Path) -> None:
    write_pieces(tmp_path / PIECES)
    write_table(tmp_path / TABLE, np.zeros((4, COLUMNS), "<f2"))

    with pytest.raises(Unreadable, match=f"{len(VOCAB)} pieces, but 4 vectors"):
        vectors(WordVectors(tmp_path), "a")


class Installed:
    """What `importlib.metadata` knows of a package that has no files in it."""

    version = "9.9"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def locate_file(self, name: str) -> Path:
        return self._folder / name


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(word_vectors, "distribution", missing)

    with pytest.raises(UsageError, match="local/wordllama needs the package wordllama") as caught:
        connect()

    assert caught.value.hint == "pip install 'evalwright[local]'"


def test_a_package_without_the_files_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_vectors, "distribution", lambda _: Installed(tmp_path))

    with pytest.raises(UsageError, match=r"needs `weights/.*`, which wordllama 9\.9 does not have"):
        connect()


def test_what_changes_its_vectors_is_in_its_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_words(tmp_path / "wordllama")
    monkeypatch.setattr(word_vectors, "distribution", lambda _: Installed(tmp_path))

    whole, cut = connect(), connect(ModelOptions(parameters={"dimensions": 64, "temperature": 1}))

    assert "9.9" in whole.fingerprint
    assert whole.fingerprint != cut.fingerprint
    assert len(vectors(cut, "a")[0]) == 64


def test_a_size_that_does_not_exist_stops_before_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_words(tmp_path / "wordllama")
    monkeypatch.setattr(word_vectors, "distribution", lambda _: Installed(tmp_path))

    with pytest.raises(UsageError, match="local/wordllama does not support 100 dimensions"):
        connect(ModelOptions(parameters={"dimensions": 100}))


def test_what_means_the_same_is_nearer_than_what_does_not(installed: WordVectors) -> None:
    car, auto, soup = vectors(
        installed,
        "She bought a used car.",
        "She purchased a second-hand automobile.",
        "The soup needs more salt.",
    )

    assert cosine(car, auto) > 0.4
    assert cosine(car, soup) < 0.2


def test_the_vectors_of_the_package_stay_what_they_are(installed: WordVectors) -> None:
    """Made with wordllama's own code, from the same two files."""
    (found,) = vectors(installed, "The quick brown fox jumps over the lazy dog.")

    assert found[:4] == pytest.approx([0.030066, -0.014712, 0.003583, 0.064350], abs=2e-5)
