from collections.abc import Callable
from itertools import chain, combinations, product
from typing import Any

import pytest
from tests.spec.records.made import EXAMPLE, FIELDS, GOOD, record, verdict, with_text, written

from evalwright.lines import BadLine
from evalwright.spec.records.explain import (
    duplicate_id,
    explain,
    explain_metadata,
    find_broken_rules,
)
from evalwright.spec.records.few_shot import has_few_shot_block
from evalwright.types import Issue

REQUIRED = FIELDS[:6]
NOT_STRINGS: list[Any] = [None, True, 1, [], {}]


def found(value: Any) -> tuple[str, str | None] | None:
    """What `explain` finds in a record; None for a good one."""
    return verdict(explain(1, written(value)))


def issue(line: bytes) -> Issue:
    found = explain(1, line)
    assert found is not None
    return found


def detail(value: Any) -> str:
    return issue(written(value)).detail


def pointed_at(line: bytes) -> str:
    """The text of a line from the column of its issue on."""
    column = issue(line).column
    assert column is not None
    return line.decode()[column - 1 :]


def orders(items: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each item alone, each pair, and everything from each item on: all that an order can show."""
    rest = (items[start:] for start in range(len(items)))
    return list(dict.fromkeys(chain(combinations(items, 1), combinations(items, 2), rest)))


def test_a_good_record_and_a_blank_line_have_nothing_to_explain() -> None:
    assert explain(1, written(GOOD)) is None
    assert explain(1, b"") is None
    assert explain(1, b" \t\r") is None


# The order of the rules


MARKED = "Question: 1 + 1\nQuestion: 2 + 2"
BREAKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "missing_required": lambda broken: broken.pop("targets"),
    "unknown_field": lambda broken: broken.update(extra=1),
    "bad_type": lambda broken: broken.update(metadata=[]),
    "bad_value": lambda broken: broken.update(few_shot_examples=[EXAMPLE] * 9),
    "embedded_few_shot": lambda broken: broken.update(prompt=MARKED),
    "illegal_metric": lambda broken: broken.update(metric_name="bleu_4"),
    "illegal_post_process": lambda broken: broken.update(post_process="extract_letter"),
}
"""Ways to break one rule each, which do not get into each other's way."""


@pytest.mark.parametrize("rules", orders(tuple(BREAKS)), ids=" and ".join)
def test_whatever_rules_a_record_breaks_the_first_is_reported(rules: tuple[str, ...]) -> None:
    broken = dict(GOOD)
    for rule in rules:
        BREAKS[rule](broken)

    assert issue(written(broken)).rule == rules[0]
    assert issue(written(broken)[:-1] + b', "a": NaN}').rule == "bad_json"
    assert issue(written(broken)[:-1] + b', "\xff": NaN}').rule == "bad_encoding"


def test_what_is_no_object_comes_after_encoding_and_json() -> None:
    assert issue(b"[1]").rule == "not_an_object"
    assert issue(b"[NaN]").rule == "bad_json"
    assert issue(b'["\xff", NaN]').rule == "bad_encoding"


# One rule after the other


@pytest.mark.parametrize(
    ("line", "column", "told"),
    [
        pytest.param(b"\xe9", 1, "byte 0xe9 at offset 0", id="Latin-1"),
        pytest.param(b'{"a": "caf\xe9"}', 11, "byte 0xe9 at offset 10", id="inside a string"),
        pytest.param("ü".encode() + b"\xc3", 2, "byte 0xc3 at offset 2", id="cut short"),
        pytest.param(b'"\xed\xa0\x80"', 2, "byte 0xed at offset 1", id="a surrogate as UTF-8"),
        pytest.param(b'"\xc0\x80"', 2, "byte 0xc0 at offset 1", id="an overlong form"),
        pytest.param(b'"\xf4\x90\x80\x80"', 2, "byte 0xf4 at offset 1", id="above U+10FFFF"),
    ],
)
def test_bad_encoding_names_the_byte(line: bytes, column: int, told: str) -> None:
    found = issue(line)

    assert verdict(found) == ("bad_encoding", None)
    assert found.detail == f"{told} is not UTF-8; save the file as UTF-8"
    assert found.column == column


@pytest.mark.parametrize(
    ("why", "rule", "told"),
    [
        pytest.param("too_long", "bad_json", "longer than 16 MiB", id="too long"),
        pytest.param("binary", "bad_encoding", "a binary file", id="binary"),
        pytest.param("utf-16", "bad_encoding", "this file is UTF-16", id="UTF-16"),
    ],
)
def test_a_line_that_was_not_kept_is_explained(why: Any, rule: str, told: str) -> None:
    found = issue(BadLine.of(why, b"\xff" + b"x" * 4000))

    assert verdict(found) == (rule, None)
    assert told in found.detail
    assert found.raw == "\N{REPLACEMENT CHARACTER}" + "x" * 499


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param(b"[]", "a list", id="a list"),
        pytest.param(b'"a"', "a string", id="a string"),
        pytest.param(b"1", "the number 1", id="a number"),
        pytest.param(b"-2.5", "the number -2.5", id="a fraction"),
        pytest.param(b"1" * 40, "a very long number", id="a long number"),
        pytest.param(b"true", "true", id="true"),
        pytest.param(b"false", "false", id="false"),
        pytest.param(b"null", "null", id="null"),
    ],
)
def test_what_is_no_object_is_named(line: bytes, told: str) -> None:
    found = issue(line)

    assert verdict(found) == ("not_an_object", None)
    assert found.detail == f"a record must be a JSON object, not {told}"


