import asyncio
from typing import Any

import pytest
from tests.metrics.cases import METRICS

from evalwright.components import snippets_in
from evalwright.errors import SnippetFailed
from evalwright.metrics.scores import Measure, Scores
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources


def run(source: str, values: list[dict[str, Any]], *, seed: int = 0) -> list[Measure]:
    async def measured() -> list[Measure]:
        metric = METRICS.validate_python({"type": "python", "compute_metrics_snippet": source})
        scores = Scores(metric.fields())
        for one in values:
            scores.add(one, {"seen": True})
        snippets = DirectSnippets(collect_sources(snippets_in(metric)))
        try:
            found: list[Measure] = await metric.measure(scores, seed=seed, snippets=snippets)
        finally:
            await snippets.close()
        return found

    return asyncio.run(measured())


def returning(expression: str) -> str:
    return f"def compute_metrics(scores):\n    return {expression}\n"


MEAN = returning("{'mean': sum(s.values['x'] for s in scores) / len(scores)}")


def test_figures_have_the_names_that_the_function_gives() -> None:
    source = returning("{'n': len(scores), 'seen of': sum(s.metadata['seen'] for s in scores)}")

    found = run(source, [{"x": 1}, {"x": 2}])

    assert [(one.name, one.value, one.n) for one in found] == [("n", 2.0, 2), ("seen of", 2.0, 2)]


def test_an_async_function_is_one_too() -> None:
    source = "async def compute_metrics(scores):\n    return {'n': len(scores)}\n"

    assert run(source, [{"x": 1}])[0].value == 1.0


def test_a_cheap_metric_is_resampled() -> None:
    values = [{"x": i % 2} for i in range(100)]

    (found,) = run(MEAN, values)

    assert found.value == 0.5
    assert found.interval is not None
    assert found.interval.method == "bootstrap"
    assert 0.35 < found.interval.low < 0.45
    assert 0.55 < found.interval.high < 0.65
    assert run(MEAN, values) == [found], "the same seed, the same interval"


@pytest.mark.parametrize(
    ("source", "values", "reason"),
    [
        pytest.param(MEAN, [{"x": 1}] * 9, "no interval: fewer than 10 samples", id="few samples"),
        pytest.param(
            MEAN,
            [{"x": 1}] * 10,
            "no interval: the resampled values are all equal, or mostly undefined",
            id="no spread",
        ),
        pytest.param(
            MEAN,
            [{"x": 1}] * 1001,
            "no interval: the metric is not resampled for more than 1,000 samples",
            id="many samples",
        ),
        pytest.param(
            "import time\ndef compute_metrics(scores):\n    time.sleep(2.2)\n    return {'a': 1}\n",
            [{"x": 1}] * 10,
            "no interval: a call takes longer than 2 s",
            id="a slow call",
        ),
    ],
)
def test_where_there_is_no_interval_it_says_why(
    source: str, values: list[dict[str, Any]], reason: str
) -> None:
    (found,) = run(source, values)

    assert found.value == 1.0
    assert (found.interval, found.reason) == (None, reason)


@pytest.mark.parametrize("expression", ["None", "float('nan')", "float('inf')"])
def test_no_number_is_undefined(expression: str) -> None:
    (found,) = run(returning(f"{{'a': {expression}}}"), [{"x": 1}] * 3)

    assert (found.value, found.interval) == (None, None)
    assert found.reason == "undefined: the metric returned no number"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("3", "compute_metrics must return a dict of numbers, got `3`", id="no dict"),
        pytest.param("{'a': 'b'}", "expected a number for `a`, got `'b'`", id="a text"),
        pytest.param("{'a': [1]}", "expected a number for `a`", id="a list"),
    ],
)
def test_what_is_no_dict_of_numbers_is_an_error(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(returning(expression), [{"x": 1}])


def test_what_the_function_raises_is_an_error() -> None:
    with pytest.raises(SnippetFailed, match="division by zero"):
        run(MEAN, [])


def test_without_snippets_it_cannot_measure() -> None:
    metric = METRICS.validate_python({"type": "python", "compute_metrics_snippet": MEAN})

    with pytest.raises(ValueError, match="needs snippets"):
        asyncio.run(metric.measure(Scores(None), seed=0, snippets=None))
