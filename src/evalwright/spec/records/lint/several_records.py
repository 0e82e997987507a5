"""Rules about several records: repeated questions, uneven answers and uneven lengths.

`duplicate_prompt`: a record has the same prompt as an earlier record.

Why:    the question counts twice in every mean, and confidence intervals treat the copies as two
        observations. If the targets also differ, one of the records is wrong.
Wrong:  if a question is repeated on purpose, to be scored by two metrics, and for questions about
        capital letters.

The rendered texts, including examples, are compared, ignoring case and whitespace.

`near_duplicate`: a record asks nearly the same question as another, with the same correct answer.

Why:    the question counts nearly twice, and a model that has seen one has seen the other.
Wrong:  for questions that are similar on purpose and whose answers happen to agree (one passage,
        two short questions, both `yes`), and for questions about punctuation.

Prompts are nearly the same if they have the same words without punctuation, or if at most one word
in twenty, and at most four words, differ and both records share a target. Numbers and symbols must
be equal: `17 + 24` and `17 + 25` are different. If the targets differ, the small difference is
probably essential, and nothing is reported.

Prompts are compared only if category, examples, numbers and symbols are equal. Both the whole text
and the part that is not from a template are compared. Three consecutive words that occur in more
than five prompts count as part of a template. Therefore, 5,000 reviews after the same long
instruction are compared by the reviews.

Rare triples also select the prompts to compare. A triple in five prompts results in ten pairs, so
the work grows linearly with the number of words.
Does not:   find more than five prompts that are all nearly the same, because they look like a
            template.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import erfc, exp, log, pi, sqrt
from statistics import median

from evalwright.spec.records.lint.corpus import PromptCorpus, WordTable, blocks, codes
from evalwright.spec.records.lint.findings import (
    Finding,
    LintedRecord,
    Places,
    Rule,
    explain_repeat,
)
from evalwright.stats.arrays import Booleans, Integers, np
from evalwright.text.prompt import find_options
from evalwright.vocabulary import LETTERS

_FEWEST_PROMPTS = 2
_FEWEST_ANSWERS = 20
_MOST_P = 0.001
_OFTEN, _SELDOM = 1.5, 0.5
_FEWEST_LETTERS = 2
_FEWEST_LENGTHS = 10
_FAR, _VERY_FAR = 8, 50
_MOST_Z = 6.0
_FAR_OFF_ONE_IN = 20
_ROUNDING = 1e-9
ONE_IN = 20
MOST_CHANGED = 4
MOST_OF_ONE_TEXT = 5
_SHARED_AT_LEAST = 0.7
"""Minimum share of common rare triples. A changed word breaks three of the 18 in 20 words."""
_PROMPT_BITS = 24
"""Bits of prompt numbers: there are fewer than 2^24 prompts with words."""
_HALF, _LOW = 32, 0xFFFFFFFF


class DuplicatePrompt(Rule):
    """Keeps no data; the corpus keeps a 64-bit number per text."""

    name = "duplicate_prompt"

    def __init__(self, places: Places) -> None:
        self._places = places

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Report the first record with the same text."""
        first, end = record.seen.same_text, explain_repeat(record)
        if first is None:
            first, end = record.seen.elsewhere, "in a different category; remove one"
        if first is not None:
            detail = f"the same prompt as {self._places.describe(first)}, {end}"
            yield Finding(record.number, self.name, "prompt", detail)


