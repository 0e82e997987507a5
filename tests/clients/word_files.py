"""A table of word pieces as small as it can be, in the files that a package would bring."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evalwright.clients.word_vectors import PIECES, SIZES, TABLE

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = ["▁", *"abcdfnortu"]
MERGES = ["▁ a", "a n", "▁a n", "o t", "n ot", "▁ not", "▁▁ ▁▁", "▁ ▁", "▁n ot", "▁ n"]
JOINED = dict.fromkeys(pair.replace(" ", "") for pair in MERGES)
VOCAB = {piece: number for number, piece in enumerate(["<unk>", *BYTES, *LETTERS, *JOINED])}
COLUMNS = SIZES[-1]


def write_words(folder: Path, table: np.ndarray | None = None) -> Path:
    """Each piece has a direction of its own, as far as there are directions."""
    if table is None:
        table = np.random.default_rng(7).normal(size=(len(VOCAB), COLUMNS))
    write_pieces(folder / PIECES)
    write_table(folder / TABLE, table.astype("<f2"))
    return folder


def write_pieces(
    path: Path,
    vocab: dict[str, int] = VOCAB,
    merges: Sequence[str] = MERGES,
    *,
    byte_fallback: bool = True,
) -> Path:
    model = {"vocab": vocab, "merges": merges, "byte_fallback": byte_fallback, "type": "BPE"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": "1.0", "model": model}), encoding="utf-8")
    return path


def write_table(path: Path, table: np.ndarray, *, dtype: str = "F16") -> Path:
    entry = {"dtype": dtype, "shape": list(table.shape), "data_offsets": [0, table.nbytes]}
    head = json.dumps({"embedding.weight": entry}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(head)) + head + table.tobytes())
    return path