@pytest.mark.parametrize("names", orders(REQUIRED), ids=" and ".join)
def test_of_missing_fields_the_first_in_the_table_counts(names: tuple[str, ...]) -> None:
    kept = {key: value for key, value in GOOD.items() if key not in names}

    assert found(kept) == ("missing_required", names[0])
    assert found(dict(reversed(kept.items()))) == ("missing_required", names[0])


def test_an_empty_object_misses_its_id() -> None:
    assert found({}) == ("missing_required", "task_id")
    assert detail({}) == "`task_id` is missing"


def test_a_missing_field_may_be_there_under_a_misspelt_name() -> None:
    kept = {key: value for key, value in GOOD.items() if key != "metric_name"}
    line = written({"other": 1, **kept, "metrc_name": "f1"})

    found = issue(line)

    assert verdict(found) == ("missing_required", "metric_name")
    assert found.detail == (
        "`metric_name` is missing, but there is `metrc_name`; did you mean `metric_name`?"
    )
    assert pointed_at(line).startswith('"metrc_name": "f1"')


def test_the_first_unknown_field_in_the_records_order_counts() -> None:
    assert found({"z": 1, **GOOD, "b": 1}) == ("unknown_field", "z")
    assert found({**GOOD, "b": 1, "a": 1}) == ("unknown_field", "b")
    assert found({**GOOD, "": 1}) == ("unknown_field", "")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("few_shot_example", "did you mean `few_shot_examples`?", id="a misspelt one"),
        pytest.param("Task_ID", "did you mean `task_id`?", id="another case"),
        pytest.param("metadatas", "did you mean `metadata`?", id="a letter too many"),
        pytest.param("difficulty", "put additional fields under `metadata`", id="one of their own"),
        pytest.param("x" * 99, "put additional fields under `metadata`", id="a long one"),
    ],
)
def test_an_unknown_field_gets_a_hint(name: str, told: str) -> None:
    shown = name if len(name) < 60 else "x" * 60 + "…"

    assert detail({**GOOD, name: 1}) == f"`{shown}` is not a field of a record; {told}"


STRANGERS: list[Any] = [None, True, 1, 2.5, "x", [], ["x", 1], {}]


