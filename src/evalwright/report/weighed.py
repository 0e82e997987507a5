"""What is kept of each document that was weighed, and the figures that are made of it.

A document is four numbers, and two more for each model: a million take 48 MB. Its text is gone as
soon as it was weighed.

    perplexity          exp(Σ nll / Σ tokens)
    bits a byte         Σ nll / Σ bytes / ln 2
    bits a character    Σ nll / Σ characters / ln 2

Sums first, divided once. The intervals are over documents: `stats.rates`.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from evalwright.datasets.texts import Document, Texts
from evalwright.report.export.rows import FailureCells
from evalwright.report.judges import Figure
from evalwright.report.perplexity import DocumentRow, ModelPerplexity
from evalwright.report.report import FailureRow, PairwiseRow
from evalwright.report.usage import Spent
from evalwright.stats.interval import Interval
from evalwright.stats.rates import rate_interval
from evalwright.stats.unit import Floats
from evalwright.types import Failure, Outcome

Places = NDArray[np.int64]

_WORST = 5
_SHOWN_PLACES = 5
ONE = "one document: nothing to resample"
ALIKE = "every document has the same value: they show no spread"
NONE = "no document was weighed"
IMPOSSIBLE = "a token has probability 0, so this is infinite"
TOO_LARGE = "larger than a number can be"


class Weighed:
    """What one model made of each document; by the document's place in the order."""

    def __init__(self, total: int) -> None:
        self.nll = array("d", [math.nan]) * total
        self.tokens = array("q", [0]) * total
        self.failures: dict[int, Failure] = {}
        self.reused = 0
        self.spent = Spent()

    def add(self, outcome: Outcome) -> None:
        """One more is done."""
        if outcome.trace is not None:
            self.spent.add(outcome.trace.usage)
        for usage in outcome.others.values():  # what failed took, too
            self.spent.add(usage)
        if outcome.failure is not None:
            self.failures[outcome.ordinal] = outcome.failure
        elif outcome.trace is not None and outcome.trace.nll is not None:
            self.nll[outcome.ordinal] = outcome.trace.nll
            self.tokens[outcome.ordinal] = outcome.trace.nll_tokens
            self.reused += not outcome.trace.usage.requests


