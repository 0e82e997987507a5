import pytest

from evalwright.spec.records.lint.target_in_prompt import locate_target


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        pytest.param("2 + 2 = 4?", "4", "stands given_away", id="behind an equals sign"),
        pytest.param("2+2=4?", "4", "stands given_away", id="without spaces"),
        pytest.param("the answer is 4. why?", "4", "stands given_away", id="behind `answer`"),
        pytest.param("the answer is **4**. why?", "4", "stands given_away", id="in bold"),
        pytest.param(
            "is 4 more than what i have now, my friend? tell me.", "4", "stands", id="in the midst"
        ),
        pytest.param(
            "if x = 4 then how much is x and a bit? tell me now.", "4", "stands", id="a variable"
        ),
        pytest.param("it is 14", "4", "", id="part of a number"),
        pytest.param("it is 4.5, not 1,400 nor 3.4", "4", "", id="part of a decimal"),
        pytest.param("it is -4 and -4 only", "4", "", id="negative"),
        pytest.param("0 + 4, 4 * 1, (1 + 3) / 4", "4", "", id="reckoned with"),
        pytest.param("the cats", "cat", "", id="part of a word"),
        pytest.param("cat_1", "cat", "", id="part of a name"),
        pytest.param(
            "is it positive or negative?", "negative", "stands is_choice", id="behind `or`"
        ),
        pytest.param("(positive / negative)", "positive", "stands is_choice", id="before a slash"),
        pytest.param('"yes", or "no"', "yes", "stands is_choice", id="quoted"),
        pytest.param(
            "the largest of 3, 9 and 4", "9", "stands is_choice", id="in a row of numbers"
        ),
        pytest.param("the largest of 3, 9 and 4", "4", "stands is_choice", id="the last of a row"),
        pytest.param("a vitamin", "a", "", id="one letter"),
        pytest.param("well?!", "?!", "", id="no letter"),
        pytest.param(
            "答案是4吗\uff1f请想一想再回答这个问题\uff0c不要马上写下来\uff0c也不要问别人。好好地想一想。",
            "4",
            "stands",
            id="a number in Chinese",
        ),
        pytest.param(
            "这部电影给人的感觉非常正面\uff0c所以我还想再看一遍。你们也应该去看看这部电影\uff0c真的很好。",
            "正面",
            "stands",
            id="Chinese",
        ),
        pytest.param("正在", "正", "", id="one Chinese character"),
        pytest.param(
            "كتاب كبير جدا على الطاولة في الغرفة الصغيرة بجانب النافذة",
            "كتاب",
            "stands",
            id="Arabic",
        ),
        pytest.param("كتابان على الطاولة", "كتاب", "", id="part of an Arabic word"),
        pytest.param("aaaa" * 1000, "aa", "", id="many places, none whole"),
    ],
)
def test_a_target_stands_as_whole_words_and_for_a_reason(
    text: str, target: str, expected: str
) -> None:
    found = locate_target(text, target)

    assert " ".join(name for name, holds in found._asdict().items() if holds) == expected
