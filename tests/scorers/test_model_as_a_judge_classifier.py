from typing import Any

import pytest
from tests.scorers.cases import SCORERS
from tests.scorers.judging.judges import CLASSIFIER, Judge, judged

from evalwright.plan.task_outlines import scorer_metrics
from evalwright.scorers.judging.verdicts import NoVerdict

SEVERAL = {
    **CLASSIFIER,
    "correct_labels": ["fully right", "Right"],
    "incorrect_labels": ["wrong", "off topic"],
}


@pytest.mark.parametrize(
    ("reply", "label", "right"),
    [
        ("fully right", "fully right", True),
        ("RIGHT", "Right", True),
        ("Wrong.", "wrong", False),
        ('{"prediction": "off topic"}', "off topic", False),
    ],
)
def test_a_label_is_right_or_wrong_by_the_list_that_it_is_in(
    reply: str, label: str, *, right: bool
) -> None:
    found = judged(SEVERAL, Judge(reply))

    assert found.values == {"is_correct": right}
    assert found.correct is right
    assert found.metadata["prediction"] == label
    assert found.reason == ("" if right else f"the judge's verdict: `{label}`")


def test_a_label_of_neither_list_is_a_failure_and_never_a_0() -> None:
    with pytest.raises(NoVerdict, match=r"expected one of .*; its reply: maybe"):
        judged(SEVERAL, Judge("maybe"))


def test_the_schema_allows_the_labels_of_both_lists_and_no_others() -> None:
    schema = SCORERS.validate_python(SEVERAL).reply_schema

    assert schema.properties["prediction"] == {
        "type": "string",
        "enum": ["fully right", "Right", "wrong", "off topic"],
    }


def test_the_default_metric_is_the_share_of_the_right_ones() -> None:
    metrics: list[Any] = [
        one for _, one in scorer_metrics(SCORERS.validate_python(CLASSIFIER)).metrics
    ]

    assert [one.value_name for one in metrics] == ["is_correct_mean"]
