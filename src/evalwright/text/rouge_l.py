"""`rouge_l`: the longest run of words that prediction and target share, gaps allowed.

The only module that needs rapidfuzz, which takes some 20 ms to import: it does so when it scores.

Does not:   stem, or split a summary into sentences (that is ROUGE-Lsum).
"""

from collections.abc import Sequence

from evalwright.text.tokens import tokens


def score(prediction: str, targets: Sequence[str]) -> float:
    """LCS F-measure with beta = 1 against the best target.

    With a longest common subsequence of l words, c in the prediction and r in the target:
    precision P = l/c, recall R = l/r, and F = 2PR/(P + R) = 2l/(c + r). Both empty: 1; one
    empty: 0. Lin (2004), ROUGE, section 3.
    """
    # Lists of str only: to rapidfuzz, the string "a" and the number 97 are equal.
    from rapidfuzz.distance.LCSseq import similarity

    predicted = tokens(prediction)

    def measure(target: Sequence[str]) -> float:
        size = len(predicted) + len(target)
        return 2 * similarity(predicted, target) / size if size else 1.0

    return max(measure(tokens(target)) for target in targets)
