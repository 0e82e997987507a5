import gzip
import json
from collections import OrderedDict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.spec.records.made import (
    EXAMPLE,
    GOOD,
    changed,
    check,
    record,
    verdict,
    with_text,
    written,
)

from evalwright.errors import InvalidTask, Unreadable
from evalwright.lines import BadLine, read_lines
from evalwright.spec.records import check as under_test
from evalwright.spec.records.check import (
    Validated,
    check_batches,
    check_file,
    validate_file,
    validate_task,
)
from evalwright.spec.records.explain import duplicate_id, explain
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD
from evalwright.types import Issue, OtherProblem, TaskSpec
from evalwright.vocabulary import MAX_DEPTH

SEEDED = settings(derandomize=True, max_examples=1500)


def by_explain_alone(lines: Iterable[bytes]) -> list[TaskSpec | Issue]:
    """What `check` must say, without any of its haste."""
    items: list[TaskSpec | Issue] = []
    claimed: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        issue = explain(number, line)
        if issue is None and not line.strip():
            continue
        item = issue or msgspec.convert(json.loads(line), TaskSpec)
        task_id = item.task_id
        if issue is None and task_id in claimed:
            item = duplicate_id(number, line, task_id, claimed[task_id])
        fields = {issue.field, *(other.field for other in issue.also)} if issue else set()
        if issue and task_id in claimed and "task_id" not in fields:
            repeated = duplicate_id(number, line, task_id, claimed[task_id])
            values = {name: getattr(repeated, name) for name in OtherProblem.__struct_fields__}
            item = replace(issue, also=(*issue.also, OtherProblem(**values)))
        if task_id is not None:
            claimed.setdefault(task_id, number)
        items.append(item)
    return items


def agree(lines: list[bytes]) -> list[tuple[str, str | None] | None]:
    """Verdicts, after every way to check these lines has come to the same ones.

    A good record goes before them: whatever they are, the file is JSON Lines.
    """
    lines = [written(record(task_id="first")), *lines]
    expected = by_explain_alone(lines)
    one_by_one = list(check(lines))
    together = [item for _, item in check_batches([lines])]

    assert one_by_one == expected
    assert together == expected
    assert repr(one_by_one) == repr(expected)  # 1 and 1.0 and true are equal to Python
    return [verdict(item) for item in expected[1:]]


# The fast path


def test_ordinary_lines_never_see_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, line: bytes) -> None:
        raise AssertionError(f"line {number} was explained: {line!r}")

    monkeypatch.setattr(under_test, "explain", refuse)
    lines = [
        *read_lines(str(TASKS)),
        written(record(task_id="minimal")),
        written(record(task_id="empty", few_shot_examples=[], metadata={})),
        written(record(task_id="a:b", prompt='{"a": "b:c"}', metadata={"a:b": {"c": [":"]}})),
        written(record(task_id="漢字", prompt="é 👍", targets=["ü"])),
        written(record(task_id="set", metadata={"timeout_s": 2.5, "samples": 10})),
        with_text(r'"metadata": {"html": "\u003cb\u003e \ud83d\udc4d"}', task_id="escaped"),
        json.dumps(record(task_id="indented"), separators=(" ,\t", " :\r")).encode(),
    ]

    assert {type(item) for item in check(lines)} == {TaskSpec}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(written(GOOD | {"prompt": "a\u003ab"}), id="a colon"),
        pytest.param(with_text(r'"metadata": {"a\u003ab": 1}'), id="an escaped colon in a key"),
        pytest.param(with_text(r'"metadata": {"a": "\u003A"}'), id="an escaped colon in a value"),
        pytest.param(with_text(f'"metadata": {{"a": {10**30}}}'), id="beyond 64 bits"),
        pytest.param(with_text('"metadata": {"a": 1e-999, "b": -0, "c": 1E+2}'), id="numbers"),
        pytest.param(written(record(task_id="a\u200b")), id="an id with an unprintable character"),
        pytest.param(with_text('"metadata": ' + '{"a":' * 498 + "1" + "}" * 498), id="deep"),
        pytest.param(b"\t " + written(GOOD) + b" \r", id="whitespace about the object"),
        pytest.param(with_text(r'"metadata": {"\ud83d\udc4d": "\/\b\f"}'), id="escapes"),
        pytest.param(written(record(prompt="\x7f\x85\u2028x")), id="control characters above 0x1f"),
    ],
)
def test_unusual_lines_are_as_good_as_others(line: bytes) -> None:
    assert agree([line]) == [None]


