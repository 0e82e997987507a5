"""What the engine wants judged: eight bytes of length, then JSON."""

from __future__ import annotations

import json
import os

_HEAD_BYTES = 8
_CHUNK_BYTES = 1 << 20


def read(job: int) -> tuple[str, str, list[str]]:
    """Nonce, source and targets."""
    size = int.from_bytes(_exactly(job, _HEAD_BYTES), "big")
    order = json.loads(_exactly(job, size))
    return order["nonce"], order["source"], order["targets"]


def _exactly(job: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(job, min(size - len(data), _CHUNK_BYTES))
        if not chunk:
            raise EOFError("the engine has gone")
        data += chunk
    return bytes(data)
