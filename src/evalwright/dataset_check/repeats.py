"""Rows, ids and texts that occur more than once, within a dataset and in two.

A row, an id and a text are remembered as a 64-bit hash, so that two different ones are taken for
equal with a chance of n²/2^65: about 1 in 10 million for a million rows. Near duplicates are those
of `evalwright lint`: the same words, ignoring case and punctuation; or, in texts of 20 words or
more, at most one word in twenty and four words that differ. Numbers and symbols must be equal.

Memory: 40 bytes per row. The words of up to 10 million words of long texts are compared; further
long texts are counted and compared only for equal words.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct

from evalwright.dataset_check.report import ProblemExample
from evalwright.spec.records.lint.corpus import MOST_WORDS, WordTable, digest
from evalwright.spec.records.lint.several_records import ONE_IN, SimilarTexts, all_but_the_first
from evalwright.spec.records.lint.words import split_words
from evalwright.stats.arrays import Integers, np

MOST_EXAMPLES = 5
_MASK = (1 << 64) - 1
_NOWHERE = -(1 << 62)


class Repeats(Struct, frozen=True):
    """How many items occurred before, and the first of them."""

    count: int = 0
    examples: Sequence[ProblemExample] = ()


class Pairs(NamedTuple):
    """Numbers of items, ascending, each with the number of the first equal item."""

    items: Integers
    equals: Integers


class HashColumn:
    """One hash per item, with the positions of the items."""

    def __init__(self) -> None:
        self.hashes = array("Q")
        self.positions = array("q")

    def add(self, value: object, position: int) -> None:
        """Add a hashable value."""
        self.hashes.append(hash(value) & _MASK)
        self.positions.append(position)

    def find_repeats(self) -> Pairs:
        """Find the items that equal an earlier one."""
        hashes = np.asarray(self.hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")  # equal hashes stay in file order
        in_order = hashes[order]
        again = np.flatnonzero(in_order[1:] == in_order[:-1]) + 1
        firsts = order[np.searchsorted(in_order, in_order[again])]
        by_item = np.argsort(order[again])
        return Pairs(order[again][by_item], firsts[by_item])

    def find_shared(self, other: "HashColumn") -> Pairs:
        """Find the items that are also in another column."""
        hashes, others = (np.asarray(each.hashes, np.uint64) for each in (self, other))
        if not len(others):
            return Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
        order = np.argsort(others, kind="stable")
        places = np.searchsorted(others, hashes, sorter=order).clip(max=len(others) - 1)
        items = np.flatnonzero(others[order[places]] == hashes)
        return Pairs(items, order[places[items]])

    def count_repeats(self) -> Repeats:
        """Count the items that equal an earlier one."""
        return self.describe(self.find_repeats(), self)

    def count_shared(self, other: "HashColumn") -> Repeats:
        """Count the items that are also in another column."""
        return self.describe(self.find_shared(other), other)

    def describe(self, pairs: Pairs, other: "HashColumn") -> Repeats:
        """Return the number of pairs, and the positions of the first."""
        examples = [
            ProblemExample(position=self.positions[item], other=other.positions[equal])
            for item, equal in zip(
                pairs.items[:MOST_EXAMPLES].tolist(),
                pairs.equals[:MOST_EXAMPLES].tolist(),
                strict=True,
            )
        ]
        return Repeats(len(pairs.items), examples)


class TextIndex:
    """The texts of one or two datasets."""

    def __init__(self, *, most_words: int = MOST_WORDS) -> None:
        self._table = WordTable(most_words)
        self._wordings: dict[int, int] = {}
        """Words, numbers and symbols of a long text → its number in the table."""
        self._first = (array("q"), array("q"))
        """Dataset → number in the table → position of the first row with this text."""
        self.texts = (HashColumn(), HashColumn())
        """Texts without case and repeated spaces."""
        self._words = (HashColumn(), HashColumn())
        """The words, numbers and symbols of the same texts."""
        self._rows = (array("Q"), array("Q"))
        """The numbers of their rows."""
        self._counts = [0, 0]

    def set_limit(self, most_words: int) -> None:
        """Set the number of words in long texts."""
        self._table.most_words = most_words

    @property
    def left_out(self) -> int:
        """Number of long texts of which only equal words were found."""
        return self._table.left_out

    def add(self, text: str, position: int, *, dataset: int = 0) -> None:
        """Add the text of a row to the first (0) or the second (1) dataset."""
        number = self._counts[dataset]
        self._counts[dataset] = number + 1
        plain = " ".join(text.casefold().split())
        if not plain:
            return
        self._rows[dataset].append(number)
        self.texts[dataset].add(plain, position)
        words = split_words(text)
        wording = (words.exact, b" ".join(words.all)) if words.all else plain
        self._words[dataset].add(wording, position)
        if len(words.all) >= ONE_IN:
            self._add_long(words.all, words.exact, position, dataset)

    def _add_long(self, words: Sequence[bytes], exact: bytes, position: int, dataset: int) -> None:
        table = self._table
        if len(table.words) + len(words) > table.most_words:
            table.left_out += 1
            return
        numbers = array("I", map(crc32, words))
        kind = digest(exact)
        wording = digest(b"%d " % kind + numbers.tobytes())
        place = self._wordings.setdefault(wording, len(self._wordings))
        if place == len(table.kinds):
            table.append(kind, numbers)
            for first in self._first:
                first.append(_NOWHERE)
        if self._first[dataset][place] == _NOWHERE:
            self._first[dataset][place] = position

    def duplicate_texts(self, rows: HashColumn) -> Repeats:
        """Find texts of the first dataset that equal an earlier one, in rows that do not."""
        texts = self.texts[0]
        repeats = texts.find_repeats()
        numbers = np.asarray(self._rows[0], np.int64)[repeats.items]
        is_new_row = ~np.isin(numbers, rows.find_repeats().items)
        pairs = Pairs(repeats.items[is_new_row], repeats.equals[is_new_row])
        return texts.describe(pairs, texts)

    def near_duplicates(self) -> Repeats:
        """Find texts of the first dataset that are nearly, but not quite, an earlier one."""
        texts, words = self.texts[0], self._words[0]
        same = words.describe(_without(words.find_repeats(), texts.find_repeats()), words)
        neighbors: dict[int, set[int]] = {}
        for first, second in self._similar(0, 0):
            neighbors.setdefault(first, set()).add(second)
            neighbors.setdefault(second, set()).add(first)
        own = self._first[0]
        near = [
            ProblemExample(position=own[text], other=own[min(neighbors[text])])
            for text in sorted(all_but_the_first(neighbors))
        ]
        return Repeats(same.count + len(near), [*same.examples, *near][:MOST_EXAMPLES])

    def exact_leaks(self) -> Repeats:
        """Find texts of the first dataset that are also in the second."""
        return self.texts[0].count_shared(self.texts[1])

    def near_leaks(self) -> Repeats:
        """Find texts of the first dataset that are nearly, but not quite, one of the second."""
        shared = _without(
            self._words[0].find_shared(self._words[1]), self.texts[0].find_shared(self.texts[1])
        )
        same = self._words[0].describe(shared, self._words[1])
        own, others = self._first
        near: dict[int, ProblemExample] = {}
        for first, second in self._similar(0, 1):
            if others[first] == _NOWHERE:  # else the second dataset has the text itself
                near.setdefault(first, ProblemExample(position=own[first], other=others[second]))
        examples = [near[text] for text in sorted(near)]
        return Repeats(same.count + len(near), [*same.examples, *examples][:MOST_EXAMPLES])

    def _similar(self, dataset: int, other: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of similar texts: the first in `dataset`, the second in `other`."""
        if len(self._table.kinds) < 2:  # noqa: PLR2004 - a pair
            return
        own, others = self._first[dataset], self._first[other]

        def is_pair(first: int, second: int) -> bool:
            return own[first] != _NOWHERE and others[second] != _NOWHERE

        similar = SimilarTexts(self._table, may_match=lambda a, b: is_pair(a, b) or is_pair(b, a))
        for first, second in similar.pairs():
            if is_pair(first, second):
                yield first, second
            if dataset != other and is_pair(second, first):
                yield second, first


def _without(pairs: Pairs, others: Pairs) -> Pairs:
    """Return the pairs whose item is not in the others."""
    is_left = ~np.isin(pairs.items, others.items)
    return Pairs(pairs.items[is_left], pairs.equals[is_left])
