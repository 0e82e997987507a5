"""`local/wordllama`: embeddings from a table of word-piece vectors in a pip package.

    model_key: local/wordllama      in a scorer such as `semantic_similarity`
    -m local/wordllama              for a task of `tasks: [embeddings]`

An embedding is the mean of the vectors of a text's pieces, scaled to length 1. The table and the
tokenizer are files in the package `wordllama`. Its code is never imported, because it would
download one of them. The extra `local` installs the package.

Promises:  The same text always has the same vector, without network access. Texts of any length and
           script have a vector; only whitespace is an error. The word pieces equal those of Hugging
           Face's `tokenizers` with the same file, in linear time.
Does not:  represent word order, and hardly represents negation: a sentence and its negation are
           close to each other. Languages other than English are supported poorly, and tokenizers
           other than that of Llama 2 not at all. Special tokens such as `</s>` are plain text. For
           measurements, see docs/guides/embeddings.md.
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
"""Sizes that the vectors were trained for: the first 64 numbers are also a valid vector."""

_READER = 1
"""Increase it with every change in this module that could change a vector."""
_DIGITS = 6
"""Digits of the results. The table has three; between processors, sums differ in the eighth."""
_AT_ONCE = 20_000
"""Number of characters that are embedded in about 1 ms; more would delay other requests."""
_ROWS = 1 << 16
"""Number of pieces whose vectors are in memory at a time."""
_IGNORED = ("user", "encoding_format")
SPACE = "▁"
_WORDS = re.compile(f"{SPACE}+[^{SPACE}]*")
"""Pattern of words. They can be split separately, because no piece has a space after a letter."""
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
    """A tokenizer. It is thread-safe."""

    def __init__(self, pairs: BytePairs) -> None:
        self.count = max(pairs.vocab.values()) + 1
        """Number of pieces, which are numbered from 0."""
        self._numbers = pairs.vocab
        self._ranks = {pair: rank for rank, pair in enumerate(pairs.merges)}
        self._cached_numbers = lru_cache(_REMEMBERED)(self._word_numbers)

    def numbers(self, text: str) -> list[int]:
        """Return one number per piece, in order; empty for empty text."""
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
        """Merge the pair with the highest priority until there is none left.

        The pairs are in a heap, because a text without spaces is a single word, which may be long.
        """
        after = [*range(1, len(pieces)), -1]
        before = [*range(-1, len(pieces) - 1)]
        pairs = [f"{left} {right}" for left, right in pairwise(pieces)]
        ranks = self._ranks
        heap = [(ranks[pair], at, pair) for at, pair in enumerate(pairs) if pair in ranks]
        heapify(heap)
        while heap:
            _, at, pair = heappop(heap)
            following = after[at]
            if following < 0 or f"{pieces[at]} {pieces[following]}" != pair:
                continue  # one of the two was merged with its other neighbor
            pieces[at] += pieces[following]
            pieces[following] = ""
            after[at] = after[following]
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
    """A model that only computes embeddings."""

    caveat = "averages word vectors: it ignores word order and negation"

    def __init__(self, folder: Path, *, version: str = "", size: int = SIZES[-1]) -> None:
        self._folder = folder
        self._size = size
        self._words: _VectorTable | None = None
        self._reading = Lock()
        self.fingerprint = f"{PACKAGE} {version}, {size} dimensions, reader {_READER}"

    async def complete(self, request: Request) -> Completion:
        """Return one vector per text, in order."""
        if request.task != "embeddings":
            raise ModelError(
                "unsupported",
                f"{NAME} does not support `{request.task}`: it only embeds text",
                hint="use it for `embeddings` tasks and as `model_key` of semantic_similarity; "
                "local/smollm2 is a chat model",
            )
        texts, keys = parse_embedding_input(request)
        size = self._get_size(keys)
        for place, text in enumerate(texts, start=1):
            if not text.strip():
                raise ModelError(
                    "bad_request",
                    f"string {place} of {len(texts)} is empty and cannot be embedded",
                )
        if self._words is None or sum(map(len, texts)) > _AT_ONCE:
            vectors, tokens = await asyncio.to_thread(self._embed, texts, size)
        else:
            vectors, tokens = self._embed(texts, size)
        return embedding_completion(vectors, make_usage(tokens, 0, cost=0.0))

    async def close(self) -> None:
        """Release the table. The next request reads it again."""
        self._words = None

    def _get_size(self, keys: dict[str, Any]) -> int:
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
            raise ModelError("bad_request", str(error), hint=error.hint) from error

    def _embed(self, texts: Sequence[str], size: int) -> tuple[list[list[float]], int]:
        with self._reading:
            words = self._words or _read(self._folder)
            self._words = words
        numbers = [words.pieces.numbers(text) for text in texts]
        return [_mean(words.table, row, size) for row in numbers], sum(map(len, numbers))


def connect(options: ModelOptions = ModelOptions()) -> WordVectors:
    """Return the model. Its only parameter is `dimensions`; others apply to chat models."""
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
    """Read the tokenizer from a `tokenizer.json`; `Unreadable` if its type is not supported."""
    try:
        pairs = msgspec.json.decode(path.read_bytes(), type=_TokenizerFile).model
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise Unreadable(f"{show_path(path)}: not a byte-pair tokenizer: {error}") from error
    required = {SPACE, *(f"<0x{byte:02X}>" for byte in range(256))}
    if not pairs.byte_fallback or not required <= pairs.vocab.keys():
        raise Unreadable(f"{show_path(path)}: the tokenizer lacks pieces for some bytes")
    return WordPieces(pairs)


def read_table(path: Path) -> "NDArray[np.float16]":
    """Map the only table of a safetensors file (header length, JSON header, numbers)."""
    import numpy as np

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(min(length, 1 << 20))
        tensors = msgspec.json.decode(head, type=dict[str, _Tensor])
        (tensor,) = tensors.values()
        if tensor.dtype != "F16" or tensor.shape[1:] != SIZES[-1:] or tensor.data_offsets[0]:
            raise ValueError(f"{tensor.dtype} of {tensor.shape}")  # noqa: TRY301 - handled like the other errors
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
