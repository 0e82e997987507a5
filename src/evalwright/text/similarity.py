r"""Compare a prediction with targets: `exact_match`, `f1`, `bleu_4`, `rouge_l`.

`accuracy` is `exact_match` under the name commonly used for classification.

The last three use the same tokens: runs of Unicode `\w` characters, in lowercase.

    "Don't stop, 3.5x!"  →  don  t  stop  3  5x

Does not:   segment scripts that are written without spaces (a Chinese sentence is one token),
            normalize Unicode (é as one code point differs from é as two), or join tokens that `\w`
            splits (emoji are not tokens, and a combining mark, such as an Arabic vowel or a
            Devanagari vowel sign, ends a token). `exact_match` does not fold case, width or Unicode
            forms: `Paris` differs from `paris`. Use the post-process rule `lower`.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import exp

_WORDS = re.compile(r"\w+")

_ASCII = "".join(chr(code).lower() if _WORDS.match(chr(code)) else " " for code in range(128))
"""Maps an ASCII code to its lowercase character if `\\w` matches it, otherwise to a space."""


def tokens(text: str) -> list[str]:
    """Return the lowercase words of a text, in order."""
    if text.isascii():  # the same result, three times as fast
        return text.translate(_ASCII).split()
    return _WORDS.findall(text.lower())


def exact_match(prediction: str, targets: Sequence[str]) -> float:
    """Return 1.0 if the stripped prediction equals any stripped target, else 0.0."""
    answer = prediction.strip()
    return max(float(answer == target.strip()) for target in targets)


def contains_target(answer: str, targets: Iterable[str]) -> bool:
    """Whether the answer contains a target as whole words, ignoring case."""
    folded = answer.casefold()
    for target in targets:
        words = target.strip().casefold()
        if words and words in folded:
            # `5` does not match in `15`, `-5` or `5.0`.
            pattern = rf"(?<![\w-])(?<!\w[.,]){re.escape(words)}(?![.,]?\w)"
            if re.search(pattern, folded):
                return True
    return False


def f1(prediction: str, targets: Sequence[str]) -> float:
    """Return the F1 score of the token multisets, against the best target.

    With o shared words, c words in the prediction and r words in the target: precision P = o/c,
    recall R = o/r, and F1 = 2PR/(P + R) = 2o/(c + r). If neither string has a word, the score is 1
    if the stripped strings are equal, else 0. If only one has no word, it is 0.
    """
    predicted = Counter(tokens(prediction))

    def measure(target: str) -> float:
        wanted = Counter(tokens(target))
        size = predicted.total() + wanted.total()
        if not size:
            return exact_match(prediction, [target])
        return 2 * (predicted & wanted).total() / size

    return max(map(measure, targets))


_ORDERS = (1, 2, 3, 4)


def bleu_4(prediction: str, targets: Sequence[str]) -> float:
    """Return sentence BLEU with add-one smoothing, against the best target.

    BP · (p₁ · p₂ · p₃ · p₄)^¼  with  pₙ = (clipped matches + 1) / (n-grams of the prediction + 1)

    BP is exp(1 - r/c) if the prediction has fewer words (c) than the target (r), else 1. An empty
    prediction scores 0 for any target. With an empty target, nothing matches and BP is 1. Papineni
    et al. (2002), ACL, with the smoothing of Lin & Och (2004), COLING, for every order.

    Short wrong answers score high: with smoothing, an order without n-grams has the value (0 +
    1)/(0 + 1) = 1, so one wrong word against one word scores (1/2 · 1 · 1 · 1)^¼ = 0.84, and two
    against two (1/3 · 1/2 · 1 · 1)^¼ = 0.64. Use `f1` for short answers. Corpus BLEU and the BLEU
    of nltk and sacrebleu use different smoothing and tokens.
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
        matched *= 1 + _count_matches(count, total, _ngrams(target, n))
        possible *= 1 + total
    brevity = min(1.0, exp(1 - len(target) / length))
    precision: float = (matched / possible) ** (1 / len(_ORDERS))
    return brevity * precision


def _count_matches(count: Counter[Hashable], total: int, wanted: Iterable[Hashable]) -> int:
    """Count the n-grams that both sides share, each as often as it occurs on both sides."""
    if len(count) == total:  # no n-gram occurs twice, so no match does
        return len(count.keys() & wanted)
    shared = Counter(filter(count.__contains__, wanted))
    return sum(map(min, shared.values(), map(count.__getitem__, shared)))


def _ngrams(words: Sequence[str], n: int) -> Iterable[Hashable]:
    return words if n == 1 else zip(*(words[start:] for start in range(n)), strict=False)


def rouge_l(prediction: str, targets: Sequence[str]) -> float:
    """Return the LCS F-measure with beta = 1, against the best target.

    With a longest common subsequence of l words, c words in the prediction and r words in the
    target: precision P = l/c, recall R = l/r, and F = 2PR/(P + R) = 2l/(c + r). If neither string
    has a word, the score is 1 if the stripped strings are equal, else 0. If only one has no word,
    it is 0. Words are not stemmed, and texts are not split into sentences (as in ROUGE-Lsum). Lin
    (2004), ROUGE, section 3.
    """
    # Only lists of str: rapidfuzz treats the string "a" and the number 97 as equal.
    from rapidfuzz.distance.LCSseq import similarity

    predicted = tokens(prediction)

    def measure(target: str) -> float:
        wanted = tokens(target)
        size = len(predicted) + len(wanted)
        if not size:
            return exact_match(prediction, [target])
        return 2 * similarity(predicted, wanted) / size

    return max(map(measure, targets))