# Keys given twice, and everything that could hide them


FILLERS = [
    pytest.param("", id="nothing else"),
    pytest.param(r', "metadata": {"note": "\u003a"}', id="an escaped colon"),
    pytest.param(r', "metadata": {"note": "\u003A\u003a"}', id="two of them"),
    pytest.param(r', "metadata": {"note\u003a": 1}', id="one in a key"),
    pytest.param(r', "metadata": {"note": "\\u003a"}', id="one that is none"),
    pytest.param(', "metadata": {}', id="metadata of nothing"),
    pytest.param(', "few_shot_examples": []', id="examples of nothing"),
    pytest.param(', "metadata": {"a:b": ":::"}', id="colons"),
]


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize(
    "key",
    [
        pytest.param('"task_id":', id="plain"),
        pytest.param('"task_id" :', id="a space"),
        pytest.param('"task_id"\t\r :', id="a tab"),
        pytest.param(r'"\u0074ask_id":', id="an escape"),
        pytest.param(r'"t\u0061sk\u005fid" :', id="escapes"),
        pytest.param(r'"\u0074\u0061\u0073\u006B\u005F\u0069\u0064":', id="nothing but escapes"),
    ],
)
def test_a_key_given_twice_at_top_level_is_found(key: str, filler: str) -> None:
    lines = [
        line.encode()
        for value in ('"a"', '"b:c"', "null", r'"\u003a"')
        for line in (
            f"{json.dumps(GOOD)[:-1]}{filler}, {key} {value}}}",
            f"{{{key} {value}, {json.dumps(GOOD)[1:-1]}{filler}}}",
        )
    ]

    for line in lines:
        assert agree([line]) == [("bad_json", None)]
        (issue,) = check([line])
        assert isinstance(issue, Issue)
        assert issue.detail == "duplicate key `task_id`"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"few_shot_examples": [{"prompt":"","completion":"","prompt":""}]', id="1"),
        pytest.param(
            r'"few_shot_examples": [{"prompt":"\u003a","completion":"","\u0070rompt":""}]', id="2"
        ),
        pytest.param('"few_shot_examples": [], "few_shot_examples": []', id="empty examples"),
        pytest.param('"metadata": {}, "metadata": {}', id="empty metadata"),
        pytest.param('"metadata": {"metadata": 1}, "metadata": {}', id="metadata, then nothing"),
        pytest.param('"metadata": {"a": 1, "a": 1}', id="in metadata"),
        pytest.param('"metadata": {"": 1, "": 1}', id="the empty key"),
        pytest.param('"metadata": {"a": {"b": {"c": 1, "c" : 2}}}', id="deeper"),
        pytest.param('"metadata": {"a": [1, [{"c": 1, "c": 2}]]}', id="in a list"),
        pytest.param(r'"metadata": {"a": [{"c": "\u003a", "\u0063": 2}]}', id="escaped, in a list"),
        pytest.param(r'"metadata": {"a:": "\u003a", "a:": "\u003a"}', id="a key with a colon"),
        pytest.param(r'"metadata": {"a\u003a": 1, "a:": 1}', id="a colon, and its escape"),
        pytest.param(r'"metadata": {"é": 1, "\u00e9": 2}', id="beyond ASCII"),
        pytest.param(f'"metadata": {{"a": {10**30}, "a": {10**30}}}', id="beside a huge number"),
        pytest.param('"metadata": {"timeout_s": 1, "timeout_s": 2}', id="one with a meaning"),
    ],
)
def test_a_key_given_twice_deeper_down_is_found(text: str) -> None:
    assert agree([with_text(text)]) == [("bad_json", None)]


def test_lines_that_are_read_together_do_not_hide_each_other() -> None:
    twice = with_text('"metadata": {"a": 1, "a": 2}')
    escaped = with_text(r'"metadata": {"a": "\u003a"}', task_id="b")
    absent, empty = written(record(task_id="c")), written(record(task_id="d", metadata={}))

    assert agree([twice, escaped, absent, empty]) == [("bad_json", None), None, None, None]
    assert agree([absent, twice]) == [None, ("bad_json", None)]


# JSON that a fast parser might let pass


