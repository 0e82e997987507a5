"""Where a sample and an answer have what is looked at: columns of the row, chunks of the output.

Everything is looked up before the judge is asked anything, so that a sample that lacks something
costs nothing.
"""

from collections.abc import Mapping
from typing import Any

from evalwright.objects import ChatCompletion, SolverTrace
from evalwright.ports import Case
from evalwright.scorers.base import short
from evalwright.scorers.rag.claims import cell, missing
from evalwright.scorers.rag_checker import DEFAULT_TARGET


def target_in(row: Mapping[str, Any], column: str | None) -> str:
    """The target; empty where no column is named and the sample has no `target`."""
    if column is None and DEFAULT_TARGET not in row:
        return ""
    return text_in(row, column or DEFAULT_TARGET, may_be_empty=column is None)


def text_in(row: Mapping[str, Any], column: str, *, may_be_empty: bool = False) -> str:
    """The text of a column; ValueError where it is none, or empty and that will not do."""
    value = cell(row, column)
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        if may_be_empty:
            return ""
        raise ValueError(missing(row, column))
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - what a row holds is a value
            f"column `{column}` of the sample must be a text, got {short(value)}"
        )
    return value


def completion_of(case: Case) -> ChatCompletion:
    """What the model answered; ValueError where it was no chat."""
    if case.answer is None:
        raise ValueError("`rag_checker` needs the answer of a model, and the task has no solver")
    found = SolverTrace.from_json(case.answer.conversation).output
    if isinstance(found, ChatCompletion) and found.get("choices"):
        return found
    raise ValueError(
        f"`rag_checker` needs a chat completion, the output of the model is {short(found)}"
    )


def chunks_of(completion: ChatCompletion) -> list[str] | None:
    """The retrieved texts of its first choice; None where it says nothing of any."""
    choices: list[dict[str, Any]] = completion["choices"]
    references = dict.get(choices[0], "references")
    if references is None:
        return None
    if not isinstance(references, list):
        raise ValueError(  # noqa: TRY004 - what a model gave is a value
            f"`references` must be a list, the model returned {short(references)}"
        )
    return [_chunk(one, number) for number, one in enumerate(references, start=1)]


def _chunk(reference: Any, number: int) -> str:
    content = reference.get("content") if isinstance(reference, dict) else reference
    if not isinstance(content, str):
        raise ValueError(  # noqa: TRY004 - what a model gave is a value
            f'reference {number} must be `{{"content": "…"}}`, the model returned '
            f"{short(reference)}"
        )
    return content
