"""Read dataset files of any supported format, with a digest of their bytes.

The extension determines the format: `.csv`, `.jsonl`, `.json` or `.parquet`. The first three may be
compressed (`.gz`, `.zst`). If a file changes between two readings, an error is raised, because a
run must not mix two versions of a dataset.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b, file_digest
from itertools import count, islice
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import IO, Any, Protocol

import msgspec
from msgspec import Struct

from evalwright.datasets.csv_file import CsvFile
from evalwright.datasets.faults import UnreadableLines
from evalwright.datasets.json_files import JsonFile, JsonLinesFile, to_json_row
from evalwright.errors import BadDataset, FileChanged, Unreadable, UsageError
from evalwright.lines import EXPANSION, expands_too_far, show_path
from evalwright.nearest import nearest, suggest

_COMPRESSED = (".gz", ".zst")
_LOOK_S = 0.02
"""Seconds between two checks of a large file. Checking before every row would cost 12 %."""
_SMALL_BYTES = 1_000_000
"""Up to this size, a file is checked for changes before every row."""
_SIZE = 2
_AT_A_TIME = 1000
_ROW_BYTES = 16
"""Minimum size counted per row, because a few bytes can represent a billion equal rows."""
_READABLE = "a .csv, .jsonl, .json or .parquet file"
_FOLDER_HINT = "for the files in a directory, use `source: {type: folder, directory_path: …}`"


class Reader(Protocol):
    """Yields rows, any number of times, and has a digest of them."""

    @property
    def digest(self) -> str:
        """Hash that changes when the rows change."""

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns, if they are known before the rows are read."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in order; each call starts from the first row."""


class LazyRows:
    """The rows that a function yields. Without `digest`, all rows are read to compute it."""

    def __init__(
        self,
        rows: Callable[[], Iterator[dict[str, Any]]],
        *,
        header: tuple[str, ...] | None = None,
        digest: str = "",
    ) -> None:
        self.rows, self.header, self._digest = rows, header, digest

    @cached_property
    def digest(self) -> str:
        """Hash that changes when the rows change."""
        return self._digest or digest_of(self.rows())


class FirstRows:
    """The first rows of a reader."""

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader, self._limit = reader, limit

    @cached_property
    def digest(self) -> str:
        """Hash of these rows only. Later rows are not read and may change."""
        return digest_of(self.rows())

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns of the underlying reader."""
        return self._reader.header

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield at most `limit` rows; further rows are not read."""
        return islice(self._reader.rows(), self._limit)