class Corpus:
    """Where each document is, how long it is, and what each model made of it."""

    def __init__(self, texts: Texts, total: int, models: Sequence[str]) -> None:
        self._texts = texts
        self._files, self._lines = array("q", [0]) * total, array("q", [0]) * total
        self._characters, self._bytes = array("q", [0]) * total, array("q", [0]) * total
        self.models = {name: Weighed(total) for name in models}
        self.total = total

    def place(self, ordinal: int) -> str:
        """Where a document is, for people."""
        return self._texts.place(self._files[ordinal], self._lines[ordinal])

    @property
    def is_shared(self) -> bool:
        """Whether all models have weighed the same documents."""
        there = [np.isnan(_numbers(one.nll)) for one in self.models.values()]
        return all(np.array_equal(there[0], one) for one in there[1:])

    def begin(self, ordinal: int, document: Document) -> None:
        """Note a document before its text goes on."""
        self._files[ordinal], self._lines[ordinal] = document.file, document.line
        self._characters[ordinal] = len(document.text)
        self._bytes[ordinal] = len(document.text.encode())

    def rows(self) -> Iterator[DocumentRow]:
        """One for each document and model that is done."""
        for ordinal in range(self.total):
            for name, weighed in self.models.items():
                if not math.isnan(weighed.nll[ordinal]) or ordinal in weighed.failures:
                    yield self._row(name, ordinal)

    def model(self, name: str, *, seed: int) -> ModelPerplexity:
        """The figures of one model."""
        weighed = self.models[name]
        nll, there = self._nll(name)
        tokens, characters, size = (
            _numbers(one)[there] for one in (weighed.tokens, self._characters, self._bytes)
        )
        total = math.fsum(nll)
        return ModelPerplexity(
            model=name,
            perplexity=_figure(nll, tokens, power=True, seed=seed),
            bits_per_byte=_figure(nll, size, seed=seed),
            bits_per_character=_figure(nll, characters, seed=seed),
            nll=total if len(nll) and math.isfinite(total) else None,
            tokens=int(tokens.sum()),
            characters=int(characters.sum()),
            bytes=int(size.sum()),
            documents=len(nll),
            failed=len(weighed.failures),
            reused=weighed.reused,
            usage=weighed.spent.row(),
            worst=[self._row(name, one) for one in self._worst(nll, tokens, there)],
        )

    def pairwise(self, *, seed: int) -> list[PairwiseRow]:
        """Each two models, over the documents that both have weighed."""
        return [self._pair(a, b, seed=seed) for a, b in combinations(self.models, 2)]

    def failures(self) -> Iterator[FailureRow]:
        """Kind by kind, in the words of the first of them."""
        for name, weighed in self.models.items():
            kinds: dict[tuple[str, str], list[int]] = {}
            for ordinal, one in sorted(weighed.failures.items()):
                kinds.setdefault((one.stage, one.type), []).append(ordinal)
            for (stage, kind), places in sorted(kinds.items()):
                first = weighed.failures[places[0]]
                yield FailureRow(
                    model=name,
                    stage=stage,
                    type=kind,
                    message=first.message,
                    hint=first.hint,
                    count=len(places),
                    sample_ids=[self.place(one) for one in islice(places, _SHOWN_PLACES)],
                    messages=len({weighed.failures[one].message for one in places}),
                )

    def _nll(self, name: str) -> tuple[Floats, Places]:
        every = _numbers(self.models[name].nll)
        there = np.flatnonzero(~np.isnan(every))
        return every[there], there

    def _worst(self, nll: Floats, tokens: Floats, there: Places) -> list[int]:
        order = np.argsort(-nll / tokens, kind="stable")[:_WORST]
        return [int(there[one]) for one in order]

    def _pair(self, a: str, b: str, *, seed: int) -> PairwiseRow:
        first, second = _numbers(self.models[a].nll), _numbers(self.models[b].nll)
        there = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
        with np.errstate(invalid="ignore"):  # a text that is impossible to both
            apart = (first[there] - second[there]) / math.log(2)
        size = _numbers(self._bytes)[there]
        known = len(there) and np.isfinite(apart).all()
        found = rate_interval(apart, size, seed=seed)
        return PairwiseRow(
            a=a,
            b=b,
            difference=math.fsum(apart) / float(size.sum()) if known else None,
            ci_low=found.low if found else None,
            ci_high=found.high if found else None,
            significant=found is not None and (found.low > 0 or found.high < 0),
            n=len(there),
        )

    def _row(self, name: str, ordinal: int) -> DocumentRow:
        weighed = self.models[name]
        broken = weighed.failures.get(ordinal)
        nll, tokens, size = weighed.nll[ordinal], weighed.tokens[ordinal], self._bytes[ordinal]
        return DocumentRow(
            document=self.place(ordinal),
            model=name,
            nll=None if broken else _finite(nll),
            tokens=None if broken else tokens,
            characters=self._characters[ordinal],
            bytes=size,
            perplexity=None if broken else _exp(nll / tokens),
            bits_per_byte=None if broken else _finite(nll / size / math.log(2)),
            failure=FailureCells(broken.stage, broken.type, broken.message, broken.hint)
            if broken
            else None,
        )


def _numbers(values: "array[float] | array[int]") -> Floats:
    return np.array(values, dtype=np.float64)


def _figure(nll: Floats, sizes: Floats, *, power: bool = False, seed: int) -> Figure:
    """Nats over sizes as bits each, or as exp of nats each; no end lies below certainty."""
    n = len(nll)
    if not n:
        return Figure(value=None, n=0, reason=NONE)
    rate = math.fsum(nll) / float(sizes.sum())
    value = _exp(rate) if power else _finite(rate / math.log(2))
    if value is None:
        return Figure(value=None, n=n, reason=TOO_LARGE if math.isfinite(rate) else IMPOSSIBLE)
    found = rate_interval(nll, sizes, seed=seed)
    if found is None:
        return Figure(value=value, n=n, reason=ONE if n == 1 else ALIKE)
    low, high = _ends(found, power=power)
    return Figure(value=value, ci_low=low, ci_high=high, interval=found.method, n=n)


def _ends(found: Interval, *, power: bool) -> tuple[float | None, float | None]:
    """Both are functions that grow, so the ends of the rate are their ends."""
    low, high = max(0.0, found.low), found.high
    return (_exp(low), _exp(high)) if power else (low / math.log(2), high / math.log(2))


def _exp(rate: float) -> float | None:
    try:
        return _finite(math.exp(rate))
    except OverflowError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
