from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

import evalwright as ew
from evalwright.text.similarity import tokens

TEXT_METRICS: list[Callable[[Any, Any], float]] = [
    ew.metrics.exact_match,
    ew.metrics.accuracy,
    ew.metrics.f1,
    ew.metrics.bleu_4,
    ew.metrics.rouge_l,
]
METRICS = [*TEXT_METRICS, ew.metrics.code_exec]
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=9).map(" ".join)


@pytest.mark.parametrize("metric", TEXT_METRICS)
def test_the_best_target_counts(metric: Callable[[Any, Any], float]) -> None:
    assert metric("one two three four", ["five", "one two three four"]) == 1
    assert metric("six", ["one two three four five"]) < 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_no_targets_are_a_clear_error(metric: Callable[[Any, Any], float]) -> None:
    with pytest.raises(ValueError, match="at least 1 target, got none: `targets` is empty"):
        metric("a", [])


@pytest.mark.parametrize("metric", METRICS)
def test_a_text_is_no_list_of_targets(metric: Callable[[Any, Any], float]) -> None:
    with pytest.raises(
        TypeError, match=r"expected a list of targets, got one string: write \['a b'"
    ):
        metric("a", "a b")


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_no_text_is_named(metric: Callable[[Any, Any], float]) -> None:
    with pytest.raises(TypeError, match="expected a string, got 4 - at `prediction`"):
        metric(4, ["4"])
    with pytest.raises(TypeError, match=r"expected a string, got None - at `targets\[1\]`"):
        metric("4", ["4", None])


def test_a_program_scores_the_share_of_targets_that_it_passes() -> None:
    program = "def double(x): return 2 * x"

    assert ew.metrics.code_exec(program, ["double(2) == 4", "double(2) == 5"]) == 0.5
    assert ew.metrics.code_exec("def", ["True"]) == 0


CORPUS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=5)


@settings(derandomize=True, deadline=None)
@given(CORPUS)
def test_corpus_bleu_is_that_of_sacrebleu(corpus: list[tuple[str, list[str]]]) -> None:
    predictions = [" ".join(tokens(prediction)) for prediction, _ in corpus]
    targets = [[" ".join(tokens(target)) for target in own] for _, own in corpus]
    most = max(map(len, targets))
    streams = [[own[min(n, len(own) - 1)] for own in targets] for n in range(most)]
    bleu = BLEU(tokenize="none", smooth_method="none", force=True)

    expected = bleu.corpus_score(predictions, streams).score / 100

    assert ew.metrics.corpus_bleu(predictions, targets) == pytest.approx(expected, abs=1e-9)


@settings(derandomize=True, deadline=None)
@given(WORDS, WORDS)
def test_smoothed_bleu_of_one_pair_is_that_of_records(prediction: str, target: str) -> None:
    smoothed = ew.metrics.corpus_bleu([prediction], [[target]], smoothing="add_one")

    assert smoothed == pytest.approx(ew.metrics.bleu_4(prediction, [target]))


@pytest.mark.parametrize(
    ("predictions", "targets", "message"),
    [
        pytest.param([], [], "`predictions` is empty", id="nothing"),
        pytest.param(["a"], [], "one list of targets per prediction, got 0 and 1", id="lengths"),
        pytest.param(["a", "b"], [["a"], []], r"`targets\[1\]` is empty", id="no target"),
    ],
)
def test_what_is_missing_in_a_corpus_is_named(
    predictions: list[str], targets: list[list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ew.metrics.corpus_bleu(predictions, targets)


def test_an_unknown_smoothing_is_refused() -> None:
    with pytest.raises(ValueError, match="expected `none` or `add_one` as smoothing, got `exp`"):
        ew.metrics.corpus_bleu(["a"], [["a"]], smoothing="exp")  # type: ignore[arg-type]


def test_the_package_shows_its_functions_only() -> None:
    assert dir(ew.metrics) == sorted(ew.metrics.__all__)
    with pytest.raises(AttributeError, match=r"'evalwright.metrics' has no attribute 'nope'"):
        _ = ew.metrics.nope