@pytest.mark.parametrize(
    ("name", "strangers"),
    [
        pytest.param("task_id", [None, True, 1, 2.5, [], ["a"], {}], id="task_id"),
        pytest.param("category", [None, False, 1, 2.5, [], ["mcq"], {}], id="category"),
        pytest.param("prompt", [None, True, 1, 2.5, [], ["a"], {}], id="prompt"),
        pytest.param("targets", [None, True, 4, 2.5, "4", {}, {"a": "4"}], id="targets"),
        pytest.param("targets", [["4", 4], [None], [True], [["4"]], [{}], [4.0]], id="a target"),
        pytest.param("metric_name", [None, True, 1, 2.5, [], ["f1"], {}], id="metric_name"),
        pytest.param(
            "post_process", [None, True, 1, 2.5, [], ["lower"], ["lower", "none"], {}], id="post"
        ),
        pytest.param("few_shot_examples", [None, True, 1, "a", {}, EXAMPLE], id="examples"),
        pytest.param("few_shot_examples", [[1], ["a"], [None], [[]], [[EXAMPLE]]], id="an example"),
        pytest.param(
            "few_shot_examples",
            [[{}], [{"prompt": "a"}], [{"completion": "a"}], [EXAMPLE, {}], [EXAMPLE | {"x": 1}]],
            id="the keys of an example",
        ),
        pytest.param(
            "few_shot_examples",
            [[EXAMPLE | {key: odd}] for key in EXAMPLE for odd in NOT_STRINGS],
            id="the values of an example",
        ),
        pytest.param("metadata", [None, True, 1, "a", [], ["a"]], id="metadata"),
        pytest.param(
            "metadata",
            [{"timeout_s": odd} for odd in (None, True, False, "3", "", [1], {"s": 1})],
            id="metadata.timeout_s",
        ),
        pytest.param(
            "metadata",
            [{"samples": odd} for odd in (None, True, False, "3", 2.5, 3.0, 1e3, [1])],
            id="metadata.samples",
        ),
    ],
)
def test_bad_type_is_laid_to_the_top_level_field(name: str, strangers: list[Any]) -> None:
    assert [found(record(**{name: odd})) for odd in strangers] == [("bad_type", name)] * len(
        strangers
    )


@pytest.mark.parametrize("names", orders(FIELDS), ids=" and ".join)
def test_of_bad_types_the_first_field_in_the_table_counts(names: tuple[str, ...]) -> None:
    broken = record(**dict.fromkeys(names))

    assert found(broken) == ("bad_type", names[0])
    assert found(dict(reversed(broken.items()))) == ("bad_type", names[0])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({"task_id": 7}, "`task_id` must be a string, not the number 7", id="string"),
        pytest.param(
            {"targets": "4"}, "`targets` must be a list of strings, not a string", id="list"
        ),
        pytest.param(
            {"targets": ["4", 4]}, "`targets[1]` must be a string, not the number 4", id="target"
        ),
        pytest.param(
            {"post_process": ["lower"]},
            "`post_process` must be one rule, not a list: rules cannot be combined",
            id="rules do not combine",
        ),
        pytest.param(
            {"few_shot_examples": {}},
            "`few_shot_examples` must be a list of objects, not an object",
            id="examples",
        ),
        pytest.param(
            {"few_shot_examples": [EXAMPLE, "a"]},
            "`few_shot_examples[1]` must be an object with `prompt` and `completion`, not a string",
            id="an example",
        ),
        pytest.param(
            {"few_shot_examples": [{"prompt": "a"}]},
            "`few_shot_examples[0]` has no `completion`",
            id="half an example",
        ),
        pytest.param(
            {"few_shot_examples": [EXAMPLE | {"completion": None}]},
            "`few_shot_examples[0].completion` must be a string, not null",
            id="a completion",
        ),
        pytest.param(
            {"few_shot_examples": [EXAMPLE | {"note": "x"}]},
            "`few_shot_examples[0]` may have only `prompt` and `completion`, not `note`",
            id="a third key",
        ),
        pytest.param(
            {"metadata": {"timeout_s": "3"}},
            "`metadata.timeout_s` must be a number of seconds, not a string",
            id="timeout_s",
        ),
        pytest.param(
            {"metadata": {"samples": True}},
            "`metadata.samples` must be an integer, not true",
            id="samples",
        ),
    ],
)
def test_bad_type_says_what_was_expected_and_found(changes: dict[str, Any], told: str) -> None:
    assert detail(record(**changes)) == told


