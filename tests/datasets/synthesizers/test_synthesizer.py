import pytest
from pydantic import ValidationError
from tests.datasets.synthesizers.made import synthesizer

from evalwright.datasets.synthesizers.synthesizer import VENDOR_TYPES


@pytest.mark.parametrize("kind", VENDOR_TYPES)
def test_a_prompt_that_nobody_has_published_is_not_supported(kind: str) -> None:
    with pytest.raises(ValidationError) as caught:
        synthesizer({"type": kind, "anything": 1})

    (error,) = caught.value.errors()
    assert error["type"] == "unsupported"
    assert "use `llm` with your own prompt" in error["msg"]


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="'llmm'"):
        synthesizer({"type": "llmm"})
