"""Secrets leave answers and errors here, before a cache, a journal or a log can keep them.

A server may echo the key it was sent, in an error or in an answer.

Does not:   clean other exceptions than `ModelError`: a client maps what it can foresee to that
            one, and whoever writes failures down cleans once more.
"""

from typing import Any

from msgspec import structs

from evalwright.engine.models.around import Around
from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.secrets import Redactor
from evalwright.types import Completion, Request

_NUMBERS = frozenset({int, float})


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
        if text is not completion.text:
            completion = structs.replace(completion, text=text)
        if completion.output is not None:
            completion = structs.replace(completion, output=self._deep(completion.output))
        if completion.bodies is not None:
            sent, came = completion.bodies
            completion = structs.replace(completion, bodies=(self._clean(sent), self._clean(came)))
        return completion

    def _deep(self, value: Any) -> Any:
        """JSON without the secrets, in its keys too."""
        if isinstance(value, str):
            return self._clean(value)
        if isinstance(value, dict):
            return {self._clean(name): self._deep(one) for name, one in value.items()}
        if isinstance(value, list) and not _NUMBERS.issuperset(map(type, value)):
            return [self._deep(one) for one in value]
        return value  # a number, or a vector of thousands
