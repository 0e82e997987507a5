"""The table of scorers: what each scores, notes beside it, and is measured by when nothing is said.

And the two ways to write `compute_scores`, in every form that the format allows.
"""

import asyncio
from typing import Any

import pytest
from tests.scorers.cases import SCORERS, called, case, chat, said
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER, Judge

from evalwright.components import snippets_in
from evalwright.plan.task_outlines import scorer_metrics
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.types import Score

BOTH = '{"scores": {"n": 1, "is_correct": True}, "metadata": {"tokens": 123}}'
JUDGED = ("reasoning", "confidence", "raw_reply", "verdict_rule", "structured", "judge")
CALLED = {"items": [said("user", "go"), called("search")]}


def scored(
    fields: dict[str, Any], row: dict[str, Any], conversation: dict[str, Any] | None
) -> Score:
    async def work() -> Score:
        scorer = SCORERS.validate_python(fields)
        snippets = DirectSnippets(collect_sources(snippets_in(scorer)))
        try:
            if isinstance(scorer, PythonAllSamples):
                return (await scorer.score_all([row], None, snippets))[0]
            models = {"judge": Judge(lambda request: request.messages[-1].content)}
            one = case(row, conversation, snippets=snippets, models=models)
            found: Score = await scorer.score(one)
        finally:
            await snippets.close()
        return found

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("fields", "values", "metadata", "figures"),
    [
        pytest.param(
            {"type": "bleu", "ground_truth": "{{ sample.a }}"},
            {"bleu_score": 1.0},
            set(),
            ["bleu_score_mean"],
            id="bleu",
        ),
        pytest.param(
            {"type": "string_equals", "ground_truth": "{{ sample.a }}"},
            {"is_correct": True},
            {"answer_gt", "answer_pred"},
            ["is_correct_mean"],
            id="string_equals",
        ),
        pytest.param(
            {"type": "string_equals_mcqa", "ground_truth_choice": "A", "choices": "['A', 'B']"},
            {"is_correct": True},
            {
                *("ground_truth_choices", "ground_truth_correct_choice"),
                *("predicted_choice", "completion_validity"),
            },
            ["is_correct_mean"],
            id="string_equals_mcqa",
        ),
        pytest.param(
            {
                "type": "python",
                "compute_scores_snippet": f"def compute_scores(sample): return {BOTH}",
            },
            {"n": 1, "is_correct": True},
            {"tokens"},
            [],
            id="python",
        ),
        pytest.param(
            {
                "type": "python_all_samples",
                "compute_scores_snippet": f"def compute_scores(samples): return [{BOTH}]",
            },
            {"n": 1, "is_correct": True},
            {"tokens"},
            [],
            id="python_all_samples",
        ),
        pytest.param(
            {"type": "function_call_coverage", "function_calls": '["search"]'},
            {
                "all_required_calls_made": True,
                "required_calls_coverage": 1.0,
                "num_required_calls_made": 1,
                "num_required_calls_not_made": 0,
                "num_unrequired_calls": 0,
                "num_required_calls_total": 1,
            },
            {"required", "called", "matched", "unmatched"},
            ["all_required_calls_made_mean", "required_calls_coverage_mean"],
            id="function_call_coverage",
        ),
        pytest.param(
            {
                **CLASSIFIER,
                "user_prompt": "{{ model_output }}",
                "correct_labels": ["A"],
                "incorrect_labels": ["B"],
            },
            {"is_correct": True},
            {"prediction", *JUDGED},
            ["is_correct_mean"],
            id="model_as_a_judge_classifier",
        ),
        pytest.param(
            {**SCORER, "user_prompt": "6"},
            {"score": 0.6},
            {"raw_score", *JUDGED},
            ["score_mean"],
            id="model_as_a_judge_scorer",
        ),
    ],
)
def test_a_scorer_has_the_scores_metadata_and_default_metrics_of_its_row(
    fields: dict[str, Any], values: dict[str, Any], metadata: set[str], figures: list[str]
) -> None:
    conversation = CALLED if fields["type"] == "function_call_coverage" else chat("A")
    found = scored(fields, {"a": "A"}, conversation)

    assert found.values == values
    assert set(found.metadata) == metadata
    metrics: list[Any] = [one for _, one in scorer_metrics(SCORERS.validate_python(fields)).metrics]
    assert [one.value_name for one in metrics] == figures


