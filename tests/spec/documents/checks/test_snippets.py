import pytest

from evalwright.components import Component, Snippet
from evalwright.spec.documents.checks.build import check_snippets


class Scored(Component):
    """Something with a snippet in it."""

    compute_scores_snippet: Snippet


class Holder(Component):
    """Several of them."""

    parts: list[Scored]


def said(text: str) -> list[tuple[str, str]]:
    document = Holder(parts=[Scored(compute_scores_snippet=Snippet(text))])
    return [(fault.detail, fault.hint) for fault in check_snippets(document)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def compute_scores(sample): ...", id="a function"),
        pytest.param("async def compute_scores(sample): ...", id="one that waits"),
        pytest.param("from scores import compute_scores", id="from elsewhere"),
        pytest.param("from scores import all_of_them as compute_scores", id="by another name"),
        pytest.param("from scores import *", id="perhaps from elsewhere"),
        pytest.param("compute_scores = lambda sample: {}", id="a lambda"),
        pytest.param("if True:\n    def compute_scores(sample): ...", id="on a condition"),
        pytest.param("class compute_scores: ...", id="a class"),
        pytest.param("stand_in_for_code", id="what only stands for it"),
    ],
)
def test_a_snippet_defines_its_function(text: str) -> None:
    assert said(text) == []


def test_a_misspelt_function_is_told() -> None:
    assert said("def compute_score(sample): ...") == [
        (
            "the snippet does not define `compute_scores`; it defines `compute_score`",
            "rename `compute_score`",
        )
    ]


def test_a_snippet_without_functions_is_told() -> None:
    assert said("scores = 3") == [
        ("the snippet does not define `compute_scores`; it defines no function", "")
    ]


def test_a_file_without_include_is_told() -> None:
    ((_, hint),) = said("scores.py")

    assert hint == "to use a file, write `!include scores.py`"


def test_the_fault_stands_at_the_snippet() -> None:
    document = Holder(parts=[Scored(compute_scores_snippet=Snippet("a = 1\nb = 2", line=7))])

    (fault,) = check_snippets(document)

    assert (fault.path, fault.line) == (("parts", 0, "compute_scores_snippet"), 7)
