import pytest
from pydantic import ValidationError
from tests.datasets.generating.made import synthesizer

from evalwright.datasets.generating.any import OF_A_VENDOR


@pytest.mark.parametrize("kind", OF_A_VENDOR)
def test_a_prompt_that_nobody_has_published_is_not_supported(kind: str) -> None:
    with pytest.raises(ValidationError) as caught:
        synthesizer({"type": kind, "anything": 1})

    (error,) = caught.value.errors()
    assert error["type"] == "unsupported"
    assert "use `llm` with a prompt of your own" in error["msg"]


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="'llmm'"):
        synthesizer({"type": "llmm"})
