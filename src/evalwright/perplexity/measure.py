"""Measure the perplexity of documents: connect the models, run the engine, build the report.

    perplexity            exp(Σ nll / Σ tokens)
    bits per byte         Σ nll / Σ bytes / ln 2
    bits per character    Σ nll / Σ characters / ln 2

Sums over all documents are divided once. Intervals are over documents (`stats.rates`). Each
document takes four numbers, and two more per model, so a million documents take 48 MB. A text is
dropped as soon as every model has scored it.

Results are not stored as a run. Likelihoods are stored in the cache under a key of the text, the
model and everything that changes its answers. If the command is repeated, after a kill or with a
different selection of the same documents, only likelihoods that are not in the cache are computed.
"""

import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
from msgspec import structs

from evalwright._version import __version__
from evalwright.datasets.texts import Document, Texts
from evalwright.engine.models.wrap import AdaptiveConcurrency
from evalwright.engine.redact import make_redactor, redact
from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.errors import NoInput, UsageError
from evalwright.nearest import suggest
from evalwright.perplexity.report import (
    DocumentRow,
    ModelPerplexity,
    PerplexityReport,
    PerplexitySummary,
)
from evalwright.plan.model_names import canonical_names, check_names
from evalwright.plan.options import RunOptions, parse_options
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.ports import weighs
from evalwright.report.export import summarize_failure
from evalwright.report.judges import Figure
from evalwright.report.report import FailureRow, PairwiseRow, Status
from evalwright.report.result_rows import UsageTotal
from evalwright.session.drive import drive_jobs
from evalwright.session.models import (
    LOCAL_PROVIDERS,
    Connection,
    caveat_notes,
    connect_provider,
    provider_connector,
    share_limits,
    slots_of,
    wrap_models,
)
from evalwright.session.progress import Progress, SilentProgress
from evalwright.session.project_models import Keyless
from evalwright.solvers.likelihood import LikelihoodSolver
from evalwright.stats.arrays import Floats
from evalwright.stats.rates import rate_interval
from evalwright.types import Failure, ModelOptions, Outcome, Sample

_OPTIONS = (
    *("limit", "concurrency", "parameters", "cache", "seed", "retries", "max_failures"),
    *("requests_per_minute", "tokens_per_minute", "max_cost", "max_tokens_total", "prices"),
)
"""The fields of `RunOptions` that apply here."""
_TASK = "perplexity"
_WORST = 5
_SHOWN_LOCATIONS = 5
_ONE_DOCUMENT = "there is only one document"
_NO_SPREAD = "all documents have the same value"
_NO_DOCUMENT = "no document was scored"
_IMPOSSIBLE = "infinite, because a token has probability 0"
_TOO_LARGE = "too large to represent"
_CAPABLE_MODELS = "use a local model: -m local/smollm2, or -m local/PATH.gguf"
_TOKENIZERS_NOTE = (
    "perplexity is per token, and models split text into different tokens: compare bits per byte"
)
_DIFFERENT_DOCUMENTS_NOTE = (
    "the models did not score the same documents: "
    "compare the differences, which cover only shared documents"
)


class ModelLikelihoods:
    """The negative log-likelihood and token count of each document under one model, by ordinal."""

    def __init__(self, total: int) -> None:
        self.nll = array("d", [math.nan]) * total
        self.tokens = array("q", [0]) * total
        self.failures: dict[int, Failure] = {}
        self.reused = 0
        self.spent = UsageTotal()

    def add_outcome(self, outcome: Outcome) -> None:
        """Add the outcome of a document."""
        if outcome.trace is not None:
            self.spent.add(outcome.trace.usage)
        for usage in outcome.others.values():  # usage of failed calls
            self.spent.add(usage)
        if outcome.failure is not None:
            self.failures[outcome.ordinal] = outcome.failure
        elif outcome.trace is not None and outcome.trace.nll is not None:
            self.nll[outcome.ordinal] = outcome.trace.nll
            self.tokens[outcome.ordinal] = outcome.trace.nll_tokens
            self.reused += not outcome.trace.usage.requests


