import pytest
from rapidfuzz.distance import Levenshtein
from tests.scorers.cases import chat, score

TEXT = {"type": "levenshtein", "ground_truth": "{{ sample.text }}"}


@pytest.mark.parametrize(
    ("answer", "target", "distance", "similarity"),
    [
        pytest.param("kitten", "sitting", 3, 4 / 7, id="three edits"),
        pytest.param("Paris", "Paris", 0, 1, id="the same"),
        pytest.param(" Paris\n", "Paris", 0, 1, id="white space at the ends"),
        pytest.param("paris", "Paris", 1, 4 / 5, id="case counts"),
        pytest.param("", "Paris", 5, 0, id="an empty answer"),
        pytest.param("", "", 0, 1, id="both empty"),
        pytest.param("abc", "xyz", 3, 0, id="nothing in common"),
        pytest.param("كتاب", "كتب", 1, 3 / 4, id="Arabic"),
        pytest.param("Zu\u0308rich", "Z\u00fcrich", 0, 1, id="another form"),
        pytest.param("Zu\u0308rich", "Zurich", 1, 5 / 6, id="an accent is one edit"),
        pytest.param("👍", "👎", 1, 0, id="emoji"),
    ],
)
def test_edits_are_counted(answer: str, target: str, distance: int, similarity: float) -> None:
    found = score(TEXT, {"text": target}, chat(answer))

    assert found.values == {"similarity": pytest.approx(similarity), "distance": distance}
    assert found.correct is None
    assert bool(found.reason) is (distance > 0)


def test_case_can_be_ignored() -> None:
    found = score({**TEXT, "ignore_case": True}, {"text": "Paris"}, chat("PARIS"))

    assert found.values == {"similarity": 1, "distance": 0}


def test_it_is_the_normalized_similarity_of_rapidfuzz() -> None:
    texts = ["", "a", "The cat sat.", "The dog sat down.", "Grüße aus Köln", "日本語", "مرحبا بكم"]

    for answer in texts:
        for target in texts:
            found = score(TEXT, {"text": target}, chat(answer)).values
            expected = Levenshtein.normalized_similarity(answer, target)
            assert found["similarity"] == pytest.approx(expected), (answer, target)
