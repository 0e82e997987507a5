"""The check of rows in memory: one case per check, and sound data without problems."""

from typing import Any

import pytest

import evalwright as ew
from evalwright.dataset_check.report import CHECKS
from evalwright.errors import BadDataset, UsageError

TEN = [{"x": letter} for letter in "abcdefghij"]
LONG = (
    "the river flows past old stone bridges while small boats carry quiet travellers toward "
    "distant harbours under heavy grey clouds"
)
CASES: dict[str, tuple[list[dict[str, Any]], tuple[str | None, int]]] = {
    "no_rows": ([], (None, 0)),
    "missing": ([{"a": 1}, {"a": None}, {"a": ""}, {}, {"a": float("nan")}], ("a", 4)),
    "placeholder": ([{"a": "Bo"}, {"a": "N/A"}], ("a", 1)),
    "whitespace": ([{"a": "Bo"}, {"a": "Cy "}], ("a", 1)),
    "encoding": ([{"a": "Ana"}, {"a": "CafÃ©"}, {"a": "Caf\ufffd"}], ("a", 2)),
    "mixed_types": ([{"a": 1}, {"a": 2.5}, {"a": 3}, {"a": "4"}], ("a", 1)),
    "outliers": ([{"a": n} for n in [*range(40), 99_999]], ("a", 1)),
    "lengths": ([{"a": "x" * (n + 3)} for n in [*range(40), 4000]], ("a", 1)),
    "label_balance": ([{"a": "no", "n": n} for n in range(45)] + [{"a": "yes", "n": 99}] * 5,
                      ("a", 45)),
    "duplicate_rows": ([{"id": 1, "a": [1]}, {"id": 2, "a": [1]}, {"id": 3, "a": [2]}], (None, 1)),
    "duplicate_ids": ([{"ID": "7", "a": 1}, {"ID": 7, "a": 2}], ("ID", 1)),
    "duplicate_texts": ([{"q": "Is it so?", "l": 1}, {"q": "is it  so?", "l": 2}], (None, 1)),
    "near_duplicates": ([{"q": LONG}, {"q": LONG.replace("quiet", "weary")}], (None, 1)),
    "mixed_scripts": ([{"a": "paypal"}, {"a": "p\u0430ypal"}], ("a", 1)),
    "languages": ([{"a": f"the word {n}"} for n in range(30)] + [{"a": "كلمة"}], ("a", 1)),
    "personal_data": ([{"chat": [{"content": "I am ana@example.org"}]}], ("chat", 1)),
    "credentials": ([{"a": "use sk-proj1234567890abcdef"}], ("a", 1)),
}  # fmt: skip


def test_each_check_finds_its_problem() -> None:
    found = {}
    for check, (rows, _) in CASES.items():
        problems = ew.check_dataset(rows).find(check)
        found[check] = [(problem.column, problem.count) for problem in problems]

    assert found == {check: [expected] for check, (_, expected) in CASES.items()}
    elsewhere = {"bad_rows", "leaks", "near_leaks", "shared_ids"}  # of files, and of two datasets
    assert set(CHECKS) - CASES.keys() == elsewhere


def test_sound_data_has_no_problems() -> None:
    rows = [
        {"id": n, "question": f"What is {n} + {n}?", "answer": 2 * n, "level": "ab"[n % 2]}
        for n in range(50)
    ]

    check = ew.check_dataset(rows)

    assert check.problems == []
    assert check.id_columns == ["id"]
    assert check.text_columns == ["question"]
    profiles = {column.name: column for column in check.columns}
    assert (profiles["answer"].minimum, profiles["answer"].maximum) == (0, 98)
    assert [each.value for each in profiles["level"].labels] == ["a", "b"]
    assert profiles["question"].scripts == {"Latin": 50}


def test_rows_of_another_dataset_are_leaks() -> None:
    train = [{"id": 8, "q": "Is it so?"}, {"id": 9, "q": LONG}]
    test = [{"id": 1, "q": LONG.replace("quiet", "weary")}, {"id": 8, "q": "IS IT SO?"}]

    check = ew.check_dataset(test, against=train)

    assert {(p.check, p.count) for p in check.problems} == {
        ("leaks", 1), ("near_leaks", 1), ("shared_ids", 1)
    }  # fmt: skip
    assert (check.rows, check.against_rows) == (2, 2)


def test_many_distinct_values_are_estimated() -> None:
    check = ew.check_dataset([{"a": f"{n:x}"} for n in range(20_000)])

    (column,) = check.columns
    assert column.is_estimate
    assert column.distinct == pytest.approx(20_000, rel=0.12)  # four standard errors


def test_mistakes_are_refused() -> None:
    said = []
    for arguments in (
        {"data": TEN, "ids": ["y"]},
        {"data": TEN, "texts": "x"},
        {"data": [1, 2]},
    ):
        with pytest.raises((UsageError, BadDataset)) as caught:
            ew.check_dataset(**arguments)
        said.append(caught.value.message)

    assert said == [
        "rows: no row has the id column `y`",
        "`texts` must be a list of columns",
        "rows: row 0: expected a dict, got `int`",
    ]
