"""Shared code of the scorers that search for strings in an answer."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from evalwright.scorers.base import cut, read_list, short
from evalwright.templates import Template
from evalwright.types import Score

TextList = Annotated[
    Annotated[list[Template], Field(min_length=1), Tag("list")]
    | Annotated[Template, Tag("template")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "template"),
]
"""Strings: one template per string, or one template that renders to a JSON or Python list."""


def render_texts(texts: TextList, row: Mapping[str, Any], *, field: str) -> list[str]:
    """Return the rendered strings; ValueError if there are none or if an item is not valid."""
    if isinstance(texts, Template):
        rendered = read_list(texts.render(sample=row), field=field)
    else:
        rendered = [text.render(sample=row) for text in texts]
    if not rendered:
        raise ValueError(f"`{field}` rendered to an empty list; expected at least one string")
    for item in rendered:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise ValueError(f"`{field}` must render to a list of strings, got {short(rendered)}")  # noqa: TRY004 - a wrong value in the data
    return [require_text(str(item), field=field) for item in rendered]


def require_text(text: str, *, field: str = "ground_truth") -> str:
    """Return the text; ValueError if it is empty, because every answer would contain it."""
    if not text:
        raise ValueError(
            f"`{field}` rendered to an empty string, which every answer contains: check the row"
        )
    return text


def score_match(actual: str, expected: Any, *, is_correct: bool, reason: str) -> Score:
    """Return the score of a comparison whose result is correct or incorrect."""
    return Score(
        values={"is_correct": is_correct},
        correct=is_correct,
        reason="" if is_correct else reason,
        metadata={"answer_gt": expected, "answer_pred": actual},
    )


def quote_texts(texts: Sequence[str]) -> str:
    """Return the quoted strings, separated by commas and shortened if long."""
    return cut(", ".join(map(repr, texts)))
