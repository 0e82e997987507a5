import gzip
import random
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.records.made import lint_tasks

from evalwright.report.issues import RENDERERS
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD, load_fixtures
from evalwright.spec.records.lint import linter
from evalwright.spec.records.lint.linter import RULES, Linting
from evalwright.types import Example, Issue, TaskSpec
from evalwright.vocabulary import CATEGORIES

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "lint.md"
PACKAGE = Path(linter.__file__).parent
WORDS = ["ash", "elm", "fir", "oak", "yew", "bay", "fig", "box", "gum", "may", "nut", "pea", "rye"]
REPEATS = ("duplicate_prompt", "near_duplicate")
STORY = " ".join(f"{one} {other}" for one in WORDS[:6] for other in WORDS[6:])


def task(name: str, prompt: str, target: str = "x", **others: object) -> TaskSpec:
    fields: dict[str, object] = {
        "category": "summary",
        "metric_name": "exact_match",
        "post_process": "none",
    } | others
    return TaskSpec(task_id=name, prompt=prompt, targets=(target,), **fields)  # type: ignore[arg-type]


SUSPICIOUS = [
    task("leak", "2 + 2 = 4?", "4", category="arithmetic"),
    task("first", "Who is it?"),
    task("copy", "who  is it?"),
    task("near", STORY, category="classification"),
    task("nearer", STORY.replace("ash bay", "ash tree"), category="classification"),
    task("same", "Who, is it?"),
    task("options", "Which?\nA) one\nB) one", "A", category="mcq"),
    task("no_option", "Which one?\nA) one\nB) two", "C", category="mcq"),
    task("shown", "How?", few_shot_examples=(Example("How?", "x"),)),
    task("pairs", "Text: good\nLabel: x\nText: bad\nLabel:"),
    task("long", "long " * 400 + "?"),
    task("capital", "What is its name?", "X", post_process="lower"),
    task("empty", "What is nothing?", ""),
    *(task(f"mcq{n}", f"Number {n}?\nA) one\nB) two {n}", "A", category="mcq") for n in range(30)),
    *(task(f"plain{n}", f"What is the {word}?") for n, word in enumerate(WORDS)),
]


def lint(tasks: Sequence[TaskSpec]) -> list[Issue]:
    return list(lint_tasks(enumerate(tasks, start=1)))


def test_every_rule_is_tried_by_the_suspicious_records() -> None:
    found = {issue.rule: issue.task_id for issue in lint(SUSPICIOUS)}

    assert set(found) == set(RULES)
    assert found["skewed_letters"] is None