def test_a_labeler_has_the_score_metadata_and_default_metric_of_its_row() -> None:
    fields = {**LABELER, "user_prompt": "{{ model_output }}"}
    found = scored(fields, {}, chat("A"))

    assert found.values == {"label": "A"}
    assert set(found.metadata) == {"label", *JUDGED}
    (one,) = scorer_metrics(SCORERS.validate_python(fields)).metrics
    assert one[0] == "frequency"


@pytest.mark.parametrize("kind", ["bleu", "string_equals"])
def test_for_checks_there_are_no_default_metrics_but_those_that_are_listed(kind: str) -> None:
    fields = {"type": kind, "ground_truth": "a", "purpose": "qa"}
    listed = {**fields, "metrics": [{"type": "max", "field": "n"}]}

    assert scorer_metrics(SCORERS.validate_python(fields)).metrics == ()
    (one,) = scorer_metrics(SCORERS.validate_python(listed)).metrics
    assert one[0] == "max"
    assert scorer_metrics(SCORERS.validate_python(listed)).purpose == "qa"


@pytest.mark.parametrize("word", ["def", "async def"])
@pytest.mark.parametrize(
    ("arguments", "conversation"),
    [
        pytest.param("sample: dict[str, Any], solver_output: SolverOutput", chat("A"), id="model"),
        pytest.param("sample: dict[str, Any]", None, id="dataset"),
    ],
)
@pytest.mark.parametrize(
    ("returned", "values", "metadata"),
    [
        pytest.param(
            '{"accuracy": 0.95, "is_correct": True}',
            {"accuracy": 0.95, "is_correct": True},
            {},
            id="scores only",
        ),
        pytest.param(
            '{"scores": {"accuracy": 0.95}, "metadata": {"model": "m", "tokens": 123}}',
            {"accuracy": 0.95},
            {"model": "m", "tokens": 123},
            id="scores with metadata",
        ),
    ],
)
def test_compute_scores_of_a_sample_in_every_form(
    word: str,
    arguments: str,
    conversation: dict[str, Any] | None,
    returned: str,
    values: dict[str, Any],
    metadata: dict[str, Any],
) -> None:
    source = (
        "from __future__ import annotations\nfrom typing import Any\n"
        f"{word} compute_scores({arguments}) -> dict[str, Any]:\n"
        f"    assert isinstance(sample, dict)\n    return {returned}\n"
    )

    found = scored({"type": "python", "compute_scores_snippet": source}, {"a": 1}, conversation)

    assert (found.values, found.metadata) == (values, metadata)


@pytest.mark.parametrize("word", ["def", "async def"])
@pytest.mark.parametrize(
    ("returned", "values", "metadata"),
    [
        pytest.param('{"n": 1}', {"n": 1}, {}, id="scores only"),
        pytest.param(BOTH, {"n": 1, "is_correct": True}, {"tokens": 123}, id="with metadata"),
    ],
)
def test_compute_scores_of_all_samples_in_every_form(
    word: str, returned: str, values: dict[str, Any], metadata: dict[str, Any]
) -> None:
    source = (
        "from __future__ import annotations\nfrom collections import Counter\n"
        "from typing import Any\n"
        f"{word} compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:\n"
        "    Counter(sample['a'] for sample in samples)\n"
        f"    return [{returned} for _ in samples]\n"
    )

    fields = {"type": "python_all_samples", "compute_scores_snippet": source}
    found = scored(fields, {"a": 1}, None)

    assert (found.values, found.metadata) == (values, metadata)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("solver_output.output.choices[0].message.content", id="the last output"),
        pytest.param("solver_output.messages[-1]['content']", id="what came out"),
        pytest.param("solver_output.messages[1].content", id="all in order"),
        pytest.param("{'user': 'A'}[solver_output.messages[0]['role']]", id="what went in"),
    ],
)
def test_a_solver_output_has_the_last_output_and_the_messages(expression: str) -> None:
    source = f"def compute_scores(sample, solver_output):\n    return {{'said': {expression}}}\n"
    fields = {"type": "python", "compute_scores_snippet": source}

    assert scored(fields, {}, chat("A")).values == {"said": "A"}
