"""Measure the perplexity of documents: connect the models, run the engine, build the report.

Nothing is stored as a run. A likelihood is kept in the cache, under the model, everything that
changes its answers, and the text. The same command, repeated after a kill or with another selection
of the same documents, computes only what the cache does not have.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from time import perf_counter

from msgspec import structs

from evalwright._version import __version__
from evalwright.datasets.texts import Split, Texts
from evalwright.engine.models.wrap import AdaptiveConcurrency
from evalwright.engine.redact import redact
from evalwright.engine.run import Resources
from evalwright.engine.stop import Stop
from evalwright.errors import UsageError
from evalwright.perplexity.corpus import Corpus
from evalwright.perplexity.report import PerplexityReport, PerplexitySummary
from evalwright.plan.model_names import canonical_names, check_names
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.ports import weighs
from evalwright.report.report import Status
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
from evalwright.session.progress import Progress
from evalwright.session.project_models import Keyless
from evalwright.session.redaction import make_redactor
from evalwright.solvers.likelihood import LikelihoodSolver
from evalwright.types import ModelOptions, Outcome, Sample

_TASK = "perplexity"
_CAPABLE_MODELS = "a model on this machine can: -m local/smollm2, or -m local/PATH.gguf"
_TOKENIZERS_NOTE = (
    "a perplexity is a token's, and models cut a text into different tokens: compare bits per byte"
)
_DIFFERENT_DOCUMENTS_NOTE = (
    "the models have not weighed the same documents: compare the differences, over those of both"
)


def measure_perplexity(
    paths: Sequence[str],
    models: str | Sequence[str],
    options: RunOptions,
    *,
    field: str | None = None,
    split: Split | None = None,
    progress: Progress,
) -> PerplexityReport:
    """Run every document through every model and report.

    Raise before the first call for whatever is wrong with models or files.
    """
    connections = _connect_models(models, options, progress.tell)
    texts = Texts(paths, field=field, split=split, limit=options.limit)
    counts = texts.check()
    corpus = Corpus(texts, counts.documents, list(connections))
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
            *caveat_notes({name: one.client for name, one in connections.items()}),
        ],
        seed=options.seed,
        version=__version__,
        rows=corpus.document_rows,
    )


def _notes(corpus: Corpus, stop: Stop, *, is_complete: bool, has_cache: bool) -> Iterator[str]:
    if not is_complete:
        resume = ", and the same command resumes it" if has_cache else ""
        yield f"stopped ({stop.reason}): the figures are of what was weighed until then{resume}"
        if stop.hint:
            yield stop.hint
    if len(corpus.models) > 1:
        yield _TOKENIZERS_NOTE
        if not corpus.has_shared_documents:
            yield _DIFFERENT_DOCUMENTS_NOTE


def _connect_models(
    models: str | Sequence[str], options: RunOptions, tell: Callable[[str], None]
) -> dict[str, Connection]:
    """Connect each model; refuse all that cannot weigh a text in one error, without their keys."""
    if not models:
        raise UsageError("no model was named", hint="-m local/smollm2, or -m local/PATH.gguf")
    names = canonical_names(models)
    check_names(names)
    keyless = ModelOptions(parameters=options.parameters, environment=Keyless(os.environ))
    connect = provider_connector(options, tell=tell)
    connections: dict[str, Connection] = {}
    refused = []
    for name in names:
        if not _is_local(name) and not weighs(connect_provider(name, keyless).client):
            refused.append(name)
            continue
        # No model looks at the sample, only at the text: every reply may be cached.
        connection = structs.replace(connect(name, None), by_sample=False)
        if weighs(connection.client):
            connections[name] = connection
        else:
            refused.append(name)
    if refused:
        raise UsageError("; ".join(map(_explain_refusal, refused)), hint=_CAPABLE_MODELS)
    return connections


def _is_local(name: str) -> bool:
    return name.partition("/")[0] in LOCAL_PROVIDERS


def _explain_refusal(name: str) -> str:
    if name.startswith("replay/"):
        return f"`{name}`: answers that were recorded say nothing of how likely another text is"
    if _is_local(name):
        return f"`{name}`: it does not say how likely a text is"
    return (
        f"`{name}`: perplexity needs the log-probabilities of a given text, and this API returns "
        "them only of what the model generates itself"
    )


def _run_jobs(
    corpus: Corpus,
    connections: Mapping[str, Connection],
    options: RunOptions,
    *,
    stop: Stop,
    progress: Progress,
) -> None:
    """Run every document through every model; outcomes are added to the corpus as they land."""
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
    """The concurrency option; else the slots of local models; else enough to probe a server."""
    slots = [slots_of(connection.client) or 0 for connection in connections.values()]
    return options.concurrency or (sum(slots) if all(slots) else AdaptiveConcurrency().most)


def _jobs(corpus: Corpus) -> Iterator[Job]:
    """Yield jobs document by document: an early stop leaves the models comparable."""
    for ordinal, document in enumerate(corpus.read_documents()):
        sample = Sample(corpus.locate(ordinal), document.text)
        for model in corpus.models:
            yield Job(task=_TASK, model=model, sample=sample, ordinal=ordinal)
