"""Text → the numbers of its pieces, by byte pairs: the tokenizer of Llama 2, read from its file.

Promises:  the pieces that Hugging Face's `tokenizers` makes of the same file; pieces for any text,
           half a surrogate pair included; time that grows with the length of a text, and hardly
           more, whatever stands in it.
Does not:  know other tokenizers, or markers such as `</s>`: they are text like any other.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path

import msgspec

from evalwright.errors import Unreadable
from evalwright.lines import shown

SPACE = "▁"
_WORDS = re.compile(f"{SPACE}+[^{SPACE}]*")
"""No piece has a space behind a letter, so what is between two spaces can be cut up alone."""
_SHORT = 32
_REMEMBERED = 1 << 16


class Pairs(msgspec.Struct, frozen=True):
    """What a file of this kind is about."""

    vocab: dict[str, int]
    merges: list[str]
    byte_fallback: bool


class Kept(msgspec.Struct, frozen=True):
    """The file, as far as it is needed."""

    model: Pairs


class WordPieces:
    """One tokenizer. Several threads may use it at once."""

    def __init__(self, pairs: Pairs) -> None:
        self.count = max(pairs.vocab.values()) + 1
        """How many numbers there are: they begin with 0."""
        self._numbers = pairs.vocab
        self._ranks = {pair: rank for rank, pair in enumerate(pairs.merges)}
        self._known = lru_cache(_REMEMBERED)(self._of_word)

    def numbers(self, text: str) -> list[int]:
        """One a piece, in their order; none for no text."""
        found: list[int] = []
        if not text:
            return found
        for word in _WORDS.findall(SPACE + text.replace(" ", SPACE)):
            found += self._known(word) if len(word) <= _SHORT else self._of_word(word)
        return found

    def _of_word(self, word: str) -> tuple[int, ...]:
        return tuple(self._numbers[piece] for piece in self._merged([*self._smallest(word)]))

    def _smallest(self, word: str) -> Iterator[str]:
        """Characters; the bytes of one that has no piece."""
        for one in word:
            if one in self._numbers:
                yield one
            else:
                yield from (f"<0x{byte:02X}>" for byte in one.encode(errors="surrogatepass"))

    def _merged(self, pieces: list[str]) -> Iterator[str]:
        """Join the pair that comes first in the file, until none is in it.

        A heap, because a text without spaces is one word, and may be long.
        """
        after = [*range(1, len(pieces)), -1]
        before = [*range(-1, len(pieces) - 1)]
        pairs = [f"{one} {other}" for one, other in pairwise(pieces)]
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


def read_pieces(path: Path) -> WordPieces:
    """The tokenizer in a `tokenizer.json`; `Unreadable` if it is none of this kind."""
    try:
        pairs = msgspec.json.decode(path.read_bytes(), type=Kept).model
    except OSError as error:
        raise Unreadable(f"{shown(str(path))}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise Unreadable(f"{shown(str(path))}: not a tokenizer of byte pairs: {error}") from error
    every = {SPACE, *(f"<0x{byte:02X}>" for byte in range(256))}
    if not pairs.byte_fallback or not every <= pairs.vocab.keys():
        raise Unreadable(f"{shown(str(path))}: a tokenizer that has no piece for some bytes")
    return WordPieces(pairs)
