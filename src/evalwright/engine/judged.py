"""Tell models that a scorer calls what they are asked about: a recorded judge needs to know."""

from msgspec import structs

from evalwright.engine.models.base import ModelWrapper
from evalwright.ports import Case, Model
from evalwright.types import Completion, JudgedAnswer, Request


def tell_judged_answer(case: Case, scorer: str) -> Case:
    """Return the case with models that are told the answer and the scorer with each request."""
    if case.judged is None:
        return case
    answer = case.answer.output if case.answer else ""
    judged = structs.replace(case.judged, scorer=scorer, answer=answer)
    models = {name: _ToldModel(model, judged) for name, model in case.models.items()}
    return structs.replace(case, models=models)


class _ToldModel(ModelWrapper):
    def __init__(self, model: Model, judged: JudgedAnswer) -> None:
        super().__init__(model)
        self._judged = judged

    async def complete(self, request: Request) -> Completion:
        """Answer a request that says what it is about."""
        first = request.judged.shown_first if request.judged else None
        prompt = request.messages[-1].content if request.messages else None
        text = prompt if isinstance(prompt, str) else None
        judged = structs.replace(self._judged, shown_first=first, prompt=text)
        return await self._ask(structs.replace(request, judged=judged))