@pytest.mark.parametrize(
    "value",
    [
        *("NaN", "-NaN", "Infinity", "-Infinity", "1e999", "-1e999", "2e308", "01", "1.", ".5"),
        *("+1", "0x1", "1_0", "9" * 4301, "-" + "9" * 4300, "[1,]", '{"a":1,}', "'a'", "nul"),
        *('"\t"', '"\n"', '"\0"', '"\x1f"', r'"\x"', r'"\u12"', r'"\u 123"', r'"\u+123"'),
        *(r'"\ud83d"', r'"\udc4d"', r'"\udc4d\ud83d"', r'"\ud83d\u0041"', r'{"\ud800": 1}'),
        *("1\0", "1\ufeff", "\xa01", "[1 2]", "[}", "1]", "/**/1", "True", "[" * 10_000),
        pytest.param("[" * 10_000 + "]" * 10_000, id="nested 10,000 deep"),
        pytest.param('{"a":' * 10_000 + "1" + "}" * 10_000, id="objects 10,000 deep"),
        pytest.param("[" * MAX_DEPTH + "]" * MAX_DEPTH, id="nested two too deep"),
        pytest.param("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), id="nested one too deep"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_no_json_is_refused(value: str) -> None:
    assert agree([with_text(f'"metadata": {{"a": {value}}}')]) == [("bad_json", None)]


def test_the_depth_of_a_record_is_limited_on_either_path() -> None:
    levels = MAX_DEPTH - 2
    deepest = "[" * levels + "]" * levels
    plain = with_text(f'"metadata": {{"a": {deepest}}}')
    odd = with_text(rf'"metadata": {{"\u003a": {deepest}}}')

    assert agree([plain]) == [None]
    assert agree([odd]) == [None]


def test_where_the_parsers_give_up_nothing_crashes() -> None:
    for levels in range(880, 1010):
        for key in ("a", r"\u003a"):
            line = with_text(f'"metadata": {{"{key}": {"[" * levels + "]" * levels}}}')

            assert [verdict(item) for item in check([line])] == [("bad_json", None)]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"[" * 10_000_000, id="ten megabytes of brackets"),
        pytest.param(b'{"a":' * 1_000_000, id="a million objects"),
        pytest.param(b'"' + b"x" * 10_000_000, id="a string without an end"),
        pytest.param(written(GOOD)[:-1], id="no closing brace"),
        pytest.param(written(GOOD) + b"}", id="one too many"),
        pytest.param(written(GOOD) * 2, id="two records on a line"),
        pytest.param(b"\xef\xbb\xbf" + written(GOOD), id="a BOM within the file"),
        pytest.param(written(GOOD) + b"\0", id="a NUL at the end"),
        pytest.param(b"\x0c" + written(GOOD), id="a form feed"),
    ],
)
def test_a_line_that_is_no_json_costs_itself(line: bytes) -> None:
    after = written(record(task_id="b"))

    assert agree([line, after]) == [("bad_json", None), None]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(written(GOOD).replace(b"2 + 2", b"caf\xe9"), id="Latin-1"),
        pytest.param(written(GOOD).replace(b"2 + 2", b"\xed\xa0\x80"), id="a surrogate"),
        pytest.param(written(GOOD).replace(b"2 + 2", b"\xc0\xaf"), id="an overlong form"),
        pytest.param(written(GOOD) + b"\xff", id="after the record"),
        pytest.param(with_text('"metadata": {"').replace(b"}", b'\xff": 1}}'), id="in a key"),
        pytest.param(b"\xff", id="nothing else"),
    ],
)
def test_a_line_that_is_no_utf_8_costs_itself(line: bytes) -> None:
    assert agree([line, written(record(task_id="b"))]) == [("bad_encoding", None), None]


# Lines and ids


def test_blank_lines_are_skipped_and_counted() -> None:
    lines = [b"", written(GOOD), b" \t\r", b"\x0c", b"{}", b""]

    numbered = list(check_batches([lines[:2], [], lines[2:]]))

    assert [number for number, _ in numbered] == [2, 5]
    assert isinstance(numbered[1][1], Issue)
    assert numbered[1][1].line == 5


def test_a_line_that_was_not_kept_is_one_issue() -> None:
    lines: list[bytes] = [BadLine.of("too_long", b'{"task_id": "a"'), written(GOOD)]

    assert agree(lines) == [("bad_json", None), None]


def test_of_equal_ids_the_first_wins() -> None:
    lines = [written(GOOD), written(record(prompt="3")), written(record(prompt="4"))]

    first, *others = check(lines)

    assert isinstance(first, TaskSpec)
    assert [verdict(other) for other in others] == [("duplicate_task_id", "task_id")] * 2
    assert all("line 1;" in other.detail for other in others if isinstance(other, Issue))
    agree(lines)