class ParquetFile:
    """The rows of a `.parquet` file, read with pyarrow (extra `parquet`).

    The declared size of a row group is limited as for compressed files, and so is the size of the
    rows, which is computed before they are expanded: texts are read as references to a dictionary.

    Nulls stay null. Dates and times become ISO 8601 strings, decimals become numbers, and bytes
    become text.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The columns, in order."""
        with self._open() as file:
            return tuple(file.schema_arrow.names)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per row of the table."""
        number = size = 0
        with self._open() as file:
            stored = Path(self._path).stat().st_size
            self._check_size(file.metadata, stored)
            texts, rows_at_once = _plan_reading(file.metadata)
        with self._open(read_dictionary=texts) as file:
            try:
                for batch in file.iter_batches(batch_size=rows_at_once):
                    size += sum(map(self._compute_size, batch.columns))
                    if expands_too_far(size, stored):
                        raise self._expansion_error()
                    for row in batch.to_pylist():
                        yield to_json_row(row)
                        number += 1
            except (self._library.lib.ArrowException, ValueError, OSError) as error:
                reason = " ".join(str(error).split())
                raise BadDataset(f"{show_path(self._path)}: row {number}: {reason}") from error

    def _check_size(self, metadata: Any, stored: int) -> None:
        """Raise `Unreadable` if a row group, which is read as a whole, would be too large."""
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        sizes = [group.total_byte_size for group in groups] + [_ROW_BYTES * metadata.num_rows]
        sizes += [column.num_values * _find_width(metadata, n) for n, column in _columns(metadata)]
        if any(expands_too_far(size, stored) for size in sizes):
            raise self._expansion_error()

    def _expansion_error(self) -> Unreadable:
        hint = "convert it to .jsonl or .csv, which have no limit"
        return Unreadable(f"{show_path(self._path)}: {EXPANSION}", hint=hint)

    def _compute_size(self, values: Any) -> int:
        """Return the size of values when every reference is replaced by the text it refers to."""
        values = getattr(values, "storage", values)  # of an extension type
        library, kind = self._library, values.type
        if library.types.is_dictionary(kind):
            lengths = library.compute.binary_length(values.dictionary)
            return int(library.compute.sum(lengths.take(values.indices)).as_py() or 0)
        if library.types.is_struct(kind):
            return sum(map(self._compute_size, values.flatten()))
        if library.types.is_map(kind):
            return sum(map(self._compute_size, (values.keys, values.items)))
        if kind.num_fields:  # a list of any kind
            return self._compute_size(values.flatten())
        return int(values.nbytes)

    def _open(self, **options: Any) -> Any:
        library = self._library
        try:
            return library.parquet.ParquetFile(self._path, **options)
        except (library.lib.ArrowException, ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise Unreadable(f"{show_path(self._path)}: not a Parquet file: {reason}") from error

    @property
    def _library(self) -> Any:
        try:
            import pyarrow.compute
            import pyarrow.parquet
        except ImportError as error:
            raise UsageError(
                f"{show_path(self._path)}: Parquet needs pyarrow",
                hint="pip install 'evalwright[parquet]'",
            ) from error
        return pyarrow


def _columns(metadata: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number and the description of every column in every row group."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        yield from enumerate(map(group.column, range(group.num_columns)))


def _find_width(metadata: Any, number: int) -> int:
    """Return the bytes of a value, which are a reference if it is a text of any length."""
    length: int = metadata.schema.column(number).length
    return max(length, 1)


def _plan_reading(metadata: Any) -> tuple[list[str], int]:
    """Return the columns to read as references to a dictionary, and how many rows at once.

    pyarrow cannot read texts as references if each is stored as a difference from the text before.
    Such texts are read row by row, because a thousand long ones can take few bytes.
    """
    texts, differences = set[str](), set[str]()
    for _, column in _columns(metadata):
        if column.physical_type == "BYTE_ARRAY":
            is_difference = any(name.startswith("DELTA_") for name in column.encodings)
            (differences if is_difference else texts).add(column.path_in_schema)
    return sorted(texts - differences), 1 if differences else _AT_A_TIME


class ReadOptions(Struct, frozen=True, kw_only=True):
    """How a file is read."""

    texts: tuple[str, ...] = ()
    """Columns of a CSV file that are always read as text."""
    records: str = ""
    """Path to the rows in JSON."""
    skips_bad: bool = False
    """Whether what cannot be read is skipped and counted."""


_Format = CsvFile | JsonLinesFile | JsonFile | ParquetFile | LazyRows


def _read_jsonl(path: Path, options: ReadOptions) -> JsonLinesFile:
    return JsonLinesFile(path, records=options.records, skips_bad=options.skips_bad)


_FORMATS: dict[str, Callable[[Path, ReadOptions], _Format]] = {
    ".csv": lambda path, options: CsvFile(path, options.texts, skips_bad=options.skips_bad),
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": lambda path, options: JsonFile(
        path, records=options.records, skips_bad=options.skips_bad
    ),
    ".parquet": lambda path, _: ParquetFile(path),
}
_JSON = (".json", ".jsonl", ".ndjson")


def check_records(name: str, records: str | None) -> None:
    """Raise ValueError if a path to rows is set for a file that is not JSON."""
    if records is not None and find_format(name) not in _JSON:
        raise ValueError(
            f"`records` is for .json and .jsonl files, got `{PurePosixPath(name).name}`"
        )


def find_format(name: str) -> str:
    """Return the extension that determines the format; ValueError if it is unknown."""
    path = PurePosixPath(name)
    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        ending = PurePosixPath(path.stem).suffix.lower()
        if ending == ".parquet":
            raise ValueError(
                f"expected {_READABLE}, got `{path.name}`: Parquet files are already compressed"
            )
    if ending not in _FORMATS:
        close = nearest(ending, list(_FORMATS)) if ending else None
        meant = f"; did you mean `{close}`?" if close else ""
        raise ValueError(f"expected {_READABLE}, got `{path.name}`{meant}")
    return ending


def digest_of(rows: Iterable[dict[str, Any]]) -> str:
    """Return a digest of the rows' contents."""
    digest = blake2b(digest_size=16)
    encode = msgspec.json.Encoder(order="deterministic").encode
    for row in rows:
        digest.update(encode(row) + b"\n")
    return f"rows:{digest.hexdigest()}"