def mcq(*targets: str) -> dict[str, Any]:
    return record(category="mcq", targets=list(targets), post_process="extract_letter")


@pytest.mark.parametrize(
    ("broken", "name", "told"),
    [
        pytest.param(record(task_id=""), "task_id", "is empty", id="no id"),
        pytest.param(record(task_id="a b"), "task_id", "at character 2", id="a space in an id"),
        pytest.param(record(task_id=" a"), "task_id", "at character 1", id="a space before it"),
        pytest.param(record(task_id="a\n"), "task_id", "at character 2", id="a newline after it"),
        pytest.param(record(task_id="a\tb"), "task_id", "at character 2", id="a tab"),
        pytest.param(record(task_id="é\xa0b"), "task_id", "at character 2", id="no-break space"),
        pytest.param(record(task_id="a\u3000"), "task_id", "at character 2", id="a wide space"),
        pytest.param(record(task_id="a\x1f"), "task_id", "at character 2", id="unit separator"),
        pytest.param(record(category=""), "category", "is empty", id="no category"),
        pytest.param(record(category="maths"), "category", "is `maths`", id="another category"),
        pytest.param(record(prompt=""), "prompt", "is empty", id="no prompt"),
        pytest.param(record(prompt="a "), "prompt", "(' ')", id="a space after the prompt"),
        pytest.param(record(prompt="a\n"), "prompt", r"('\n')", id="a newline after it"),
        pytest.param(record(prompt=" "), "prompt", "whitespace", id="a prompt of a space"),
        pytest.param(record(prompt="a\u2003"), "prompt", "whitespace", id="an em space after it"),
        pytest.param(record(targets=[]), "targets", "is empty", id="no targets"),
        pytest.param(mcq("A", "B"), "targets", "not 2", id="mcq: two targets"),
        pytest.param(mcq("A", "A"), "targets", "not 2", id="mcq: one target twice"),
        pytest.param(mcq("F"), "targets", "`F`", id="mcq: beyond E"),
        pytest.param(mcq("a"), "targets", "`a`", id="mcq: lower case"),
        pytest.param(mcq(""), "targets", "``", id="mcq: an empty target"),
        pytest.param(mcq("AB"), "targets", "`AB`", id="mcq: two letters"),
        pytest.param(mcq("A "), "targets", "`A `", id="mcq: a letter and a space"),
        pytest.param(mcq("Α"), "targets", "`Α`", id="mcq: a Greek Alpha"),  # noqa: RUF001
        pytest.param(record(metric_name=""), "metric_name", "is empty", id="no metric"),
        pytest.param(record(metric_name="bleu"), "metric_name", "`bleu_4`?", id="a metric cut"),
        pytest.param(record(metric_name="F1"), "metric_name", "`f1`?", id="a metric in capitals"),
        pytest.param(record(post_process=""), "post_process", "is empty", id="no post-process"),
        pytest.param(
            record(post_process="strip"), "post_process", "`strip_whitespace`?", id="a rule cut"
        ),
        pytest.param(
            record(few_shot_examples=[EXAMPLE] * 9),
            "few_shot_examples",
            "9 few-shot examples; at most 8",
            id="nine examples",
        ),
        pytest.param(record(metadata={"timeout_s": 0}), "metadata", "is 0;", id="no time"),
        pytest.param(record(metadata={"timeout_s": -0.5}), "metadata", "is -0.5;", id="less"),
        pytest.param(record(metadata={"timeout_s": 30.1}), "metadata", "is 30.1;", id="over 30 s"),
        pytest.param(
            record(metadata={"timeout_s": 10**40}),
            "metadata",
            "a very long number",
            id="far over 30 s",
        ),
        pytest.param(record(metadata={"samples": 0}), "metadata", "is 0;", id="no samples"),
        pytest.param(record(metadata={"samples": -1}), "metadata", "is -1;", id="fewer"),
        pytest.param(record(metadata={"samples": 1001}), "metadata", "is 1001;", id="over 1000"),
        pytest.param(
            record(metadata={"samples": -(10**40)}),
            "metadata",
            "a very long number",
            id="far fewer",
        ),
    ],
)
def test_bad_value(broken: dict[str, Any], name: str, told: str) -> None:
    assert found(broken) == ("bad_value", name)
    assert told in detail(broken)