class NearDuplicate(Rule):
    """Keeps no data; the corpus keeps four bytes per word."""

    name = "near_duplicate"

    def __init__(self, places: Places, corpus: PromptCorpus) -> None:
        self._places = places
        self._corpus = corpus

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Report the first record with the same words, unless it is an exact duplicate."""
        first = record.seen.same_words
        if first is None or record.seen.same_text is not None:
            return
        detail = f"the same words as {self._places.describe(first)}, {explain_repeat(record)}"
        yield Finding(record.number, self.name, "prompt", detail)

    def end(self) -> Iterable[Finding]:
        """Report all but the first prompt of each group of near duplicates."""
        if len(self._corpus) < _FEWEST_PROMPTS:
            return
        neighbors: dict[int, set[int]] = {}
        similar = SimilarTexts(self._corpus, may_match=self._corpus.share_a_target)
        for first, second in similar.pairs():
            neighbors.setdefault(first, set()).add(second)
            neighbors.setdefault(second, set()).add(first)
        for prompt in all_but_the_first(neighbors):
            nearest = self._places.describe(self._corpus.first(min(neighbors[prompt])))
            detail = (
                f"nearly the same words as {nearest}, the same numbers and a target in common: "
                "the record counts twice; remove one, or make them differ"
            )
            yield Finding(self._corpus.first(prompt), self.name, "prompt", detail)


def all_but_the_first(neighbors: dict[int, set[int]]) -> Iterable[int]:
    """Yield all members of each connected group except the smallest."""
    seen: set[int] = set()
    for start in sorted(neighbors):
        if start in seen:
            continue
        seen.add(start)
        waiting = [start]
        while waiting:
            for neighbour in neighbors[waiting.pop()] - seen:
                seen.add(neighbour)
                waiting.append(neighbour)
                yield neighbour


class SimilarTexts:
    """Compares all texts of a table. It needs numpy, whose import takes 0.1 s.

    `may_match` says whether two texts should be compared at all.
    """

    def __init__(self, corpus: WordTable, *, may_match: Callable[[int, int], bool]) -> None:
        self._may_match = may_match
        self._words = np.frombuffer(corpus.words, np.uint32)
        self._starts = np.frombuffer(corpus.starts, np.uint64).astype(np.int64)
        self._kinds = np.frombuffer(corpus.kinds, np.uint64)
        self._templates: Integers = np.empty(0, np.uint64)
        self._own_words = lru_cache(maxsize=1024)(self._without_templates)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of texts that are nearly the same and may match, in order."""
        for first, second in self._candidates():
            if self._may_match(first, second) and self._are_near(first, second):
                yield first, second

    def _candidates(self) -> Iterator[tuple[int, int]]:
        triples = self._triples()
        prompts = (triples & np.uint64((1 << _PROMPT_BITS) - 1)).astype(np.uint32)
        triples >>= np.uint64(_PROMPT_BITS)
        begins = np.flatnonzero(_is_new(triples))
        sizes = np.diff(begins, append=len(triples))
        self._templates = triples[begins[sizes > MOST_OF_ONE_TEXT]]
        rare = np.repeat(sizes <= MOST_OF_ONE_TEXT, sizes)
        has = np.bincount(prompts[rare], minlength=len(self._kinds))
        pieces = []
        for size in range(2, MOST_OF_ONE_TEXT + 1):
            at = begins[sizes == size]
            for i, j in combinations(range(size), 2):
                first, second = prompts[at + i], prompts[at + j]  # sorted, so first < second
                alike = self._kinds[first] == self._kinds[second]
                pieces.append(first[alike].astype(np.int64) << _HALF | second[alike])
        pairs, shared = np.unique(np.concatenate(pieces), return_counts=True)
        first, second = pairs >> _HALF, pairs & _LOW
        are_similar = shared >= _SHARED_AT_LEAST * np.maximum(has[first], has[second])
        yield from zip(first[are_similar].tolist(), second[are_similar].tolist(), strict=True)

    def _triples(self) -> Integers:
        """Return all distinct triples of consecutive words with their prompts, sorted.

        The upper 40 bits represent the words, the lower 24 the prompt. Prompts that are too short
        to have near duplicates are excluded.
        """
        sizes = np.diff(self._starts)
        pieces: list[Integers] = [np.empty(0, np.uint64)]
        for begin, end in blocks(self._starts):
            inside = slice(*np.searchsorted(self._starts, (begin, end)))
            prompts = np.repeat(np.arange(len(sizes), dtype=np.uint64)[inside], sizes[inside])
            long_enough = np.repeat(sizes[inside] >= ONE_IN, sizes[inside])[2:]
            at = np.flatnonzero(long_enough & (prompts[:-2] == prompts[2:]))
            triples = _make_triples(self._words[begin:end])[at]
            pieces.append(triples << np.uint64(_PROMPT_BITS) | prompts[at])
        packed = np.concatenate(pieces)
        packed.sort()
        return packed[_is_new(packed)]

    def _are_near(self, first: int, second: int) -> bool:
        return all(
            _differ_little(words(first), words(second))
            for words in (self._all_words, self._own_words)
        )

    def _all_words(self, prompt: int) -> list[int]:
        words: list[int] = self._slice(prompt).tolist()
        return words

    def _without_templates(self, prompt: int) -> list[int]:
        """Return the words that are in a rare triple."""
        words = self._slice(prompt)
        triples = _make_triples(words)
        if not len(self._templates):
            return self._all_words(prompt)
        places = np.searchsorted(self._templates, triples).clip(max=len(self._templates) - 1)
        rare = self._templates[places] != triples
        own = np.zeros(len(words), bool)
        for shift in range(3):
            own[shift : shift + len(rare)] |= rare
        own_words: list[int] = words[own].tolist()
        return own_words

    def _slice(self, prompt: int) -> Integers:
        return self._words[self._starts[prompt] : self._starts[prompt + 1]]


def _is_new(values: Integers) -> Booleans:
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def _make_triples(words: Integers) -> Integers:
    return codes([words[:-2], words[1:-1], words[2:]]) >> np.uint64(_PROMPT_BITS)


def _differ_little(first: list[int], second: list[int]) -> bool:
    from rapidfuzz.distance.LCSseq import distance

    most = min(MOST_CHANGED, max(len(first), len(second)) // ONE_IN)
    return distance(first, second, score_cutoff=most) <= most


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
            if len(outliers) > max(1, len(lengths) // _FAR_OFF_ONE_IN):
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
