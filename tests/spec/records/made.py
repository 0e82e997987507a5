"""A good record, and the ways to write it down, for every test of contract A."""

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from evalwright.spec.records.check import check_batches
from evalwright.spec.records.lint.linter import Linter
from evalwright.types import Issue, TaskSpec

FIELDS = (
    "task_id",
    "category",
    "prompt",
    "targets",
    "metric_name",
    "post_process",
    "few_shot_examples",
    "metadata",
)
"""As the table of the contract orders them."""

GOOD: dict[str, Any] = {
    "task_id": "a",
    "category": "arithmetic",
    "prompt": "2 + 2",
    "targets": ["4"],
    "metric_name": "exact_match",
    "post_process": "none",
}
EXAMPLE = {"prompt": "1 + 1", "completion": "2"}

LIKELY: dict[str, list[Any]] = {
    "task_id": ["a", "b", "", "a b", "a\n", "a\u200b", "a:b"],
    "category": ["arithmetic", "mcq", "code_exec", "classification", "summary", "maths"],
    "prompt": [
        "",
        " ",
        "a ",
        "Q: 1\nQ: 2",
        "Q: 1\n\tExample 2: x",
        "Q: 1\nA:",
        "Q: 1 A: 2 Q:",
        "a:b",
    ],
    "targets": [[], ["A"], ["F"], ["A", "B"], ["4", 4], [""]],
    "metric_name": ["exact_match", "f1", "accuracy", "rouge_l", "code_exec", "exactmatch"],
    "post_process": ["none", "lower", "extract_letter", "extract_code_block", "upper"],
    "few_shot_examples": [
        *([], [EXAMPLE], [EXAMPLE] * 8, [EXAMPLE] * 9),
        *([EXAMPLE | {"x": 1}], [{}], [EXAMPLE | {"prompt": 1}]),
    ],
    "metadata": [
        *({}, {"timeout_s": 3}, {"timeout_s": "3"}, {"timeout_s": 31}, {"timeout_s": 10**30}),
        *({"samples": 2}, {"samples": 2.0}, {"samples": True}, {"samples": 0}, {"a:b": "c:d"}),
        *({"a": [{"b": ":"}, {"b": 1}]}, {"a": {"b": {"c": [1, 2.5, None, 10**30]}}}),
    ],
}
ODD: list[Any] = [None, True, 0, -1, 2.5, 1e-9, 10**30, "", " ", "a", ":", [], ["a"], {}, {"a": 1}]
KEYS = [*LIKELY, *LIKELY, "extra", "", "Task_id", "a:b"]


def record(**changes: Any) -> dict[str, Any]:
    """The good record, with some fields changed or added."""
    return GOOD | changes


def written(value: Any) -> bytes:
    """One line, as most programs write it."""
    return json.dumps(value, ensure_ascii=False).encode()


def with_text(text: str, **changes: Any) -> bytes:
    """A line whose record ends in this piece of JSON text."""
    return f"{json.dumps(record(**changes), ensure_ascii=False)[:-1]}, {text}}}".encode()


def verdict(item: TaskSpec | Issue | None) -> tuple[str, str | None] | None:
    """Rule and field of an issue; None for a record."""
    return (item.rule, item.field) if isinstance(item, Issue) else None


def changed(random: Random) -> dict[str, Any]:
    """The good record with none to three things changed, for the worse or not."""
    broken = record(task_id=random.choice("ab"))
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        key = random.choice(KEYS)
        if random.random() < 0.1:
            broken.pop(key, None)
        else:
            broken[key] = random.choice(ODD if random.random() < 0.2 else LIKELY.get(key, ODD))
    items = [*broken.items()]
    if random.random() < 0.3:
        random.shuffle(items)
    return dict(items)


def check(lines: Iterable[bytes]) -> Iterator[TaskSpec | Issue]:
    """The record or issue of each line, taken one at a time; blank lines give neither."""
    return (item for _, item in check_batches([line] for line in lines))


def lint_tasks(records: Iterable[tuple[int, TaskSpec]]) -> Iterator[Issue]:
    """What is suspicious in records, each given with its line."""
    linter = Linter()
    for line, task in records:
        linter.look(line, task)
    return linter.end()
