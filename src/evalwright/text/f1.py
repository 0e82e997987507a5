"""`f1`: how many words prediction and target share, each counted as often as it occurs.

Does not:   look at the order of the words.
"""

from collections import Counter
from collections.abc import Sequence

from evalwright.text.tokens import tokens


def score(prediction: str, targets: Sequence[str]) -> float:
    """Token multiset F1 against the best target.

    With o words shared, c in the prediction and r in the target: precision P = o/c, recall
    R = o/r, and F1 = 2PR/(P + R) = 2o/(c + r). Both empty: 1; one empty: 0.
    """
    predicted = Counter(tokens(prediction))
    return max(_f1(predicted, Counter(tokens(target))) for target in targets)


def _f1(predicted: Counter[str], target: Counter[str]) -> float:
    size = predicted.total() + target.total()
    return 2 * (predicted & target).total() / size if size else 1.0