class FileRows:
    """The rows of one file. `find` returns the path on demand, because it may need a download."""

    def __init__(
        self,
        find: Callable[[], Path],
        ending: str,
        *,
        options: ReadOptions | None = None,
        make: Callable[[Path], _Format] | None = None,
    ) -> None:
        """`make` reads the file if the extension does not determine the format."""
        self._find = find
        self._ending = ending
        self._options = options or ReadOptions()
        self._make = make

    @cached_property
    def path(self) -> Path:
        """The path of the file."""
        return self._find()

    @cached_property
    def digest(self) -> str:
        """Hash of the file's bytes and of the format in which they are read."""
        self._refuse_changes()
        try:
            with self.path.open("rb") as file:
                digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
        except OSError as error:
            raise Unreadable(f"{show_path(self.path)}: {error.strerror or error}") from error
        return f"{self._ending}{self._options.records}:{digest}"

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns, if the format has a header."""
        self._refuse_changes()
        return self._format.header

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; raise if the file has changed since it was first read."""
        self._refuse_changes()
        try:
            seen = monotonic()
            interval_s = _LOOK_S if self._identity[_SIZE] > _SMALL_BYTES else 0.0
            last: dict[str, Any] | None = None
            for row in self._format.rows():
                if (now := monotonic()) - seen > interval_s:  # before the row is used
                    self._refuse_changes()
                    seen = now
                if last is not None:
                    yield last
                last = row
        except (ValueError, LookupError):  # caused by a table that differs from the first reading
            self._refuse_changes()
            raise
        self._refuse_changes()
        if last is not None:  # after this one, the file may change
            yield last

    def lines(self) -> Iterator[int]:
        """Yield the line in which each row starts, or minus its number if there are no lines."""
        find_lines = getattr(self._format, "lines", None)
        return find_lines() if find_lines else count(0, -1)

    @property
    def unreadable(self) -> UnreadableLines:
        """What was skipped, complete after the last row."""
        return getattr(self._format, "unreadable", None) or UnreadableLines(str(self.path))

    @cached_property
    def _format(self) -> _Format:
        return (
            self._make(self.path)
            if self._make
            else _FORMATS[self._ending](self.path, self._options)
        )

    @cached_property
    def _identity(self) -> tuple[int, ...]:
        return identify_file(self.path)

    def _refuse_changes(self) -> None:
        refuse_changes(self.path, self._identity)


def identify_file(
    path: str | Path, *, folder_hint: str = _FOLDER_HINT, what: str = "rows"
) -> tuple[int, ...]:
    """Return device, inode, size and modification time; `Unreadable` if it is not a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - faster, and accepts any string
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no such file" if missing else str(getattr(error, "strerror", None) or error).lower()
        raise Unreadable(f"{show_path(path)}: {why}", hint=_suggest_neighbour(path)) from error
    if S_ISDIR(status.st_mode):
        raise Unreadable(f"{show_path(path)}: a directory, not a file", hint=folder_hint)
    if not S_ISREG(status.st_mode):
        raise Unreadable(
            f"{show_path(path)}: {what} are read more than once, so a regular file is needed"
        )
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)  # size: `_SIZE`


def refuse_changes(path: str | Path, identity: tuple[int, ...]) -> None:
    """Raise `FileChanged` if the file's identity has changed."""
    if identify_file(path) != identity:
        raise FileChanged(
            f"{show_path(path)}: the file changed while it was in use",
            hint="run the command again: the file has changed since it was checked",
        )


def _suggest_neighbour(path: str | Path) -> str:
    try:
        names = sorted(entry.name for entry in Path(path).parent.iterdir())
    except (OSError, ValueError):
        return ""
    return suggest(Path(path).name, names)


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to `path` when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)  # unless it has been renamed
