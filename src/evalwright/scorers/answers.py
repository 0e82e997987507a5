"""The two texts that a scorer compares: what was said, and what should have been."""

from typing import Any

from evalwright.objects import ChatCompletion, SolverTrace, variables
from evalwright.ports import Case
from evalwright.templates import Template


def compared(case: Case, *, value: Template | None, ground_truth: Template) -> tuple[str, str]:
    """The rendered value (without one, the answer) and the rendered ground truth."""
    actual = answer_text(case) if value is None else value.render(**seen(case))
    return actual, ground_truth.render(sample=case.sample.data)


def seen(case: Case) -> dict[str, Any]:
    """What the template of a value may refer to; in a task without a solver, `sample` alone."""
    return variables(case.sample.data, None if case.answer is None else case.answer.conversation)


def answer_text(case: Case) -> str:
    """The text of the last assistant message, empty where it only called functions.

    ValueError where there is none: no solver, or a model that does not chat.
    """
    if case.answer is None:
        raise ValueError(
            "a task without a solver has no answer to compare: "
            "say in `value` what is compared, such as `{{ sample.answer }}`"
        )
    solved = SolverTrace.from_json(case.answer.conversation)
    if isinstance(solved.output, ChatCompletion | None):
        said = solved.trace.get_last_assistant_text()
        if said is not None:
            return said
    if isinstance(solved.output, ChatCompletion):
        return str(solved.output)  # it only called functions
    raise ValueError(
        "there is no assistant message to compare: "
        "say in `value` what is compared, such as `{{ solver_output.output.label }}`"
    )
