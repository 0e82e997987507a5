import unicodedata
from pathlib import Path

import pytest
from tests.report.issues.made import GOOD_LINE, checking, missing
from tests.spec.records.made import GOOD, record, with_text, written

from evalwright.report.issues import render_text
from evalwright.report.tables import display_width
from evalwright.vocabulary import REQUIRED


def lines_of(folder: Path, *lines: bytes) -> list[str]:
    return "".join(render_text([checking(folder, *lines)])).splitlines()


def width(text: str) -> int:
    """Terminal columns, counted the long way."""
    columns = 0
    for character in text:
        if unicodedata.category(character) in {"Mn", "Me"}:
            continue
        columns += 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
    return columns


def under_the_caret(excerpt: str, caret: str) -> str:
    """What stands from the caret's column on."""
    assert caret.strip() == "^"
    for at in range(len(excerpt) + 1):
        if width(excerpt[:at]) == len(caret) - 1:
            return excerpt[at:]
    raise AssertionError("the caret stands under no character")


def test_good_files_say_nothing(tmp_path: Path) -> None:
    assert "".join(render_text([checking(tmp_path, GOOD_LINE), checking(tmp_path)])) == ""


def test_an_issue_is_where_what_and_a_caret(tmp_path: Path) -> None:
    line = written({key: value for key, value in GOOD.items() if key != "category"})

    found = lines_of(tmp_path, GOOD_LINE, b"", written(GOOD | {"task_id": "b", "prompt": ""}))
    plain = lines_of(tmp_path, line)

    assert found[0] == f"{tmp_path}/tasks.jsonl:3:54: bad_value: `prompt` is empty"
    assert under_the_caret(found[1], found[2]).startswith('"", "targets"')
    assert plain == [f"{tmp_path}/tasks.jsonl:1: missing_required: `category` is missing"]


def test_every_issue_of_every_file_is_told_in_order(tmp_path: Path) -> None:
    checks = [
        checking(tmp_path, b"7", b"{}", name="one.jsonl"),
        missing(tmp_path),
        checking(tmp_path, b"1", name="two.jsonl"),
    ]

    found = "".join(render_text(checks)).splitlines()

    assert [line.removeprefix(f"{tmp_path}/").split(": ")[:2] for line in found] == [
        ["one.jsonl:1", "not_an_object"],
        ["one.jsonl:2", "missing_required"],
        *[["  also missing_required", f"`{name}` is missing"] for name in REQUIRED[1:]],
        ["two.jsonl:1", "not_an_object"],
    ]
    assert [str(check.unreadable) for check in checks if check.unreadable] == [
        f"{tmp_path}/missing.jsonl: no such file"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(written(record(task_id="é", prompt="")), '""', id="Latin"),
        pytest.param(written(record(task_id="漢字かな", prompt="")), '""', id="wide characters"),
        pytest.param(written(record(task_id="ﾊﾝｶｸ", prompt="")), '""', id="half-wide ones"),
        pytest.param(written(record(task_id="ＡＢＣ", prompt="")), '""', id="full-wide letters"),  # noqa: RUF001
        pytest.param(written(record(task_id="👍🏽", prompt="")), '""', id="emoji"),
        pytest.param(written(record(task_id="e\u0301o\u20dd", prompt="")), '""', id="marks"),
        pytest.param(written(record(task_id="ก\u0e31น", prompt="")), '""', id="Thai vowels"),
        pytest.param(written(record(task_id="שלום", prompt="")), '""', id="right to left"),
        pytest.param(written(record(task_id="مرحبا", prompt="")), '""', id="Arabic"),
        pytest.param(written(record(task_id="a\u202eb\u200bc", prompt="")), '""', id="overrides"),
        pytest.param(with_text('\t"metadata":\t[]'), "[]", id="tabs"),
        pytest.param(with_text('"metadata": {"\u3000": 1}, "a": 1'), '"a"', id="a wide space"),
        pytest.param(written(record(prompt="漢" * 60, targets=[])), "[]", id="beyond the width"),
        pytest.param(written(GOOD)[:-1], "", id="at the end"),
        pytest.param(written(GOOD)[:-1] + b" \r", "", id="at the end of a CRLF line"),
        pytest.param(with_text('"metadata": "\x1b[31m'), "�[31m", id="an escape sequence"),
    ],
)
def test_the_caret_stands_under_the_mistake(tmp_path: Path, line: bytes, expected: str) -> None:
    _, excerpt, caret = lines_of(tmp_path, line)

    assert under_the_caret(excerpt, caret).startswith(expected)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(with_text('"\x1b]0;title\x07": 1'), id="raw"),
        pytest.param(with_text(r'"\u001b[2J\n\u202e": 1'), id="in a name"),
        pytest.param(written(record(category="a\n\u2028\x1b[31mb")), id="in a value"),
        pytest.param(b"\x1b[31m\x08\x08", id="in what is no JSON"),
        pytest.param(b"\xff\x1b[31m", id="in what is no UTF-8"),
    ],
)
def test_nothing_in_a_file_can_move_the_terminal(tmp_path: Path, line: bytes) -> None:
    found = "".join(render_text([checking(tmp_path, line)]))

    assert found.count("\n") == len(found.splitlines())
    assert all(part.isprintable() for part in found.split("\n"))


def test_neither_can_the_name_of_a_file(tmp_path: Path) -> None:
    found = "".join(render_text([checking(tmp_path, b"[]", name="a\n\x1b[31m\udcff.jsonl")]))

    assert found.splitlines()[0].startswith(f"{tmp_path}/a��[31m�.jsonl:1: not_an_object:")


def test_a_long_line_is_shown_about_its_mistake(tmp_path: Path) -> None:
    line = written(record(prompt="x" * 200, post_process="lowr", metadata={"a": "y" * 200}))

    _, excerpt, caret = lines_of(tmp_path, line)

    assert excerpt.startswith("  …")
    assert excerpt.endswith(" …")
    assert len(excerpt) < 100
    assert under_the_caret(excerpt, caret).startswith('"lowr"')


def test_a_place_beyond_the_kept_part_of_a_line_has_no_excerpt(tmp_path: Path) -> None:
    found = lines_of(tmp_path, written(record(prompt="x" * 600, post_process="lowr")))

    assert len(found) == 1
    assert ":722: bad_value: " in found[0]


def test_parts_may_be_coloured(tmp_path: Path) -> None:
    check = checking(tmp_path, written(record(prompt="")))

    found = "".join(render_text([check], style=lambda text, kind: f"<{kind}>{text}</{kind}>"))

    assert found.startswith(f"<place>{check.file}:1:54:</place> <rule>bad_value:</rule> `prompt`")
    assert found.endswith(" <caret>^</caret>\n")


def test_issues_come_while_the_file_is_read(tmp_path: Path) -> None:
    check = checking(tmp_path, *[b"{}"] * 100_000)

    first = next(render_text([check]))

    assert ":1: missing_required" in first
    assert check.errors < 100_000


def test_on_a_terminal_a_paragraph_wraps_at_words_and_the_caret_stays_at_its_place(
    tmp_path: Path,
) -> None:
    check = checking(tmp_path, written(record(prompt="世界の首都" * 20, metric_name="bleu")))

    shown = "".join(render_text([check], width=60)).splitlines()

    excerpt, caret = next((shown[n - 1], line) for n, line in enumerate(shown) if "^" in line)
    assert all(display_width(line) <= 60 or line.startswith(check.file) for line in shown)
    before = excerpt.partition('"bleu"')[0]
    assert display_width(before) == caret.index("^")
