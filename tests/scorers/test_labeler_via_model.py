from typing import Any

import pytest
from tests.scorers.cases import SCORERS
from tests.scorers.judging.judges import LABELER, Judge, judged

from evalwright.plan.task_outlines import scorer_metrics
from evalwright.scorers.judging.verdicts import NoVerdict

KINDS = {**LABELER, "valid_labels": ["sports", "politics"]}


@pytest.mark.parametrize("reply", ["Sports", '{"label": "sports"}', "Label: sports"])
def test_a_label_comes_out_as_its_author_spells_it(reply: str) -> None:
    found = judged(KINDS, Judge(reply))

    assert found.values == {"label": "sports"}
    assert found.metadata["label"] == "sports"
    assert found.correct is None


def test_a_label_that_is_not_valid_is_a_failure() -> None:
    with pytest.raises(NoVerdict, match="its reply: religion"):
        judged(KINDS, Judge("religion"))


@pytest.mark.parametrize("reply", ["religion", "a long name of a thing", "رياضة", "42"])
def test_an_empty_list_allows_any_label(reply: str) -> None:
    assert judged(LABELER, Judge(reply)).values == {"label": reply}


def test_the_schema_lists_the_valid_labels_where_there_are_any() -> None:
    some, free = (SCORERS.validate_python(one).reply_schema for one in (KINDS, LABELER))

    assert some.properties["label"] == {"type": "string", "enum": ["sports", "politics"]}
    assert free.properties["label"] == {"type": "string"}


def test_the_default_metric_is_the_share_of_each_label() -> None:
    metrics: list[Any] = [
        one for _, one in scorer_metrics(SCORERS.validate_python(LABELER)).metrics
    ]

    assert [(one.type, one.field) for one in metrics] == [("frequency", "label")]
