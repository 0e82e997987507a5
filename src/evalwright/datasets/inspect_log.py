"""A log of Inspect AI, of either format: what was run, and its samples one at a time.

    .eval    a zip with `header.json` and a file a sample, deflated or packed with Zstandard. One
             sample is held at a time, whatever the size of the log.
    .json    one object with everything in it. It is read whole, so it may have 256 MiB;
             `inspect log convert --to eval` makes the other of it.

Holds:      a log that is damaged, cut short or no log is one `BadDataset` that says where. Of a run
            that did not come to its end, the samples that did are there.
Does not:   look at the events of a sample, nor at what it kept in its store.
"""

import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct

from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import show_path

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

T = TypeVar("T")
MOST_BYTES = 256 * 1024 * 1024
"""Of a log in JSON, and of one sample of the other kind."""
_CONVERT = "`inspect log convert --to eval` makes a log of it that is read sample by sample"
_CUT = "is it a log of Inspect AI, and whole? One that is still written has no end yet"
_DAMAGED = (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, NotImplementedError, RuntimeError)
"""What a zip raises: bytes that are wrong or missing, a packing that is not known, a password."""


class LogDataset(Struct, frozen=True):
    """Of the samples of an evaluation, their ids in order."""

    sample_ids: list[int | str] | None = None


class LogSpec(Struct, frozen=True):
    """What was evaluated."""

    task: str = ""
    model: str = ""
    dataset: LogDataset = LogDataset()


class LogHeader(Struct, frozen=True):
    """A log without its samples."""

    eval: LogSpec
    status: str = "started"
    """`success`, `error`, `cancelled`; `started` where the end was never written."""


class LogSample(Struct, frozen=True):
    """One sample, as far as it is used. What is in it is checked where it is read."""

    id: int | str
    epoch: int = 1
    input: str | list[Any] = ""
    target: Any = None
    choices: Any = None
    metadata: dict[str, Any] | None = None
    messages: list[Any] | None = None
    output: dict[str, Any] | None = None
    scores: dict[str, Any] | None = None
    score: dict[str, Any] | None = None
    """In the place of `scores` in old logs."""
    error: Any = None
    limit: Any = None
    attachments: dict[str, str] | None = None
    """Long texts and images, by the names that messages have for them."""
    model_usage: dict[str, Any] | None = None
    uuid: str | None = None
    started_at: str | None = None
    total_time: float | None = None


class _Whole(LogHeader, frozen=True):
    samples: list[LogSample] | None = None


class Logged(NamedTuple):
    """A sample, and what it is part of."""

    header: LogHeader
    epochs: int
    """How often each sample was run, at most."""
    sample: LogSample


class Log(Protocol):
    """A log that can be read as often as one likes."""

    def samples(self) -> Iterator[Logged]:
        """In the order of the dataset, the epochs of a sample one after another."""
        ...


def open_log(path: Path) -> Log:
    """The log at that path; nothing is read yet."""
    return EvalLog(path) if path.suffix.lower() == ".eval" else JsonLog(path)


class EvalLog:
    """A `.eval` file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def samples(self) -> Iterator[Logged]:
        """One at a time."""
        with self._opened() as archive:
            header = self._header(archive)
            order = _places(header)
            # A sample that was written twice is named twice, and read as it was written last.
            names = {one: _place(one, order) for one in archive.namelist() if _is_sample(one)}
            if not names:
                raise _no_samples(self._path)
            epochs = max(epoch for _, epoch, _ in names.values())
            for name in sorted(names, key=names.__getitem__):
                raw = self._read(archive, name)
                yield Logged(header, epochs, _decoded(raw, LogSample, f"{self._where}: {name}"))

    @property
    def _where(self) -> str:
        return show_path(self._path)

    def _header(self, archive: "zipfile.ZipFile") -> LogHeader:
        """Of a run that has not ended, what was written when it began."""
        names = set(archive.namelist())
        for name in ("header.json", "_journal/start.json"):
            if name in names:
                return _decoded(self._read(archive, name), LogHeader, f"{self._where}: {name}")
        raise BadDataset(
            f"{self._where}: a zip without `header.json`", hint="expected a log of Inspect AI"
        )

    @contextmanager
    def _opened(self) -> "Iterator[zipfile.ZipFile]":
        try:
            archive = zipfile.ZipFile(self._path)
        except _DAMAGED as error:
            raise BadDataset(f"{self._where}: no zip: {_said(error)}", hint=_CUT) from error
        except OSError as error:
            raise Unreadable(f"{self._where}: {error.strerror or error}") from error
        with archive:
            yield archive

    def _read(self, archive: "zipfile.ZipFile", name: str) -> bytes:
        size = archive.getinfo(name).file_size
        if size > MOST_BYTES:
            raise BadDataset(f"{self._where}: {name}: more than {MOST_BYTES >> 20} MiB")
        try:
            return archive.read(name)
        except _DAMAGED as error:
            raise BadDataset(f"{self._where}: {name}: damaged: {_said(error)}") from error
        except OSError as error:
            raise Unreadable(f"{self._where}: {name}: {error.strerror or error}") from error


class JsonLog:
    """A `.json` file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def samples(self) -> Iterator[Logged]:
        """One after another; all are in memory, without their events."""
        whole = _decoded(self._read(), _Whole, show_path(self._path))
        if not whole.samples:
            raise _no_samples(self._path)
        order = _places(whole)
        epochs = max(one.epoch for one in whole.samples)
        places = sorted(
            (order.get(str(one.id), len(order)), one.epoch, number)
            for number, one in enumerate(whole.samples)
        )
        yield from (Logged(whole, epochs, whole.samples[number]) for *_, number in places)

    def _read(self) -> bytes:
        where = show_path(self._path)
        try:
            with self._path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"{where}: {error.strerror or error}") from error
        if len(raw) > MOST_BYTES:
            raise BadDataset(f"{where}: more than {MOST_BYTES >> 20} MiB", hint=_CONVERT)
        return raw


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _places(header: LogHeader) -> dict[str, int]:
    return {str(one): place for place, one in enumerate(header.eval.dataset.sample_ids or ())}


def _place(name: str, order: dict[str, int]) -> tuple[int, int, str]:
    """Of a file `samples/ID_epoch_N.json`: samples land in any order, and are read in theirs."""
    id_, _, epoch = name.removeprefix("samples/").removesuffix(".json").rpartition("_epoch_")
    number = int(epoch) if epoch.isdecimal() else 0
    return order.get(id_, len(order)), number, name


def _decoded(raw: bytes, kind: type[T], where: str) -> T:
    """Inspect writes NaN and the infinities, which JSON has not: they become null."""
    try:
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as error:
            if "truncated" in str(error):
                raise BadDataset(f"{where}: cut short: its JSON has no end", hint=_CUT) from error
            plain = json.loads(raw, parse_constant=lambda _: None)
            return msgspec.json.decode(json.dumps(plain).encode(), type=kind)
    except (ValueError, RecursionError) as error:
        raise BadDataset(
            f"{where}: {_said(error)}", hint="expected a log of Inspect AI, version 2"
        ) from error


def _said(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


def _no_samples(path: Path) -> BadDataset:
    return BadDataset(
        f"{show_path(path)}: a log without samples",
        hint="it was written with `--no-log-samples`, or nothing was done yet",
    )
