"""Rows that generators make: found where they are kept, or made now.

    Maker(project, …).make(key)      makes them, unless they are there
    generated_for(project, …)        the files that a run needs; made first, if somebody watches

What is made once is used until something that decides on it is another: the generator and its
values, the rows that it begins with, the models and how they are asked, or our own versions. That
is the digest in the name of the file: `.evalwright/generated/quiz-rows-3f2a….jsonl`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from evalwright.api.assembly import STATE, open_store, store_name
from evalwright.api.crews import result_of
from evalwright.api.hands import Hands
from evalwright.api.loops import complete
from evalwright.api.making import Work, make
from evalwright.api.options import RunOptions, Unwatched, Watch
from evalwright.components import FOR_KEYS
from evalwright.datasets.generating.source import FOLDER
from evalwright.datasets.generating.sources import Lookup, Taken
from evalwright.errors import BadDataset, BadTasks, Unreadable
from evalwright.report.generated import Generated, generated_line
from evalwright.spec.documents.dataset import open_dataset
from evalwright.types import NOTHING, Usage

if TYPE_CHECKING:
    from evalwright.datasets.reading import Reader
    from evalwright.datasets.rows import Rows
    from evalwright.ports import Store
    from evalwright.spec.documents.generations import Generation
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec

_VERSION = 1
"""Grows when the same documents make other rows: it is part of every digest."""
_LONGEST = 200
"""Of a key in the name of a file, which a file system bounds."""


class Ready(Struct, frozen=True, kw_only=True):
    """The rows that are there now."""

    files: dict[str, Path] = {}
    """By dataset."""
    spent: Usage = NOTHING
    """What it took to make those that were made now, earlier attempts included."""
    notes: tuple[str, ...] = ()
    """What a reader must know of them."""


def generated_for(
    project: "Project",
    specs: "Sequence[ResolvedSpec]",
    options: RunOptions,
    *,
    store: "Store",
    watch: Watch | None,
    planned: Iterable[str] = (),
) -> Ready:
    """The rows that some specifications need. Without a watch, none are made.

    `planned` are the keys of all whose results the run is about to have.
    """
    keys = [key for spec in specs if spec.source == "dataset" for key in spec.dataset_keys.values()]
    order = project.generations.order(dict.fromkeys(keys))
    if not order:
        return Ready()
    maker = Maker(project, options, store=lambda: store, watch=watch or Unwatched())
    _refuse_own_results(project, order, {*planned, *(spec.key for spec in specs)})
    for key in order:
        if watch is None:
            maker.find(key)
        else:
            maker.make(key)
            if maker.done[-1].made:
                watch.tell(generated_line(maker.done[-1]))
    notes = tuple(_note(maker.generation(key), project) for key in order)
    return Ready(files=maker.files, spent=maker.spent, notes=notes)


def _note(made: "Generation", project: "Project") -> str:
    """Who reads figures should know that rows were made up, and by whom."""
    from evalwright.api.prepare import called_by

    models = [called_by(project, key) for key in made.document.definition.model_keys]
    by = f", with {', '.join(models)}" if models else ""
    return f"the rows of `{made.dataset}` were made by the generator `{made.document.key}`{by}"


def lazy_store(ending: ExitStack) -> "Callable[[], Store]":
    """The store of earlier runs, opened when it is first needed."""
    opened: list[Store] = []

    def store() -> "Store":
        if not opened:
            opened.append(open_store(store_name(), create=False))
            ending.callback(opened[0].close)
        return opened[0]

    return store


def _refuse_own_results(project: "Project", order: Iterable[str], planned: set[str]) -> None:
    """Rows are made before the first sample is run: a result of the same run comes too late."""
    for key in order:
        for result, through in _results_in(project, key):
            if result in planned:
                way = f", through dataset `{through}`," if through else ""
                raise BadTasks(
                    f"dataset `{key}` is made{way} of the result of `{result}`, and that is made "
                    "by this run: nothing was run",
                    hint=f"run `{result}` in a run of its own first; its result is found then",
                )


def _results_in(project: "Project", key: str) -> Iterator[tuple[str, str]]:
    """The task results that a dataset is made of, each with the dataset in between, if any.

    Datasets in between that are made themselves come by themselves.
    """
    made = project.generations.of(key)
    source = made.document.definition.source if made else None
    if source is not None and source.result_key:
        yield source.result_key, ""
    for one in source.dataset_keys if source is not None else ():
        entity = project.datasets.get(one)
        origin: Any = entity.document.origin if entity and entity.document else None
        if getattr(origin, "type", "") == "task_result":
            yield origin.key, one


class Maker:
    """Makes the rows of a project's datasets, one dataset after another."""

    def __init__(
        self,
        project: "Project",
        options: RunOptions,
        *,
        store: "Callable[[], Store]",
        watch: Watch,
    ) -> None:
        from evalwright.api.prepare import environment_of

        self._project, self._options, self._store = project, options, store
        self._watch = watch
        self._environment = environment_of(options)
        self._generations = project.generations
        self.files: dict[str, Path] = {}
        self.done: list[Generated] = []
        self.spent: Usage = NOTHING

    def generation(self, key: str) -> "Generation":
        """How the rows of a dataset are made."""
        made = self._generations.of(key)
        if made is None:
            raise BadDataset(f"the rows of dataset `{key}` are not made by a generator")
        return made

    def hands(self, made: "Generation", *, asked: bool = True) -> Hands:
        """Who makes them. Where nobody is asked anything, no key is needed."""
        from evalwright.api.connections import Keyless

        environment = self._environment if asked else Keyless(self._environment)
        return Hands(self._project, made, self._options, environment, self._watch)

    def find(self, key: str) -> Path | None:
        """The file of rows, if they are made; else who reads them is told that they are not."""
        path = self._path(key)
        if path.is_file():
            self.files[key] = path
            return path
        return None

    def make(self, key: str, *, again: bool = False) -> None:
        """Make the rows of a dataset, unless they are there."""
        made = self.generation(key)
        taken = self.taken(made)
        with self.hands(made, asked=False) as hands:
            path = self._file(made, taken, hands)
        work = Work(
            dataset=key,
            taken=taken,
            synthesizers=made.document.definition.synthesizers,
            path=path,
            again=again,
        )
        if (path.is_file() and not again) or not self._make(work, made):
            self._known(made, path)
        self.files[key] = path

    def taken(self, made: "Generation") -> Taken:
        """The rows that are begun with; `BadDataset` if a synthesizer needs other columns."""
        lookup = Lookup(dataset=self._rows, result=self._result)
        try:
            taken = made.document.definition.source.taken(lookup, made.num_samples)
        except BadDataset as error:
            raise BadDataset(f"dataset `{made.dataset}`: {error}", hint=error.hint) from error
        columns = taken.columns
        try:
            for one in made.document.definition.synthesizers:
                columns = one.after(columns)
        except ValueError as error:
            raise BadDataset(f"generator `{made.document.key}`: {error}") from error
        return taken

    def _make(self, work: Work, made: "Generation") -> bool:
        """Whether there was anything to make: another process may have been faster."""
        from evalwright.engine.tally import total

        try:
            with self.hands(made) as hands:
                done = complete(
                    hands.lent(
                        partial(make, work, watch=self._watch),
                        cache=not work.again,
                        spent=self.spent,
                    )
                )
        except KeyboardInterrupt:
            self._watch.tell("what is made is kept: run again, and it goes on")
            raise
        if done is None:
            return False
        told = Generated(
            dataset=work.dataset,
            generator=made.document.key,
            file=str(work.path),
            rows=done.rows,
            source_rows=work.taken.total,
            made=True,
            usage=done.usage,
            notes=hands.notes,
        )
        with suppress(OSError):  # the rows are what matters
            work.path.with_suffix(".json").write_bytes(msgspec.json.encode(told))
        self.done.append(told)
        self.spent = total([self.spent, *done.usage.values()])
        return True

    def _known(self, made: "Generation", path: Path) -> None:
        """What is known of rows that are there already."""
        try:
            told = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=Generated)
        except (OSError, msgspec.MsgspecError):
            with path.open("rb") as file:
                rows = sum(1 for _ in file)
            told = Generated(
                dataset=made.dataset,
                generator=made.document.key,
                file=str(path),
                rows=rows,
                source_rows=rows,
                made=False,
            )
        self.done.append(msgspec.structs.replace(told, made=False, file=str(path)))

    def _path(self, key: str) -> Path:
        made = self.generation(key)
        with self.hands(made, asked=False) as hands:
            return self._file(made, self.taken(made), hands)

    def _file(self, made: "Generation", taken: Taken, hands: "Hands") -> Path:
        """The file is called by all that decides on its rows."""
        definition = made.document.definition
        parts = [
            _VERSION,
            definition.model_dump(mode="json", context=FOR_KEYS),
            [one.version for one in definition.synthesizers],
            made.num_samples,
            taken.digest,
            {name: [plan.name, plan.client.fingerprint] for name, plan in hands.plans.items()},
        ]
        encoded = msgspec.json.Encoder(order="sorted").encode(parts)
        digest = blake2b(encoded, digest_size=8).hexdigest()
        return STATE / FOLDER / f"{made.dataset[:_LONGEST]}-{digest}.jsonl"

    def _rows(self, key: str) -> "Rows":
        document: Any = self._project.datasets[key].document
        return open_dataset(
            document, cache_dir=STATE, task_results=self._result, generated=self.files
        )

    def _result(self, key: str) -> "Reader":
        try:
            return result_of(key, store=self._store())
        except Unreadable as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise BadDataset(
                f"there is no result of `{key}`: nothing was run here yet",
                hint=f"run `{key}` first; its result is found then",
            ) from error
