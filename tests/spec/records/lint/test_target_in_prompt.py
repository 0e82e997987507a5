import random
from collections.abc import Iterable

import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import Issue, TaskSpec


def task(name: str, prompt: str, *targets: str, **others: object) -> TaskSpec:
    fields: dict[str, object] = {"category": "arithmetic", "metric_name": "exact_match"} | others
    return TaskSpec(
        task_id=name,
        prompt=prompt,
        targets=targets,
        post_process="none",
        **fields,  # type: ignore[arg-type]  # words of the vocabulary
    )


def label(name: str, prompt: str, target: str, **others: object) -> TaskSpec:
    return task(name, prompt, target, category="classification", **others)


def issues(tasks: Iterable[TaskSpec]) -> list[Issue]:
    located = enumerate(tasks, start=1)
    return [one for one in lint_tasks(located) if one.rule == "target_in_prompt"]


def found(*tasks: TaskSpec) -> list[str | None]:
    return [one.task_id for one in issues(tasks)]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(task("a", "2 + 2 = 4?", "4"), id="a sum with its result"),
        pytest.param(task("a", "Add 17 and 24. (Answer: 41)", "41"), id="an answer left in"),
        pytest.param(
            task("a", "Spell eighty-four in digits, please.", "84", "eighty-four"), id="any target"
        ),
        pytest.param(label("a", "This is a POSITIVE review: great!", "positive"), id="case aside"),
        pytest.param(label("a", "这部电影非常正面\uff0c我喜欢。", "正面"), id="Chinese"),
        pytest.param(label("a", "كان رأيه إيجابي جدا", "إيجابي"), id="Arabic"),
        pytest.param(
            task(
                "a",
                "Shorten: The fair is moved to Sunday. It rained.",
                "The fair is moved to Sunday.",
                category="summary",
            ),
            id="a summary that stands in its text",
        ),
    ],
)
def test_an_answer_that_stands_in_the_question_is_found(record: TaskSpec) -> None:
    (issue,) = issues([record])

    assert (issue.task_id, issue.field, issue.line) == ("a", "prompt", 1)
    assert "is in the prompt: a model can copy the answer" in issue.detail


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(task("a", "What is 7 + 7?", "14"), id="it does not"),
        pytest.param(task("a", "What is 14 - 10?", "4"), id="14 does not hold 4"),
        pytest.param(task("a", "What is 0 + 38?", "38"), id="a number to reckon with"),
        pytest.param(task("a", "Which is larger, 17 or 12?", "17"), id="a choice"),
        pytest.param(task("a", "The largest of 3, 9, 4?", "9"), id="a row of numbers"),
        pytest.param(label("a", "Good or bad? It was fun.", "good"), id="a choice of labels"),
        pytest.param(
            label(
                "a", "Moods: happy, sad. It rains.", "sad", metadata={"labels": ["happy", "sad"]}
            ),
            id="metadata names the other labels",
        ),
        pytest.param(
            task("a", "Which?\nA) x\nB) y", "A", category="mcq"), id="the letter of an option"
        ),
        pytest.param(
            task(
                "a",
                "Write f. f(1) == 2",
                "f(1) == 2",
                category="code_exec",
                metric_name="code_exec",
            ),
            id="a test that the prompt shows",
        ),
        pytest.param(label("a", "This is a test.", "a"), id="one letter"),
        pytest.param(task("a", "What is it?", ""), id="an empty target"),
    ],
)
def test_an_answer_with_a_reason_to_be_there_is_left_alone(record: TaskSpec) -> None:
    assert issues([record]) == []


def test_labels_that_other_records_have_are_choices() -> None:
    records = [
        label("a", "Topics: sports, politics. The match was lost.", "sports"),
        label("b", "Topics: sports, politics. The vote was lost.", "politics"),
        label("c", "This politics page is dull.", "politics"),
    ]

    assert found(*records) == ["c"]
    assert found(*records[::-1]) == ["c"]


def test_a_word_that_all_labels_use_alike_is_no_leak() -> None:
    dice = random.Random(5)
    plain = [label(f"p{n}", f"Case {n}: rain", dice.choice(["yes", "no"])) for n in range(100)]
    wordy = [label(f"w{n}", f"There is no sun, case {n}", ["yes", "no"][n % 2]) for n in range(20)]

    assert found(*plain, *wordy) == []


def test_a_word_that_one_label_owns_is_a_leak() -> None:
    no = [label(f"n{n}", f"Case {n}: there is no sun", "no") for n in range(30)]
    rest = [label(f"r{n}", f"Case {n}: rain", ["yes", "no"][n % 2]) for n in range(200)]

    assert found(*no, *rest) == [f"n{n}" for n in range(30)]


def test_small_numbers_of_a_story_are_no_leak_but_a_given_answer_is() -> None:
    stories = [
        task(
            f"s{n}",
            f"Story {1000 + n}: she has {n % 7} cats and {n % 5} dogs. How many?",
            str(n % 7 + n % 5),
        )
        for n in range(300)
    ]

    assert found(*stories) == []
    assert found(
        *stories, task("leak", "She has 2 cats and 1 dog, the answer is 3. Why?", "3")
    ) == ["leak"]


def test_where_answers_are_to_be_copied_out_it_is_said_once() -> None:
    words = [
        f"{one}{two}"
        for one in ("ka", "lo", "mi", "nu", "pe")
        for two in ("ro", "sa", "ti", "vu", "wa", "xo")
    ]
    records = [
        task(word, f"Text: the {word} sleeps. Who sleeps?", word, category="summary")
        for word in words
    ]

    (issue,) = issues(records)

    assert issue.detail.startswith("30 of 30 `summary` records contain their target")
    assert (issue.line, issue.task_id) == (1, None)
