import asyncio

from evalwright.metrics.evidence import EvidenceMetric
from evalwright.metrics.scores import Scores


def test_each_figure_has_its_value_and_why_there_is_no_interval() -> None:
    scores = Scores(None)
    scores.add({"a b": 3.0, "c": None, "d": 1.0}, {"a b": "three of them"})

    found = asyncio.run(EvidenceMetric().measure(scores, seed=0, snippets=None))

    assert [(one.name, one.value, one.interval, one.reason) for one in found] == [
        ("a b", 3.0, None, "three of them"),
        ("c", None, None, "undefined: the snippet gave no number"),
        ("d", 1.0, None, "a system task has no samples"),
    ]
