import pytest

from evalwright.clients.llama.model import Piece, completes_character, windows


@pytest.mark.parametrize("length", [1, 2, 9, 10, 11, 14, 15, 16, 99])
@pytest.mark.parametrize("start", [[], [7]])
def test_windows_weigh_every_token_once_after_enough_of_what_came_before(
    start: list[int], length: int
) -> None:
    tokens = list(range(100, 100 + length))

    made = list(windows(start, tokens, 10))

    weighed = [token for _, wanted in made for token in wanted]
    assert weighed == (tokens if start else tokens[1:])
    whole = [*start, *tokens]
    for before, wanted in made:
        assert before
        assert len(before) + len(wanted) <= 10
        place = whole.index(wanted[0])
        assert before == whole[place - len(before) : place]
        assert len(before) >= min(5, place)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(["Hi", " there"], [True, True], id="words"),
        pytest.param([[0xF0, 0x9F], [0x98, 0x80]], [False, True], id="an emoji in two"),
        pytest.param([[0xC3], [0xA9], "!"], [False, True, True], id="a letter in two, and more"),
        pytest.param(["\0"], [True], id="a NUL"),
        pytest.param([[0xE6], [0xBC], [0xA2]], [False, False, True], id="a character in three"),
    ],
)
def test_a_token_is_whole_where_a_character_ends(
    pieces: list[str | list[int]], expected: list[bool]
) -> None:
    tokens = [Piece(number, piece) for number, piece in enumerate(pieces)]

    assert [*completes_character(tokens)] == expected
