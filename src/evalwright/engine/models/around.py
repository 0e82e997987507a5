"""What every wrapper shares: it stands around a model, and is one."""

from evalwright.ports import Model, weighs


class Around:
    """The face of the model inside; a wrapper adds its own `complete`."""

    def __init__(self, model: Model) -> None:
        self._ask = model.complete
        self._close = model.close
        self.caveat = model.caveat
        self.fingerprint = model.fingerprint
        self.weighs = weighs(model)

    async def close(self) -> None:
        """Let the model inside let go of its connections."""
        await self._close()
