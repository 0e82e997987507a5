"""Repeated values and texts, against plain Python."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from evalwright.dataset_check.repeats import HashColumn, TextIndex

CHANCE = Random(3)
WORDS = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]
LONG = [" ".join(CHANCE.choices(WORDS, k=25)) for _ in range(6)]


def column(values: list[str]) -> HashColumn:
    hashes = HashColumn()
    for line, value in enumerate(values, start=2):
        hashes.add(value, line)
    return hashes


@given(st.lists(st.sampled_from("abcde"), max_size=12), st.lists(st.sampled_from("abcxyz")))
def test_repeated_and_shared_values_are_those_of_plain_python(
    values: list[str], others: list[str]
) -> None:
    again = [place for place, value in enumerate(values) if value in values[:place]]
    shared = [place for place, value in enumerate(values) if value in others]

    repeats, leaks = column(values).count_repeats(), column(values).count_shared(column(others))

    assert (repeats.count, leaks.count) == (len(again), len(shared))
    assert [(e.position, e.other) for e in repeats.examples] == [
        (place + 2, values.index(values[place]) + 2) for place in again[:5]
    ]
    assert [(e.position, e.other) for e in leaks.examples] == [
        (place + 2, others.index(values[place]) + 2) for place in shared[:5]
    ]


def with_other_word(text: str, place: int) -> str:
    words = text.split()
    words[place] = "different"
    return " ".join(words)


def test_near_duplicates_have_the_same_words_or_nearly() -> None:
    index = TextIndex()
    texts = [
        *LONG,
        with_other_word(LONG[1], 7),  # 8: one word in 25
        LONG[2].upper() + "!",  # 9: the same words
        LONG[3],  # 10: equal
        LONG[4] + " 17",  # 11: another number
        "Too loud",  # 12
        "too loud!",  # 13: the same words
        "",
    ]
    for line, text in enumerate(texts, start=2):
        index.add(text, line)

    near = index.near_duplicates()

    assert near.count == 3
    assert {(e.position, e.other) for e in near.examples} == {(8, 3), (9, 4), (13, 12)}


def test_leaks_are_exact_or_near_but_not_both() -> None:
    index = TextIndex()
    for line, text in enumerate([LONG[0], LONG[1], LONG[2], LONG[3], "Too loud"], start=2):
        index.add(text, line)
    published = [LONG[0], with_other_word(LONG[1], 3), LONG[5], LONG[2] + "!", "too  LOUD"]
    for line, text in enumerate(published, start=2):
        index.add(text, line, dataset=1)

    exact, near = index.exact_leaks(), index.near_leaks()

    assert [(e.position, e.other) for e in exact.examples] == [(2, 2), (6, 6)]
    assert sorted((e.position, e.other) for e in near.examples) == [(3, 3), (4, 5)]
    assert (exact.count, near.count) == (2, 2)


def test_texts_beyond_the_limit_are_compared_for_equal_words_only() -> None:
    index = TextIndex(most_words=50)
    for line, text in enumerate([*LONG[:3], with_other_word(LONG[2], 3), LONG[2] + "."], start=2):
        index.add(text, line)

    assert index.left_out == 3
    assert [(e.position, e.other) for e in index.near_duplicates().examples] == [(6, 4)]