class TextCorpus:
    """The locations and lengths of the documents, and their likelihoods under each model."""

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
        """Whether all models have scored the same documents."""
        missing = [np.isnan(_to_floats(model.nll)) for model in self.models.values()]
        return all(np.array_equal(missing[0], other) for other in missing[1:])

    def read_documents(self) -> Iterator[Document]:
        """Yield every document and store its location and size."""
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
        worst = np.argsort(-nll / tokens, kind="stable")[:_WORST]
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
            worst=[self._document_row(name, int(known[place])) for place in worst],
        )

    def compare_models(self, *, seed: int) -> list[PairwiseRow]:
        """Return the paired difference for each pair of models."""
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
                    sample_ids=[self.locate(ordinal) for ordinal in ordinals[:_SHOWN_LOCATIONS]],
                    messages=len({model.failures[ordinal].message for ordinal in ordinals}),
                )

    def _compare(self, a: str, b: str, *, seed: int) -> PairwiseRow:
        first, second = _to_floats(self.models[a].nll), _to_floats(self.models[b].nll)
        known = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
        with np.errstate(invalid="ignore"):  # a text with probability 0 under both models
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
            failure=summarize_failure(failure),
        )


def _to_floats(values: "array[float] | array[int]") -> Floats:
    return np.array(values, dtype=np.float64)


