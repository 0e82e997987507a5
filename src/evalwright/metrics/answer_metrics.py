"""The metrics for task records, as functions: `ew.metrics.f1("a b", ["a c"])`.

A metric takes one prediction and its targets and returns a float in [0, 1]; the name of the
function is the `metric_name` of a record. The functions do not post-process the prediction. Call
`ew.post_process` first, or `ew.score_answer` to score a whole record.

Empty values and values of the wrong type raise an exception. So does a string instead of a list of
targets, because each of its characters would count as a target.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from evalwright.stats.pass_at_k import pass_at_k
from evalwright.text import similarity

__all__ = [
    "accuracy",
    "bleu_4",
    "corpus_bleu",
    "exact_match",
    "f1",
    "pass_at_k",
    "rouge_l",
]

_ORDERS = (1, 2, 3, 4)


def exact_match(prediction: str, targets: Sequence[str]) -> float:
    r"""Return 1 if the prediction equals any target, ignoring surrounding whitespace, else 0.

    >>> ew.metrics.exact_match(" 41\n", ["41", "forty-one"])
    1.0
    >>> ew.metrics.exact_match("Paris", ["paris"])
    0.0
    """
    check_pair(prediction, targets)
    return similarity.exact_match(prediction, targets)


def accuracy(prediction: str, targets: Sequence[str]) -> float:
    """Return the `exact_match` score, under the name commonly used for classification.

    >>> ew.metrics.accuracy("positive", ["positive"])
    1.0
    """
    return exact_match(prediction, targets)


def f1(prediction: str, targets: Sequence[str]) -> float:
    """Return the F1 score of the words, against the best target.

    Words are lowercase runs of letters, digits and underscores, and count as often as they occur.
    If neither string contains a word, the score is 1 if they are equal, ignoring
    surrounding whitespace, and 0 otherwise.

    >>> round(ew.metrics.f1("the cat sat", ["a cat sat down", "dogs"]), 3)
    0.571
    """
    check_pair(prediction, targets)
    return similarity.f1(prediction, targets)


def bleu_4(prediction: str, targets: Sequence[str]) -> float:
    """Return the sentence BLEU of 1- to 4-grams with add-one smoothing, against the best target.

    A prediction of fewer than four words scores high even if it is wrong. Use `f1` for short
    answers.

    >>> ew.metrics.bleu_4("the bridge is closed", ["the bridge is closed"])
    1.0
    >>> round(ew.metrics.bleu_4("the bridge is open", ["the bridge is closed"]), 3)
    0.669
    """
    check_pair(prediction, targets)
    return similarity.bleu_4(prediction, targets)


def rouge_l(prediction: str, targets: Sequence[str]) -> float:
    """Return the F-measure of the longest common subsequence of words, against the best target.

    If neither string contains a word, the score is 1 if they are equal, ignoring
    surrounding whitespace, and 0 otherwise.

    >>> round(ew.metrics.rouge_l("the old bridge is closed", ["the bridge was closed"]), 3)
    0.667
    """
    check_pair(prediction, targets)
    return similarity.rouge_l(prediction, targets)


def corpus_bleu(
    predictions: Sequence[str],
    targets: Sequence[Sequence[str]],
    *,
    smoothing: Literal["none", "add_one"] = "none",
) -> float:
    """Return the BLEU of a whole corpus: one list of targets per prediction.

        BP · (p₁ · p₂ · p₃ · p₄)^¼  with  pₙ = Σ clipped matches / Σ n-grams of the predictions

    The counts of all predictions are summed before they are divided, so the result differs from the
    mean of `bleu_4`. An n-gram counts at most as often as it occurs in the target that contains it
    most often. BP is exp(1 - r/c) if the predictions have c words and the targets closest in length
    have r > c words; otherwise BP is 1. Without smoothing, the result is 0 if no four consecutive
    words match. `add_one` adds 1 to both sums for every n, as `bleu_4` does. Words are split as in
    `f1`.
    Papineni et al. (2002), ACL.

    >>> predictions = ["the cat sat on the mat", "it rained all day long"]
    >>> targets = [["the cat sat on a mat"], ["it rained all day", "rain fell all day"]]
    >>> round(ew.metrics.corpus_bleu(predictions, targets), 3)
    0.594
    """
    if not len(predictions):
        raise ValueError("expected at least 1 prediction, got none: `predictions` is empty")
    if len(predictions) != len(targets):
        raise ValueError(
            f"expected one list of targets per prediction, got {len(targets)} and "
            f"{len(predictions)}"
        )
    if smoothing not in {"none", "add_one"}:
        raise ValueError(f"expected `none` or `add_one` as smoothing, got `{smoothing}`")
    matches, totals = dict.fromkeys(_ORDERS, 0), dict.fromkeys(_ORDERS, 0)
    length = reference_length = 0
    for index, (prediction, own_targets) in enumerate(zip(predictions, targets, strict=True)):
        check_pair(prediction, own_targets, place=f"[{index}]")
        words = similarity.tokens(prediction)
        references = [similarity.tokens(target) for target in own_targets]
        length += len(words)
        reference_length += min(map(len, references), key=lambda n: (abs(n - len(words)), n))
        for order in _ORDERS:
            counts = _count_ngrams(words, order)
            most: Counter[tuple[str, ...]] = Counter()
            for reference in references:
                most |= _count_ngrams(reference, order)
            matches[order] += (counts & most).total()
            totals[order] += counts.total()
    extra = 1 if smoothing == "add_one" else 0
    matched = math.prod(count + extra for count in matches.values())
    if not length or not matched:
        return 0.0
    brevity = min(1.0, math.exp(1 - reference_length / length))
    possible = math.prod(count + extra for count in totals.values())
    precision: float = (matched / possible) ** (1 / len(_ORDERS))
    return brevity * precision


def _count_ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def check_pair(prediction: str, targets: Sequence[str], *, place: str = "") -> None:
    """Raise for an empty value or a wrong type; `place` is the index in a list, such as `[3]`."""
    if not isinstance(prediction, str):
        raise TypeError(f"expected a string, got {prediction!r} - at `prediction{place}`")
    if isinstance(targets, str):
        raise TypeError(f"expected a list of targets, got one string: write [{targets[:40]!r}]")
    if not len(targets):
        raise ValueError(f"expected at least 1 target, got none: `targets{place}` is empty")
    for index, target in enumerate(targets):
        if not isinstance(target, str):
            raise TypeError(f"expected a string, got {target!r} - at `targets{place}[{index}]`")
