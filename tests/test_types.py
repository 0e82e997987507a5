"""The nouns: frozen, and told apart where a record leaves something out."""

import pickle
from typing import Any

import msgspec
import pytest

from evalwright import types
from evalwright.types import NoExamples, NoMetadata, TaskSpec, Usage

RECORD: dict[str, Any] = {
    "task_id": "a",
    "category": "arithmetic",
    "prompt": "2 + 2",
    "targets": ["4"],
    "metric_name": "exact_match",
    "post_process": "none",
}
NOUNS = [
    noun
    for noun in vars(types).values()
    if isinstance(noun, type) and issubclass(noun, msgspec.Struct) and noun is not msgspec.Struct
]


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_a_noun_cannot_be_changed(noun: type[msgspec.Struct]) -> None:
    assert noun.__struct_config__.frozen


def test_what_a_record_leaves_out_is_empty_and_can_be_told_from_what_it_gives_empty() -> None:
    left_out = msgspec.convert(RECORD, TaskSpec)
    given = msgspec.convert(RECORD | {"few_shot_examples": [], "metadata": {}}, TaskSpec)

    assert left_out == given
    assert type(left_out.few_shot_examples) is NoExamples
    assert type(left_out.metadata) is NoMetadata
    assert type(given.few_shot_examples) is tuple
    assert type(given.metadata) is dict


def test_a_task_travels() -> None:
    task = msgspec.convert(RECORD, TaskSpec)

    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301 - our own bytes
    assert msgspec.json.decode(msgspec.json.encode(task), type=TaskSpec) == task


def test_time_and_samples_have_defaults() -> None:
    task = msgspec.convert(RECORD, TaskSpec)
    other = msgspec.convert(RECORD | {"metadata": {"timeout_s": 5, "samples": 3}}, TaskSpec)

    assert (task.timeout_s, task.samples) == (3.0, 1)
    assert (other.timeout_s, other.samples) == (5.0, 3)


def test_tokens_add_up() -> None:
    assert Usage(prompt_tokens=3, completion_tokens=4).total_tokens == 7
