"""`local/wordllama`: texts → vectors, from a table of word pieces that comes with a pip package.

    model_key: local/wordllama      in a scorer such as `semantic_similarity`
    -m local/wordllama              for a task of `tasks: [embeddings]`

A vector is the mean of the vectors of a text's pieces, scaled to length 1. The table and the
tokenizer are two files of the package `wordllama`; its code is never imported, because it looks
for one of the two on the network. The extra `local` brings the package.

Promises:  the same vector for the same text, on any day, without a network; any text has one,
           however long and in whatever script, but for one of nothing but white space: that has
           no direction, and is an error.
Does not:  see the order of words, nor much of a `not`: a sentence and its denial are near each
           other. Nor know much beyond English. docs/guides/embeddings.md has figures.
"""

import asyncio
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from evalwright.clients.answers import counted
from evalwright.clients.texts import asked_for
from evalwright.clients.word_pieces import WordPieces, read_pieces
from evalwright.errors import ModelError, Unreadable, UsageError
from evalwright.lines import shown
from evalwright.types import Completion, ModelOptions, Request, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "local/wordllama"
PACKAGE = "wordllama"
TABLE = "weights/l2_supercat_256.safetensors"
PIECES = "tokenizers/l2_supercat_tokenizer_config.json"
INSTALL = "pip install 'evalwright[local]'"
SIZES = (64, 128, 256)
"""What it was trained to be cut to: the first so many numbers are a vector, too."""

_READER = 1
"""Grows with every change here that could move a vector."""
_DIGITS = 6
"""The table has three. Sums of floats differ in the eighth between processors."""
_AT_ONCE = 20_000
"""Characters that are embedded in about a millisecond; more would keep the others waiting."""
_ROWS = 1 << 16
"""Pieces whose vectors are in memory at the same time."""
_IGNORED = ("user", "encoding_format")


class Tensor(msgspec.Struct, frozen=True):
    """One entry in the head of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Words(NamedTuple):
    """What is read when the first text comes."""

    pieces: WordPieces
    table: "NDArray[np.float16]"


class WordVectors:
    """A model that embeds, and does nothing else."""

    caveat = "averages the vectors of words: it sees neither their order nor what a `not` denies"

    def __init__(self, folder: Path, *, version: str = "", size: int = SIZES[-1]) -> None:
        self._folder = folder
        self._size = size
        self._words: Words | None = None
        self._reading = Lock()
        self.fingerprint = f"{PACKAGE} {version}, {size} dimensions, reader {_READER}"

    async def complete(self, request: Request) -> Completion:
        """One vector a text, in the order of the texts."""
        if request.task != "embeddings":
            raise ModelError(
                "unsupported",
                f"{NAME} has no `{request.task}`: it embeds texts",
                hint="it is for tasks of `embeddings` and for `model_key` of semantic_similarity; "
                "local/smollm2 chats",
            )
        texts, keys = asked_for(request)
        size = self._size_of(keys)
        for place, text in enumerate(texts, start=1):
            if not text.strip():
                raise ModelError(
                    "bad_request",
                    f"text {place} of {len(texts)} is empty: it has no direction to compare",
                )
        if self._words is None or sum(map(len, texts)) > _AT_ONCE:
            vectors, tokens = await asyncio.to_thread(self._embedded, texts, size)
        else:
            vectors, tokens = self._embedded(texts, size)
        usage = Usage(requests=1, prompt_tokens=tokens, cost=0.0)
        output = {"embeddings": vectors, "usage": counted(usage)}
        return Completion(text="", usage=usage, output=output)

    async def close(self) -> None:
        """Let go of the table; it is read again if there is another text."""
        self._words = None

    def _size_of(self, keys: dict[str, Any]) -> int:
        for name, value in keys.items():
            if name not in {"dimensions", *_IGNORED} or value == "base64":
                raise ModelError(
                    "bad_request",
                    f"{NAME} has no `{name}: {value}`: it takes `input` and `dimensions`",
                )
        if "dimensions" not in keys:
            return self._size
        try:
            return _size(keys["dimensions"])
        except UsageError as error:
            raise ModelError("bad_request", str(error), hint=error.hint) from error

    def _embedded(self, texts: Sequence[str], size: int) -> tuple[list[list[float]], int]:
        with self._reading:
            words = self._words or _read(self._folder)
            self._words = words
        numbers = [words.pieces.numbers(text) for text in texts]
        return [_mean(words.table, one, size) for one in numbers], sum(map(len, numbers))


def connect(options: ModelOptions = ModelOptions()) -> WordVectors:
    """The model; of the parameters, `dimensions` is for it, the others are for chat."""
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise UsageError(f"{NAME} needs the package {PACKAGE}", hint=INSTALL) from error
    folder = Path(str(found.locate_file(PACKAGE)))
    for name in (TABLE, PIECES):
        if not (folder / name).is_file():
            raise UsageError(
                f"{NAME} needs `{name}`, which {PACKAGE} {found.version} does not have",
                hint=INSTALL,
            )
    size = _size(options.parameters.get("dimensions", SIZES[-1]))
    return WordVectors(folder, version=found.version, size=size)


def _size(value: Any) -> int:
    if type(value) is int and value in SIZES:
        return value
    raise UsageError(
        f"{NAME} has no {value} dimensions", hint=f"there are {', '.join(map(str, SIZES))}"
    )


def _read(folder: Path) -> Words:
    pieces, table = read_pieces(folder / PIECES), read_table(folder / TABLE)
    if len(table) < pieces.count:
        raise Unreadable(
            f"{shown(str(folder))}: {pieces.count} pieces, and vectors for {len(table)} of them",
            hint=INSTALL,
        )
    return Words(pieces, table)


def read_table(path: Path) -> "NDArray[np.float16]":
    """The vectors of a safetensors file that has one table of them, mapped: read as they are used.

    Eight bytes say how long the head is, the head is JSON, the numbers follow.
    """
    import numpy as np

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(min(length, 1 << 20))
        tensors = msgspec.json.decode(head, type=dict[str, Tensor])
        (tensor,) = tensors.values()
        return np.memmap(path, "<f2", "r", offset=8 + length, shape=_shape(tensor))
    except OSError as error:
        raise Unreadable(f"{shown(str(path))}: {error.strerror}", hint=INSTALL) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(
            f"{shown(str(path))}: not a table of {SIZES[-1]} half floats a row: {error}",
            hint=INSTALL,
        ) from error


def _shape(tensor: Tensor) -> tuple[int, ...]:
    if tensor.dtype != "F16" or tensor.shape[1:] != SIZES[-1:] or tensor.data_offsets[0]:
        raise ValueError(f"{tensor.dtype} of {tensor.shape}")
    return tensor.shape


def _mean(table: "NDArray[np.float16]", numbers: Sequence[int], size: int) -> list[float]:
    """The direction of the sum, for the length of it is not wanted."""
    import numpy as np

    total = np.zeros(size)
    for start in range(0, len(numbers), _ROWS):
        rows = table[numbers[start : start + _ROWS], :size]
        total += rows.sum(axis=0, dtype=np.float64)
    scaled: list[float] = np.round(total / np.linalg.norm(total), _DIGITS).tolist()
    return scaled