def test_an_id_is_the_same_however_it_is_spelled() -> None:
    escaped = written(GOOD).replace(b'"a"', rb'"\u0061"')

    assert agree([written(GOOD), escaped]) == [None, ("duplicate_task_id", "task_id")]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"task_id": "a"}, id="missing fields"),
        pytest.param(record(extra=1), id="an unknown field"),
        pytest.param(record(targets="4"), id="a bad type"),
        pytest.param(record(prompt=""), id="a bad value"),
        pytest.param(record(metric_name="bleu_4"), id="an illegal metric"),
    ],
)
def test_a_bad_record_claims_its_id_too(broken: dict[str, Any]) -> None:
    bad, good = written(broken), written(GOOD)

    assert agree([bad, good])[1] == ("duplicate_task_id", "task_id")
    assert agree([good, bad])[1] == verdict(explain(2, bad))


def test_what_cannot_be_read_claims_nothing() -> None:
    unreadable = written(GOOD)[:-1]

    assert agree([unreadable, written(GOOD)]) == [("bad_json", None), None]
    assert agree([written(record(task_id=7)), written(GOOD)])[1] is None


def test_lines_may_come_one_at_a_time_for_ever() -> None:
    def endless() -> Iterable[bytes]:
        number = 0
        while True:
            number += 1
            yield written(record(task_id=f"t{number}"))

    items = check(endless())

    assert isinstance(next(items), TaskSpec)
    assert isinstance(next(items), TaskSpec)


# Files


def test_a_file_gives_records_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join([written(GOOD), b"", b"{}"])))

    records, errors = found = validate_file(path)

    assert isinstance(found, Validated)
    assert [task.task_id for task in records] == ["a"]
    assert [(error.line, error.rule) for error in errors] == [(3, "missing_required")]
    assert list(check_file(str(path))) == [*records, *errors]


def test_an_empty_file_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.touch()

    assert validate_file(str(path)) == ([], [])


def test_a_file_that_is_not_there_is_no_bad_line(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no such file"):
        validate_file(tmp_path / "tasks.jsonl")


@pytest.mark.parametrize("path", [TASKS, TASKS_BAD], ids=["good", "bad"])
def test_a_file_is_what_its_lines_are(path: Path) -> None:
    lines = list(read_lines(str(path)))

    assert list(check_file(str(path))) == [
        replace(item, file=str(path)) if isinstance(item, Issue) else item
        for item in by_explain_alone(lines)
    ]
    agree(lines)
    agree(lines * 3)


def test_line_numbers_hold_across_chunks(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    padding = "x" * 997
    lines = [written(record(task_id=f"t{number}", prompt=padding)) for number in range(1200)]
    bad = range(7, 1200, 101)
    for number in bad:
        lines[number] = b"" if number % 2 else b"{}"
    path.write_bytes(b"\n".join(lines))

    records, errors = validate_file(path)

    assert [error.line for error in errors] == [number + 1 for number in bad if number % 2 == 0]
    assert len(records) == 1200 - len(bad)


# One record that is decoded already


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(GOOD, id="a dict"),
        pytest.param(OrderedDict(GOOD), id="an ordered one"),
        pytest.param(MappingProxyType(GOOD), id="a mapping"),
        pytest.param(record(targets=("4",)), id="a tuple for a list"),
    ],
)
def test_a_good_record_becomes_a_task(value: Any) -> None:
    assert validate_task(value) == next(check([written(GOOD)]))


def test_a_bad_record_raises_its_first_issue() -> None:
    with pytest.raises(InvalidTask) as caught:
        validate_task(record(prompt="", targets=[]))

    assert caught.value.message == "bad_value: `prompt` is empty"
    assert isinstance(caught.value, ValueError)
    assert verdict(caught.value.issue) == ("bad_value", "prompt")
    assert caught.value.issue.task_id == "a"


