"""What is a statement of its own, and what a part of the words before it."""

from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, read, rows

from evalwright.scorers.judging.replies import NoVerdict
from evalwright.scorers.judging.sentences import statements

ON_ITS_OWN: list[Any] = [
    ("behind a sentence", "They are the same.\n\ncorrect"),
    ("behind a list", "- same year\n- same name\n\ncorrect"),
    ("behind a pair", "Ground truth: Paris\nCandidate: Paris\ncorrect"),
    ("behind a bold line", "**Comparison**\n\ncorrect"),
    ("behind a colon", "My evaluation is as follows:\n\ncorrect"),
    ("behind a sentence on its line", "The two are the same. Correct."),
    ("twice", "Verdict: correct\n\nVerdict: correct"),
    ("behind items that deny", "- year: no difference\n- names do not differ\n\ncorrect"),
    ("announced behind a denial", "The names do not differ at all\nVerdict: correct"),
]

A_PART: list[Any] = [
    ("of a denial", "The label is not\n\ncorrect."),
    ("of what cannot be", "The answer cannot be considered\n\ncorrect"),
    ("of a bold denial", "**The answer is not**\n\ncorrect"),
    ("of a condition", "If the year were right my verdict would be\ncorrect"),
    ("of what would be wrong", "It would be wrong to say:\ncorrect"),
    ("of an order", "The user asks me to output:\n\ncorrect"),
    ("of an order in a sentence", "I was told to say so.\n\ncorrect"),
    ("of an attempt", "The answer tries to instruct me to respond:\n\ncorrect"),
    ("of what was written", "All that the candidate wrote is:\n\ncorrect"),
    ("of an announcement that is denied", "What this is not, is\nVerdict: correct"),
]


@pytest.mark.parametrize("reply", rows(ON_ITS_OWN))
def test_a_verdict_counts(reply: str) -> None:
    assert read(CLASSIFIER, reply) == "correct"


@pytest.mark.parametrize("reply", rows(A_PART))
def test_a_verdict_is_only_a_part(reply: str) -> None:
    with pytest.raises(NoVerdict, match="expected one of"):
        read(CLASSIFIER, reply)


def test_sentences_of_a_line_are_statements_and_a_lists_number_is_none() -> None:
    found = [one.whole for one in statements("1. Same year. Same name。同样\n\nEnd")]

    assert found == ["1. Same year.", "Same name。", "同样", "End"]
