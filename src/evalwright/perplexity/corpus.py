"""The size of every document and its likelihood under every model, and the metrics made from them.

A document takes four numbers, and two more per model: a million documents take 48 MB. Its text is
dropped as soon as every model has read it.

    perplexity            exp(Σ nll / Σ tokens)
    bits per byte         Σ nll / Σ bytes / ln 2
    bits per character    Σ nll / Σ characters / ln 2

Sums first, divided once. Intervals are over documents: `stats.rates`.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from evalwright.datasets.texts import Document, Texts
from evalwright.perplexity.report import DocumentRow, ModelPerplexity
from evalwright.report.export import failure_cells
from evalwright.report.judges import Figure
from evalwright.report.report import FailureRow, PairwiseRow
from evalwright.report.usage import UsageTotal
from evalwright.stats.arrays import Floats
from evalwright.stats.rates import rate_interval
from evalwright.types import Failure, Outcome

Ordinals = NDArray[np.int64]

_WORST = 5
_SHOWN_LOCATIONS = 5
_ONE_DOCUMENT = "one document: nothing to resample"
_NO_SPREAD = "every document has the same value: they show no spread"
_NO_DOCUMENT = "no document was weighed"
_IMPOSSIBLE = "a token has probability 0, so this is infinite"
_TOO_LARGE = "larger than a number can be"


class ModelLikelihoods:
    """The negative log-likelihood and token count of each document under one model, by ordinal."""

    def __init__(self, total: int) -> None:
        self.nll = array("d", [math.nan]) * total
        self.tokens = array("q", [0]) * total
        self.failures: dict[int, Failure] = {}
        self.reused = 0
        self.spent = UsageTotal()

    def add_outcome(self, outcome: Outcome) -> None:
        """Add what became of one document."""
        if outcome.trace is not None:
            self.spent.add(outcome.trace.usage)
        for usage in outcome.others.values():  # of calls that failed
            self.spent.add(usage)
        if outcome.failure is not None:
            self.failures[outcome.ordinal] = outcome.failure
        elif outcome.trace is not None and outcome.trace.nll is not None:
            self.nll[outcome.ordinal] = outcome.trace.nll
            self.tokens[outcome.ordinal] = outcome.trace.nll_tokens
            self.reused += not outcome.trace.usage.requests


class Corpus:
    """The documents: where they are, how long they are, and their likelihood under each model."""

    def __init__(self, texts: Texts, total: int, models: Sequence[str]) -> None:
        self._texts = texts
        self._files, self._lines = array("q", [0]) * total, array("q", [0]) * total
        self._characters, self._bytes = array("q", [0]) * total, array("q", [0]) * total
        self.models = {name: ModelLikelihoods(total) for name in models}
        self.total = total

    def locate(self, ordinal: int) -> str:
        """Return the file and line of a document."""
        return self._texts.place(self._files[ordinal], self._lines[ordinal])

    @property
    def has_shared_documents(self) -> bool:
        """Whether all models have read the same documents."""
        missing = [np.isnan(_to_floats(model.nll)) for model in self.models.values()]
        return all(np.array_equal(missing[0], other) for other in missing[1:])

    def read_documents(self) -> Iterator[Document]:
        """Yield every document; note its location and size on the way."""
        for ordinal, document in enumerate(self._texts.documents()):
            self._files[ordinal], self._lines[ordinal] = document.file, document.line
            self._characters[ordinal] = len(document.text)
            self._bytes[ordinal] = len(document.text.encode())
            yield document

    def document_rows(self) -> Iterator[DocumentRow]:
        """Yield one row per finished document and model."""
        for ordinal in range(self.total):
            for name, model in self.models.items():
                if not math.isnan(model.nll[ordinal]) or ordinal in model.failures:
                    yield self._document_row(name, ordinal)

    def summarize_model(self, name: str, *, seed: int) -> ModelPerplexity:
        """Return the totals and metrics of one model."""
        model = self.models[name]
        every = _to_floats(model.nll)
        known = np.flatnonzero(~np.isnan(every))
        nll = every[known]
        tokens, characters, size = (
            _to_floats(values)[known] for values in (model.tokens, self._characters, self._bytes)
        )
        total = math.fsum(nll)
        return ModelPerplexity(
            model=name,
            perplexity=_estimate(nll, tokens, is_perplexity=True, seed=seed),
            bits_per_byte=_estimate(nll, size, seed=seed),
            bits_per_character=_estimate(nll, characters, seed=seed),
            nll=total if len(nll) and math.isfinite(total) else None,
            tokens=int(tokens.sum()),
            characters=int(characters.sum()),
            bytes=int(size.sum()),
            documents=len(nll),
            failed=len(model.failures),
            reused=model.reused,
            usage=model.spent.row(),
            worst=[self._document_row(name, ordinal) for ordinal in _worst(nll, tokens, known)],
        )

    def compare_models(self, *, seed: int) -> list[PairwiseRow]:
        """Return the paired difference of each two models."""
        return [self._compare(a, b, seed=seed) for a, b in combinations(self.models, 2)]

    def group_failures(self) -> Iterator[FailureRow]:
        """Yield one row per model and kind of failure, with the first message."""
        for name, model in self.models.items():
            kinds: dict[tuple[str, str], list[int]] = {}
            for ordinal, failure in sorted(model.failures.items()):
                kinds.setdefault((failure.stage, failure.type), []).append(ordinal)
            for (stage, kind), ordinals in sorted(kinds.items()):
                first = model.failures[ordinals[0]]
                yield FailureRow(
                    model=name,
                    stage=stage,
                    type=kind,
                    message=first.message,
                    hint=first.hint,
                    count=len(ordinals),
                    sample_ids=[self.locate(one) for one in islice(ordinals, _SHOWN_LOCATIONS)],
                    messages=len({model.failures[one].message for one in ordinals}),
                )

    def _compare(self, a: str, b: str, *, seed: int) -> PairwiseRow:
        """Compare two models in bits per byte, on the documents that both have read."""
        first, second = _to_floats(self.models[a].nll), _to_floats(self.models[b].nll)
        known = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
        with np.errstate(invalid="ignore"):  # a text that is impossible to both
            differences = (first[known] - second[known]) / math.log(2)
        size = _to_floats(self._bytes)[known]
        is_defined = len(known) and np.isfinite(differences).all()
        interval = rate_interval(differences, size, seed=seed)
        return PairwiseRow(
            a=a,
            b=b,
            difference=math.fsum(differences) / float(size.sum()) if is_defined else None,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            significant=interval is not None and (interval.low > 0 or interval.high < 0),
            n=len(known),
        )

    def _document_row(self, name: str, ordinal: int) -> DocumentRow:
        model = self.models[name]
        failure = model.failures.get(ordinal)
        nll, tokens, size = model.nll[ordinal], model.tokens[ordinal], self._bytes[ordinal]
        return DocumentRow(
            document=self.locate(ordinal),
            model=name,
            nll=None if failure else _finite(nll),
            tokens=None if failure else tokens,
            characters=self._characters[ordinal],
            bytes=size,
            perplexity=None if failure else _exp(nll / tokens),
            bits_per_byte=None if failure else _finite(nll / size / math.log(2)),
            failure=failure_cells(failure),
        )


def _worst(nll: Floats, tokens: Floats, ordinals: Ordinals) -> list[int]:
    """Return the ordinals of the documents with the highest perplexity."""
    order = np.argsort(-nll / tokens, kind="stable")[:_WORST]
    return [int(ordinals[place]) for place in order]


def _to_floats(values: "array[float] | array[int]") -> Floats:
    return np.array(values, dtype=np.float64)


def _estimate(nll: Floats, sizes: Floats, *, is_perplexity: bool = False, seed: int) -> Figure:
    """Return Σ nll / Σ sizes with its interval: in bits, or as exp for a perplexity.

    Both grow with the rate, so the ends of the rate's interval give theirs. No end lies below that
    of a certain text: 1 for a perplexity, 0 bits.
    """
    n = len(nll)
    if not n:
        return Figure(value=None, n=0, reason=_NO_DOCUMENT)
    convert = _exp if is_perplexity else _bits
    rate = math.fsum(nll) / float(sizes.sum())
    value = convert(rate)
    if value is None:
        return Figure(value=None, n=n, reason=_TOO_LARGE if math.isfinite(rate) else _IMPOSSIBLE)
    interval = rate_interval(nll, sizes, seed=seed)
    if interval is None:
        return Figure(value=value, n=n, reason=_ONE_DOCUMENT if n == 1 else _NO_SPREAD)
    low, high = convert(max(0.0, interval.low)), convert(interval.high)
    return Figure(value=value, ci_low=low, ci_high=high, interval=interval.method, n=n)


def _exp(rate: float) -> float | None:
    try:
        return _finite(math.exp(rate))
    except OverflowError:
        return None


def _bits(rate: float) -> float | None:
    return _finite(rate / math.log(2))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
