import pytest
from tests.scorers.judging.judges import LABELER, read

from evalwright.scorers.judging.verdict_values import LabelReader, bare_label, fold_label
from evalwright.scorers.judging.verdicts import NoVerdict


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("Arabic.", id="final punctuation"),
        pytest.param("- Arabic", id="a list mark"),
        pytest.param("1. Arabic", id="a numbered list mark"),
        pytest.param("[[Arabic]]", id="brackets"),
        pytest.param("Answer: Arabic", id="a named line"),
        pytest.param("**Label:** Arabic", id="a bold named line"),
    ],
)
def test_a_free_label_is_read_without_what_surrounds_it(reply: str) -> None:
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
    ],
)
def test_a_reply_is_not_a_free_label(reply: str, why: str) -> None:
    with pytest.raises(NoVerdict) as caught:
        read(LABELER, reply)

    assert why in str(caught.value)


@pytest.mark.parametrize("label", ["*ok*", "ok.", ' "ok" ', "ok", "ok！"])  # noqa: RUF001 - Chinese
def test_labels_are_compared_without_their_marks(label: str) -> None:
    assert bare_label(label) == "ok"


def test_a_label_of_nothing_but_marks_stays() -> None:
    assert bare_label("**") == "**"


@pytest.mark.parametrize("label", ["N\u2019est  PAS", "\u200fn'est pas", "n'est\npas", "N'EST pas"])
def test_case_spaces_apostrophes_and_direction_marks_do_not_tell_labels_apart(label: str) -> None:
    assert fold_label(label) == "n'est pas"


def test_a_label_is_final_if_no_other_begins_with_it() -> None:
    reader = LabelReader(["good", "Good enough"], keys=("label",))

    assert [reader.is_final(label) for label in ("good", "Good enough")] == [False, True]
