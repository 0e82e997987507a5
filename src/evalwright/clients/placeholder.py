"""`latticeflow$placeholder`: no model. An empty answer to everything, and no call.

It is for tasks that must name a model and use none: recorded traces, checks of a dataset.
"""

from typing import Any

from evalwright.types import Completion, Request

_OUTPUTS: dict[str, Any] = {"embeddings": {"embeddings": []}, "custom": {}}


class Placeholder:
    """Says nothing."""

    caveat = "empty answers, by no model"
    fingerprint = "placeholder 1"

    async def complete(self, request: Request) -> Completion:
        """An empty completion."""
        return Completion(text="", output=_OUTPUTS.get(request.task))

    async def close(self) -> None:
        """Nothing to let go of."""
