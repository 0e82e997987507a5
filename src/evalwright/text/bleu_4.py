"""`bleu_4`: how many of the prediction's n-grams, of one to four words, the target has too.

Does not:   punish short wrong answers. Add-one smoothing gives an order that has no n-grams the
            value (0 + 1)/(0 + 1) = 1, so one wrong word against one word scores
            (1/2 · 1 · 1 · 1)^¼ = 0.84, and two against two (1/3 · 1/2 · 1 · 1)^¼ = 0.64. Where
            answers are that short, `f1` is the metric.
            Nor is it the BLEU of a corpus, of nltk or of sacrebleu: they smooth and tokenize in
            other ways, so a figure of theirs is not comparable with one made here.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import exp

from evalwright.text.tokens import tokens

_ORDERS = (1, 2, 3, 4)


def score(prediction: str, targets: Sequence[str]) -> float:
    """Sentence BLEU with add-one smoothing against the best target.

    BP · (p₁ · p₂ · p₃ · p₄)^¼  with  pₙ = (clipped matches + 1) / (n-grams of the prediction + 1)

    BP is exp(1 - r/c) when the prediction's c words are fewer than the target's r, else 1. An empty
    prediction scores 0, whatever the target; an empty target matches nothing and has no BP.
    Papineni et al. (2002), ACL, with the smoothing of Lin & Och (2004), COLING, on every order.
    """
    predicted = tokens(prediction)
    counts = [Counter(_ngrams(predicted, n)) for n in _ORDERS]
    return max(_bleu(len(predicted), counts, tokens(target)) for target in targets)


def _bleu(length: int, counts: Sequence[Counter[Hashable]], target: Sequence[str]) -> float:
    if not length:
        return 0.0
    matched = possible = 1
    for n, count in zip(_ORDERS, counts, strict=True):
        total = max(0, length - n + 1)
        matched *= 1 + _matches(count, total, _ngrams(target, n))
        possible *= 1 + total
    brevity = min(1.0, exp(1 - len(target) / length))
    precision: float = (matched / possible) ** (1 / len(_ORDERS))
    return brevity * precision


def _matches(count: Counter[Hashable], total: int, wanted: Iterable[Hashable]) -> int:
    """Count the n-grams that are wanted, each as often as it occurs on both sides."""
    if len(count) == total:  # none occurs twice, so neither does a match
        return len(count.keys() & wanted)
    shared = Counter(filter(count.__contains__, wanted))
    return sum(map(min, shared.values(), map(count.__getitem__, shared)))


def _ngrams(words: Sequence[str], n: int) -> Iterable[Hashable]:
    return words if n == 1 else zip(*(words[start:] for start in range(n)), strict=False)
