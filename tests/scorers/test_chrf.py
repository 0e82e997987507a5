from typing import Any

import pytest
from pydantic import ValidationError
from sacrebleu.metrics.chrf import CHRF
from tests.scorers.cases import SCORERS, chat, score

from evalwright.scorers.chrf import chrf

TEXT = {"type": "chrf", "ground_truth": "{{ sample.text }}"}


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        pytest.param("The cat.", "The cat.", 1, id="the same"),
        pytest.param("", "", 1, id="both empty"),
        pytest.param("", "The cat.", 0, id="an empty answer"),
        pytest.param("The cat.", "", 0, id="against nothing"),
        pytest.param("xyz", "abc", 0, id="no match"),
        pytest.param("Cafe\u0301", "Caf\u00e9", 1, id="another form"),
        # Of each order that exists: 2 of 3 characters, 1 of 2 pairs, 0 of 1 triple.
        pytest.param("日本語", "日本国", (2 / 3 + 1 / 2 + 0) / 3, id="without spaces"),
        pytest.param("كتا", "كتب", (2 / 3 + 1 / 2 + 0) / 3, id="Arabic"),
    ],
)
def test_character_n_grams_are_compared(answer: str, target: str, value: float) -> None:
    found = score(TEXT, {"text": target}, chat(answer))

    assert found.values == {"chrf_score": pytest.approx(value)}
    assert found.correct is None
    assert bool(found.reason) is (value < 1)


@pytest.mark.parametrize("word_order", [0, 1, 2])
@pytest.mark.parametrize(
    ("answer", "target"),
    [
        pytest.param("The cat sat on a mat.", "The cat sits on the mat.", id="English"),
        pytest.param("Donaudampfschiff", "Donaudampfschifffahrt", id="compounds"),
        pytest.param("ذهب الولد إلى المدرسة", "ذهبت البنت إلى المدرسة", id="Arabic"),
        pytest.param("a", "abc", id="short"),
    ],
)
def test_it_is_sacrebleu_over_a_hundred(answer: str, target: str, word_order: int) -> None:
    reference = CHRF(word_order=word_order).sentence_score(answer, [target]).score / 100

    assert chrf(answer, target, word_order=word_order) == reference
    found = score({**TEXT, "word_order": word_order}, {"text": target}, chat(answer))
    assert found.values == {"chrf_score": reference}


@pytest.mark.parametrize("order", [-1, 3, "two"])
def test_another_word_order_is_refused(order: Any) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({**TEXT, "word_order": order})
