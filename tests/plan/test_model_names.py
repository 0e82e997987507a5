import pytest

from evalwright.errors import UsageError
from evalwright.plan.model_names import canonical_names, check_names


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        pytest.param("openai/gpt-4.1", ["openai/gpt-4.1"], id="one"),
        pytest.param(["openai:gpt-4.1"], ["openai/gpt-4.1"], id="with a colon"),
        pytest.param(["a/x", "a:x", "b/y"], ["a/x", "b/y"], id="the same one twice"),
        pytest.param(["ollama/llama3:8b"], ["ollama/llama3:8b"], id="a colon in its own name"),
        pytest.param(["ollama:llama3:8b"], ["ollama/llama3:8b"], id="both"),
        pytest.param(["a/b/c"], ["a/b/c"], id="a slash in its own name"),
        pytest.param(["b/y", "a/x"], ["b/y", "a/x"], id="in the order in which they were named"),
    ],
)
def test_a_model_has_one_name(models: str | list[str], expected: list[str]) -> None:
    assert canonical_names(models) == expected


@pytest.mark.parametrize("models", ["", []])
def test_no_model_is_an_error(models: str | list[str]) -> None:
    with pytest.raises(UsageError, match="no model was given"):
        canonical_names(models)


def test_a_name_that_json_cannot_hold_is_refused() -> None:
    check_names(["tasks.jsonl", "openai/größe"])

    with pytest.raises(UsageError, match="not UTF-8"):
        check_names(["tasks-\udcff.jsonl"])