def test_findings_come_by_line_and_those_about_the_file_last() -> None:
    found = lint(SUSPICIOUS)

    lines = [issue.line for issue in found[:-1]]
    assert lines == sorted(lines)
    assert found[-1].rule == "skewed_letters"
    assert found[-1].line == 1 + next(
        n for n, one in enumerate(SUSPICIOUS) if one.task_id == "options"
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_records_changes_only_which_of_a_group_is_the_first(seed: int) -> None:
    shuffled = random.Random(seed).sample(SUSPICIOUS, len(SUSPICIOUS))
    groups = {"first": "who", "copy": "who", "same": "who", "near": "story", "nearer": "story"}

    def flagged(tasks: Sequence[TaskSpec]) -> list[tuple[str, str]]:
        return sorted(
            (
                "repeat" if one.rule in REPEATS else one.rule,
                groups.get(one.task_id or "", one.task_id or ""),
            )
            for one in lint(tasks)
        )

    assert flagged(shuffled) == flagged(SUSPICIOUS)


def test_a_detail_is_one_line_that_ends_with_what_to_do() -> None:
    for issue in lint(SUSPICIOUS):
        assert "\n" not in issue.detail
        assert re.search(r"[:;,] [a-z]", issue.detail), issue.detail
        assert not issue.detail.endswith(".")


def test_the_shipped_tasks_are_in_order() -> None:
    linting = Linting(str(TASKS))

    assert list(linting) == []
    assert (linting.valid, linting.errors, linting.skipped, linting.unreadable) == (10, 0, 0, None)
    assert linting.notes == []


def test_invalid_records_are_counted_and_passed_over() -> None:
    linting = Linting(str(TASKS_BAD))

    assert list(linting) == []
    assert linting.valid == 0
    assert linting.skipped > 10


def test_lines_are_an_editor_s_lines(tmp_path: Path) -> None:
    one, other = task("a", "Who is it?"), task("b", "Who is it?")
    lines = [b"", msgspec.json.encode(one), b"not json", b"  ", msgspec.json.encode(other), b""]
    file = tmp_path / "tasks.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join(lines)))
    linting = Linting(str(file))

    (issue,) = linting

    assert issue.line == 5
    assert "line 2 (`a`)" in issue.detail
    assert (linting.valid, linting.skipped, linting.rules) == (2, 1, {"duplicate_prompt": 1})


def test_an_empty_file_has_nothing_suspicious(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.touch()
    linting = Linting(str(file))

    assert list(linting) == []
    assert linting.valid == 0


def test_a_file_cut_short_is_linted_up_to_there(tmp_path: Path) -> None:
    good = b"".join(msgspec.json.encode(task(f"t{n}", "Who is it?")) + b"\n" for n in range(20_000))
    file = tmp_path / "tasks.jsonl.gz"
    file.write_bytes(gzip.compress(good)[:-20])
    linting = Linting(str(file))

    assert len(list(linting)) == linting.valid - 1 > 0
    assert linting.unreadable


def test_a_missing_file_is_unreadable() -> None:
    linting = Linting("no/such/file.jsonl")

    assert list(linting) == []
    assert "no such file" in str(linting.unreadable)


@pytest.mark.parametrize("form", RENDERERS)
def test_what_renders_a_check_renders_a_linting(form: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, SUSPICIOUS)))

    output = "".join(RENDERERS[form]([Linting(str(file))]))

    assert all(rule in output for rule in RULES)


def test_the_docstring_of_a_rule_says_when_it_is_wrong() -> None:
    docstrings = [path.read_text(encoding="utf-8").split('"""')[1] for path in PACKAGE.glob("*.py")]
    sections = [
        section
        for docstring in docstrings
        for section in re.findall(
            r"^`\w+`: .*?(?=^`\w+`: |\Z)", docstring, re.MULTILINE | re.DOTALL
        )
    ]

    assert sorted(section.split("`")[1] for section in sections) == sorted(RULES)
    for section in sections:
        assert "\nWhy:    " in section
        assert "\nWrong:  " in section


def test_the_guide_has_every_rule_and_its_examples_show_it() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    sections = re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)

    assert [name for name, _ in sections] == list(RULES)
    for name, section in sections:
        for block in re.findall(r"```jsonl\n(.*?)```", section, re.DOTALL):
            tasks = [msgspec.json.decode(line, type=TaskSpec) for line in block.splitlines()]
            assert name in {issue.rule for issue in lint(tasks)}


def test_shipped_tasks_stay_clean_in_company() -> None:
    copies = [
        msgspec.structs.replace(one, task_id=f"{one.task_id}_{n}", prompt=f"{one.prompt} ({n})")
        for n in range(3)
        for one in load_fixtures()
        if one.category == "code_exec"
    ]

    assert lint(copies) == []


PROMPTS = st.text(min_size=1, max_size=40) | st.lists(
    st.sampled_from(["A) one", "B) one", "yes or no", "4", "= 4", "is", "it", "؟", "是", "\n"]),
    min_size=1,
    max_size=8,
).map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(CATEGORIES), PROMPTS, PROMPTS), max_size=8), st.randoms())
def test_any_text_can_be_linted_in_any_order(
    drawn: list[tuple[str, str, str]], dice: random.Random
) -> None:
    tasks = [
        task(str(number), prompt, "A" if category == "mcq" else target, category=category)
        for number, (category, prompt, target) in enumerate(drawn)
    ]
    shuffled = dice.sample(tasks, len(tasks))

    def flagged(tasks: Sequence[TaskSpec]) -> list[tuple[str, str | None]]:
        return sorted(
            ("repeat", None) if one.rule in REPEATS else (one.rule, one.task_id)
            for one in lint(tasks)
        )

    assert flagged(shuffled) == flagged(tasks)
