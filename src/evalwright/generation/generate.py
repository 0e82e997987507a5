"""Find or generate the rows of a project's datasets.

    collect_rows(project, specs, …)         find, and optionally generate, the files of a run
    generate_dataset(project, entity, …)    generate a dataset and its dependencies

Rows are generated once and reused until something that determines them changes: the generator and
its values, the rows of its data source, the models and their endpoints, or component versions. A
digest of all of these is part of the file name: `.evalwright/generated/quiz-rows-3f2a….jsonl`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.components import FOR_KEYS
from evalwright.datasets.generated import FOLDER
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Rows
from evalwright.datasets.synthesizers.data_sources import SourceLookup, SourceRows
from evalwright.errors import BadDataset, BadTasks, Unreadable, UsageError
from evalwright.event_loop import run_async
from evalwright.generation.resources import GeneratorResources
from evalwright.generation.synthesis import GenerationJob, generate_file
from evalwright.plan.options import STATE, RunOptions
from evalwright.plan.project import ExternalRows, refuse_errors
from evalwright.plan.project_models import model_name
from evalwright.plan.task_results import result_of
from evalwright.ports import Store
from evalwright.report.tables import dollars
from evalwright.session.progress import Progress, SilentProgress
from evalwright.session.stores import open_store, store_name
from evalwright.spec.documents.models.dataset import open_dataset
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.spec.documents.resolve.generations import Generation
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.types import NOTHING, Usage

_VERSION = 2
"""Part of every digest. Increase it when the same documents generate different rows."""
_MAX_KEY_LENGTH = 200
"""Maximum length of a dataset key in a file name, because file systems limit its length."""


class GeneratedDataset(Struct, frozen=True, kw_only=True):
    """The result of `evalwright dataset generate` for one dataset."""

    dataset: str
    generator: str
    file: str
    """Path of the file with the rows."""
    rows: int
    source_rows: int
    """Number of rows used from the data source."""
    made: bool
    """False if the file already existed."""
    usage: dict[str, Usage] = {}
    """Usage per model for all rows, including earlier attempts."""
    notes: list[str] = []
    """Notes about how models were queried."""

    def describe(self) -> str:
        """Return a sentence with the number of rows, the file and the usage."""
        rows = f"dataset `{self.dataset}`: {self.rows:,} rows"
        if not self.made:
            return f"{rows} already exist in {self.file}"
        of = self.source_rows != self.rows
        source = f" from {self.source_rows:,} of the data source" if of else ""
        return f"{rows} generated{source} in {self.file}{_describe_usage(self.usage)}"


def _describe_usage(usage: dict[str, Usage]) -> str:
    if not usage:
        return ""
    total = sum(usage.values(), NOTHING)
    cost = "" if total.cost is None else f", {dollars(total.cost)}"
    return f": {total.requests:,} requests, {total.total_tokens:,} tokens{cost}"


def collect_rows(
    project: Project,
    specs: Sequence[ResolvedSpec],
    options: RunOptions,
    *,
    store: Store,
    planned: Iterable[str],
    progress: Progress | None,
) -> ExternalRows:
    """Return the generated rows that specifications read, and notes about their origin.

    Missing rows are generated if there is a `progress` to report to. `planned` contains the keys of
    all specifications of the run. No rows can be generated from their results.
    """
    keys = [key for spec in specs if spec.source == "dataset" for key in spec.dataset_keys.values()]
    order = project.generations.order(dict.fromkeys(keys))
    _refuse_own_results(project, order, {*planned, *(spec.key for spec in specs)})
    generator = DatasetGenerator(
        project, options, store=lambda: store, progress=progress or SilentProgress()
    )
    for key in order:
        if progress is None:
            generator.find_file(key)
        elif (dataset := generator.generate(key)).made:
            progress.tell(dataset.describe())
    notes = tuple(_describe_origin(project, generator.generation_of(key)) for key in order)
    return ExternalRows(files=generator.files, spent=generator.spent, notes=notes)


def generate_dataset(
    project: Project,
    entity: Entity,
    options: RunOptions,
    *,
    progress: Progress,
    again: bool = False,
) -> list[GeneratedDataset]:
    """Generate the rows of a dataset, after those of the datasets that it depends on.

    With `again`, the rows of this dataset are generated even if they exist.
    """
    generations = project.generations
    problems = [*entity.part.raw.problems, *entity.problems, *generations.problems(entity)]
    refuse_errors(entity.file, problems)
    if generations.of(entity.key) is None:
        raise UsageError(
            f"dataset `{entity.key}` has no generator",
            hint=f"`evalwright dataset test {entity.key}` shows its rows",
        )
    with open_generator(project, options, progress) as generator:
        return [
            generator.generate(key, again=again and key == entity.key)
            for key in generations.order([entity.key])
        ]


@contextmanager
def open_generator(
    project: Project, options: RunOptions, progress: Progress
) -> "Iterator[DatasetGenerator]":
    """Yield a generator that opens the store when a data source first reads an earlier run."""
    with ExitStack() as closing:

        @cache
        def store() -> Store:
            opened = open_store(store_name(), create=False)
            closing.callback(opened.close)
            return opened

        yield DatasetGenerator(project, options, store=store, progress=progress)


def _describe_origin(project: Project, generation: Generation) -> str:
    document = generation.document
    models = [model_name(project, key) for key in document.definition.model_keys]
    by = f", with {', '.join(models)}" if models else ""
    return f"the rows of `{generation.dataset}` were generated by `{document.key}`{by}"


def _refuse_own_results(project: Project, order: Iterable[str], planned: set[str]) -> None:
    """Raise if rows depend on a result of this run, because they are generated before it starts."""
    for key in order:
        for result, through in _find_results(project, key):
            if result in planned:
                way = f", through dataset `{through}`," if through else ""
                raise BadTasks(
                    f"dataset `{key}` is generated{way} from the result of `{result}`, which is "
                    "part of this run: nothing was run",
                    hint=f"run `{result}` separately first",
                )


def _find_results(project: Project, key: str) -> Iterator[tuple[str, str]]:
    """Yield the task results that a dataset depends on, each with the dataset between, if any.

    Generated datasets between them are checked separately.
    """
    generation = project.generations.of(key)
    if generation is None:
        return
    source = generation.document.definition.source
    if source.result_key:
        yield source.result_key, ""
    for dataset in source.dataset_keys:
        entity = project.datasets.get(dataset)
        origin: Any = entity.document.origin if entity and entity.document else None
        if getattr(origin, "type", "") == "task_result":
            yield origin.key, dataset


class DatasetGenerator:
    """Generates the rows of a project's datasets, one dataset after another."""

    def __init__(
        self,
        project: Project,
        options: RunOptions,
        *,
        store: Callable[[], Store],
        progress: Progress,
    ) -> None:
        self._project, self._options = project, options
        self._store, self._progress = store, progress
        self.files: dict[str, Path] = {}
        """Existing files, by dataset."""
        self.spent: Usage = NOTHING

    def generation_of(self, key: str) -> Generation:
        """Return the generation of a dataset; `BadDataset` if it has no generator."""
        generation = self._project.generations.of(key)
        if generation is None:
            raise BadDataset(f"dataset `{key}` has no generator")
        return generation

    def open_resources(
        self, generation: Generation, *, needs_keys: bool = True
    ) -> GeneratorResources:
        """Return the models and snippets of a generator, as a context manager."""
        return GeneratorResources(
            self._project, generation, self._options, progress=self._progress, needs_keys=needs_keys
        )

    def find_file(self, key: str) -> Path | None:
        """Return the file with a dataset's rows; None if they are not generated yet."""
        generation = self.generation_of(key)
        path = self._build_path(generation, self.select_source_rows(generation))
        if not path.is_file():
            return None
        self.files[key] = path
        return path

    def generate(self, key: str, *, again: bool = False) -> GeneratedDataset:
        """Generate the rows of a dataset if they do not exist."""
        generation = self.generation_of(key)
        source = self.select_source_rows(generation)
        job = GenerationJob(
            dataset=key,
            source=source,
            synthesizers=generation.document.definition.synthesizers,
            path=self._build_path(generation, source),
            wanted=None if generation.counts_source_rows else generation.num_samples,
            again=again,
        )
        dataset = None if job.path.is_file() and not again else self._run_job(job, generation)
        self.files[key] = job.path
        return dataset or _describe_existing(generation, job.path)

    def select_source_rows(self, generation: Generation) -> SourceRows:
        """Return the rows of the data source; `BadDataset` if a synthesizer lacks a column."""
        definition = generation.document.definition
        lookup = SourceLookup(dataset=self._open_dataset, result=self._open_result)
        try:
            if generation.counts_source_rows:
                source = definition.source.select_rows(lookup, generation.num_samples)
            else:
                source = definition.source.select_pass(lookup, generation.num_samples)
        except BadDataset as error:
            raise BadDataset(
                f"dataset `{generation.dataset}`: {error.message}", hint=error.hint
            ) from error
        columns = source.columns
        try:
            for synthesizer in definition.synthesizers:
                columns = synthesizer.columns_after(columns)
        except ValueError as error:
            raise BadDataset(f"generator `{generation.document.key}`: {error}") from error
        return source

    def _run_job(self, job: GenerationJob, generation: Generation) -> GeneratedDataset | None:
        for note in job.source.notes:
            self._progress.tell(f"note: {note}")
        try:
            with self.open_resources(generation) as resources:
                generated = run_async(
                    resources.run(
                        partial(generate_file, job, progress=self._progress),
                        use_cache=not job.again,
                        spent=self.spent,
                    )
                )
        except KeyboardInterrupt:
            self._progress.tell("finished rows are kept: run the command again to resume")
            raise
        if generated is None:
            return None
        rows, source_rows, usage = generated
        dataset = GeneratedDataset(
            dataset=job.dataset,
            generator=generation.document.key,
            file=str(job.path),
            rows=rows,
            source_rows=source_rows,
            made=True,
            usage=usage,
            notes=[*job.source.notes, *resources.notes],
        )
        with suppress(OSError):  # the rows matter more than this file
            job.path.with_suffix(".json").write_bytes(msgspec.json.encode(dataset))
        self.spent = sum(usage.values(), self.spent)
        return dataset

    def _build_path(self, generation: Generation, source: SourceRows) -> Path:
        """Return the path of the file, which contains a digest of all that determines the rows."""
        definition = generation.document.definition
        with self.open_resources(generation, needs_keys=False) as resources:
            models = {
                key: [connection.name, connection.client.fingerprint]
                for key, connection in resources.connections.items()
            }
        parts = [
            _VERSION,
            definition.model_dump(mode="json", context=FOR_KEYS),
            [synthesizer.version for synthesizer in definition.synthesizers],
            generation.num_samples,
            source.digest,
            models,
        ]
        encoded = msgspec.json.Encoder(order="sorted").encode(parts)
        digest = blake2b(encoded, digest_size=8).hexdigest()
        return STATE / FOLDER / f"{generation.dataset[:_MAX_KEY_LENGTH]}-{digest}.jsonl"

    def _open_dataset(self, key: str) -> Rows:
        document: Any = self._project.datasets[key].document
        return open_dataset(
            document, cache_dir=STATE, task_results=self._open_result, generated=self.files
        )

    def _open_result(self, key: str) -> Reader:
        try:
            return result_of(key, store=self._store())
        except Unreadable as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise BadDataset(
                f"`{key}` has no result: it has not been run yet",
                hint=f"run `{key}` first",
            ) from error


def _describe_existing(generation: Generation, path: Path) -> GeneratedDataset:
    try:
        recorded = msgspec.json.decode(
            path.with_suffix(".json").read_bytes(), type=GeneratedDataset
        )
    except (OSError, msgspec.MsgspecError):
        with path.open("rb") as file:
            rows = sum(1 for _ in file)
        return GeneratedDataset(
            dataset=generation.dataset,
            generator=generation.document.key,
            file=str(path),
            rows=rows,
            source_rows=rows,
            made=False,
        )
    return msgspec.structs.replace(recorded, made=False, file=str(path))
