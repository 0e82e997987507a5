"""`local/wordllama`: embeddings from a table of word pieces that comes with a pip package.

    model_key: local/wordllama      in a scorer such as `semantic_similarity`
    -m local/wordllama              for a task of `tasks: [embeddings]`

A vector is the mean of the vectors of a text's pieces, scaled to length 1. The table and the
tokenizer are two files of the package `wordllama`; its code is never imported, because it looks
for one of the two on the network. The extra `local` brings the package.

Promises:  the same vector for the same text, always, without a network. Any text has one, however
           long and in any script, except white space, which is an error. The word pieces are
           those of Hugging Face's `tokenizers` with the same file, in linear time.
Does not:  see the order of words, and hardly sees a `not`: a sentence and its negation are close to
each
           other. It knows little beyond English, only the tokenizer of Llama 2, and no markers:
           `</s>` is plain text. docs/guides/embeddings.md has measurements.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from evalwright.clients.parameters import parse_embedding_input
from evalwright.clients.replies import embedding_completion, make_usage
from evalwright.errors import ModelError, Unreadable, UsageError
from evalwright.lines import show_path
from evalwright.types import Completion, ModelOptions, Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "local/wordllama"
PACKAGE = "wordllama"
TABLE = "weights/l2_supercat_256.safetensors"
PIECES = "tokenizers/l2_supercat_tokenizer_config.json"
INSTALL = "pip install 'evalwright[local]'"
SIZES = (64, 128, 256)
"""The sizes it was trained for: the first 64 numbers of a vector are a vector too."""

_READER = 1
"""Increases with every change here that could change a vector."""
_DIGITS = 6
"""Digits of a result. The table has three; sums differ in the eighth between processors."""
_AT_ONCE = 20_000
"""Characters that are embedded in about a millisecond; more would delay other requests."""
_ROWS = 1 << 16
"""Pieces whose vectors are in memory at the same time."""
_IGNORED = ("user", "encoding_format")
SPACE = "▁"
_WORDS = re.compile(f"{SPACE}+[^{SPACE}]*")
"""No piece has a space after a letter, so each word can be split separately."""
_SHORT = 32
_REMEMBERED = 1 << 16


class BytePairs(msgspec.Struct, frozen=True):
    """The byte pairs of a tokenizer."""

    vocab: dict[str, int]
    merges: list[str]
    byte_fallback: bool


class _TokenizerFile(msgspec.Struct, frozen=True):
    model: BytePairs


class WordPieces:
    """One tokenizer. Several threads may use it at once."""

    def __init__(self, pairs: BytePairs) -> None:
        self.count = max(pairs.vocab.values()) + 1
        """The number of pieces, numbered from 0."""
        self._numbers = pairs.vocab
        self._ranks = {pair: rank for rank, pair in enumerate(pairs.merges)}
        self._cached_numbers = lru_cache(_REMEMBERED)(self._word_numbers)

    def numbers(self, text: str) -> list[int]:
        """Return one number per piece, in order; none for no text."""
        numbers: list[int] = []
        if not text:
            return numbers
        for word in _WORDS.findall(SPACE + text.replace(" ", SPACE)):
            numbers += (
                self._cached_numbers(word) if len(word) <= _SHORT else self._word_numbers(word)
            )
        return numbers

    def _word_numbers(self, word: str) -> tuple[int, ...]:
        return tuple(
            self._numbers[piece] for piece in self._merge_pieces([*self._split_word(word)])
        )

    def _split_word(self, word: str) -> Iterator[str]:
        for character in word:
            if character in self._numbers:
                yield character
            else:
                encoded = character.encode(errors="surrogatepass")
                yield from (f"<0x{byte:02X}>" for byte in encoded)

    def _merge_pieces(self, pieces: list[str]) -> Iterator[str]:
        """Join the pair that comes first in the file, until no pair is left.

        A heap, because a text without spaces is one word, and may be long.
        """
        after = [*range(1, len(pieces)), -1]
        before = [*range(-1, len(pieces) - 1)]
        pairs = [f"{left} {right}" for left, right in pairwise(pieces)]
        ranks = self._ranks
        heap = [(ranks[pair], at, pair) for at, pair in enumerate(pairs) if pair in ranks]
        heapify(heap)
        while heap:
            _, at, pair = heappop(heap)
            gone = after[at]
            if gone < 0 or f"{pieces[at]} {pieces[gone]}" != pair:
                continue  # one of the two was joined with its other neighbour
            pieces[at] += pieces[gone]
            pieces[gone] = ""
            after[at] = after[gone]
            if after[at] >= 0:
                before[after[at]] = at
            for left in (before[at], at):
                right = after[left] if left >= 0 else -1
                pair = f"{pieces[left]} {pieces[right]}"
                if right >= 0 and pair in ranks:
                    heappush(heap, (ranks[pair], left, pair))
        return (piece for piece in pieces if piece)


class _Tensor(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class _VectorTable(NamedTuple):
    pieces: WordPieces
    table: "NDArray[np.float16]"


class WordVectors:
    """A model that only embeds."""

    caveat = "averages word vectors: it ignores word order and negation"

    def __init__(self, folder: Path, *, version: str = "", size: int = SIZES[-1]) -> None:
        self._folder = folder
        self._size = size
        self._words: _VectorTable | None = None
        self._reading = Lock()
        self.fingerprint = f"{PACKAGE} {version}, {size} dimensions, reader {_READER}"

    async def complete(self, request: Request) -> Completion:
        """Return one vector per text, in the order of the texts."""
        if request.task != "embeddings":
            raise ModelError(
                "unsupported",
                f"{NAME} does not support `{request.task}`: it only embeds text",
                hint="use it for `embeddings` tasks and as `model_key` of semantic_similarity; "
                "local/smollm2 is a chat model",
            )
        texts, keys = parse_embedding_input(request)
        size = self._size_of(keys)
        for place, text in enumerate(texts, start=1):
            if not text.strip():
                raise ModelError(
                    "bad_request",
                    f"string {place} of {len(texts)} is empty: it has no direction to compare",
                )
        if self._words is None or sum(map(len, texts)) > _AT_ONCE:
            vectors, tokens = await asyncio.to_thread(self._embed, texts, size)
        else:
            vectors, tokens = self._embed(texts, size)
        return embedding_completion(vectors, make_usage(tokens, 0, cost=0.0))

    async def close(self) -> None:
        """Release the table; another text reads it again."""
        self._words = None

    def _size_of(self, keys: dict[str, Any]) -> int:
        for name, value in keys.items():
            if name not in {"dimensions", *_IGNORED} or value == "base64":
                raise ModelError(
                    "bad_request",
                    f"{NAME} does not support `{name}: {value}`, only `input` and `dimensions`",
                )
        if "dimensions" not in keys:
            return self._size
        try:
            return _check_size(keys["dimensions"])
        except UsageError as error:
            raise ModelError("bad_request", error.message, hint=error.hint) from error

    def _embed(self, texts: Sequence[str], size: int) -> tuple[list[list[float]], int]:
        with self._reading:
            words = self._words or _read(self._folder)
            self._words = words
        numbers = [words.pieces.numbers(text) for text in texts]
        return [_mean(words.table, row, size) for row in numbers], sum(map(len, numbers))


def connect(options: ModelOptions = ModelOptions()) -> WordVectors:
    """Return the model; its only parameter is `dimensions`, others are for chat."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise UsageError(f"{NAME} needs the package {PACKAGE}", hint=INSTALL) from error
    folder = Path(str(package.locate_file(PACKAGE)))
    for name in (TABLE, PIECES):
        if not (folder / name).is_file():
            raise UsageError(
                f"{NAME} needs `{name}`, which {PACKAGE} {package.version} does not have",
                hint=INSTALL,
            )
    size = _check_size(options.parameters.get("dimensions", SIZES[-1]))
    return WordVectors(folder, version=package.version, size=size)


