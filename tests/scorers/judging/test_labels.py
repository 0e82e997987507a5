import pytest
from tests.scorers.judging.judges import LABELER, read

from evalwright.scorers.judging.labels import alike
from evalwright.scorers.judging.replies import NoVerdict


@pytest.mark.parametrize(
    "reply",
    [
        "Arabic.",
        "- Arabic",
        "1. Arabic",
        "Answer: Arabic",
        "The label is Arabic.",
        "<label>Arabic</label>",
    ],
)
def test_a_free_label_comes_without_what_stands_around_it(reply: str) -> None:
    assert read(LABELER, reply) == "Arabic"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ('{"language": "Arabic"}', "has no `label`"),
        ("?", "expected a label"),
        ("...", "expected a label"),
        ("[]", "expected a label"),
        ("Sorry", "refused"),
        ("Unable to comply", "refused"),
        ("Je suis désolé, mais je ne peux pas", "refused"),
        ("Es tut mir leid.", "refused"),
        ("抱歉，我无法回答", "refused"),  # noqa: RUF001 - as it is written
        ("عذرا، لا أستطيع", "refused"),
        ("I think the language is Arabic because of the script.", "at most 8 words"),
        ("The answer is in French.", "no label"),
    ],
)
def test_no_free_label_is(reply: str, why: str) -> None:
    with pytest.raises(NoVerdict) as caught:
        read(LABELER, reply)

    assert why in str(caught.value)


@pytest.mark.parametrize("label", ["*ok*", "OK.", ' "ok" ', "ok"])
def test_labels_are_alike_without_their_marks(label: str) -> None:
    assert alike(label) == "ok"


def test_a_label_of_nothing_but_marks_stays() -> None:
    assert alike("**") == "**"
