"""Documents through models, as a run would ask them: bounded workers, limits, cache, Ctrl-C.

Nothing is stored as a run. What a model made of a document is kept in the cache, under the model,
all that changes its answers, and the text: a command that was killed, given again, weighs only
what was in flight, and so does another selection of the same documents.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING

from evalwright._version import __version__
from evalwright.api.assembly import (
    HERE,
    Limits,
    canonical,
    connect,
    equipped,
    notes_on,
    shared_by,
    slots_of,
)
from evalwright.api.discretion import redactor_here
from evalwright.api.loops import complete
from evalwright.api.options import RunOptions, Watch
from evalwright.api.run import check_names
from evalwright.datasets.texts import Split, Texts
from evalwright.errors import UsageError
from evalwright.plan.plan import Job
from evalwright.ports import weighs
from evalwright.report.perplexity import PerplexityReport, PerplexitySummary
from evalwright.report.report import Status
from evalwright.types import Sample

if TYPE_CHECKING:
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.ports import Model
    from evalwright.report.weighed import Corpus
    from evalwright.types import Outcome

_TASK = "perplexity"
_HERE = "a model on this machine can: -m local/smollm2, or -m local/PATH.gguf"
_TOKENIZERS = (
    "a perplexity is a token's, and models cut a text into different tokens: compare bits per byte"
)
_APART = (
    "the models have not weighed the same documents: compare the differences, over those of both"
)


class Weighing:
    """Some models that can weigh, and how they are to be asked."""

    def __init__(self, models: str | Sequence[str], options: RunOptions, *, watch: Watch) -> None:
        """Raise for a model that cannot, before anything is read."""
        if not models:
            raise UsageError("no model was named", hint="-m local/smollm2, or -m local/PATH.gguf")
        self._options, self._watch = options, watch
        names = canonical(models)
        check_names(names)
        self._clients = _connected(names, options, watch.tell)
        self._redactor = redactor_here()

    def report(
        self, paths: Sequence[str], *, field: str | None, split: Split | None
    ) -> PerplexityReport:
        """Check all files, weigh every document, and report."""
        from evalwright.engine.stop import Stop
        from evalwright.report.weighed import Corpus

        texts = Texts(paths, field=field, split=split, limit=self._options.limit)
        counted = texts.check()
        corpus = Corpus(texts, counted.documents, list(self._clients))
        stop = Stop(
            most_failures=self._options.max_failures,
            total=counted.documents * len(self._clients),
            tell=self._watch.tell,
        )
        started = perf_counter()
        with ExitStack() as ending:
            self._weigh(texts, corpus, stop, ending)
        return self._reported(corpus, texts, stop, counted.left_out, perf_counter() - started)

    def _weigh(self, texts: Texts, corpus: "Corpus", stop: "Stop", ending: ExitStack) -> None:
        from evalwright.engine.clean import cleaned
        from evalwright.engine.journal import Journal
        from evalwright.engine.run import run as run_engine

        shared = shared_by(self._options, ending, redactor=self._redactor, command=_TASK)
        crew = self._crew(shared)
        total = corpus.total * len(self._clients)

        def fold(outcomes: "Sequence[Outcome]") -> None:
            for one in outcomes:
                kept = cleaned(one, self._redactor) if self._redactor else one
                corpus.models[one.model].add(kept)

        async def work() -> None:
            journal = Journal(fold, committed=self._watch.committed)
            jobs = _jobs(texts, corpus)
            with stop.on_ctrl_c():
                try:
                    await run_engine(
                        jobs, crew, journal, workers=min(self._workers, total), stop=stop
                    )
                finally:
                    for model in crew.models.values():
                        await model.close()

        self._watch.begin(total, 0, shared.counters, noun="documents")
        try:
            complete(work())
        finally:
            self._watch.end(interrupted=stop.interrupted)

    def _crew(self, shared: "Shared") -> "Crew":
        from evalwright.engine.run import Crew, Team
        from evalwright.solvers.weighing import WeighingSolver

        crew = Crew(models=self._clients, teams={_TASK: Team(solver=WeighingSolver())})
        # A text is weighed by itself: no model looks at the sample, so every one may be cached.
        here = {name: name.partition("/")[0] in HERE for name in self._clients}
        limits = {name: Limits(remote=not local) for name, local in here.items()}
        return equipped(crew, self._options, shared, limits=limits)

    @property
    def _workers(self) -> int:
        """As many as asked for; where all is computed here, no more than are computed at once."""
        from evalwright.engine.models.stack import Adaptive

        slots = [slots_of(client) or 0 for client in self._clients.values()]
        return self._options.concurrency or (sum(slots) if all(slots) else Adaptive().most)

    def _reported(
        self, corpus: "Corpus", texts: Texts, stop: "Stop", left_out: int, seconds: float
    ) -> PerplexityReport:
        models = [corpus.model(name, seed=self._options.seed) for name in corpus.models]
        failed = sum(one.failed for one in models)
        whole: Status = "finished_with_failures" if failed else "finished"
        done = sum(one.documents + one.failed for one in models) == corpus.total * len(models)
        return PerplexityReport(
            status=whole if done else "stopped",
            files=[texts.place(number, 0) for number in range(len(texts.paths))],
            models=models,
            pairwise=corpus.pairwise(seed=self._options.seed),
            failures=list(corpus.failures()),
            summary=PerplexitySummary(
                documents=corpus.total,
                left_out=left_out,
                completed=sum(one.documents for one in models),
                reused=sum(one.reused for one in models),
                failed=failed,
                wall_seconds=seconds,
            ),
            notes=[*self._notes(corpus, stop, done=done)],
            seed=self._options.seed,
            version=__version__,
            rows=corpus.rows,
        )

    def _notes(self, corpus: "Corpus", stop: "Stop", *, done: bool) -> Iterator[str]:
        if not done:
            on = ", and the same command goes on" if self._options.cache else ""
            yield f"stopped ({stop.reason}): the figures are of what was weighed until then{on}"
            if stop.hint:
                yield stop.hint
        if len(self._clients) > 1:
            yield _TOKENIZERS
            if not corpus.is_shared:
                yield _APART
        yield from notes_on(self._clients)


def _connected(
    names: Sequence[str], options: RunOptions, tell: Callable[[str], None]
) -> "dict[str, Model]":
    """The client of each; all that cannot weigh in one error, and for that no key is needed."""
    from evalwright.api.connections import Keyless
    from evalwright.clients.providers import PROVIDERS

    keyless = Keyless(os.environ)
    clients: dict[str, Model] = {}
    refused = []
    for name in names:
        served = name.partition("/")[0] in PROVIDERS
        if served and not weighs(connect(name, options, environment=keyless)):
            refused.append(name)
            continue
        client = connect(name, options, tell=tell)
        if weighs(client):
            clients[name] = client
        else:
            refused.append(name)
    if refused:
        raise UsageError("; ".join(map(_cannot, refused)), hint=_HERE)
    return clients


def _cannot(name: str) -> str:
    provider = name.partition("/")[0]
    if provider == "replay":
        return f"`{name}`: answers that were recorded say nothing of how likely another text is"
    if provider in HERE:
        return f"`{name}`: it does not say how likely a text is"
    return (
        f"`{name}`: perplexity needs the log-probabilities of a given text, and this API returns "
        "them only of what the model generates itself"
    )


def _jobs(texts: Texts, corpus: "Corpus") -> Iterator[Job]:
    """Document by document, so that what is done early is comparable across models."""
    for ordinal, document in enumerate(texts.documents()):
        corpus.begin(ordinal, document)
        sample = Sample(corpus.place(ordinal), document.text)
        for model in corpus.models:
            yield Job(task=_TASK, model=model, sample=sample, ordinal=ordinal)