BAD_VALUES: dict[str, Any] = {
    "task_id": "",
    "category": "maths",
    "prompt": "",
    "targets": [],
    "metric_name": "bleu",
    "post_process": "upper",
    "few_shot_examples": [EXAMPLE] * 9,
    "metadata": {"samples": 0},
}


@pytest.mark.parametrize("names", orders(FIELDS), ids=" and ".join)
def test_of_bad_values_the_first_field_in_the_table_counts(names: tuple[str, ...]) -> None:
    broken = record(**{name: BAD_VALUES[name] for name in names})

    assert found(broken) == ("bad_value", names[0])
    assert found(dict(reversed(broken.items()))) == ("bad_value", names[0])


def test_in_metadata_the_timeout_is_looked_at_first() -> None:
    assert "timeout_s" in detail(record(metadata={"samples": 0, "timeout_s": 0}))
    assert "timeout_s" in detail(record(metadata={"samples": "1", "timeout_s": "1"}))
    assert "samples" in detail(record(metadata={"samples": "1", "timeout_s": 0}))


def test_a_word_out_of_vocabulary_is_answered_with_all_of_them() -> None:
    assert detail(record(metric_name="bleu")) == (
        "`metric_name` is `bleu`; it must be one of `exact_match`, `f1`, `bleu_4`, `rouge_l`, "
        "`accuracy`, `code_exec`; did you mean `bleu_4`?"
    )
    assert detail(record(category="multiple_choice")) == (
        "`category` is `multiple_choice`; it must be one of `arithmetic`, `mcq`, `code_exec`, "
        "`classification`, `summary`"
    )


@pytest.mark.parametrize(
    "good",
    [
        pytest.param(record(task_id="é-1_2/3:4"), id="an id may be anything without whitespace"),
        pytest.param(record(task_id="a\u200bb"), id="a zero-width space is no whitespace"),
        pytest.param(record(prompt="\n a"), id="a prompt may begin with whitespace"),
        pytest.param(record(targets=[""]), id="a target may be empty"),
        pytest.param(record(targets=["4"] * 99), id="targets may be many"),
        pytest.param(mcq("E"), id="the last letter"),
        pytest.param(record(few_shot_examples=[]), id="no examples"),
        pytest.param(record(few_shot_examples=[EXAMPLE] * 8), id="eight examples"),
        pytest.param(
            record(few_shot_examples=[{"completion": "", "prompt": " "}]), id="an empty example"
        ),
        pytest.param(record(metadata={}), id="no metadata"),
        pytest.param(record(metadata={"": [{"prompt": 1}, None]}), id="metadata of any shape"),
        pytest.param(record(metadata={"timeout_s": 1e-9}), id="a moment"),
        pytest.param(record(metadata={"timeout_s": 30}), id="thirty seconds"),
        pytest.param(record(metadata={"timeout_s": 30.0}), id="thirty seconds, as a fraction"),
        pytest.param(record(metadata={"samples": 1}), id="one sample"),
        pytest.param(record(metadata={"samples": 1000}), id="a thousand samples"),
        pytest.param(record(metadata={"nested": {"samples": 0}}), id="samples deeper are free"),
        pytest.param(dict(reversed(GOOD.items())), id="fields in any order"),
    ],
)
def test_what_no_rule_forbids_is_allowed(good: dict[str, Any]) -> None:
    assert found(good) is None


