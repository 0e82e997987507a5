"""The published JSON Schema accepts what the validator accepts.

Known differences, each pinned below: a schema sees one record, so not that ids are unique; it
sees decoded JSON, so neither a key given twice nor the limits of a line; `3.0` is an integer to
JSON Schema; and the `\\s` of ECMA-262 counts U+FEFF as whitespace and U+001C to U+001F and U+0085
not, where Python does the reverse.
"""

import json
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.spec.records.made import EXAMPLE, FIELDS, GOOD, ODD, changed, record

from evalwright.lines import read_lines
from evalwright.spec.records.explain import explain, find_broken_rules
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD
from evalwright.spec.records.schema import record_schema
from evalwright.vocabulary import CATEGORIES, METRIC_NAMES, POST_PROCESSES

SCHEMA = Draft202012Validator(record_schema())
BEYOND_A_SCHEMA = {"duplicate_task_id", "bad_encoding", "bad_json"}


def accepted(value: Any) -> bool:
    return bool(SCHEMA.is_valid(value))


def good(value: Any) -> bool:
    return not any(find_broken_rules(value))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(record_schema())

    assert json.loads(json.dumps(record_schema())) == record_schema()


def test_every_field_is_described() -> None:
    properties = record_schema()["properties"]

    assert tuple(properties) == FIELDS
    assert all(properties[name]["description"] for name in FIELDS)
    assert record_schema()["required"] == list(FIELDS[:6])


@pytest.mark.parametrize("line", [*read_lines(str(TASKS))], ids=lambda line: line[13:22].decode())
def test_every_good_fixture_is_accepted(line: bytes) -> None:
    assert accepted(json.loads(line))


BAD_LINES = [
    (number, line)
    for number, line in enumerate(read_lines(str(TASKS_BAD)), start=1)
    if (issue := explain(number, line)) and issue.rule not in BEYOND_A_SCHEMA
]


@pytest.mark.parametrize("line", [pytest.param(line, id=f"line {n}") for n, line in BAD_LINES])
def test_every_bad_fixture_that_a_schema_can_see_is_refused(line: bytes) -> None:
    assert not accepted(json.loads(line))


@pytest.mark.parametrize("name", FIELDS)
def test_odd_values_are_judged_alike(name: str) -> None:
    for odd in ODD:
        strange = record(**{name: odd})

        assert accepted(strange) == good(strange), odd


@pytest.mark.parametrize("name", ["timeout_s", "samples"])
def test_odd_metadata_is_judged_alike(name: str) -> None:
    for odd in [*ODD, 1, 30, 30.5, 31, 1000, 1001, 29.999, "1"]:
        strange = record(metadata={name: odd})

        assert accepted(strange) == good(strange), odd


@pytest.mark.parametrize("category", CATEGORIES)
def test_combinations_are_judged_alike(category: str) -> None:
    for metric, post_process in product(METRIC_NAMES, POST_PROCESSES):
        task = record(
            category=category, metric_name=metric, post_process=post_process, targets=["A"]
        )

        assert accepted(task) == good(task), (metric, post_process)


@pytest.mark.parametrize("targets", [[], ["A"], ["E"], ["F"], ["a"], ["AB"], [""], ["A", "B"]])
def test_targets_are_judged_alike(targets: list[str]) -> None:
    for category in ("mcq", "arithmetic"):
        task = record(category=category, targets=targets)

        assert accepted(task) == good(task)


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_examples_are_judged_alike(count: int) -> None:
    for example in (EXAMPLE, EXAMPLE | {"x": "1"}, {"prompt": "a"}, EXAMPLE | {"prompt": None}):
        task = record(few_shot_examples=[example] * count)

        assert accepted(task) == good(task)


LINES = st.lists(
    st.sampled_from(
        [
            *("Q:", "q: a", "Question:", "QUESTION: b", "Example:", "Example 1:", "example12:"),
            *("  Q: a", "\tExample 3: a", "x Q:", "Q", "Q :", "Question 1:", "Example one:", ""),
            *(
                "x Question: a",
                "x Example 4: b",
                "Answer:",
                "Answer: c",
                "A:\t",
                "x a: d Q:",
                "A:Q:",
            ),
            *("Que\N{LATIN SMALL LETTER LONG S}tion:", "Example \N{ARABIC-INDIC DIGIT ONE}:"),
        ]
    ),
    max_size=5,
)


@settings(derandomize=True, max_examples=1000)
@given(LINES, st.sampled_from(["arithmetic", "code_exec"]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_few_shot_blocks_are_judged_alike(lines: list[str], category: str, newline: str) -> None:
    metric = "code_exec" if category == "code_exec" else "f1"
    task = record(category=category, metric_name=metric, prompt=newline.join(lines))

    assert accepted(task) == good(task)


@settings(derandomize=True, max_examples=500)
@given(st.text(max_size=4))
def test_ids_and_prompts_are_judged_alike(text: str) -> None:
    for name in ("task_id", "prompt"):
        task = record(**{name: text})

        assert accepted(task) == good(task)


@settings(derandomize=True, max_examples=500)
@given(st.integers(0, 2**32))
def test_whatever_is_changed_is_judged_alike(seed: int) -> None:
    task = changed(Random(seed))
    whole = task.get("metadata")
    if isinstance(whole, dict) and whole.get("samples") == 2.0:
        task["metadata"] = whole | {"samples": 2}  # the known difference below

    assert accepted(task) == good(task)


def test_the_known_differences() -> None:
    twice = '{"task_id": "b", ' + json.dumps(GOOD)[1:]

    assert accepted(json.loads(twice))
    assert explain(1, twice.encode()) is not None
    assert accepted(record(metadata={"samples": 3.0}))
    assert not good(record(metadata={"samples": 3.0}))