def _estimate(nll: Floats, sizes: Floats, *, is_perplexity: bool = False, seed: int) -> Figure:
    """Return Σ nll / Σ sizes with an interval, in bits or, for a perplexity, as exp.

    Both increase with the rate, so their intervals follow from the interval of the rate. Lower ends
    are limited to the value of a text with probability 1: a perplexity of 1, or 0 bits.
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


def perplexity(
    path: str | Path | Sequence[str | Path],
    models: str | Sequence[str] = (),
    *,
    field: str | None = None,
    split: Literal["paragraphs", "lines"] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> PerplexityReport:
    """Measure how well each model predicts each document.

    A `.jsonl` file has one document per line, in the field named by `field` (default: `text`). Any
    other file is one document, or several if `split` is given. The options are the fields of
    `evalwright.plan.options.RunOptions` that do not concern tasks or runs: `limit`, `concurrency`,
    `parameters`, `seed`, `cache` and so on. Unless `cache` is false, likelihoods are cached and
    never computed again. Invalid files, models or options raise an exception before the first call.
    """
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(f"`perplexity` has no option `{name}`", hint=suggest(name, _OPTIONS))
    if split not in {None, "paragraphs", "lines"}:
        raise UsageError(f"`split`: expected `paragraphs` or `lines`, got `{split}`")
    run_options = parse_options({"cache": True, **options})
    progress = progress or SilentProgress()
    connections = _connect_models(models, run_options, progress.tell)
    paths = [path] if isinstance(path, str | Path) else path
    texts = Texts(map(str, paths), field=field, split=split, limit=run_options.limit)
    return _measure(texts, connections, run_options, progress)


def _measure(
    texts: Texts, connections: Mapping[str, Connection], options: RunOptions, progress: Progress
) -> PerplexityReport:
    """Score every document with every model; errors in files are raised before the first call."""
    counts = texts.check()
    corpus = TextCorpus(texts, counts.documents, list(connections))
    stop = Stop(
        most_failures=options.max_failures,
        total=counts.documents * len(connections),
        tell=progress.tell,
    )
    started = perf_counter()
    _run_jobs(corpus, connections, options, stop=stop, progress=progress)
    seconds = perf_counter() - started
    rows = [corpus.summarize_model(name, seed=options.seed) for name in corpus.models]
    failed = sum(model.failed for model in rows)
    done = sum(model.documents for model in rows) + failed
    is_complete = done == corpus.total * len(connections)
    status: Status = "finished_with_failures" if failed else "finished"
    return PerplexityReport(
        status=status if is_complete else "stopped",
        files=[texts.place(number, 0) for number in range(len(texts.paths))],
        models=rows,
        pairwise=corpus.compare_models(seed=options.seed),
        failures=list(corpus.group_failures()),
        summary=PerplexitySummary(
            documents=corpus.total,
            left_out=counts.left_out,
            completed=sum(model.documents for model in rows),
            reused=sum(model.reused for model in rows),
            failed=failed,
            wall_seconds=seconds,
        ),
        notes=[
            *_notes(corpus, stop, is_complete=is_complete, has_cache=options.cache),
            *caveat_notes({name: connection.client for name, connection in connections.items()}),
        ],
        seed=options.seed,
        version=__version__,
        rows=corpus.document_rows,
    )


def _notes(corpus: TextCorpus, stop: Stop, *, is_complete: bool, has_cache: bool) -> Iterator[str]:
    if not is_complete:
        resume = "; repeat the command to resume" if has_cache else ""
        yield f"stopped ({stop.reason}): the results cover the documents scored so far{resume}"
        if stop.hint:
            yield stop.hint
    if len(corpus.models) > 1:
        yield _TOKENIZERS_NOTE
        if not corpus.has_shared_documents:
            yield _DIFFERENT_DOCUMENTS_NOTE


def _connect_models(
    models: str | Sequence[str], options: RunOptions, tell: Callable[[str], None]
) -> dict[str, Connection]:
    """Connect each model; raise one error for all models that cannot score text."""
    if not models:
        raise NoInput("no model was specified", hint="-m local/smollm2, or -m local/PATH.gguf")
    names = canonical_names(models)
    check_names(names)
    keyless = ModelOptions(parameters=options.parameters, environment=Keyless(os.environ))
    connect = provider_connector(options, tell=tell)
    connections: dict[str, Connection] = {}
    for name in names:
        if _is_local(name) or weighs(connect_provider(name, keyless).client):
            # Models receive only the text, not the sample, so every reply may be cached.
            connection = structs.replace(connect(name, None), by_sample=False)
            if weighs(connection.client):
                connections[name] = connection
    refused = [name for name in names if name not in connections]
    if refused:
        raise UsageError("; ".join(map(_explain_refusal, refused)), hint=_CAPABLE_MODELS)
    return connections


def _is_local(name: str) -> bool:
    return name.partition("/")[0] in LOCAL_PROVIDERS


def _explain_refusal(name: str) -> str:
    if name.startswith("replay/"):
        return f"`{name}`: recorded answers contain no likelihoods of other text"
    if _is_local(name):
        return f"`{name}`: it does not return likelihoods"
    return (
        f"`{name}`: perplexity needs the log-probabilities of given text, and this API returns "
        "them only for text that it generates"
    )


def _run_jobs(
    corpus: TextCorpus,
    connections: Mapping[str, Connection],
    options: RunOptions,
    *,
    stop: Stop,
    progress: Progress,
) -> None:
    """Score every document with every model, and add the outcomes to the corpus."""
    redactor = make_redactor()
    total = corpus.total * len(connections)

    def add_outcomes(outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            clean = redact(outcome, redactor)
            corpus.models[outcome.model].add_outcome(clean)

    with ExitStack() as exit_stack:
        shared = share_limits(options, exit_stack, redactor=redactor, command=_TASK)
        resources = Resources(
            models=wrap_models(connections, options, shared),
            tasks={_TASK: TaskRuntime(solver=LikelihoodSolver())},
        )
        workers = min(_worker_count(connections, options), total)
        progress.begin(total, 0, shared.counters, noun="documents")
        drive_jobs(
            _jobs(corpus), resources, add_outcomes, workers=workers, stop=stop, progress=progress
        )


def _worker_count(connections: Mapping[str, Connection], options: RunOptions) -> int:
    """Return the concurrency option, or a default that depends on the models."""
    slots = [slots_of(connection.client) or 0 for connection in connections.values()]
    return options.concurrency or (sum(slots) if all(slots) else AdaptiveConcurrency().most)


def _jobs(corpus: TextCorpus) -> Iterator[Job]:
    """Yield jobs document by document, so that models remain comparable after an early stop."""
    for ordinal, document in enumerate(corpus.read_documents()):
        sample = Sample(corpus.locate(ordinal), document.text)
        for model in corpus.models:
            yield Job(task=_TASK, model=model, sample=sample, ordinal=ordinal)
