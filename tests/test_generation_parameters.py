"""Names of models with generation parameters."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.errors import UsageError
from evalwright.generation_parameters import (
    correct_parameter,
    split_address,
    split_parameters,
    with_parameters,
)
from evalwright.plan.model_names import canonical_names

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32)
VALUES = SCALARS | st.text(max_size=8) | st.lists(SCALARS | st.text(max_size=8), max_size=3)
NAMES = st.sampled_from(["temperature", "stop", "extra.x_1"])


def test_a_name_contains_parameters_between_the_model_and_its_address() -> None:
    parameters = {"top_p": 0.5, "temperature": 0, "stop": ["&", "@http://x"], "user": "a b"}
    name = 'openai/m?stop=["%26","%40http://x"]&temperature=0&top_p=0.5&user=a b@http://h:1/v1'

    assert with_parameters("openai/m@http://h:1/v1", parameters) == name
    assert split_parameters(name) == ("openai/m@http://h:1/v1", parameters)
    assert split_address(name)[1] == "http://h:1/v1"


@settings(derandomize=True, max_examples=60)
@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_every_value_survives_in_a_name(parameters: dict[str, Any]) -> None:
    name = with_parameters("openai/m@http://h/v1", parameters)

    assert split_parameters(name) == ("openai/m@http://h/v1", parameters)
    assert with_parameters(*split_parameters(name)) == name


def test_a_question_mark_without_parameters_is_a_part_of_the_name() -> None:
    names = ["replay/what?.jsonl", "replay/is it?no.jsonl", "openai/m@http://h/v1?a=1", "openai/m?"]

    assert [split_parameters(name) for name in names] == [(name, {}) for name in names]


def test_a_parameter_without_a_value_is_refused() -> None:
    for name in ("openai/m?temperature", "openai/m?seed=1&temperature", "openai/m?seed=1&=2"):
        with pytest.raises(UsageError) as caught:
            split_parameters(name)
        assert "expected NAME=VALUE" in caught.value.message
        assert caught.value.hint == "for example `openai/m?temperature=0`"


def test_one_model_has_one_name_whatever_the_order_of_its_parameters() -> None:
    spelled = ["openai:m?top_p=0.5&temperature=0", "openai/m?temperature=0&top_p=0.5", "openai/m"]

    assert canonical_names(spelled) == ["openai/m?temperature=0&top_p=0.5", "openai/m"]


def test_only_a_name_like_a_common_one_is_corrected() -> None:
    corrected = {
        name: correct_parameter(name)
        for name in ("temprature", "temperature", "extra.temprature", "stop_token_ids", "top_a")
    }

    assert corrected == dict.fromkeys(corrected, "") | {"temprature": "temperature"}