def _check_size(value: Any) -> int:
    if type(value) is int and value in SIZES:
        return value
    raise UsageError(
        f"{NAME} does not support {value} dimensions",
        hint=f"use one of {', '.join(map(str, SIZES))}",
    )


def _read(folder: Path) -> _VectorTable:
    pieces, table = read_pieces(folder / PIECES), read_table(folder / TABLE)
    if len(table) < pieces.count:
        raise Unreadable(
            f"{show_path(folder)}: {pieces.count} pieces, but {len(table)} vectors",
            hint=INSTALL,
        )
    return _VectorTable(pieces, table)


def read_pieces(path: Path) -> WordPieces:
    """Read the tokenizer of a `tokenizer.json`; `Unreadable` if it is of another kind."""
    try:
        pairs = msgspec.json.decode(path.read_bytes(), type=_TokenizerFile).model
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise Unreadable(f"{show_path(path)}: not a byte-pair tokenizer: {error}") from error
    every = {SPACE, *(f"<0x{byte:02X}>" for byte in range(256))}
    if not pairs.byte_fallback or not every <= pairs.vocab.keys():
        raise Unreadable(f"{show_path(path)}: the tokenizer lacks pieces for some bytes")
    return WordPieces(pairs)


def read_table(path: Path) -> "NDArray[np.float16]":
    """Map the only table of a safetensors file: length of a JSON header, header, numbers."""
    import numpy as np

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(min(length, 1 << 20))
        tensors = msgspec.json.decode(head, type=dict[str, _Tensor])
        (tensor,) = tensors.values()
        if tensor.dtype != "F16" or tensor.shape[1:] != SIZES[-1:] or tensor.data_offsets[0]:
            raise ValueError(f"{tensor.dtype} of {tensor.shape}")  # noqa: TRY301 - as the others
        return np.memmap(path, "<f2", "r", offset=8 + length, shape=tensor.shape)
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror}", hint=INSTALL) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(
            f"{show_path(path)}: not a table of {SIZES[-1]} half floats per row: {error}",
            hint=INSTALL,
        ) from error


def _mean(table: "NDArray[np.float16]", numbers: Sequence[int], size: int) -> list[float]:
    import numpy as np

    total = np.zeros(size)
    for start in range(0, len(numbers), _ROWS):
        rows = table[numbers[start : start + _ROWS], :size]
        total += rows.sum(axis=0, dtype=np.float64)
    scaled: list[float] = np.round(total / np.linalg.norm(total), _DIGITS).tolist()
    return scaled
