from collections.abc import Iterator

import pytest
from msgspec import structs
from tests.report.made import folded, outcome

from evalwright.report.asking import Asked
from evalwright.types import Outcome, Score, Usage


def asked(model: str, sample_id: str, confidence: float | None) -> Outcome:
    made = outcome(model, sample_id, 1.0)
    said = Score(values={"confidence": confidence})
    usage = Usage(requests=1, prompt_tokens=20, completion_tokens=2, cost=0.5)
    return structs.replace(made, scores={**made.scores, "confidence": said}, others={model: usage})


def test_the_usual_way_is_not_worth_a_note_and_nothing_is_read() -> None:
    def never(**_: object) -> Iterator[Outcome]:
        raise AssertionError("there is nothing to read")

    usual = Asked()
    usual.read(never)

    assert list(usual.notes(folded([outcome("m", "a", 1.0, group="mcq")]))) == []
    assert usual.beside() == {}


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 multiple-choice record answered"), (2, "2 multiple-choice records")]
)
def test_choices_are_counted(count: int, said: str) -> None:
    outcomes = [outcome("m", f"s{n}", 1.0, group="mcq") for n in range(count)]

    (note,) = Asked(mcq="loglikelihood").notes(folded([*outcomes, outcome("m", "x", 1.0)]))

    assert said in note
    assert note.endswith("its share of the likelihoods of all letters")


def test_where_there_was_nothing_to_choose_nothing_is_said() -> None:
    found = folded([outcome("m", "a", 1.0)])

    assert list(Asked(mcq="loglikelihood").notes(found)) == []


def test_what_was_asked_about_answers_is_counted_by_model() -> None:
    outcomes = [asked("m", "a", 0.5), asked("m", "b", None), asked("n", "a", 0.9)]
    found = Asked(confidence="self")
    found.read(lambda: iter(outcomes))

    assert {name: (row.requests, row.cost) for name, row in found.beside().items()} == {
        "m": (2, 1.0),
        "n": (1, 0.5),
    }
    assert list(found.notes(folded(outcomes))) == [
        "`--confidence self`: confidences are what each model says of its own answers",
        "m: replies without a number when asked how sure it is: 1",
    ]
