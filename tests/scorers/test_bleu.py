import socket
import subprocess
import sys
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from tests.scorers.cases import chat, score

from evalwright.scorers.bleu import bleu

TARGET = {"type": "bleu", "ground_truth": "{{ sample.target }}"}
CAT = "The cat sat on the mat."


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        pytest.param(CAT, CAT, 1.0, id="the same text"),
        pytest.param("a", "a", 1.0, id="the same word"),
        pytest.param("", "", 1.0, id="the same nothing"),
        pytest.param("日本語", "日本語", 1.0, id="the same, without spaces"),
        pytest.param(f"  {CAT}\n", CAT, 1.0, id="the same words"),
        pytest.param("dogs run", CAT, 0.0, id="no word in common"),
        pytest.param("", CAT, 0.0, id="nothing"),
        pytest.param(CAT, "", 0.0, id="against nothing"),
        pytest.param("   ", CAT, 0.0, id="spaces"),
        pytest.param("日本語", "中国語", 0.0, id="a sentence without spaces is one word"),
    ],
)
def test_the_ends_of_the_scale(answer: str, target: str, value: float) -> None:
    found = score(TARGET, {"target": target}, chat(answer))

    assert found.values == {"bleu_score": value}
    assert bool(found.reason) is (value < 1)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # 7 tokens with the full stop; matches 6/7, 4/6, 2/5, 1/4; no brevity penalty.
        pytest.param(
            "The cat lay on the mat.", (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25, id="one word off"
        ),
        # 2 tokens, orders 1 and 2 exist; penalty exp(1 - 7/2).
        pytest.param("The cat", 2.718281828459045 ** (1 - 7 / 2), id="too short"),
        # Unigrams 2/2; the one bigram is missing and counts 1/2 of one: exponential smoothing.
        pytest.param("cat The", 2.718281828459045 ** (1 - 7 / 2) * 0.5**0.5, id="smoothed"),
    ],
)
def test_the_figure_is_the_one_that_a_hand_computes(answer: str, expected: float) -> None:
    assert bleu(answer, CAT) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        pytest.param("A quick brown fox.", "The quick brown fox jumps.", id="words"),
        pytest.param("Price: $3,000.50 &amp; more", "Price: $3,000.50 & less", id="13a tokens"),
        pytest.param("the the the the", "the cat", id="clipped counts"),
        pytest.param("Grüße aus Köln", "Grüße aus Bonn", id="umlauts"),
    ],
)
def test_it_is_sacrebleu_over_a_hundred(answer: str, target: str) -> None:
    reference = BLEU(tokenize="13a", smooth_method="exp", effective_order=True)

    assert bleu(answer, target) == reference.sentence_score(answer, [target]).score / 100


def test_case_counts() -> None:
    assert bleu("the cat", "The Cat") == 0


def test_a_value_may_be_given() -> None:
    fields = {**TARGET, "value": "{{ sample.guess }}"}

    assert score(fields, {"target": CAT, "guess": CAT}).values == {"bleu_score": 1.0}


def test_it_says_neither_right_nor_wrong() -> None:
    assert score(TARGET, {"target": CAT}, chat(CAT)).correct is None


def test_the_library_is_imported_when_it_is_needed_and_no_sooner() -> None:
    load = "from evalwright.registry import load_components; load_components('scorers')"
    code = f"import sys; {load}; sys.exit('sacrebleu' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_it_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it asked the network")

    monkeypatch.setattr(socket, "socket", refuse)

    assert 0 < bleu("a b c d", "a b c e") < 1
