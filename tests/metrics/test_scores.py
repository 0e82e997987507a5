import asyncio

import pytest

from evalwright.metrics.scores import EvidenceMetric, Scores


def test_columns_are_kept_of_the_fields_that_are_asked_for() -> None:
    scores = Scores({"a"})
    scores.add({"a": 1, "b": 2}, {"m": 3})

    assert scores.n == 1
    assert scores.column("a").numbers()[0].tolist() == [1.0]
    with pytest.raises(ValueError, match="stored as columns"):
        scores.records()


def test_whole_records_are_kept_for_who_asks() -> None:
    scores = Scores(None)
    scores.add({"a": 1}, {"m": 3})
    scores.add({"b": "x"}, {})

    assert [(one.values, one.metadata) for one in scores.records()] == [
        ({"a": 1}, {"m": 3}),
        ({"b": "x"}, {}),
    ]
    assert scores.column("b").labels().codes.tolist() == [-1, 0]


def test_a_million_labels_take_nine_megabytes() -> None:
    scores = Scores({"a"})
    for number in range(10_000):
        scores.add({"a": f"label {number % 7}"}, {})
    column = scores.column("a")

    assert column._kinds.itemsize + column._numbers.itemsize == 9
    assert len(column._texts) == 7


def test_each_figure_has_its_value_and_why_there_is_no_interval() -> None:
    scores = Scores(None)
    scores.add({"a b": 3.0, "c": None, "d": 1.0}, {"a b": "three of them"})

    found = asyncio.run(EvidenceMetric().measure(scores, seed=0, snippets=None))

    assert [(one.name, one.value, one.interval, one.reason) for one in found] == [
        ("a b", 3.0, None, "three of them"),
        ("c", None, None, "undefined: the snippet returned no number"),
        ("d", 1.0, None, "a system task has no samples"),
    ]
