"""Rules about the distribution of answers and lengths in a whole file.

`skewed_letters`: the correct letters of the multiple-choice records are far from evenly
distributed.

Why:    a model that always answers the most frequent letter beats chance without reading the
        questions, and a model's preference for a letter affects its score.
Wrong:  if the order of the options has a meaning (numbers in ascending order, `yes` before `no`)
        and cannot be shuffled.

Reported once per file if there are at least 20 such records, a letter is correct at least 1.5 times
or at most half as often as in a uniform distribution, and the probability of such an uneven
distribution is below 0.001. Records whose options were not found do not count.

`uneven_length`: a prompt is much longer or shorter than others in its category.

Why:    a prompt with 40 times the usual length is often a document that was pasted by mistake, and
        a prompt with a thirtieth of it may have been cut off. Both cost money or points
        unintentionally.
Wrong:  if a category contains a few records of a different kind (one long-context question among
        short ones). If more than one record in twenty is far off, the category is mixed, and it is
        skipped.

A length is far off if it differs from the median by a factor of 50, or by a factor of 8 if the
robust z-score of its logarithm is also above 6: z = 0.6745 · (x - median) / MAD, where MAD is the
median distance from the median. Iglewicz & Hoaglin (1993), How to Detect and Handle Outliers, use
3.5. Categories with fewer than 10 records are skipped.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import erfc, exp, log, pi, sqrt
from statistics import median

from evalwright.spec.records.lint.findings import Finding, LintedRecord, Rule
from evalwright.text.prompt import find_options
from evalwright.vocabulary import LETTERS

_FEWEST_ANSWERS = 20
_MOST_P = 0.001
_OFTEN, _SELDOM = 1.5, 0.5
_FEWEST_LETTERS = 2
_FEWEST_LENGTHS = 10
_FAR, _VERY_FAR = 8, 50
_MOST_Z = 6.0
_ONE_IN = 20
_ROUNDING = 1e-9


class SkewedLetters(Rule):
    """Keeps only counts."""

    name = "skewed_letters"

    def __init__(self) -> None:
        self._first: int | None = None
        self._right: Counter[str] = Counter()
        self._even: Counter[str] = Counter()
        """Expected counts: 1/k of a record per letter for k options, in 60ths, so that sums are
        exact."""

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Count a record."""
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
        if self._first is None or records < _FEWEST_ANSWERS:
            return
        expected_counts = {letter: self._even[letter] / 60 for letter in sorted(self._even)}
        ratios = [self._right[letter] / expected for letter, expected in expected_counts.items()]
        if min(ratios) > _SELDOM and max(ratios) < _OFTEN:
            return
        statistic = sum((self._right[letter] - e) ** 2 / e for letter, e in expected_counts.items())
        if chi_square_tail(statistic, len(expected_counts) - 1) >= _MOST_P:
            return
        counts = ", ".join(f"{letter} {self._right[letter]}" for letter in expected_counts)
        favorite, most_frequent = self._right.most_common(1)[0]
        detail = (
            f"of {records} answers {counts}: always answering {favorite} scores "
            f"{most_frequent / records:.0%} "
            f"where an even distribution gives {expected_counts[favorite] / records:.0%}; "
            "shuffle the options"
        )
        yield Finding(self._first, self.name, "targets", detail, of_file=True)


def chi_square_tail(x: float, df: int) -> float:
    """Return the probability that a chi-square variable with `df` degrees of freedom exceeds x.

    df even: e^(-x/2) · Σ (x/2)^r / r!                        r = 0 … df/2 - 1
    df odd:  erfc(√(x/2)) + √(2/π) e^(-x/2) · Σ x^(r-½) / (1·3·5…(2r-1))    r = 1 … (df-1)/2

    Abramowitz & Stegun (1964), 26.4.4 and 26.4.5. Both sums are finite.
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


class UnevenLength(Rule):
    """Keeps twelve bytes per record."""

    name = "uneven_length"

    def __init__(self) -> None:
        self._records: dict[str, array[int]] = {}
        self._lengths: dict[str, array[int]] = {}

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Measure a prompt."""
        category = record.task.category
        self._records.setdefault(category, array("Q")).append(record.number)
        self._lengths.setdefault(category, array("I")).append(len(record.task.prompt))
        return ()

    def end(self) -> Iterable[Finding]:
        """Report the outliers of each category."""
        for category, lengths in self._lengths.items():
            if len(lengths) < _FEWEST_LENGTHS:
                continue
            middle = median(lengths)
            outliers = list(_outliers(lengths))
            if len(outliers) > max(1, len(lengths) // _ONE_IN):
                continue
            for index in outliers:
                size = lengths[index]
                detail = (
                    f"{size:,} characters, where the median of `{category}` is {middle:,.0f}: "
                    f"check whether something was {'pasted in' if size > middle else 'cut off'}"
                )
                yield Finding(self._records[category][index], self.name, "prompt", detail)


def _outliers(lengths: Sequence[int]) -> Iterator[int]:
    logs = [log(length) for length in lengths]
    middle = median(logs)
    spread = median(abs(value - middle) for value in logs)
    for index, value in enumerate(logs):
        distance = abs(value - middle) + _ROUNDING
        if distance >= log(_VERY_FAR) or (
            distance >= log(_FAR) and 0.6745 * distance > _MOST_Z * spread
        ):
            yield index
