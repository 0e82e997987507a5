import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat

from evalwright.components import snippets_in
from evalwright.errors import SnippetFailed
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.types import Score


def run(
    source: str, row: dict[str, Any] | None = None, conversation: dict[str, Any] | None = None
) -> Score:
    async def scored() -> Score:
        scorer = SCORERS.validate_python({"type": "python", "compute_scores_snippet": source})
        snippets = DirectSnippets(collect_sources(snippets_in(scorer)))
        try:
            found: Score = await scorer.score(case(row or {}, conversation, snippets=snippets))
        finally:
            await snippets.close()
        return found

    return asyncio.run(scored())


def returning(expression: str) -> str:
    return f"def compute_scores(sample):\n    return {expression}\n"


def test_a_function_of_a_sample_scores_a_row() -> None:
    source = "def compute_scores(sample):\n    return {'length': len(sample['text'])}\n"

    assert run(source, {"text": "héllo"}).values == {"length": 5}


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("solver_output.output.choices[0].message.content", id="attributes"),
        pytest.param("solver_output['output']['choices'][0]['message']['content']", id="keys"),
        pytest.param("solver_output.messages[-1]['content']", id="old messages"),
        pytest.param("solver_output.trace.get_last_assistant_text()", id="the trace"),
        pytest.param("str(solver_output.items[-1].content)", id="items"),
        pytest.param("str(solver_output.raw_outputs[-1])", id="raw outputs"),
    ],
)
def test_a_function_of_two_sees_what_the_solver_left(expression: str) -> None:
    source = f"def compute_scores(sample, solver_output):\n    return {{'said': {expression}}}\n"

    assert run(source, {}, chat("Lima")).values == {"said": "Lima"}


def test_a_function_of_one_is_enough_where_there_is_a_solver() -> None:
    assert run(returning("{'a': 1}"), {}, chat("x")).values == {"a": 1}


def test_a_function_that_may_do_without_the_solver_is_called_without() -> None:
    source = "def compute_scores(sample, solver_output=None):\n    return {'a': solver_output}\n"

    assert run(source).values == {"a": None}


def test_a_function_that_wants_a_solver_where_there_is_none_is_an_error() -> None:
    source = "def compute_scores(sample, solver_output):\n    return {}\n"

    with pytest.raises(SnippetFailed, match="solver_output"):
        run(source)


def test_a_coroutine_is_awaited() -> None:
    assert run("async def compute_scores(sample):\n    return {'a': True}\n").values == {"a": True}


def test_what_it_raises_is_a_failure_and_no_score() -> None:
    with pytest.raises(SnippetFailed, match="KeyError: 'absent'"):
        run(returning("sample['absent']"))


def test_another_name_is_not_found() -> None:
    with pytest.raises(SnippetFailed, match="compute_scores"):
        run("def compute_score(sample):\n    return {}\n")


def test_a_row_without_a_value_has_it_as_none_or_not_at_all() -> None:
    source = returning("{'there': sorted(sample), 'nan': sample['b']}")

    assert run(source, {"a": 1, "b": float("nan")}).values == {"there": ["a", "b"], "nan": None}


def test_without_snippets_it_cannot_be_scored() -> None:
    scorer = SCORERS.validate_python(
        {"type": "python", "compute_scores_snippet": returning("{'a': 1}")}
    )

    with pytest.raises(ValueError, match="needs snippets"):
        asyncio.run(scorer.score(case({})))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def compute_scores(:", id="no Python"),
        pytest.param(3, id="no text"),
    ],
)
def test_what_is_no_python_is_refused_before_anything_runs(source: Any) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({"type": "python", "compute_scores_snippet": source})


def test_the_place_of_the_source_is_not_in_what_a_score_depends_on() -> None:
    from evalwright.components import Authored

    written = [Authored("def f(): ...", file=f"{name}.yaml", line=3) for name in "ab"]
    settings = {
        SCORERS.validate_python({"type": "python", "compute_scores_snippet": one}).settings
        for one in written
    }

    assert len(settings) == 1
