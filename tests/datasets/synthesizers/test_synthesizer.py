from typing import Any

import pytest
from pydantic import ValidationError
from tests.datasets.synthesizers.made import synthesizer


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="'llmm'"):
        synthesizer({"type": "llmm"})


@pytest.mark.parametrize(
    ("fields", "is_earlier"),
    [
        ({"type": "template", "template": "{{ source.a }}"}, False),
        ({"type": "template", "template": "{{ sample.a }}"}, True),
        ({"type": "template", "columns": {"a": "x"}}, True),
        ({"type": "python", "synthesize_snippet": "def synthesize(source): return []"}, False),
        ({"type": "python", "synthesize_snippet": "def synthesize(sample): return []"}, True),
        ({"type": "empty"}, False),
    ],
)
def test_the_earlier_spelling_is_recognized(fields: dict[str, Any], *, is_earlier: bool) -> None:
    assert synthesizer(fields).uses_earlier_spelling is is_earlier