# The few-shot rule


MARKERS = ("Question:", "Q:", "Example:", "Example 1:", "Example 23:", "Example7:")


def spellings(marker: str) -> list[str]:
    return [
        indent + spelled
        for indent in ("", " ", "    ", "\t", " \t ")
        for spelled in (marker, marker.lower(), marker.upper(), marker.swapcase())
    ]


@pytest.mark.parametrize(("one", "other"), [*product(MARKERS, repeat=2)])
def test_two_lines_that_open_with_a_marker_are_a_few_shot_block(one: str, other: str) -> None:
    for first, second in zip(spellings(one), reversed(spellings(other)), strict=True):
        prompt = f"{first} a\n{second} b"

        assert found(record(prompt=prompt)) == ("embedded_few_shot", "prompt")
        assert found(record(prompt="x\n" + prompt + "\ny")) == ("embedded_few_shot", "prompt")


@pytest.mark.parametrize("marker", MARKERS)
def test_one_marker_is_an_ordinary_prompt(marker: str) -> None:
    for spelled in spellings(marker):
        assert found(record(prompt=f"{spelled} 2 + 2\nAnswer:")) is None
        assert found(record(prompt=f"Compute.\n\n{spelled} 2 + 2\nAnswer:")) is None


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Compute. Question: 1\nGo on. Question: 2", id="not at the start of a line"),
        pytest.param("Question 1\nQuestion 2", id="no colon"),
        pytest.param("Question :\nQuestion :", id="a space before the colon"),
        pytest.param("Question 1:\nQuestion 2:", id="only examples have numbers"),
        pytest.param("Questions:\nQuestions:", id="a longer word"),
        pytest.param("FAQ:\nFAQ:", id="the end of a word"),
        pytest.param("A: 1\nA: 2", id="answers"),
        pytest.param("Input: 1\nInput: 2", id="other words"),
        pytest.param("Example one:\nExample two:", id="numbers in words"),
        pytest.param("Example -1:\nExample 1.5:", id="numbers that count nothing"),
        pytest.param("\xa0Q: 1\n\xa0Q: 2", id="a leading no-break space is no space"),
        pytest.param("> Q: 1\n> Q: 2", id="quoted"),
        pytest.param("Q\N{FULLWIDTH COLON} 1\nQ\N{FULLWIDTH COLON} 2", id="a wide colon"),
        pytest.param("Que\N{LATIN SMALL LETTER LONG S}tion:\nQ:", id="a long s is no s"),
        pytest.param("Example \N{ARABIC-INDIC DIGIT ONE}:\nQ:", id="a digit of another script"),
        pytest.param("Q: 1\rQ: 2", id="a carriage return alone ends no line"),
    ],
)
def test_what_is_no_marker_may_repeat(prompt: str) -> None:
    assert not has_few_shot_block(prompt)
    assert found(record(prompt=prompt)) is None


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Q: 1\r\nQ: 2", id="CRLF"),
        pytest.param("Q: 1\n\n\n\nQ: 2", id="blank lines between"),
        pytest.param("Q:\nQ:", id="nothing after the marker"),
        pytest.param("Q:1\nEXAMPLE 2:b", id="no space after the marker"),
        pytest.param("x\nQ: 1\ny\nq: 2", id="neither in the first line"),
        pytest.param("Example  \t 9:\nExample 10:", id="more space before the number"),
    ],
)
def test_lines_are_what_an_editor_shows(prompt: str) -> None:
    assert has_few_shot_block(prompt)


def test_few_shot_examples_do_not_excuse_a_block_in_the_prompt() -> None:
    broken = record(prompt=MARKED, few_shot_examples=[EXAMPLE])

    assert found(broken) == ("embedded_few_shot", "prompt")
    assert detail(broken) == (
        "2 lines of the prompt start like examples (`Question:`, `Q:`, `Example:`); "
        "move examples to `few_shot_examples`"
    )


