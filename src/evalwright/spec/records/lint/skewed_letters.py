"""`skewed_letters`: the right letters of the multiple-choice records are far from evenly spread.

Why:    a model that always says the favourite letter beats chance without reading a question, and
        a model with a taste for some letter is scored on that taste.
Wrong:  when the order of the options has a meaning (numbers in ascending order, `yes` before `no`)
        and cannot be shuffled.

Said once for the file, when there are at least 20 such records, some letter is right at least 1.5
times or at most half as often as an even spread would have it, and a spread this uneven has a
chance below 0.001. Records whose options were not found do not count.
"""

from collections import Counter
from collections.abc import Iterable
from math import erfc, exp, pi, sqrt

from evalwright.spec.records.lint.findings import Finding, Record
from evalwright.text.prompt import find_options
from evalwright.vocabulary import LETTERS

FEWEST_RECORDS = 20
MOST_P = 0.001
OFTEN, SELDOM = 1.5, 0.5
_FEWEST_LETTERS = 2


class SkewedLetters:
    """Counts; nothing else is kept."""

    name = "skewed_letters"

    def __init__(self) -> None:
        self._first: int | None = None
        self._right: Counter[str] = Counter()
        self._even: Counter[str] = Counter()
        """For k options, 1/k of a record to each letter; in 60ths, so that sums are exact."""

    def look(self, record: Record) -> Iterable[Finding]:
        """Count one record."""
        if record.task.category != "mcq":
            return ()
        offered = [option.letter for option in find_options(record.task.prompt)]
        offered = [letter for letter in offered if letter in LETTERS]
        target = record.task.targets[0]
        if target in offered and len(offered) >= _FEWEST_LETTERS:
            if self._first is None:
                self._first = record.number
            self._right[target] += 1
            for letter in offered:
                self._even[letter] += 60 // len(offered)
        return ()

    def end(self) -> Iterable[Finding]:
        """Test the counts."""
        records = self._right.total()
        if self._first is None or records < FEWEST_RECORDS:
            return
        even = {letter: self._even[letter] / 60 for letter in sorted(self._even)}
        ratios = [self._right[letter] / expected for letter, expected in even.items()]
        if min(ratios) > SELDOM and max(ratios) < OFTEN:
            return
        statistic = sum((self._right[letter] - e) ** 2 / e for letter, e in even.items())
        if chi_square_tail(statistic, len(even) - 1) >= MOST_P:
            return
        counts = ", ".join(f"{letter} {self._right[letter]}" for letter in even)
        favourite, most = self._right.most_common(1)[0]
        detail = (
            f"of {records} answers {counts}: always saying {favourite} scores {most / records:.0%} "
            f"where an even spread gives {even[favourite] / records:.0%}; shuffle the options"
        )
        yield Finding(self._first, self.name, "targets", detail, of_file=True)


def chi_square_tail(x: float, df: int) -> float:
    """Return the chance that chi-square with `df` degrees of freedom exceeds x.

    df even: e^(-x/2) · Σ (x/2)^r / r!                        r = 0 … df/2 - 1
    df odd:  erfc(√(x/2)) + √(2/π) e^(-x/2) · Σ x^(r-½) / (1·3·5…(2r-1))    r = 1 … (df-1)/2

    Abramowitz & Stegun (1964), 26.4.4 and 26.4.5: finite sums, so no series has to converge.
    """
    if df % 2:
        term, total = sqrt(x), 0.0
        for r in range(1, (df - 1) // 2 + 1):
            total += term
            term *= x / (2 * r + 1)
        return erfc(sqrt(x / 2)) + sqrt(2 / pi) * exp(-x / 2) * total
    term, total = 1.0, 0.0
    for r in range(df // 2):
        total += term
        term *= x / 2 / (r + 1)
    return exp(-x / 2) * total
