"""`python`: run a Python function that calls the model.

    solver:
      type: python
      run_solver_snippet: |
        async def run_solver(sample, model, trace):
            trace.append_user_message(sample["question"])
            trace.add_model_response(await model.predict(trace.items))
            return trace

`model.predict` takes a trace or its items, a list of messages or a string. For tasks other than
chat, it takes any JSON value. Additional keyword arguments, such as `temperature=0`, become keys of
the request. `sample=` replaces the sample that a custom inference receives. Retries, limits,
caching and costs apply to each call, even if its answer is not added to the trace. A failed call
raises an exception in the snippet. If the snippet does not catch it, the sample fails.
"""

from typing import Any, ClassVar, Literal

from evalwright.components import Snippet
from evalwright.objects import items_from, read_trace
from evalwright.ports import Case
from evalwright.solvers.base import SolverSpec
from evalwright.solvers.builders import build_input
from evalwright.solvers.conversation import Conversation, ModelInput, build_chat
from evalwright.types import Message, MLTask, Sample, Trace


class PythonSolver(SolverSpec):
    """Calls `run_solver(sample, model, trace)`, which may be async and returns the trace.

    Instead of a trace, it may return a list of items or messages, or an object from
    `latticeflow.core.dtypes` that contains them.
    """

    version: ClassVar[int] = 2  # 2: fields that an endpoint adds to its messages are sent back

    type: Literal["python"]
    run_solver_snippet: Snippet
    """Python code that defines `run_solver(sample, model, trace)`."""

    async def solve(self, case: Case) -> Trace:
        """Call the author's function and read the returned trace."""
        if case.snippets is None:
            raise ValueError("a `python` solver needs snippets, but they are not available")
        chat = Conversation(case)

        async def predict(request: Any, keywords: dict[str, Any]) -> Any:
            extra_keys = dict(keywords)
            sample = case.sample
            if "sample" in extra_keys:
                sample = Sample(sample.id, extra_keys.pop("sample"))
            return await chat.ask(_build_question(request, extra_keys, case.task), sample=sample)

        returned = await case.snippets.call(
            self.run_solver_snippet.function("run_solver"),
            [case.sample.data, None, {}],
            objects=("", "Model", "SolverTrace"),
            predict=predict,
        )
        with self.run_solver_snippet.locate_errors("run_solver"):
            conversation = _read_conversation(returned, chat)
        return chat.trace(conversation)


def _build_question(request: Any, extra_keys: dict[str, Any], task: MLTask) -> ModelInput:
    if task != "chat_completion":
        return build_input(_find_custom_input(request), task)[0]
    if isinstance(request, str):
        return ModelInput(messages=(Message("user", request),), input=extra_keys or None)
    if isinstance(request, dict) and "messages" in request:
        return build_input({**request, **extra_keys}, task)[0]
    if isinstance(request, dict) and "items" in request:
        request = request["items"]
    if not isinstance(request, list):
        raise ValueError(  # noqa: TRY004 - data of the wrong shape
            "`model.predict` takes the items of a trace, a list of messages or a string,"
            f" got `{type(request).__name__}`"
        )
    return build_chat(items_from(request), extra_keys)


def _find_custom_input(request: Any) -> Any:
    """Return the last custom input among the items of a trace; any other JSON unchanged."""
    for item in reversed(request) if isinstance(request, list) else ():
        if isinstance(item, dict) and item.get("type") == "custom_task_input_message":
            return item.get("content")
    return request


def _read_conversation(returned: Any, chat: Conversation) -> dict[str, Any]:
    if returned is None:
        raise ValueError("run_solver must return the trace, got `None`")
    try:
        conversation = read_trace(returned).to_json()
    except ValueError as error:
        raise ValueError(f"run_solver must return the trace: {error}") from error
    # The author's function may change the items, but the raw outputs are recorded only here.
    conversation["direct_ios"] = conversation["direct_ios"] or chat.direct_ios
    return conversation