def test_an_example_may_hold_a_block() -> None:
    assert found(record(few_shot_examples=[{"prompt": MARKED, "completion": MARKED}])) is None


@pytest.mark.parametrize("category", ["arithmetic", "mcq", "classification", "summary"])
def test_every_category_but_code_exec_has_the_rule(category: str) -> None:
    letter = mcq("A") if category == "mcq" else record(category=category)

    assert found(letter | {"prompt": MARKED}) == ("embedded_few_shot", "prompt")


def test_code_may_show_examples() -> None:
    code = record(category="code_exec", metric_name="code_exec", prompt=MARKED)

    assert found(code) is None


# Legal combinations, typed out from the table of the contract


LINES = {"none", "strip_whitespace", "lower", "extract_first_line"}
LEGAL: dict[str, tuple[set[str], set[str]]] = {
    "arithmetic": ({"exact_match", "f1"}, LINES),
    "mcq": ({"exact_match"}, {"none", "strip_whitespace", "extract_letter"}),
    "code_exec": ({"code_exec"}, {"none", "extract_code_block"}),
    "classification": ({"exact_match", "accuracy", "f1"}, LINES),
    "summary": ({"exact_match", "f1", "bleu_4", "rouge_l"}, LINES),
}
METRICS = ("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec")
POST_PROCESSES = (
    "none",
    "strip_whitespace",
    "lower",
    "extract_letter",
    "extract_code_block",
    "extract_first_line",
)


def expected_of(category: str, metric: str, post_process: str) -> tuple[str, str] | None:
    metrics, post_processes = LEGAL[category]
    if metric not in metrics:
        return "illegal_metric", "metric_name"
    return None if post_process in post_processes else ("illegal_post_process", "post_process")


@pytest.mark.parametrize("category", LEGAL)
def test_combinations(category: str) -> None:
    table = {names: expected_of(category, *names) for names in product(METRICS, POST_PROCESSES)}

    assert table == {
        (metric, rule): found(
            record(category=category, metric_name=metric, post_process=rule, targets=["A"])
        )
        for metric, rule in table
    }


def test_an_illegal_combination_says_what_is_legal() -> None:
    assert detail(record(metric_name="rouge_l")) == (
        "arithmetic records may not use `rouge_l`, only `exact_match`, `f1`"
    )
    assert detail(mcq("A") | {"post_process": "lower"}) == (
        "mcq records may not use `lower`, only `none`, `strip_whitespace`, `extract_letter`"
    )


# Where it stands


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(written(record(prompt="")), '"", "targets"', id="the value of a field"),
        pytest.param(written(record(prompt="é 漢字 👍 ")), '"é 漢字', id="at other scripts"),
        pytest.param(
            written(record(task_id="漢👍é", targets=[])), '[], "metric_name"', id="after them"
        ),
        pytest.param(with_text('"extra"\t:\t1'), '"extra"\t:', id="a stray key, not its value"),
        pytest.param(with_text('"metadata" \t: \t[]'), "[]}", id="spaces about the colon"),
        pytest.param(
            with_text(r'"meta\u0064ata": []'), "[]}", id="a key that is spelled with an escape"
        ),
        pytest.param(
            with_text('"metadata": {"prompt": 1, "samples": 0}'),
            '{"prompt"',
            id="the field, where the mistake is deeper",
        ),
        pytest.param(
            written(record(metadata={"task_id": ""}, task_id="a b")),
            '"a b"',
            id="the top-level key, where a deeper one has its name",
        ),
        pytest.param(
            b"  " + written(record(post_process="lowr")) + b" \r",
            '"lowr"',
            id="spaces before the object",
        ),
        pytest.param(
            written(record(prompt="x" * 3000, post_process="lowr")), '"lowr"', id="far right"
        ),
    ],
)
def test_the_column_points_at_the_mistake(line: bytes, expected: str) -> None:
    assert pointed_at(line).startswith(expected)


def test_what_has_no_place_has_no_column() -> None:
    assert issue(b"{}").column is None
    assert issue(b"[]").column is None


