import pytest
from tests.scorers.cases import chat, score

from evalwright.text.similarity import rouge_l

SUMMARY = {"type": "rouge_l", "ground_truth": "{{ sample.summary }}"}


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        pytest.param("the cat sat", "the cat sat", 1, id="the same"),
        pytest.param("The cat sat!", "the cat sat", 1, id="the same words"),
        # Two words in order, of three and of four: 2 * 2 / 7.
        pytest.param("the old cat", "the cat sat down", 4 / 7, id="a subsequence"),
        pytest.param("sat cat the", "the cat sat", 1 / 3, id="the order counts"),
        pytest.param("dogs run", "the cat", 0, id="no match"),
        pytest.param("", "the cat", 0, id="an empty answer"),
        pytest.param("", "", 1, id="both empty"),
        pytest.param("!", "?", 0, id="no words"),
        pytest.param("القطة على الحصيرة", "القطة تحت الحصيرة", 2 / 3, id="Arabic"),
        pytest.param("Cafe\u0301 noir", "Caf\u00e9 noir", 1, id="another form"),
    ],
)
def test_words_in_common_are_counted(answer: str, target: str, value: float) -> None:
    found = score(SUMMARY, {"summary": target}, chat(answer))

    assert found.values == {"rouge_l_score": pytest.approx(value)}
    assert found.correct is None
    assert bool(found.reason) is (value < 1)


def test_it_is_the_f_measure_of_rouge_score() -> None:
    # rouge-score 0.1.2: RougeScorer(["rougeL"], use_stemmer=False)
    reference = {
        ("police kill the gunman", "police killed the gunman"): 0.75,
        ("the gunman kill police", "police killed the gunman"): 0.5,
        (
            "The quick brown dog jumps on the log.",
            "The quick brown fox jumps over the lazy dog",
        ): 0.5882352941176471,
        ("on a", "on a river on end."): 0.5714285714285715,
    }

    for (answer, target), value in reference.items():
        found = score(SUMMARY, {"summary": target}, chat(answer)).values
        assert found == {"rouge_l_score": pytest.approx(value)}, (answer, target)


def test_it_is_the_metric_of_records() -> None:
    answer, target = "police killed the gunman", "the gunman police killed"

    found = score(SUMMARY, {"summary": target}, chat(answer))

    assert found.values == {"rouge_l_score": rouge_l(answer, [target])} == {"rouge_l_score": 0.5}
