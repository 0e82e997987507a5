import asyncio
from typing import Any

import pytest
from tests.scorers.cases import chat

from evalwright.components import snippets_in
from evalwright.errors import SnippetFailed
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.types import Score

UNIQUE = """
from collections import Counter

def compute_scores(samples):
    times = Counter(sample["name"] for sample in samples)
    return [{"is_unique": times[sample["name"]] == 1} for sample in samples]
"""
ROWS = [{"name": "a"}, {"name": "ü"}, {"name": "a"}]


def run(
    source: str, samples: Any = ROWS, solver_outputs: list[dict[str, Any]] | None = None
) -> list[Score]:
    async def scored() -> list[Score]:
        scorer = PythonAllSamples(type="python_all_samples", compute_scores_snippet=source)  # type: ignore[arg-type] # text, as a document gives it
        snippets = DirectSnippets(collect_sources(snippets_in(scorer)))
        try:
            return await scorer.score_all(samples, solver_outputs, snippets)
        finally:
            await snippets.close()

    return asyncio.run(scored())


def returning(expression: str) -> str:
    return f"def compute_scores(samples):\n    return {expression}\n"


def test_one_entry_a_sample_in_their_order() -> None:
    found = [score.values["is_unique"] for score in run(UNIQUE)]

    assert found == [False, True, False]


def test_entries_may_have_metadata() -> None:
    entry = "{'scores': {'is_correct': True}, 'metadata': {'at': place}}"
    found = run(returning(f"[{entry} for place, _ in enumerate(samples)]"))

    assert [score.metadata for score in found] == [{"at": 0}, {"at": 1}, {"at": 2}]
    assert all(score.correct for score in found)


def test_a_coroutine_is_awaited() -> None:
    source = "async def compute_scores(samples):\n    return [{} for _ in samples]\n"

    assert len(run(source)) == 3


def test_no_samples_are_no_scores() -> None:
    assert run(returning("[]"), []) == []


def test_with_several_datasets_there_is_an_entry_a_row_of_the_first() -> None:
    source = returning("[{'others': len(samples['right'])} for _ in samples['left']]")
    found = run(source, {"left": ROWS, "right": [{"name": "b"}]})

    assert [score.values for score in found] == [{"others": 1}] * 3


def test_with_several_datasets_the_length_of_the_others_is_not_asked() -> None:
    with pytest.raises(ValueError, match="there are 3 samples, but it returned 1"):
        run(returning("[{} for _ in samples['right']]"), {"left": ROWS, "right": [{}]})


def test_a_second_argument_gets_what_the_solver_left() -> None:
    source = (
        "def compute_scores(samples, solver_outputs):\n"
        "    return [{'said': str(one.output)} for one in solver_outputs]\n"
    )
    found = run(source, ROWS[:2], [chat("x"), chat("y")])

    assert [score.values["said"] for score in found] == ["x", "y"]


def test_a_function_of_the_samples_alone_works_beside_a_solver() -> None:
    assert len(run(UNIQUE, ROWS[:1], [chat("x")])) == 1


def test_what_it_raises_is_a_failure_and_no_score() -> None:
    with pytest.raises(SnippetFailed, match="ZeroDivisionError"):
        run(returning("1 / 0"))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("[{}]", "there are 3 samples, but it returned 1", id="too few"),
        pytest.param("[{}] * 4", "there are 3 samples, but it returned 4", id="too many"),
        pytest.param("{'a': 1}", "must return a list .* got `dict`", id="a dict"),
        pytest.param("None", "must return a list .* got `NoneType`", id="nothing"),
        pytest.param("'abc'", "must return a list .* got `str`: 'abc'", id="a text of that length"),
        pytest.param("[{}, 3, {}]", "entry 1, must return a dict .* got `int`: '3'", id="an entry"),
        pytest.param("[{}, {}, None]", "entry 2, must return a dict", id="the last entry"),
    ],
)
def test_what_is_no_list_of_scores_is_an_error_that_says_what_came(
    expression: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(returning(expression))


def test_without_snippets_it_cannot_be_scored() -> None:
    scorer = PythonAllSamples(type="python_all_samples", compute_scores_snippet=UNIQUE)  # type: ignore[arg-type] # text, as a document gives it

    with pytest.raises(ValueError, match="needs snippets"):
        asyncio.run(scorer.score_all(ROWS, None, None))


def test_it_scores_no_sample_by_itself() -> None:
    assert not hasattr(PythonAllSamples, "score")
