from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.word_files import BYTES, LETTERS, MERGES, VOCAB, write_pieces

from evalwright.clients.word_vectors import BytePairs, WordPieces, read_pieces
from evalwright.errors import Unreadable

NAMES = {number: piece for piece, number in VOCAB.items()}
PIECES = WordPieces(BytePairs(vocab=VOCAB, merges=MERGES, byte_fallback=True))


def cut(text: str) -> list[str]:
    return [NAMES[number] for number in PIECES.numbers(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("a", ["▁a"], id="a space goes before the first word"),
        pytest.param("an", ["▁an"], id="pairs of pairs"),
        pytest.param("a cat", ["▁a", "▁", "c", "a", "t"], id="no pair across a space"),
        pytest.param("not", ["▁not"], id="the earlier pair of the file is joined first"),
        pytest.param("aan", ["▁a", "an"], id="a letter is joined once"),
        pytest.param("   ", ["▁▁▁▁"], id="spaces are pieces"),
        pytest.param("    a", ["▁▁▁▁", "▁a"], id="spaces before a word"),
        pytest.param("a▁a", ["▁a", "▁a"], id="the sign for a space is one"),
        pytest.param("b\nd", ["▁", "b", "<0x0A>", "d"], id="a line end has no piece but its byte"),
        pytest.param("é", ["▁", "<0xC3>", "<0xA9>"], id="the bytes of a letter"),
        pytest.param("😀", ["▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], id="of an emoji"),
        pytest.param("\ud83d", ["▁", "<0xED>", "<0xA0>", "<0xBD>"], id="of half a pair"),
    ],
)
def test_a_text_is_cut_as_its_file_says(text: str, pieces: list[str]) -> None:
    assert cut(text) == pieces


ANY_TEXT = st.text(st.one_of(st.sampled_from("anot ▁\n"), st.characters()), max_size=60)


@given(ANY_TEXT)
def test_the_pieces_of_any_text_are_the_text_again(text: str) -> None:
    found = b"".join(
        bytes([BYTES.index(piece)]) if piece in BYTES else piece.encode() for piece in cut(text)
    )

    whole = ("▁" + text.replace(" ", "▁") if text else "").encode(errors="surrogatepass")
    assert found == whole


@given(ANY_TEXT)
def test_no_pair_of_the_file_is_left_apart(text: str) -> None:
    assert not {f"{one} {other}" for one, other in pairwise(cut(text))} & {*MERGES}


def test_a_long_word_is_cut_like_a_short_one() -> None:
    assert cut("an" * 50_000) == ["▁an", *["an"] * 49_999]


def test_a_file_is_read(tmp_path: Path) -> None:
    pieces = read_pieces(write_pieces(tmp_path / "tokenizer.json"))

    assert pieces.numbers("not an") == PIECES.numbers("not an")
    assert pieces.count == len(VOCAB)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "not a byte-pair tokenizer", id="empty"),
        pytest.param("{}", "missing required field `model`", id="something else"),
        pytest.param('{"model": {"vocab": ["a"]}}', r"`\$.model.vocab`", id="another kind"),
    ],
)
def test_what_is_no_tokenizer_of_this_kind_is_unreadable(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(Unreadable, match=said):
        read_pieces(tmp_path / "a.json")


def test_a_tokenizer_without_a_piece_for_each_byte_is_refused(tmp_path: Path) -> None:
    few = {piece: number for number, piece in enumerate(LETTERS)}

    for path in (
        write_pieces(tmp_path / "a.json", few),
        write_pieces(tmp_path / "b.json", byte_fallback=False),
    ):
        with pytest.raises(Unreadable, match="lacks pieces for some bytes"):
            read_pieces(path)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"a\.json: No such file"):
        read_pieces(tmp_path / "a.json")
