"""Models that are never asked.

`latticeflow$placeholder` is for tasks that must name a model and use none: recorded traces, checks
of a dataset. `StoredModel` replaces a model whose stored outputs are scored again.
"""

from typing import Any

from evalwright.types import Completion, Request

_OUTPUTS: dict[str, Any] = {"embeddings": {"embeddings": []}, "custom": {}}


class PlaceholderModel:
    """Gives an empty answer to everything."""

    caveat = "empty answers, by no model"
    fingerprint = "placeholder 1"

    async def complete(self, request: Request) -> Completion:
        """Return an empty completion."""
        return Completion(text="", output=_OUTPUTS.get(request.task))

    async def close(self) -> None:
        """Do nothing."""


class StoredModel:
    """Fails whenever it is asked; its fingerprint finds the outputs of the real model."""

    caveat = ""

    def __init__(self, fingerprint: str, why: str = "") -> None:
        """Take `why`, the message of the failure; without it, the output is not stored."""
        self.fingerprint = fingerprint
        self._why = why

    async def complete(self, request: Request) -> Completion:
        """Raise `LookupError`."""
        raise LookupError(
            self._why or f"no output is stored for {request.sample.id!r}, and `score` asks no model"
        )

    async def close(self) -> None:
        """Do nothing."""
