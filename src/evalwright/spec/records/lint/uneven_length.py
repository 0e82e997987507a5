"""`uneven_length`: a prompt is far longer or shorter than the others of its category.

Why:    a prompt of 40 times the usual length is often a document pasted in by mistake, one of a
        thirtieth a prompt that was cut; both cost money or points that no one planned.
Wrong:  when a category holds a few records of another kind (one long-context question among short
        ones). Where more than one record in twenty is far off, the category is mixed and all of it
        is left alone.

Far off is 50 times the median, or its fiftieth; or 8 times, when the robust z-score of the
logarithm of the length is above 6 as well: z = 0.6745 · (x - median) / MAD, with MAD the median
distance from the median. Iglewicz & Hoaglin (1993), How to Detect and Handle Outliers, take 3.5.
Categories of fewer than 10 records are left alone.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import log
from statistics import median

from evalwright.spec.records.lint.findings import Finding, Record

FEWEST_RECORDS = 10
FAR, VERY_FAR = 8, 50
MOST_Z = 6.0
ONE_IN = 20
_ROUNDING = 1e-9


class UnevenLength:
    """Twelve bytes a record."""

    name = "uneven_length"

    def __init__(self) -> None:
        self._records: dict[str, array[int]] = {}
        self._lengths: dict[str, array[int]] = {}

    def look(self, record: Record) -> Iterable[Finding]:
        """Measure one prompt."""
        category = record.task.category
        self._records.setdefault(category, array("Q")).append(record.number)
        self._lengths.setdefault(category, array("I")).append(len(record.task.prompt))
        return ()

    def end(self) -> Iterable[Finding]:
        """Name the outliers of each category."""
        for category, lengths in self._lengths.items():
            if len(lengths) < FEWEST_RECORDS:
                continue
            middle = median(lengths)
            outliers = list(_outliers(lengths))
            if len(outliers) > max(1, len(lengths) // ONE_IN):
                continue
            for index in outliers:
                size = lengths[index]
                detail = (
                    f"{size:,} characters, where the median of `{category}` is {middle:,.0f}: "
                    f"look whether something was {'pasted in' if size > middle else 'cut off'}"
                )
                yield Finding(self._records[category][index], self.name, "prompt", detail)


def _outliers(lengths: Sequence[int]) -> Iterator[int]:
    logs = [log(length) for length in lengths]
    middle = median(logs)
    spread = median(abs(value - middle) for value in logs)
    for index, value in enumerate(logs):
        distance = abs(value - middle) + _ROUNDING
        if distance >= log(VERY_FAR) or (
            distance >= log(FAR) and 0.6745 * distance > MOST_Z * spread
        ):
            yield index
