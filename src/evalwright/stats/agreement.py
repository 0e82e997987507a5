"""How often runs say the same of one sample."""

from collections import Counter
from collections.abc import Hashable, Sequence


def score_agreement(values: Sequence[Hashable]) -> float:
    """Return the share of runs that give the most common value.

        max over v of #{i : x_i = v}  /  n

    1 where all runs agree, 1/n where no two do. It is not corrected for chance: of two values at
    random it is above a half by itself, for few runs far above. Of 5 fair coins the mean is 0.69.
    The proportion in the modal category: Freeman (1965), Elementary Applied Statistics, chapter 4.
    """
    if not values:
        raise ValueError("expected at least 1 value, got none")
    return max(Counter(values).values()) / len(values)