def nested(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        pytest.param(None, "not_an_object", id="nothing"),
        pytest.param([GOOD], "not_an_object", id="a list"),
        pytest.param(record(prompt="", metadata={"a": nested(9999)}), "bad_value", id="deep"),
        pytest.param(record(task_id=10**5000), "bad_type", id="a huge number"),
        pytest.param(record(prompt="x" * 9999 + " "), "bad_value", id="long"),
    ],
)
def test_any_value_can_be_asked_about(value: Any, rule: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        validate_task(value)

    assert caught.value.issue.rule == rule
    assert len(caught.value.issue.raw) <= 500


# Whatever is done to a record, both paths say the same


SNIPPETS = [
    *(":", ",", '"', "{", "}", "[", "]", "0", "1e999", "NaN", "null", "-", ".", "/", "'", "[["),
    *(" ", "\t", "\n", "\r", "\0", "\x0c", "\x7f", "\u2028", "\xa0", "\ufeff", "é", "👍"),
    *("\\", r"\\", r"\"", r"\u003a", r"\ud83d", r"\u00", r"\ud83d\udc4d"),
    *('"a":1,', ',"a":1', '"task_id":"b",'),
]


def spelled(text: str, random: Random) -> str:
    """A JSON string, with some of its characters as escapes."""
    quoted = json.dumps(text, ensure_ascii=random.random() < 0.3)
    if random.random() < 0.7 or "\\" in quoted:
        return quoted
    form = random.choice(["\\u%04x", "\\u%04X"])
    return "".join(
        form % ord(c) if c != '"' and ord(c) < 0x10000 and random.random() < 0.2 else c
        for c in quoted
    )


def emitted(value: Any, random: Random, twice: float) -> str:
    """JSON text with odd spacing and spelling; each key is repeated with the chance `twice`."""
    space = random.choice(["", "", " ", "\t", " \r"])
    if isinstance(value, str):
        return spelled(value, random)
    if isinstance(value, list):
        return f"[{space}{','.join(emitted(item, random, twice) for item in value)}{space}]"
    if not isinstance(value, dict):
        return json.dumps(value)
    pairs = [*value.items()]
    pairs += [pair for pair in pairs if random.random() < twice]
    entries = (f"{spelled(k, random)}{space}:{emitted(v, random, twice)}" for k, v in pairs)
    return f"{{{f',{space}'.join(entries)}}}"


def mutated(random: Random) -> bytes:
    """A record with none to three things wrong, in its structure or in its text."""
    text = emitted(changed(random), random, random.choice([0, 0, 0.02, 0.1]))
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        start = random.randrange(len(text) + 1)
        end = start + random.choice([0, 0, 1, 3, 30])
        text = text[:start] + random.choice(SNIPPETS) + text[end:]
    line = text.encode()
    if random.random() < 0.03:
        cut = random.randrange(len(line))
        line = line[:cut] + bytes([random.randrange(128, 256)]) + line[cut:]
    return line.replace(b"\n", b" ")


@SEEDED
@given(st.integers(0, 2**32))
def test_the_fast_path_and_the_slow_one_say_the_same(seed: int) -> None:
    random = Random(seed)

    agree([mutated(random) for _ in range(4)])


@SEEDED
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_are_too_odd(line: bytes) -> None:
    agree([line.replace(b"\n", b"")])


@SEEDED
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.05]))
def test_a_repeated_key_is_found_in_any_spelling(seed: int, chance: float) -> None:
    random = Random(seed)
    metadata = {"a": [{"b": ":", "c": {"d": 1}}], "e:f": "::", "": {"g": "\u003a"}}
    good = record(few_shot_examples=[EXAMPLE], metadata=metadata)
    text = emitted(good, random, chance)
    objects: list[list[tuple[str, Any]]] = []

    def remember(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        objects.append(pairs)
        return dict(pairs)

    json.loads(text, object_pairs_hook=remember)
    repeated = any(len(dict(pairs)) < len(pairs) for pairs in objects)

    (item,) = check([text.encode()])

    assert verdict(item) == (("bad_json", None) if repeated else None)


CATEGORIES = ("arithmetic", "mcq", "code_exec", "classification", "summary")
METRICS = ("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec")
POST_PROCESSES = (
    *("none", "strip_whitespace", "lower", "extract_letter"),
    *("extract_code_block", "extract_first_line"),
)


def test_every_combination_is_judged_alike_on_both_paths() -> None:
    lines = [
        written(
            record(
                task_id=f"{category}-{metric}-{post_process}",
                category=category,
                metric_name=metric,
                post_process=post_process,
                targets=["A"],
            )
        )
        for category, metric, post_process in product(CATEGORIES, METRICS, POST_PROCESSES)
    ]

    assert agree(lines).count(None) == 2 * 4 + 3 + 2 + 3 * 4 + 4 * 4
