import re
import string
from itertools import product
from typing import Any

import pytest
from tests.scorers.cases import chat, score

from evalwright.types import CONTAINS_TARGET

MATCH = {"type": "exact_match", "ground_truth": "{{ sample.target }}"}
CASE, PUNCTUATION, ARTICLES, SPACE = (
    {f"ignore_{what}": True} for what in ("case", "punctuation", "articles", "whitespace")
)
SQUAD = {**CASE, **PUNCTUATION, **ARTICLES}


@pytest.mark.parametrize(
    ("options", "answer", "target", "equal"),
    [
        pytest.param({}, "Paris", "Paris", True, id="the same"),
        pytest.param({}, " Paris\n", "Paris", True, id="white space at the ends"),
        pytest.param({}, "paris", "Paris", False, id="case counts"),
        pytest.param({}, "Paris.", "Paris", False, id="punctuation counts"),
        pytest.param({}, "the Nile", "Nile", False, id="articles count"),
        pytest.param({}, "New  York", "New York", False, id="white space inside counts"),
        pytest.param({}, "", "Paris", False, id="an empty answer"),
        pytest.param({}, "", "", True, id="both empty"),
        pytest.param({}, "Zu\u0308rich", "Z\u00fcrich", True, id="another form"),
        pytest.param({}, "باريس", "باريس", True, id="Arabic"),
        pytest.param(CASE, "PARIS", "Paris", True, id="case"),
        pytest.param(CASE, "Paris.", "Paris", False, id="case, not punctuation"),
        pytest.param(PUNCTUATION, "“Paris.”", "Paris", True, id="punctuation"),
        pytest.param(PUNCTUATION, "باريس؟", "باريس", True, id="Arabic punctuation"),
        pytest.param(PUNCTUATION, "paris.", "Paris", False, id="punctuation, not case"),
        pytest.param(PUNCTUATION, "!", "?", False, id="nothing but punctuation still differs"),
        pytest.param(ARTICLES, "The  Nile", "Nile", True, id="articles"),
        pytest.param(ARTICLES, "A", "the", False, id="nothing but articles still differs"),
        pytest.param(ARTICLES, "A", "A", True, id="the choice A"),
        pytest.param(SPACE, "New  York\n", "NewYork", True, id="white space"),
        pytest.param(SQUAD, "The Nile.", "nile", True, id="three together"),
        pytest.param(SQUAD, "", "the", False, id="an empty answer to an article"),
    ],
)
def test_texts_are_equal_apart_from_what_is_ignored(
    options: dict[str, Any], answer: str, target: str, *, equal: bool
) -> None:
    found = score({**MATCH, **options}, {"target": target}, chat(answer))

    assert found.values == {"is_correct": equal}
    assert found.correct is equal
    assert bool(found.reason) is not equal
    assert found.metadata["answer_pred"] == answer


def squad(text: str) -> str:
    """The normalisation that SQuAD publishes."""
    text = "".join(char for char in text.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def test_on_english_text_it_is_the_exact_match_of_squad() -> None:
    starts, ends = ("", "The ", "an ", "  a "), ("", ".", "!", " (river)", "'s", ", 1.5 km")
    texts = [f"{start}Nile{end}" for start, end in product(starts, ends)]

    for answer, target in product(texts, texts):
        found = score({**MATCH, **SQUAD}, {"target": target}, chat(answer))
        assert found.correct is (squad(answer) == squad(target)), (answer, target)


def test_a_wrong_answer_that_contains_the_target_is_marked() -> None:
    assert score(MATCH, {"target": "Paris"}, chat("It is Paris.")).metadata[CONTAINS_TARGET]
    assert CONTAINS_TARGET not in score(MATCH, {"target": "Paris"}, chat("Rome")).metadata