def test_the_raw_line_is_cut_at_500_characters() -> None:
    line = written(record(prompt="漢" * 600 + " "))

    assert issue(line).raw == line.decode()[:500]
    assert issue(b"{}\r").raw == "{}"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        pytest.param(record(prompt=""), "a", id="the id of the record"),
        pytest.param(record(task_id=7), None, id="an id that is no string"),
        pytest.param(record(task_id=""), "", id="an empty one"),
        pytest.param({"prompt": "a"}, None, id="none"),
        pytest.param([], None, id="no object"),
    ],
)
def test_an_issue_knows_its_task(broken: Any, expected: str | None) -> None:
    assert issue(written(broken)).task_id == expected


def test_a_duplicate_id_names_the_first_line() -> None:
    line = written(GOOD | {"task_id": "漢" * 99})

    found = duplicate_id(9, line, "漢" * 99, 4)

    assert verdict(found) == ("duplicate_task_id", "task_id")
    assert found.line == 9
    assert found.column == 13
    assert (
        found.detail == f"`{'漢' * 60}…` is already the id of line 4; ids must be unique in a file"
    )


# Messages


ALL_BROKEN: list[dict[str, Any]] = [
    *({key: value for key, value in GOOD.items() if key != name} for name in REQUIRED),
    *(
        strange
        for name in FIELDS
        for stranger in STRANGERS
        if find_broken_rules(strange := record(**{name: stranger}))
    ),
    *(record(**{name: value}) for name, value in BAD_VALUES.items()),
    *(record(metadata={"timeout_s": odd}) for odd in (0, "3", True, 10**30)),
    *(mcq(*targets) for targets in (("A", "B"), ("F",))),
    record(prompt=MARKED),
    record(metric_name="bleu_4"),
    record(post_process="extract_letter"),
    record(x=1),
]


def test_a_detail_is_a_sentence_to_act_on() -> None:
    for told in map(detail, ALL_BROKEN):
        assert "`" in told or told[0].isdigit() or "mcq" in told, told
        assert not told.endswith("."), told
        assert "error" not in told.casefold(), told
        assert "\n" not in told, told
        assert len(told) < 240, told


def test_metadata_alone_can_be_judged() -> None:
    assert explain_metadata({"timeout_s": 3, "samples": 5, "x": None}) is None
    (broken,) = find_broken_rules(record(metadata={"samples": 0}))
    assert broken is not None
    assert explain_metadata({"samples": 0}) == broken.detail


# Records that were never JSON

NUMBERED: dict[Any, Any] = {**GOOD, 1: 2}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(NUMBERED, ("unknown_field", "1"), id="a key that is a number"),
        pytest.param({1: 2}, ("missing_required", "task_id"), id="nothing but such a key"),
        pytest.param(record(metadata={1: 2}), ("bad_type", "metadata"), id="one in metadata"),
        pytest.param(
            record(few_shot_examples=[{"prompt": "", "completion": "", 1: 2}]),
            ("bad_type", "few_shot_examples"),
            id="one in an example",
        ),
        pytest.param(record(targets={"4"}), ("bad_type", "targets"), id="a set"),
        pytest.param(record(prompt=b"2"), ("bad_type", "prompt"), id="bytes"),
        pytest.param(record(task_id=10**5000), ("bad_type", "task_id"), id="a huge number"),
        pytest.param(
            record(metadata={"timeout_s": 10**5000}), ("bad_value", "metadata"), id="a huge time"
        ),
        pytest.param(
            record(metadata={"timeout_s": float("nan")}), ("bad_value", "metadata"), id="NaN"
        ),
        pytest.param(record(targets=("4",)), None, id="a tuple is a list"),
    ],
)
def test_a_python_value_is_judged_and_never_crashes(
    value: Any, expected: tuple[str, str] | None
) -> None:
    fault = next(iter(find_broken_rules(value)), None)

    assert (fault and (fault.rule, fault.field)) == expected
