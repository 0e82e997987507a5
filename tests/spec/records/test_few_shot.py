import json
from pathlib import Path

import pytest
from tests.spec.records.made import record

import evalwright as ew
from evalwright.spec.records.explain import find_broken_rules
from evalwright.spec.records.few_shot import find_answered_pair, has_few_shot_block

DATA = Path(__file__).parents[4] / "shared" / "data"
SEED_LIKE = (
    "Compute the result. Question: 2 + 2\nAnswer: 4\n\n"
    "Compute the result. Question: 17 + 24\nAnswer:"
)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(SEED_LIKE, id="a question in the middle of a line"),
        pytest.param("Q: 2 + 2 A: 4 Q: 3 + 3 A:", id="all in one line"),
        pytest.param("Look: example 1: x\nANSWER: y\nLook: Example 2: z", id="numbered examples"),
        pytest.param("Do. Question: 1\nA: 2\nDo. question: 3", id="the short answer"),
        pytest.param("问题Q: 一\nA: 二\n问题Q: 三", id="Chinese in front"),
        pytest.param("\u0647\u0644 Q: 1\nA: 2\n\u0647\u0644 Q: 3", id="Arabic in front"),
        pytest.param("x Q: 1\nAnswer: 2\ny Question: 3\nz Q: 4", id="another marker between"),
    ],
)
def test_a_marker_that_comes_again_after_an_answer_is_a_block(prompt: str) -> None:
    assert has_few_shot_block(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Compute. Question: 17 + 24\nAnswer:", id="the form of the contract"),
        pytest.param("x Question: 1\nAnswer:\n\nx Question: 2\nAnswer:", id="no answer is given"),
        pytest.param("x Question: 1\nAnswer: \t\nx Question: 2", id="only spaces are given"),
        pytest.param("x Question: 1\nAnswer: 2\nx Q: 3", id="a marker of another kind"),
        pytest.param("x Question: 1\nThe answer is: 2\nx Question: 3", id="not the word itself"),
        pytest.param("Answer: 1\nx Question: 2\nAnswer:", id="an answer before its question"),
        pytest.param("the FAQ: 1\nA: 2\nthe FAQ: 3", id="the end of a longer word"),
        pytest.param("Text: 1\nLabel: 2\nText: 3\nLabel:", id="a finding of lint"),
    ],
)
def test_any_other_prompt_is_no_block(prompt: str) -> None:
    assert not has_few_shot_block(prompt)


def test_the_error_names_the_marker_and_what_to_do() -> None:
    (fault,) = find_broken_rules(record(prompt=SEED_LIKE))

    assert (fault.rule, fault.field) == ("embedded_few_shot", "prompt")
    assert fault.detail == (
        "`Question:` occurs again after an answer in the prompt; "
        "move examples to `few_shot_examples`"
    )


def test_code_may_answer_questions() -> None:
    code = record(category="code_exec", metric_name="code_exec", prompt=SEED_LIKE)

    assert list(find_broken_rules(code)) == []


@pytest.mark.parametrize(
    "part",
    ["Q: ", "A: x ", "Example ", "example 1", "Answer:   ", "Example \t", "Input: ", "Output: 1 "],
)
def test_a_prompt_is_read_once_so_four_megabytes_of_markers_are_judged(part: str) -> None:
    prompt = part * (4_000_000 // len(part))

    assert not has_few_shot_block(prompt)
    assert not find_answered_pair(prompt)


@pytest.mark.parametrize(
    ("file", "key", "count"),
    [
        ("gsm8k_test.jsonl", "question", 1319),
        ("humaneval.jsonl", "prompt", 164),
        ("sanitized-mbpp.json", "prompt", 427),
    ],
)
def test_published_prompts_are_no_blocks(file: str, key: str, count: int, tmp_path: Path) -> None:
    path = DATA / file
    if not path.exists():
        pytest.skip("the benchmark files are not part of the project, and are not beside it here")
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text) if file.endswith(".json") else map(json.loads, text.splitlines())
    is_code = file != "gsm8k_test.jsonl"
    kind = {"category": "code_exec", "metric_name": "code_exec"} if is_code else {}
    records = [
        record(task_id=str(number), prompt=row[key].rstrip(), targets=["1"], **kind)
        for number, row in enumerate(rows)
    ]
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")

    assert len(records) == count
    assert ew.validate_file(tasks).errors == []
    assert [one.line for one in ew.lint(tasks) if one.rule == "embedded_examples"] == []
