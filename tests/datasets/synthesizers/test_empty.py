from tests.datasets.synthesizers.made import synthesized, synthesizer


def test_a_row_stays_as_it_is() -> None:
    assert synthesized({"type": "empty"}, {"a": 1, "b": None}) == [{"a": 1, "b": None}]


def test_the_columns_are_those_of_before() -> None:
    assert synthesizer({"type": "empty"}).columns_after(frozenset({"a"})) == {"a"}
