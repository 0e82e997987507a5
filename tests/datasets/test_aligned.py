from typing import Any

import pytest

from evalwright.datasets.reading import LazyRows
from evalwright.datasets.rows import AlignedRows, Rows
from evalwright.errors import BadDataset


def part(name: str, *samples: dict[str, Any]) -> Rows:
    return Rows(LazyRows(lambda: iter(samples)), name=name)


def both(questions: list[dict[str, Any]], answers: list[dict[str, Any]]) -> AlignedRows:
    return AlignedRows({"q": part("questions.csv", *questions), "a": part("answers.csv", *answers)})


def test_rows_of_the_same_place_are_one_sample() -> None:
    aligned = both([{"x": 1}, {"x": 2}], [{"y": 3}, {"y": 4}])

    assert list(aligned.rows()) == [
        {"q": {"x": 1}, "a": {"y": 3}},
        {"q": {"x": 2}, "a": {"y": 4}},
    ]
    assert aligned.check() == 2


@pytest.mark.parametrize(("questions", "answers"), [(2, 3), (3, 1)])
def test_another_number_of_rows_is_an_error_that_says_how_many(
    questions: int, answers: int
) -> None:
    aligned = both([{"x": 1}] * questions, [{"y": 1}] * answers)

    with pytest.raises(BadDataset, match=f"`q` has {questions}, `a` has {answers}"):
        aligned.check()


def test_a_scorer_of_all_samples_gets_them_apart_however_many() -> None:
    assert both([{"x": 1}, {"x": 2}], [{"y": 3}]).together(range(2), range(2)) == {
        "q": [{"x": 1}, {"x": 2}],
        "a": [{"y": 3}],
    }


def test_of_some_samples_it_gets_those_that_it_is_asked_about() -> None:
    aligned = both([{"x": n} for n in range(4)], [{"y": n} for n in range(4)])

    assert aligned.together([0, 2, 3], [0, 2]) == {
        "q": [{"x": 0}, {"x": 3}],
        "a": [{"y": 0}, {"y": 3}],
    }
    assert aligned.together(range(2), range(2))["a"] == [{"y": 0}, {"y": 1}]


def test_a_place_that_another_dataset_does_not_have_is_left_out_of_it() -> None:
    aligned = both([{"x": n} for n in range(4)], [{"y": 0}])

    assert aligned.together([0, 2], [0, 1]) == {"q": [{"x": 0}, {"x": 2}], "a": [{"y": 0}]}


def test_when_all_of_the_first_are_asked_about_the_others_are_whole() -> None:
    aligned = both([{"x": 1}], [{"y": 3}, {"y": 4}])

    assert aligned.together(range(1), [0]) == {"q": [{"x": 1}], "a": [{"y": 3}, {"y": 4}]}


def test_a_sample_that_is_asked_about_in_parts_has_its_row_as_often() -> None:
    aligned = both([{"x": 1}, {"x": 2}], [{"y": 3}, {"y": 4}])

    assert aligned.together(range(2), [0, 0, 1])["q"] == [{"x": 1}, {"x": 1}, {"x": 2}]


def test_the_id_is_that_of_the_first_dataset() -> None:
    aligned = both([{"sample_id": "x"}, {"sample_id": "y"}], [{"sample_id": "z"}] * 2)

    assert [name for name, _ in aligned.identify()] == ["x", "y"]


def test_without_one_it_is_the_place() -> None:
    assert [name for name, _ in both([{}, {}], [{"sample_id": "z"}] * 2).identify()] == ["0", "1"]


def test_an_id_given_twice_in_the_first_is_an_error() -> None:
    with pytest.raises(BadDataset, match=r"questions\.csv.*two rows have the `sample_id` `x`"):
        both([{"sample_id": "x"}] * 2, [{}] * 2).check()


def test_an_empty_one_is_named() -> None:
    with pytest.raises(BadDataset, match=r"answers\.csv: no rows"):
        both([{"x": 1}], []).check()


def test_the_digest_is_of_the_parts_and_their_names() -> None:
    one, other = part("a", {"x": 1}), part("b", {"x": 2})

    assert AlignedRows({"q": one, "a": other}).digest == AlignedRows({"q": one, "a": other}).digest
    assert AlignedRows({"q": one, "a": other}).digest != AlignedRows({"q": other, "a": one}).digest
    assert AlignedRows({"q": one}).digest != AlignedRows({"a": one}).digest


def test_none_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one dataset"):
        AlignedRows({})
