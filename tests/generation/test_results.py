import pytest

from evalwright.generation.results import (
    GeneratedDataset,
    GenerationPreview,
    PreviewError,
    PreviewRow,
    PreviewStep,
)
from evalwright.types import Usage

MADE = GeneratedDataset(
    dataset="quiz", generator="g", file="f.jsonl", rows=6, source_rows=6, made=True, usage={}
)


def made(**changes: object) -> GeneratedDataset:
    from msgspec import structs

    return structs.replace(MADE, **changes)


@pytest.mark.parametrize(
    ("dataset", "sentence"),
    [
        pytest.param(MADE, "dataset `quiz`: 6 rows made, in f.jsonl", id="without a model"),
        pytest.param(
            made(source_rows=3),
            "dataset `quiz`: 6 rows made of 3 of the data source, in f.jsonl",
            id="several of one",
        ),
        pytest.param(
            made(usage={"m": Usage(2, 1000, 500, 0.25), "n": Usage(1, 0, 1, 0.5)}),
            "dataset `quiz`: 6 rows made, in f.jsonl: 3 requests, 1,501 tokens, $0.75",
            id="what it took",
        ),
        pytest.param(
            made(usage={"m": Usage(2, 1, 1, None), "n": Usage(1, 0, 1, 0.5)}),
            "dataset `quiz`: 6 rows made, in f.jsonl: 3 requests, 3 tokens",
            id="a price that is not known is no guess",
        ),
        pytest.param(
            made(made=False), "dataset `quiz`: 6 rows are there already, in f.jsonl", id="there"
        ),
    ],
)
def test_what_was_done_is_a_sentence(dataset: GeneratedDataset, sentence: str) -> None:
    assert dataset.describe() == sentence


def test_a_trial_shows_each_step_and_nothing_that_a_terminal_obeys() -> None:
    error = PreviewError(stage="dataset", type="ValueError", message="\x1b[31mno", hint="mend it")
    steps = [PreviewStep(synthesizer="python", rows=[{"a": "\x1b[2J"}, {"a": "مرحبا"}])]
    preview = GenerationPreview(
        key="quiz",
        file="datasets/quiz.yaml",
        generator="g",
        source="empty",
        source_rows=9,
        rows=[PreviewRow(index=0, source={}, steps=steps, error=error)],
        usage={},
        printed=["hello"],
        ok=False,
    )

    text = "\n".join(preview.render_lines(show_model_calls=False))

    assert "\x1b" not in text
    assert "no columns" in text
    assert "مرحبا" in text
    assert "hint: mend it" in text
    assert "  hello" in text
