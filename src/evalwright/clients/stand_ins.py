"""Models that are never queried.

`latticeflow$placeholder` is for tasks that must name a model but do not query it, such as tasks
with recorded traces and dataset checks. `StoredModel` replaces a model whose stored outputs are
scored again.
"""

from typing import Any

from evalwright.types import Completion, Request

_OUTPUTS: dict[str, Any] = {"embeddings": {"embeddings": []}, "custom": {}}


class PlaceholderModel:
    """Returns an empty answer to every request."""

    caveat = "a placeholder with empty answers, not a model"
    fingerprint = "placeholder 1"

    async def complete(self, request: Request) -> Completion:
        """Return an empty completion."""
        return Completion(text="", output=_OUTPUTS.get(request.task))

    async def close(self) -> None:
        """Do nothing."""


class StoredModel:
    """Fails every request; its fingerprint identifies the stored outputs of the real model."""

    caveat = ""

    def __init__(self, fingerprint: str, why: str = "") -> None:
        """`why` is the failure message. Default: the output is not stored."""
        self.fingerprint = fingerprint
        self._why = why

    async def complete(self, request: Request) -> Completion:
        """Raise `LookupError`."""
        raise LookupError(
            self._why
            or f"no output is stored for {request.sample.id!r}, and `score` does not query models"
        )

    async def close(self) -> None:
        """Do nothing."""
