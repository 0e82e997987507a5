"""Secrets leave answers and errors here, before a cache, a journal or a log can keep them.

A server may echo the key it was sent, in an error or in an answer.

Does not:   clean other exceptions than `ModelError`: a client maps what it can foresee to that
            one, and whoever writes failures down cleans once more.
"""

from msgspec import structs

from evalwright.engine.models.around import Around
from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.secrets import Redactor
from evalwright.types import Completion, Request


class Redacting(Around):
    """Answers without the secrets."""

    def __init__(self, model: Model, redactor: Redactor) -> None:
        super().__init__(model)
        self._clean = redactor.clean

    async def complete(self, request: Request) -> Completion:
        """Answer, or fail, in clean words."""
        try:
            completion = await self._ask(request)
        except ModelError as error:
            error.args = (self._clean(str(error)),)
            error.hint = self._clean(error.hint)
            error.__cause__ = error.__context__ = None  # a traceback would print their words too
            raise
        text = self._clean(completion.text)
        return completion if text is completion.text else structs.replace(completion, text=text)
