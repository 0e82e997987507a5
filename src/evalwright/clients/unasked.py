"""A model that is never asked: what `evalwright score` puts in the place of the real one.

It has the fingerprint of the model whose outputs are stored, so their keys are found.
"""

from evalwright.types import Completion, Request


class Unasked:
    """Fails whenever it is asked."""

    caveat = ""

    def __init__(self, fingerprint: str, why: str = "") -> None:
        self.fingerprint = fingerprint
        self._why = why
        """Said in place of what is said of an output that is not stored."""

    async def complete(self, request: Request) -> Completion:
        """No output is stored, and none will be asked for."""
        raise LookupError(
            self._why or f"no output is stored for {request.sample.id!r}, and `score` asks no model"
        )

    async def close(self) -> None:
        """Nothing to let go of."""
