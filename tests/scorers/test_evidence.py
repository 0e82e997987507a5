import asyncio
from typing import Any

import pytest

from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.components import Snippet
from evalwright.ports import Case
from evalwright.scorers.evidence import EvidenceScorer
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.types import Sample, Score


def found(body: str, *, parameters: str = "") -> Score:
    snippet = Snippet(f"def compute_evidence({parameters}):\n    {body}\n")
    snippets = DirectSnippets(collect_sources([snippet]))

    async def score() -> Score:
        case = Case(sample=Sample("0", {}), model=PlaceholderModel(), snippets=snippets)
        try:
            return await EvidenceScorer(snippet, {"task": "register"}).score(case)
        finally:
            await snippets.close()

    return asyncio.run(score())


def test_values_and_reasons_are_kept() -> None:
    score = found('return {"metrics": {"a b": {"value": 2, "reason": "two"}, "c": {"value": 0.5}}}')

    assert score.values == {"a b": 2.0, "c": 0.5}
    assert score.metadata == {"a b": "two"}


def test_a_function_with_a_parameter_is_told_what_it_is_part_of() -> None:
    score = found('return {"metrics": {context["task"]: {"value": 1}}}', parameters="context")

    assert score.values == {"register": 1.0}


@pytest.mark.parametrize("value", ["None", "float('nan')"])
def test_what_is_not_defined_is_null(value: str) -> None:
    assert found(f'return {{"metrics": {{"a": {{"value": {value}}}}}}}').values == {"a": None}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("None", ' must return {"metrics": {name: {"value": number}}}, got None'),
        ("[1]", ' must return {"metrics": {name: {"value": number}}}, got [1]'),
        ('{"metrics": {"a": 1}}', ': metric `a` must be {"value": number}, got 1'),
        (
            '{"metrics": {"a": {"value": "1"}}}',
            ": metric `a` must be {\"value\": number}, got {'value': '1'}",
        ),
        (
            '{"metrics": {"a": {"value": True}}}',
            ": metric `a` must be {\"value\": number}, got {'value': True}",
        ),
        ('{"metrics": {"a": {}}}', ': metric `a` must be {"value": number}, got {}'),
        (
            '{"metrics": {"a": {"value": 1, "why": "x"}}}',
            ": `a` may have only `value` and `reason`, not `why`",
        ),
    ],
)
def test_anything_else_is_an_error(returned: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"must be|must return|may have only `value`") as raised:
        found(f"return {returned}")

    assert str(raised.value) == f"<snippet>:1: compute_evidence{message}"


def test_the_key_of_its_score_is_its_snippet() -> None:
    one, two = (EvidenceScorer(Snippet(f"a = {n}"), {}) for n in (1, 2))
    sample: Any = Sample("0", {})

    assert one.describe_inputs(sample) != two.describe_inputs(sample)


def test_what_the_snippet_is_told_is_in_the_key_too() -> None:
    snippet = Snippet("def compute_evidence(context): ...")
    told: list[dict[str, Any]] = [
        {"task": "register", "config": {"year": 2025}},
        {"task": "register", "config": {"year": 2026}},
        {"task": "audit", "config": {"year": 2025}},
    ]

    keys = [EvidenceScorer(snippet, context).describe_inputs(Sample("0", {})) for context in told]

    assert len(set(keys)) == 3
    assert (
        EvidenceScorer(snippet, dict(reversed(told[0].items()))).describe_inputs(Sample("0", {}))
        == keys[0]
    )
